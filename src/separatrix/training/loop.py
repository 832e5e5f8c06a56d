"""The training loop: it takes steps, checks the stopping rules and calls the callbacks.

Input: the steps of a solver. Output: the last step, why it was the last, and the history. The
clock, callbacks, progress and Ctrl-C are handled only here.
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
from ..numeric.expected import Check, anything, array, at_least_0, entries, optional, real, word
from ..numeric.types import AnyArray, Array
from ..solvers import State, Step
from .interrupt import gentle_interrupt
from .progress import Progress
from .stopping import StoppingRules


class Info(NamedTuple):
    """Information passed to callbacks together with the step.

    See Also
    --------
    Step : the first argument of a callback.
    HistoryDisplay : plots the values of all passes.

    Examples
    --------
    >>> from separatrix import LinearClassifier
    >>> def long_enough(step, info):
    ...     return info.seconds > 60  # true ends the fit
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> LinearClassifier(callbacks=[long_enough]).fit(X, y).stop_
    'optimal'
    """

    iteration: int
    """The number of the pass, from 1."""
    objective: float | None
    """J, if known."""
    mistakes: float | None
    """Weighted number of mistakes, if known."""
    norm: float
    """Norm of the weights."""
    seconds: float
    """Time since the run began, without callbacks."""


Callback = Callable[[Step, Info], "bool | None"]
Observer = Callable[[Step, "str | None"], None]  # sees every step; it may return a reason to stop
UNFINISHED = ("callback", "interrupted", "max_iter", "seconds")
"""Ends after which a run could continue."""


@dataclass
class Loop:
    """Takes steps until a rule stops it, and records the history."""

    rules: StoppingRules
    callbacks: Sequence[Callback] = ()
    observers: Sequence[Observer] = ()
    progress: Progress | None = None
    show: Callable[[Step], Step] = lambda step: step  # converts a step for callbacks
    solver_state: Callable[[], Check] = lambda: anything
    """Checks for the state of a step that was read from a file."""
    step: Step | None = None
    infos: list[Info] = field(default_factory=list)
    seconds: float = 0.0
    rule: str = ""
    """Why the run ended; "interrupted" only if nothing else had ended it before Ctrl-C."""
    is_whole: bool = True  # whether all values refer to the end of the same pass
    _stepping: bool = False
    _terminated: bool = False

    def terminate(self) -> None:
        """End the run soon: possibly within a pass, but only after its step has been recorded."""
        self._terminated = True
        if self._stepping:
            loops.request_stop()

    def train(self, steps: Iterator[Step]) -> tuple[Step, str]:
        """Run, and return the last step and why it was the last."""
        # Overflow raises an error below that names a remedy, instead of NumPy's warning.
        with gentle_interrupt() as ctrl_c, np.errstate(over="ignore", invalid="ignore"):
            try:
                while not self.rule:
                    began = time.perf_counter()
                    self._stepping = True
                    step = next(steps)
                    self._stepping, self.is_whole, self.step = False, False, step
                    if self._terminated:  # the remaining work must not be interrupted
                        loops.clear_stop()
                    self._look_at(step, began, ctrl_c.ours)
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
        if why == "interrupted" and not self._terminated:
            warnings.warn(
                f"interrupted after {len(self.infos)} passes: the model of the last whole pass is "
                "kept",
                UserWarning,
                stacklevel=3,
            )
        return self.step, why

    def _look_at(self, step: Step, began: float, ours: bool) -> None:
        """Show a step to all observers, and record why the run ends with it, if it does."""
        iteration, norm = len(self.infos) + 1, self._norm(step)
        why = None
        try:
            seconds = self.seconds + time.perf_counter() - began
            why = self.rules.reason(step, iteration, norm, seconds)
            for observe in self.observers:
                observe(step, why)
        finally:  # the pass has ended even if its recording is interrupted
            self.seconds += time.perf_counter() - began
            info = Info(iteration, step.objective, step.mistakes, norm, self.seconds)
            self.infos.append(info)
        self.rule, self.is_whole = why or "", True
        if self.progress is not None:
            self.progress.show(self._line())
        if self.callbacks:
            shown = self.show(step).read_only()
            asked = [bool(callback(shown, info)) for callback in self.callbacks]
            if not self.rule and any(asked):
                self.rule = "callback"
        if not self.rule and loops.stop_requested():
            if not ours:
                raise loops.Interrupted("the run around this one was asked to stop")
            self.rule = "interrupted"
        if not self.rule and self._terminated:
            self.rule = "interrupted"

    def to_state(self) -> State:
        """The last step, the state of the rules, history and clock, as arrays and numbers."""
        step = None
        if self.step is not None:
            kept = ("weights", "saved", "objective", "mistakes", "average")
            step = {name: getattr(self.step, name) for name in kept}
            step["state"] = step.pop("saved")
        known = [info[1:] for info in self.infos]
        return {
            "step": step, "rules": self.rules.to_state(), "seconds": self.seconds,
            "rule": "" if self.rule in UNFINISHED else self.rule,
            "infos": np.array(known, dtype=np.float64).reshape(-1, 4),  # None becomes NaN
            "unknown": np.array([[value is None for value in row] for row in known], dtype=bool),
        }  # fmt: skip

    def expected_state(self) -> Check:
        """Checks for ``to_state``: a step of this solver, and an entry for every pass."""
        W = array(*self.rules.shape)
        number = optional(real)
        step = entries({
            "weights": W, "state": self.solver_state(), "objective": number, "mistakes": number,
            "average": optional(W),
        })  # fmt: skip
        known = entries({
            "step": optional(step), "rules": self.rules.expected_state(), "seconds": at_least_0,
            "rule": word(), "infos": array(None, 4), "unknown": anything,
        })  # fmt: skip

        def check(name: str, state: State) -> None:
            known(name, state)
            passes = len(state["infos"])
            unknown = array(passes, 4, dtype=bool) if passes else array(0, dtype=bool)
            unknown(f"{name}.unknown", state["unknown"])
            if (state["step"] is None) != (passes == 0):
                raise ValueError(f"{name} has {passes} passes, and its last step says otherwise")

        return check

    def restore(self, state: State) -> None:
        """Restore the state of another loop of the same run."""
        passes, most = len(state["infos"]), self.rules.stop.max_iter
        if passes > most:
            raise ValueError(f"{passes} passes are made already, and max_iter={most} allows fewer")
        forced = state["rules"]["unforced"] is not None
        self.step = None if state["step"] is None else Step(**state["step"])
        self.rules.restore(state["rules"], goes_on=passes < most)
        self.infos, self.seconds = _infos(state["infos"], state["unknown"]), state["seconds"]
        self.rule = "" if forced and passes < most else state["rule"]
        if passes == most and not self.rule:
            self.rule = "max_iter"
        time_limit = self.rules.stop.seconds
        if passes and not self.rule and time_limit is not None and self.seconds >= time_limit:
            self.rule = "seconds"

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
        """Status line of the run."""
        if not self.infos:
            return "no pass ended"
        info = self.infos[-1]
        known = (("objective", info.objective), ("mistakes", info.mistakes), ("|W|", info.norm))
        values = ", ".join(f"{name} {value:.6g}" for name, value in known if value is not None)
        return f"pass {info.iteration}: {values}, {info.seconds:.1f} s"


def _infos(values: Array, unknown: AnyArray) -> list[Info]:
    rows = values.astype(object)
    rows[unknown.reshape(rows.shape)] = None
    return [Info(number, *row) for number, row in enumerate(rows.tolist(), 1)]


def history(infos: Sequence[Info]) -> dict[str, AnyArray]:
    """One entry per pass, NaN for unknown values."""
    passes, *others = zip(*infos, strict=True)
    names = ("objective", "mistakes", "norm", "seconds")
    known = (np.array(each, dtype=np.float64) for each in others)  # None becomes NaN
    return {"pass": np.array(passes), **dict(zip(names, known, strict=True))}
