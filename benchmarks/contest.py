"""Who is faster at equal quality: settings are chosen first, then all contestants run in turn.

The ratio of a peer to separatrix is taken within each round, when both ran on the same machine
state; the figure is the median over the rounds, with the lowest and the highest. Every contestant
starts on an idle machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import length_hint
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

OURS = "separatrix"
TRIALS = 30.0  # seconds: default limit on the trials of further settings
CAP = 60.0  # seconds: a run that takes longer is not repeated
READING = 0.05  # seconds: shorter calls are made several times per reading of the clock
MOST_CALLS = 1000
GLANCE, LONGEST_REST = 0.01, 4.0  # seconds: pauses between two contestants
PATIENCE = 1.0  # nor is one that takes longer than this and twice as long as the best peer


def itself(made: Any) -> Any:
    return made


@dataclass(frozen=True)
class Contestant:
    """A public call to be timed, and its settings, roughest first."""

    name: str
    run: Callable[[Any], Any]  # a setting -> what it made; the clock is around this
    settings: Sequence[Any] = (None,)
    read: Callable[[Any], Any] = itself  # what the judge examines; not timed
    left_out: str = ""  # why it does not run here, though it could
    share: float = 1.0  # of the work that a run does: its seconds are those of all of it

    @property
    def ours(self) -> bool:
        return self.name.startswith(OURS)


@dataclass
class Judge:
    """How good is good enough: a measure to minimise, and its excess over the best."""

    name: str
    measure: Callable[[Any], float]
    reference: Callable[[], float] = float  # the best known; 0 by default
    within: float = 0.0
    relative: bool = False  # excess relative to the best objective, which any contestant may lower
    best: float = field(default=math.nan, init=False)

    def prepare(self) -> None:
        """Compute the best known, which may take long; only contests that are held need it."""
        self.best = self.reference()

    def see(self, made: Any) -> float:
        value = float(self.measure(made))
        if self.relative:
            self.best = min(self.best, value)
        return value

    def excess(self, value: float) -> float:
        return (value - self.best) / abs(self.best) if self.relative else value - self.best

    def enough(self, value: float) -> bool:
        return self.excess(value) <= self.within


@dataclass(frozen=True)
class Check:
    """A condition for the times to be comparable."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Contest:
    """One piece of work for all contestants."""

    title: str
    contestants: Sequence[Contestant]
    judge: Judge
    facts: Mapping[str, float]  # rows, columns, nonzeros, bytes
    checks: Callable[[Mapping[str, Any]], Iterable[Check]] = lambda made: ()
    limits: Mapping[str, Contestant] = field(default_factory=dict)  # by separatrix contestant
    reads: float = 1.0  # how often the work must read the data at the least


@dataclass
class Entry:
    """The results of one contestant."""

    contestant: Contestant
    setting: Any = None
    value: float = math.inf
    seconds: list[float] = field(default_factory=list)
    trial: float = math.inf
    spent: float = 0.0  # on settings that were not good enough
    made: Any = None
    enough: bool = False
    note: str = ""
    extra_bytes: int | None = None

    @property
    def name(self) -> str:
        return self.contestant.name

    @property
    def tried(self) -> bool:
        return self.trial < math.inf

    @property
    def median(self) -> float:
        return float(np.median(self.seconds)) if self.seconds else self.trial


