"""Which rows are mistakes of the kernel perceptron, and which columns they change."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..losses.rivals import best_rival
from ..numeric.types import AnyArray, Array, Ints


class UpdateRule(Protocol):
    """Defines what a mistake is, and which columns then gain or lose the row."""

    columns: int
    y: AnyArray  # signs, or class numbers, as the compiled pass expects them

    def violations(self, scores: Array, rows: Ints) -> Array:
        """Violation of each row, (m,), for scores (columns, m); not a mistake if below 0."""

    def changes(self, row: int, rival: int) -> tuple[tuple[int, int], ...]:
        """Column and sign of each change by a misclassified row with this best rival."""


class TwoClasses:
    """``y * score <= 0`` is a mistake; the one column gains ``y`` times the row."""

    columns: int = 1

    def __init__(self, signs: Array) -> None:
        self.y = signs

    def violations(self, scores: Array, rows: Ints) -> Array:
        """Minus the margin."""
        violations: Array = -self.y[rows] * scores[0]
        return violations

    def changes(self, row: int, rival: int) -> tuple[tuple[int, int], ...]:
        """The label."""
        return ((0, int(self.y[row])),)


class ManyClasses:
    """A rival that reaches the true class is a mistake: the class gains, the best rival loses."""

    def __init__(self, labels: Ints, columns: int) -> None:
        self.y, self.columns = labels, columns

    def violations(self, scores: Array, rows: Ints) -> Array:
        """Score of the best rival minus that of the true class."""
        own, _, best = best_rival(self.y[rows], scores.T)
        violations: Array = best - own
        return violations

    def changes(self, row: int, rival: int) -> tuple[tuple[int, int], ...]:
        """True class and best rival (the first in a tie)."""
        return (int(self.y[row]), 1), (rival, -1)


def update_rule(numbers: Ints, n_classes: int) -> UpdateRule:
    """Return the rule for rows with these class numbers."""
    if n_classes == 2:
        return TwoClasses(np.where(numbers == 1, 1.0, -1.0))
    return ManyClasses(numbers, n_classes)
