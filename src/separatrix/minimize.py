"""The one training loop: stop rules, clock, callbacks, trace."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from . import loops
from .interrupt import gentle_interrupt
from .objective import Objective
from .pocket import Pocket
from .progress import Progress, Silence
from .solvers import Solver, State, Step
from .trace import Trace
from .typing import AnyArray, Array

KEEP = ("last", "best", "average", "auto")
TINY = 1e-12  # below this J counts as 0
ROUNDING = 4e-16  # J cannot be told more exactly
OPTIMISM = 1e-3  # a solver's estimate of what remains is believed to within this factor


@dataclass(frozen=True)
class Info:
    """What a callback is told beside the step."""

    iteration: int
    objective: float | None
    mistakes: float | None
    norm: float
    seconds: float


Callback = Callable[[Step, Info], "bool | None"]


@dataclass(frozen=True)
class Stop:
    """When a run ends; None or False switches a rule off.

    ``tol``: J changed by no more than ``tol * |J|``, **and** the weights barely moved or the
    solver expects little more. The change of J alone proves nothing: descent on x^2 with step
    1 jumps between -1 and 1 for ever and J never changes.
    """

    max_iter: int = 1000
    no_mistakes: bool = False
    tol: float | None = None
    max_norm: float | None = None
    patience: int | None = None
    cycle: bool = True
    """A proven cycle: only for solvers whose every pass is the same function of the weights."""


@dataclass
class Result:
    """How a run ended."""

    weights: Array
    """Those kept: the last, the best or the average."""
    last: Array
    state: State
    stop: str
    history: dict[str, AnyArray]
    objective: float | None
    """J as the last step tells it: where steps are fixed, before the step."""


class _Rules:
    """The stop rules with what they remember from pass to pass."""

    def __init__(self, stop: Stop, start: Array) -> None:
        self.stop = stop
        self.before = start
        self.objective: float | None = None
        self.fewest = np.inf
        self.stale = 0
        # Brent's cycle finding: compare with one earlier point, renewed at powers of two.
        self.landmark = start
        self.distance, self.power = 0, 1

    def verdict(self, step: Step, iteration: int, norm: float) -> str | None:
        """Why to stop now, or None. The first rule that holds names the end."""
        stop = self.stop
        settled, cycled, stalled = self._settled(step), self._cycled(step), self._stalled(step)
        self.before, self.objective = step.weights, step.objective
        rules = (
            (stop.no_mistakes and step.mistakes == 0.0, "no mistakes"),
            (step.optimal, "optimal"),
            (cycled, "cycle"),
            (settled, "tol"),
            (stop.max_norm is not None and norm > stop.max_norm, "max_norm"),
            (stalled, "no progress"),
            (iteration >= stop.max_iter, "max_iter"),
        )
        return next((name for holds, name in rules if holds), None)

    def _settled(self, step: Step) -> bool:
        tol, J, J_before = self.stop.tol, step.objective, self.objective
        if tol is None or J is None or J_before is None:
            return False
        size = max(abs(J), TINY)
        if not abs(J - J_before) <= max(tol, ROUNDING) * size:
            return False
        if step.remaining is not None:
            return step.remaining <= max(OPTIMISM * tol, ROUNDING) * size
        moved = float(np.linalg.norm(step.weights - self.before))
        return bool(
            moved <= step.pace * np.sqrt(tol) * max(float(np.linalg.norm(step.weights)), TINY)
        )

    def _cycled(self, step: Step) -> bool:
        if not self.stop.cycle:
            return False
        if step.rows is None and np.array_equal(step.weights, self.before):
            return False  # a step over all rows that moves nothing has arrived
        if np.array_equal(step.weights, self.landmark):
            return True
        self.distance += 1
        if self.distance == self.power:
            self.landmark, self.distance, self.power = step.weights, 0, 2 * self.power
        return False

    def _stalled(self, step: Step) -> bool:
        if self.stop.patience is None or step.mistakes is None:
            return False
        if step.mistakes < self.fewest:
            self.fewest, self.stale = step.mistakes, 0
        else:
            self.stale += 1
        return self.stale >= self.stop.patience


def minimize(
    objective: Objective,
    solver: Solver,
    *,
    stop: Stop = Stop(),  # noqa: B008 (frozen)
    callbacks: Sequence[Callback] = (),
    seed: int = 0,
    start: Array | None = None,
    state: State | None = None,
    keep: str = "last",
    trace: Trace | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run a solver on an objective until a rule stops it.

    A callback is called as ``callback(step, info)`` after every pass; true stops the run. The
    clock stands still meanwhile. ``keep`` is "last", "best" (fewest mistakes, counted at fixed
    weights), "average", or "auto": the last after a pass without mistakes, else whichever of
    average and best makes fewer (ties: average).

    >>> import numpy as np
    >>> from separatrix import L2, ArraySource, GradientDescent, Objective, get_loss
    >>> source = ArraySource(np.eye(2), np.array([-1.0, 1.0]), np.array([0, 1]))
    >>> objective = Objective(get_loss("squared"), L2(0.0), source)
    >>> minimize(objective, GradientDescent(learning_rate=0.5), stop=Stop(max_iter=2)).stop
    'max_iter'
    """
    solver.check(objective)
    if keep not in KEEP:
        raise ValueError(f"keep must be one of {', '.join(map(repr, KEEP))}, got {keep!r}")
    if stop.max_iter < 1:
        raise ValueError(f"max_iter must be 1 or more, got {stop.max_iter!r}")
    if start is not None and start.shape != objective.shape:
        raise ValueError(f"start has shape {start.shape}, expected {objective.shape}")
    if keep in ("average", "auto") and not getattr(solver, "average", False):
        raise ValueError(f"keep={keep!r} needs a solver with average=True, got {solver!r}")
    start = np.zeros(objective.shape) if start is None else start
    steps = solver.steps(objective, start, np.random.default_rng(seed), state)
    pocket = Pocket(objective) if keep in ("best", "auto") else None
    stop = replace(stop, cycle=stop.cycle and solver.repeats())
    run = _Run(_Rules(stop, start), callbacks, trace, pocket, progress or Silence())
    # Overflow is met below with an error that says what to do, not with NumPy's warning.
    with gentle_interrupt(), np.errstate(over="ignore", invalid="ignore"):
        try:
            why = run.until_stopped(steps)
        finally:
            run.progress.close(run.line())
    if run.step is None:
        raise KeyboardInterrupt("interrupted before the end of the first pass")
    if why == "interrupted":
        warnings.warn(
            f"interrupted after {len(run.infos)} passes: the model of the last whole pass is kept",
            UserWarning,
            stacklevel=2,
        )
    kept = kept_weights(objective, keep, run.step, why, pocket)
    step = run.step
    return Result(kept, step.weights, step.state, why, run.history(), step.objective)


