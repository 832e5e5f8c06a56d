"""The training loop in the dual: the stop rules of ``minimize`` where weights cannot be seen.

They mean the same as there. Only what is measured differs: norms are those in feature space,
``|w|^2 = sum_i a_i s_i`` with coefficients a and training scores s, which cost nothing; and the
state of a run, whose return proves a cycle, is the training scores, as the coefficients of a
run that goes in circles still grow.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from . import loops
from .dual import DualRun
from .interrupt import gentle_interrupt
from .minimize import Callback, Info, Stop
from .progress import Progress
from .solvers import Step
from .typing import AnyArray, Array

TINY = 1e-12  # below this the objective counts as 0
ROUNDING = 4e-16  # it cannot be told more exactly


class _Rules:
    """The stop rules with what they remember from pass to pass."""

    def __init__(self, stop: Stop, run: DualRun) -> None:
        self.stop, self.run = stop, run
        self.before: tuple[float, Array, Array] | None = None
        self.fewest, self.stale = np.inf, 0
        # Brent's cycle finding: compare with one earlier point, renewed at powers of two.
        self.landmark = run.scores.copy()
        self.distance, self.power = 0, 1

    def verdict(self, step: Step, info: Info) -> str | None:
        """Why to stop now, or None. The first rule that holds names the end."""
        stop = self.stop
        settled, cycled, stalled = self._settled(step, info), self._cycled(), self._stalled(info)
        rules = (
            (stop.no_mistakes and info.mistakes == 0.0, "no mistakes"),
            (settled, "tol"),
            (cycled, "cycle"),
            (stop.max_norm is not None and info.norm > stop.max_norm, "max_norm"),
            (stalled, "no progress"),
            (info.iteration >= stop.max_iter, "max_iter"),
        )
        return next((name for holds, name in rules if holds), None)

    def _settled(self, step: Step, info: Info) -> bool:
        tol, objective = self.stop.tol, info.objective
        if tol is None or objective is None:
            return False
        before, self.before = self.before, (objective, step.weights, step.state["scores"])
        if before is None:
            return False
        value, weights, scores = before
        if not abs(objective - value) <= max(tol, ROUNDING) * max(abs(objective), TINY):
            return False
        square = float(np.vdot(step.weights - weights, step.state["scores"] - scores))
        return square <= tol * max(info.norm, TINY) ** 2

    def _cycled(self) -> bool:
        if not (self.stop.cycle and self.run.repeats):
            return False
        if np.array_equal(self.run.scores, self.landmark):
            return True
        self.distance += 1
        if self.distance == self.power:
            self.landmark, self.distance, self.power = self.run.scores.copy(), 0, 2 * self.power
        return False

    def _stalled(self, info: Info) -> bool:
        if self.stop.patience is None or info.mistakes is None:
            return False
        if info.mistakes < self.fewest:
            self.fewest, self.stale = info.mistakes, 0
        else:
            self.stale += 1
        return self.stale >= self.stop.patience


@dataclass
class DualLoop:
    """Takes passes of a run until a rule stops it, and remembers how it went."""

    run: DualRun
    stop: Stop
    callbacks: Sequence[Callback]
    progress: Progress
    infos: list[Info] = field(default_factory=list)
    seconds: float = 0.0

    def train(self) -> str:
        """Why it ended; ``run.ended`` is then the last whole pass."""
        # Overflow is met below with an error that says what to do, not with NumPy's warning.
        with gentle_interrupt(), np.errstate(over="ignore", invalid="ignore"):
            try:
                why = self._until_stopped()
            finally:
                self.progress.close(self._line())
        if not self.infos:
            raise KeyboardInterrupt("interrupted before the end of the first pass")
        if why == "interrupted":
            warnings.warn(
                f"interrupted after {len(self.infos)} passes: the model of the last whole pass "
                "is kept",
                UserWarning,
                stacklevel=2,
            )
        return why

    def _until_stopped(self) -> str:
        rules, steps = _Rules(self.stop, self.run), self.run.steps()
        why: str | None = None
        while why is None:
            began = time.perf_counter()
            try:
                step = next(steps)
            except loops.Interrupted:
                return "interrupted"
            info = self._info(step)
            why = rules.verdict(step, info)
            self.seconds += time.perf_counter() - began
            info = replace(info, seconds=self.seconds)
            self.infos.append(info)
            self.progress.show(self._line())
            asked = [bool(callback(step, info)) for callback in self.callbacks]
            if why is None and any(asked):
                why = "callback"
            if why is None and loops.stop_requested():
                why = "interrupted"
        return why

    def _info(self, step: Step) -> Info:
        iteration, norm = len(self.infos) + 1, self.run.norm
        if not np.isfinite(norm):
            raise ValueError(
                f"the scores overflowed floating point in pass {iteration}: the kernel values are "
                "too large for this data; scale the features (e.g. with sklearn's StandardScaler), "
                "or lower gamma, degree or learning_rate"
            )
        return Info(iteration, step.objective, step.mistakes, norm, self.seconds)

    def _line(self) -> str:
        """Where the run is, in one line."""
        if not self.infos:
            return "no pass ended"
        info = self.infos[-1]
        return (
            f"pass {info.iteration}: objective {info.objective:.6g}, mistakes {info.mistakes:.6g}, "
            f"|W| {info.norm:.6g}, {info.seconds:.1f} s"
        )

    def history(self) -> dict[str, AnyArray]:
        """One entry per pass."""
        return {
            "pass": np.array([info.iteration for info in self.infos]),
            "objective": np.array([info.objective for info in self.infos]),
            "mistakes": np.array([info.mistakes for info in self.infos]),
            "norm": np.array([info.norm for info in self.infos]),
            "seconds": np.array([info.seconds for info in self.infos]),
        }
