"""A step in words: the update with its numbers, and one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...losses import Loss
from ...numeric.types import AnyArray, Array
from ...solvers import (
    BatchPerceptron,
    GradientDescent,
    LeastSquares,
    Newton,
    OnlineRule,
    Rosenblatt,
    Solver,
)
from .columns import MOST_WEIGHTS, StepColumns

SAME = 1e-9  # relative difference below which numbers are shown as equal


def number(value: float) -> str:
    """Six significant digits, without a sign for 0."""
    return f"{float(value) + 0.0:.6g}" if value else "0"


def vector(values: Iterable[float]) -> str:
    """``(1, 0, -2.5)``."""
    return f"({', '.join(map(number, values))})"


@dataclass(frozen=True)
class Story:
    """Data for describing the steps of a linear model."""

    solver: Solver
    loss: Loss
    l2: float
    intercept: bool
    standardized: bool
    classes: Sequence[Any]
    x: Array | None  # (n, d + 1): the rows with a 1; None if there are too many numbers to show
    y: AnyArray
    columns: StepColumns

    # ---- arithmetic ----------------------------------------------------------------------

    def arithmetic(self, step: int) -> str:
        """The update of a step, counted from 1, written out."""
        before, after = self._weights(step - 1), self._weights(step)
        if before.size > MOST_WEIGHTS:
            return self._rule()
        if np.array_equal(before, after):
            return f"{self._names()} stays {self._shown(after)}"
        if isinstance(self.solver, LeastSquares):
            return f"{self._names()} = the least squares solution: {self._shown(after)}"
        visited = self.columns.visited[step - 1]
        if visited is not None and len(visited) == 1 and self.x is not None:
            written = self._by_row(step, before, after, int(visited[0]))
            if written:
                return written
        return self._by_gradient(step, before, after)

    def _weights(self, step: int) -> Array:
        weights = self.columns.weights
        assert weights is not None
        shown: Array = weights[step]
        return shown

    def _names(self) -> str:
        return "(w, b)" if self.intercept else "w"

    def _shown(self, W: Array) -> str:
        rows = [vector(row if self.intercept else row[:-1]) for row in W]
        if len(rows) == 1:
            return rows[0]
        return ", ".join(f"{name}: {row}" for name, row in zip(self.classes, rows, strict=True))

    def _rule(self) -> str:
        if isinstance(self.solver, Rosenblatt):
            return f"{self._names()} <- {self._names()} + step y {self._x()} on a mistake"
        return f"{self._names()} <- {self._names()} + change"

    def _x(self) -> str:
        return "(x, 1)" if self.intercept else "x"

    def _by_row(self, step: int, before: Array, after: Array, row: int) -> str:
        """``before + a y (x, 1) = after``; empty if the update has another form."""
        assert self.x is not None
        x = self.x[row].copy()
        x[-1] *= self.intercept
        decay, size = 1.0, self.columns.sizes[step - 1]
        if self.l2 and size is not None:
            decay = max(0.0, 1.0 - 2.0 * size * self.l2)
        kept = before * np.append(np.full(len(x) - 1, decay), 1.0)
        length = float(x @ x)
        gains = (after - kept) @ x / length if length else np.zeros(len(before))
        if not len(self.columns.updated[step - 1]):
            gains[:] = 0.0
        missed = np.abs(after - kept - gains[:, None] * x).max(initial=0.0)
        if self.standardized or missed > SAME * max(np.abs(after).max(), 1.0):
            return ""
        if len(before) == 1:
            return self._one_column(before[0], after[0], x, float(gains[0]), decay, row)
        each = [
            f"{name}: {self._sum(old, decay, float(gain), x)} = {self._cut(new)}"
            for name, old, new, gain in zip(self.classes, before, after, gains, strict=True)
            if gain or decay != 1.0
        ]
        return f"{self._names()} <- {self._shrunk(decay)} + a {self._x()}, {'; '.join(each)}"

    def _one_column(
        self, old: Array, new: Array, x: Array, gain: float, decay: float, row: int
    ) -> str:
        left = f"{self._names()} <- {self._shrunk(decay)}"
        if not gain:
            return f"{left} = {self._cut(new)}"
        a = gain * float(self.y[row])
        rule = f"{left} + y {self._x()}"
        if abs(a - 1.0) > SAME:
            rule = f"{left} + a y {self._x()}, a = {number(a)}"
        return f"{rule}: {self._sum(old, decay, gain, x)} = {self._cut(new)}"

    def _shrunk(self, decay: float) -> str:
        if decay == 1.0:
            return self._names()
        return f"({number(decay)} w, b)" if self.intercept else f"{number(decay)} w"

    def _sum(self, old: Array, decay: float, gain: float, x: Array) -> str:
        shrunk = old * np.append(np.full(len(old) - 1, decay), 1.0)
        sign = "-" if gain < 0.0 else "+"
        return f"{self._cut(shrunk)} {sign} {number(abs(gain))}*{self._cut(x)}"

    def _cut(self, row: Array) -> str:
        return vector(row if self.intercept else row[:-1])

    def _by_gradient(self, step: int, before: Array, after: Array) -> str:
        """An update from all rows, or several, at once."""
        change, names = after - before, self._names()
        size = self.columns.sizes[step - 1]
        if isinstance(self.solver, BatchPerceptron):
            wrong = len(self.columns.updated[step - 1])
            text = f"{names} <- {names} + the sum of y {self._x()} over "
            text += _counted(wrong, "mistake", "mistakes")
            return f"{text}: {self._shown(before)} + {self._shown(change)} = {self._shown(after)}"
        if isinstance(self.solver, Newton):
            text = f"{names} <- {names} - t H^-1 gradient"
        elif isinstance(self.solver, GradientDescent) and size and not self.standardized:
            gradient = self._shown(-change / size)
            text = f"{names} <- {names} - {number(size)} gradient: {self._shown(before)} - "
            return text + f"{number(size)}*{gradient} = {self._shown(after)}"
        else:
            text = f"{names} <- {names} + change"
        return f"{text}: {self._shown(before)} + {self._shown(change)} = {self._shown(after)}"

    # ---- sentences -----------------------------------------------------------------------

    def sentence(self, step: int) -> str:
        """What happened, for readers who see it for the first time."""
        visited = self.columns.visited[step - 1]
        if visited is None:
            text = self._of_all_rows(step)
        elif len(visited) == 1:
            text = self._of_one_row(step, int(visited[0]))
        else:
            text = f"{len(visited)} rows at once, the mean of their gradients: {self._trend(step)}."
        return text + self._of_the_pass(step, visited is not None)

    def _of_one_row(self, step: int, row: int) -> str:
        margins = self.columns.margins[step - 1]
        margin = 0.0 if margins is None else float(margins[0])
        who = f"Row {row} (class {_name(self.classes, self.y[row])})"
        moved = bool(len(self.columns.updated[step - 1]))
        if isinstance(self.solver, Rosenblatt):
            if moved:
                where = "lies on the boundary, which counts as wrong" if margin == 0.0 else (
                    f"is on the wrong side, margin {number(margin)}"
                )  # fmt: skip
                return f"{who} {where}: {self._towards(row)}."
            rest = "only the penalty shrinks the weights" if self.l2 else "nothing changes"
            return f"{who} is on its side, margin {number(margin)}: {rest}."
        if isinstance(self.solver, OnlineRule):
            done = "the rule raises its margin" if moved else "it has no loss, and nothing changes"
            return f"{who}, margin {number(margin)}: {done}."
        if not moved or np.array_equal(self._weights(step - 1), self._weights(step)):
            return f"{who}, margin {number(margin)}, has no slope in its loss: nothing changes."
        return f"{who}, margin {number(margin)}: {self._towards(row)}, as far as its loss is steep."

    def _towards(self, row: int) -> str:
        if len(self.classes) > 2:
            others = "its best rival loses it"
            if not isinstance(self.solver, Rosenblatt):
                others = "the others lose some of it"
            return f"its class gains the row, {others}"
        way = "adding" if self.y[row] > 0 else "subtracting"
        return f"{way} it raises its margin"

    def _of_all_rows(self, step: int) -> str:
        if isinstance(self.solver, BatchPerceptron):
            wrong = len(self.columns.updated[step - 1])
            if not wrong:
                return "No row is wrong: nothing is added, and the run ends."
            if wrong == 1:
                return "1 row is wrong and is added."
            return f"{wrong} rows are wrong, and their sum is added at once."
        if isinstance(self.solver, LeastSquares):
            return f"The minimum of the squared loss, by solving equations: {self._left(step)}."
        who = f"A step of {type(self.solver).__name__}"
        if isinstance(self.solver, Newton):
            who = "A Newton step, to the foot of a parabola fitted to the objective"
        elif isinstance(self.solver, GradientDescent):
            who = "A step down the gradient of all rows"
        return f"{who}: {self._trend(step)}."

    def _trend(self, step: int) -> str:
        old, new = self.columns.objective[step - 1 : step + 1].tolist()
        if not np.isfinite(new):
            return "the objective is beyond floating point, the step far too long"
        if abs(new - old) <= SAME * abs(old):
            return f"the objective stays at {number(new)}, {self._left(step)}"
        falls = "falls" if new < old else "rises"
        return f"the objective {falls} from {number(old)} to {number(new)}, {self._left(step)}"

    def _left(self, step: int) -> str:
        return mistakes_left(self.columns.mistakes[step])

    def _of_the_pass(self, step: int, by_row: bool) -> str:
        if not by_row or step not in self.columns.passes:
            return ""
        return end_of_pass(self.columns, step, isinstance(self.solver, Rosenblatt) and not self.l2)


def end_of_pass(columns: StepColumns, step: int, stops_clean: bool) -> str:
    """Text appended to the sentence of the last row of a pass."""
    at = columns.passes.index(step)
    first = columns.passes[at - 1] if at else 0
    if stops_clean and not any(len(rows) for rows in columns.updated[first:step]):
        return f" Pass {at + 1} ends without a mistake: every row is on its side."
    return f" Pass {at + 1} ends, {mistakes_left(columns.mistakes[step])}."


def mistakes_left(mistakes: float) -> str:
    """``no mistakes left``, ``3 mistakes left``."""
    if not mistakes:
        return "no mistakes left"
    return f"{number(mistakes)} {'mistake' if mistakes == 1 else 'mistakes'} left"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _name(classes: Sequence[Any], y: Any) -> Any:
    return classes[int(y > 0) if len(classes) == 2 else int(y)]