@dataclass(frozen=True)
class Ratio:
    """A median of ratios, and their range."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, above: ArrayLike, below: ArrayLike) -> Ratio:
        ratios = np.divide(above, below)
        return cls(float(np.median(ratios)), float(ratios.min()), float(ratios.max()))


@dataclass
class Outcome:
    """All results of a contest."""

    contest: Contest
    entries: list[Entry]
    limits: dict[str, Ratio]  # seconds of the machine's limit over ours: the fraction reached
    checks: list[Check]

    @property
    def ours(self) -> Entry:
        return next(entry for entry in self.entries if entry.contestant.ours)

    @property
    def best_peer(self) -> Entry | None:
        """The fastest of the peers that are good enough."""
        peers = [entry for entry in self.entries if entry.enough and not entry.contestant.ours]
        return min(peers, key=lambda entry: entry.median, default=None)

    def ratio(self, entry: Entry) -> Ratio:
        """Its time over ours; for a run done once, over our median."""
        if not entry.seconds or not self.ours.seconds:
            return Ratio.of([entry.median], [self.ours.median])
        return Ratio.of(entry.seconds, self.ours.seconds)


def rest() -> None:
    """Wait until the threads of the previous contestant are idle: those of BLAS spin on."""
    until = time.perf_counter() + LONGEST_REST
    while time.perf_counter() < until:
        used = time.process_time()
        time.sleep(GLANCE)
        if time.process_time() - used < 0.2 * GLANCE:
            return


def clock(contestant: Contestant, setting: Any, calls: int = 1) -> tuple[float, Any]:
    """Seconds per call, scaled to all of the work, and the result of the last call."""
    rest()
    began = time.perf_counter()
    for _ in range(calls):
        made = contestant.run(setting)
    return (time.perf_counter() - began) / (calls * contestant.share), made


def calls_for(seconds: float, reading: float) -> int:
    """Number of calls per reading of the clock."""
    return min(MOST_CALLS, max(1, math.ceil(reading / seconds)))


def hold(
    contest: Contest, repeats: int = 5, reading: float = READING, trials: float = TRIALS
) -> Outcome:
    """Choose settings, time all contestants in turn, compare."""
    entries = [Entry(contestant) for contestant in contest.contestants]
    choose(entries, contest.judge, trials)
    leave_out_the_slow(entries, trials)
    limits = {
        name: Entry(limit, trial=clock(limit, None)[0]) for name, limit in contest.limits.items()
    }
    for _ in range(repeats):
        for entry in (*entries, *limits.values()):
            if not entry.note:
                calls = calls_for(entry.trial, reading)
                entry.seconds.append(clock(entry.contestant, entry.setting, calls)[0])
    reached = {
        entry.name: Ratio.of(contest.reads * np.array(limits[entry.name].seconds), entry.seconds)
        for entry in entries
        if entry.name in limits and entry.seconds
    }
    made = {entry.name: entry.made for entry in entries if entry.enough}
    return Outcome(contest, entries, reached, list(contest.checks(made)))


def choose(entries: Sequence[Entry], judge: Judge, trials: float = TRIALS) -> None:
    """Choose for each contestant the first setting that is good enough, else its best.

    A better optimum may be found meanwhile; then those that are no longer good enough try further.
    """
    judge.prepare()
    left = {
        entry.name: iter(() if entry.contestant.left_out else entry.contestant.settings)
        for entry in entries
    }
    while behind := [
        entry
        for entry in entries
        if not (entry.tried and judge.enough(entry.value)) and length_hint(left[entry.name])
    ]:
        for entry in behind:
            for setting in left[entry.name]:
                seconds, raw = clock(entry.contestant, setting)
                made = entry.contestant.read(raw)
                value = judge.see(made)
                if value < entry.value or not entry.tried:
                    entry.setting, entry.value, entry.made = setting, value, made
                    entry.trial = seconds
                if judge.enough(entry.value):
                    break
                entry.spent += seconds * entry.contestant.share
                if entry.spent > trials:
                    left[entry.name] = iter(())
                    break
    for entry in entries:
        entry.enough = entry.tried and judge.enough(entry.value)


def leave_out_the_slow(entries: Sequence[Entry], trials: float = TRIALS) -> None:
    """Note whose run is not worth repeating, and why."""
    good = [entry.trial for entry in entries if entry.enough and not entry.contestant.ours]
    for entry in entries:
        if entry.contestant.left_out:
            entry.note = f"left out: {entry.contestant.left_out}"
        elif not entry.enough and not entry.contestant.ours:
            gave_up = "gave up after" if entry.spent > trials else "no setting in"
            entry.note = f"not ranked: {gave_up} {entry.spent:.1f} s of trials"
        elif entry.trial * entry.contestant.share > CAP:
            entry.note = f"run once: longer than {CAP:.0f} s"
        elif not entry.contestant.ours and entry.trial > max(PATIENCE, 2.0 * min(good)):
            entry.note = "run once: more than twice the best peer's time"
