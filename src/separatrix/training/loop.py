"""The one training loop: stop rules, clock, callbacks, history, Ctrl-C."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .. import loops
from ..numeric.dot import dot
from ..numeric.types import AnyArray, Array
from ..solvers import Step
from .interrupt import gentle_interrupt
from .progress import Progress

TINY = 1e-12  # below this J counts as 0
LEAST_SQUARE = 1e-250  # what underflowed in a larger sum of squares does not count
ROUNDING = 4e-16  # J cannot be told more exactly
PROOF_EVERY = 5  # passes, where a proof costs a read of the data
OPTIMISM = 1e-3  # a solver's estimate of what remains is believed to within this factor


class Info(NamedTuple):
    """What a callback is told beside the step."""

    iteration: int
    objective: float | None
    mistakes: float | None
    norm: float
    seconds: float


Callback = Callable[[Step, Info], "bool | None"]
Proofs = Callable[[Step, bool], tuple[bool, bool]]
"""Whether a step leaves weights that are proven to be near enough, and whether none will be; a
read of the data may be spent on it only when the second argument says so."""
Observer = Callable[[Step, "str | None"], None]
"""Sees every step, and why the run ends with it, if it does."""


@dataclass(frozen=True)
class Stop:
    """When a run ends; None or False switches a rule off.

    ``tol``: J is proven to be within ``tol * J`` of its minimum, where there are proofs (see
    :mod:`separatrix.training.gap`) and ``prove`` asks for them, or the solver itself tells a bound.
    Else J changed by no more than ``tol * |J|``, **and** the weights barely moved or the solver
    expects little more. The change of J alone proves nothing: descent on x^2 with step 1 jumps
    between -1 and 1 for ever and J never changes.
    """

    max_iter: int = 1000
    no_mistakes: bool = False
    tol: float | None = None
    max_norm: float | None = None
    patience: int | None = None
    cycle: bool = True
    """A proven cycle: only for solvers whose every pass is the same function of the weights."""
    prove: bool = True


class WeightSpace:
    """How long weights are, how far apart, and what repeats when a run goes in circles."""

    what = "weights"
    remedy = "lower learning_rate"

    def norm(self, step: Step) -> float:
        """Length of the weights, without overflow of their squares."""
        W = step.weights
        square = dot(W, W)
        if LEAST_SQUARE < square < np.inf:
            return math.sqrt(square)
        largest = float(np.abs(step.weights).max())
        if not 0.0 < largest < np.inf:
            return largest
        return largest * float(np.linalg.norm(step.weights / largest))

    def distance(self, step: Step, before: Step) -> float:
        """How far a step went."""
        return float(np.linalg.norm(step.weights - before.weights))

    def position(self, step: Step) -> Array:
        """What, seen again bit for bit, proves that the run repeats itself."""
        return step.weights


class StoppingRules:
    """The stop rules with what they remember from pass to pass."""

    def __init__(
        self, stop: Stop, start: Array, geometry: WeightSpace, proofs: Proofs | None = None
    ) -> None:
        self.stop, self.geometry, self.proofs = stop, geometry, proofs
        self.before: Step | None = None
        self.earlier: Step | None = None
        self.fewest = np.inf
        self.stale = 0
        # Brent's cycle finding: compare with one earlier point, renewed at powers of two.
        self.landmark = start
        self.distance, self.power = 0, 1

    def verdict(self, step: Step, iteration: int, norm: float) -> str | None:
        """Why to stop now, or None. The first rule that holds names the end."""
        stop, last = self.stop, iteration >= self.stop.max_iter
        cycled, stalled = self._cycled(step), self._stalled(step)
        proven = settled = False
        if self.proofs is None:
            settled = self._settled(step)
        else:
            proven, stuck = self.proofs(step, last or iteration % PROOF_EVERY == 0)
            stalled = stalled or stuck
        if stop.cycle or stop.tol is not None:
            # Without the rows of a pass, which are a lot to hold on to.
            self.earlier, self.before = self.before, step._replace(rows=None)
        if stop.no_mistakes and step.mistakes == 0.0:
            return "no mistakes"
        if proven:
            return "optimal"
        if step.solved:
            return "closed form"
        if cycled:
            return "cycle"
        if settled:
            return "tol"
        if stop.max_norm is not None and norm > stop.max_norm:
            return "max_norm"
        if stalled:
            return "no progress"
        return "max_iter" if last else None

    def _settled(self, step: Step) -> bool:
        tol, J, before = self.stop.tol, step.objective, self.before
        if tol is None or J is None or before is None or before.objective is None:
            return False
        size = max(abs(J), TINY)
        if step.lower_bound is not None:  # then J may well stand still on the way
            return J - step.lower_bound <= max(tol, ROUNDING) * size
        if not abs(J - before.objective) <= max(tol, ROUNDING) * size:
            return False
        if step.predicted_decrease is not None:
            return step.predicted_decrease <= max(OPTIMISM * tol, ROUNDING) * size
        least = step.step_scale * np.sqrt(tol) * max(self.geometry.norm(step), TINY)
        return bool(self.geometry.distance(step, before) <= least)

    def _cycled(self, step: Step) -> bool:
        if not self.stop.cycle:
            return False
        here = self.geometry.position(step)
        before = None if self.before is None else self.geometry.position(self.before)
        if step.rows is None and before is not None and np.array_equal(here, before):
            return False  # a step over all rows that moves nothing has arrived
        if np.array_equal(here, self.landmark):
            return True
        self.distance += 1
        if self.distance == self.power:
            self.landmark, self.distance, self.power = here, 0, 2 * self.power
        return False

    def _stalled(self, step: Step) -> bool:
        if self.stop.patience is None or step.mistakes is None:
            return False
        if step.mistakes < self.fewest:
            self.fewest, self.stale = step.mistakes, 0
        else:
            self.stale += 1
        return self.stale >= self.stop.patience


@dataclass
class Loop:
    """Takes steps until a rule stops it, and remembers how it went."""

    rules: StoppingRules
    callbacks: Sequence[Callback] = ()
    observers: Sequence[Observer] = ()
    progress: Progress | None = None
    step: Step | None = None
    infos: list[Info] = field(default_factory=list)
    seconds: float = 0.0
    rule: str = ""
    """What ended the run; "interrupted" only if nothing else had when Ctrl-C was pressed."""

    def train(self, steps: Iterator[Step]) -> tuple[Step, str]:
        """The last step, and why it was."""
        # Overflow is met below with an error that says what to do, not with NumPy's warning.
        with gentle_interrupt() as ctrl_c, np.errstate(over="ignore", invalid="ignore"):
            try:
                self.rule = self._until_stopped(steps, ctrl_c.ours)
            except loops.Interrupted:
                if not ctrl_c.ours:
                    raise
                self.rule = "interrupted"
            finally:
                if self.progress is not None:
                    self.progress.close(self._line())
        if self.step is None:
            raise KeyboardInterrupt("interrupted before the end of the first pass")
        why = "interrupted" if ctrl_c.pressed else self.rule
        if why == "interrupted":
            warnings.warn(
                f"interrupted after {len(self.infos)} passes: the model of the last whole pass is "
                "kept",
                UserWarning,
                stacklevel=3,
            )
        return self.step, why

    def _until_stopped(self, steps: Iterator[Step], ours: bool) -> str:
        why: str | None = None
        clock, verdict, infos = time.perf_counter, self.rules.verdict, self.infos
        while why is None:
            began = clock()
            self.step = step = next(steps)
            iteration, norm = len(infos) + 1, self._norm(step)
            try:
                why = verdict(step, iteration, norm)
                for observe in self.observers:
                    observe(step, why)
            finally:  # the pass has ended, even if what is said of it is interrupted
                self.seconds += clock() - began
                info = Info(iteration, step.objective, step.mistakes, norm, self.seconds)
                infos.append(info)
            if self.progress is not None:
                self.progress.show(self._line())
            if self.callbacks:
                shown = step.read_only()
                asked = [bool(callback(shown, info)) for callback in self.callbacks]
                if why is None and any(asked):
                    why = "callback"
            if why is None and loops.stop_requested():
                if not ours:
                    raise loops.Interrupted("the run around this one was asked to stop")
                why = "interrupted"
        return why

    def _norm(self, step: Step) -> float:
        geometry = self.rules.geometry
        norm = geometry.norm(step)
        if not math.isfinite(norm):
            raise ValueError(
                f"the {geometry.what} overflowed floating point in pass {len(self.infos) + 1}: "
                f"scale the features (e.g. with sklearn's StandardScaler), or {geometry.remedy}"
            )
        return norm

    def _line(self) -> str:
        """Where the run is, in one line."""
        if not self.infos:
            return "no pass ended"
        info = self.infos[-1]
        known = (("objective", info.objective), ("mistakes", info.mistakes), ("|W|", info.norm))
        values = ", ".join(f"{name} {value:.6g}" for name, value in known if value is not None)
        return f"pass {info.iteration}: {values}, {info.seconds:.1f} s"

    def history(self) -> dict[str, AnyArray]:
        """One entry per pass, NaN for what is not known."""
        passes, *others = zip(*self.infos, strict=True)
        names = ("objective", "mistakes", "norm", "seconds")
        known = (np.array(each, dtype=np.float64) for each in others)  # None becomes NaN
        return {"pass": np.array(passes), **dict(zip(names, known, strict=True))}
