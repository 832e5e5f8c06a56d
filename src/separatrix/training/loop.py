"""The one training loop: it takes steps, asks the stopping rules, and tells everybody.

Input: the steps of a solver. Output: the last step, why it was the last, and the history. Clock,
callbacks, progress and Ctrl-C live here and nowhere else.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .. import loops
from ..numeric.types import AnyArray
from ..solvers import Step
from .interrupt import gentle_interrupt
from .progress import Progress
from .stopping import StoppingRules


class Info(NamedTuple):
    """What a callback is told beside the step."""

    iteration: int
    objective: float | None
    mistakes: float | None
    norm: float
    seconds: float


Callback = Callable[[Step, Info], "bool | None"]
Observer = Callable[[Step, "str | None"], None]
"""Sees every step, and why the run ends with it, if it does."""


@dataclass
class Loop:
    """Takes steps until a rule stops it, and remembers how it went."""

    rules: StoppingRules
    callbacks: Sequence[Callback] = ()
    observers: Sequence[Observer] = ()
    progress: Progress | None = None
    show: Callable[[Step], Step] = lambda step: step
    """A step as callbacks see it."""
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
                while not self.rule:
                    began = time.perf_counter()
                    self.step = next(steps)
                    self.rule = self._reason(self.step, began, ctrl_c.ours) or ""
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

    def _reason(self, step: Step, began: float, ours: bool) -> str | None:
        """Why the run ends with this step, if it does, once everybody has seen it."""
        iteration, norm, why = len(self.infos) + 1, self._norm(step), None
        try:
            why = self.rules.reason(step, iteration, norm)
            for observe in self.observers:
                observe(step, why)
        finally:  # the pass has ended, even if what is said of it is interrupted
            self.seconds += time.perf_counter() - began
            info = Info(iteration, step.objective, step.mistakes, norm, self.seconds)
            self.infos.append(info)
        if self.progress is not None:
            self.progress.show(self._line())
        if self.callbacks:
            shown = self.show(step).read_only()
            asked = [bool(callback(shown, info)) for callback in self.callbacks]
            if why is None and any(asked):
                why = "callback"
        if why is None and loops.stop_requested():
            if not ours:
                raise loops.Interrupted("the run around this one was asked to stop")
            why = "interrupted"
        return why

    def _norm(self, step: Step) -> float:
        space = self.rules.space
        norm = space.norm(step)
        if not math.isfinite(norm):
            raise ValueError(
                f"the {space.what} overflowed floating point in pass {len(self.infos) + 1}: "
                f"scale the features (e.g. with sklearn's StandardScaler), or {space.remedy}"
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


def history(infos: Sequence[Info]) -> dict[str, AnyArray]:
    """One entry per pass, NaN for what is not known."""
    passes, *others = zip(*infos, strict=True)
    names = ("objective", "mistakes", "norm", "seconds")
    known = (np.array(each, dtype=np.float64) for each in others)  # None becomes NaN
    return {"pass": np.array(passes), **dict(zip(names, known, strict=True))}