@dataclass
class _Run:
    """The loop itself, and what it has seen so far."""

    rules: _Rules
    callbacks: Sequence[Callback]
    trace: Trace | None
    pocket: Pocket | None
    progress: Progress
    step: Step | None = None
    infos: list[Info] = field(default_factory=list)
    seconds: float = 0.0

    def until_stopped(self, steps: Iterator[Step]) -> str:
        """Take steps until there is a reason not to, and return it."""
        why: str | None = None
        while why is None:
            began = time.perf_counter()
            try:
                self.step = step = next(steps)
                why = self._take(step)
                self.seconds += time.perf_counter() - began
                self.infos[-1] = info = replace(self.infos[-1], seconds=self.seconds)
                self.progress.show(self.line())
                asked = [bool(callback(step, info)) for callback in self.callbacks]
            except loops.Interrupted:
                return "interrupted"
            if why is None and any(asked):
                why = "callback"
            if why is None and loops.stop_requested():
                why = "interrupted"
        return why

    def _take(self, step: Step) -> str | None:
        iteration = len(self.infos) + 1
        largest = float(np.abs(step.weights).max())
        norm = largest and largest * float(np.linalg.norm(step.weights / largest))
        if not np.isfinite(largest):
            raise ValueError(
                f"the weights overflowed floating point in pass {iteration}: the step is too large "
                "for this data; scale the features (e.g. with sklearn's StandardScaler) or lower "
                "learning_rate"
            )
        self.infos.append(Info(iteration, step.objective, step.mistakes, norm, self.seconds))
        why = self.rules.verdict(step, iteration, norm)
        if self.trace is not None:
            self.trace.record(step)
        if self.pocket is not None and why != "no mistakes":
            self.pocket.offer(step.weights)
        return why

    def line(self) -> str:
        """Where the run is, in one line."""
        if not self.infos:
            return "no pass ended"
        info = self.infos[-1]
        known = (("objective", info.objective), ("mistakes", info.mistakes), ("|W|", info.norm))
        values = ", ".join(f"{name} {value:.6g}" for name, value in known if value is not None)
        return f"pass {info.iteration}: {values}, {info.seconds:.1f} s"

    def history(self) -> dict[str, AnyArray]:
        """One entry per pass."""
        missing = float("nan")
        return {
            "pass": np.array([info.iteration for info in self.infos]),
            "objective": np.array([missing if i.objective is None else i.objective
                                   for i in self.infos]),
            "mistakes": np.array([missing if i.mistakes is None else i.mistakes
                                  for i in self.infos]),
            "norm": np.array([info.norm for info in self.infos]),
            "seconds": np.array([info.seconds for info in self.infos]),
        }  # fmt: skip


def kept_weights(
    objective: Objective, keep: str, step: Step, why: str, pocket: Pocket | None
) -> Array:
    """The weights that ``keep`` asks for."""
    if keep == "average" and step.average is not None:
        return step.average
    if pocket is None or why == "no mistakes":
        return step.weights
    best, fewest = pocket.best()
    if keep == "best" or step.average is None:
        return best
    return step.average if objective.mistakes_of(step.average[None])[0] <= fewest else best
