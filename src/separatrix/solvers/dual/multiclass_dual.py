"""The duals of losses over many classes as coordinate ascent meets them: alphas (n, k).

Crammer and Singer's loss has shares on a simplex (see ``crammer_singer``); a loss of one column per
class has the alphas of two classes in every column, and its dual is the sum of theirs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ...data import InMemory
from ...losses import Columns, CrammerSinger, Joint, Logistic, Loss, SquaredHinge
from ...numeric.types import AnyArray, Array
from ...objective import Objective
from .crammer_singer import CrammerSingerDualLoss, project_to_simplex
from .dual_loss import DualSums, best_dual_scaling
from .losses import BinaryDualLoss, dual_loss_of


class MulticlassDual(ABC):
    """What coordinate ascent asks of a loss over k classes."""

    joint: Joint
    """The loss itself."""
    bounded: bool
    """Whether alphas come to rest at a bound, and epochs know the gap."""
    own_curvature: float
    """Of phi* by an alpha, where it is the same for all."""

    @abstractmethod
    def start(self, y: AnyArray) -> Array:
        """Alphas at which the weights are 0, (n, k)."""

    @abstractmethod
    def neg_slope(self, y: AnyArray, alpha: Array) -> Array:
        """Minus the slope by the scores, (n, k)."""

    @abstractmethod
    def bound(self, objective: Objective, alpha: Array, descent: Array) -> float:
        """The proven lower bound, after the least change that makes alpha feasible."""

    @abstractmethod
    def stays(self, y: AnyArray, scores: Array, alpha: Array, shrink_margin: float) -> AnyArray:
        """Rows whose alphas are at bounds where they will stay, (n,)."""

    @abstractmethod
    def signs(self, y: AnyArray) -> Array | float:
        """By what minus the slope changes with each alpha: numbers, or (n, k) of them."""

    @abstractmethod
    def slopes(self, y: AnyArray, scores: Array, alpha: Array) -> Array:
        """Of the dual by the alphas, over the shares of the rows: (n, k)."""

    @abstractmethod
    def is_free(self, alpha: Array) -> AnyArray:
        """Alphas that are not at a bound and may move, (n, k)."""

    @abstractmethod
    def tangent(self, v: Array, free: AnyArray) -> Array:
        """The nearest change that keeps what must be kept, of those that are 0 unless free."""

    @abstractmethod
    def feasible(self, alpha: Array) -> Array:
        """The nearest alphas within their bounds."""

    def best_biases(self, source: InMemory, scores: Array) -> Array:
        """What to add to all scores for a lower J, (k,); here nothing."""
        return np.zeros(scores.shape[1])

    def descent(self, source: InMemory, alpha: Array) -> Array:
        """Mean over the rows of ``neg_slope * (x, 1)``, (k, d + 1)."""
        coefficients = self.neg_slope(source.y, alpha)
        if source.weight is not None:
            coefficients *= source.weight[:, None]
        return source.transpose_product(coefficients) / source.weight_sum


@dataclass(frozen=True)
class CrammerSingerDual(MulticlassDual):
    """Shares of a row in all classes."""

    joint: Joint
    loss: CrammerSingerDualLoss
    bounded = True
    own_curvature = 0.0

    def start(self, y: AnyArray) -> Array:
        """All to the true class."""
        alpha = np.zeros((len(y), self.loss.columns))
        alpha[np.arange(len(y)), y] = 1.0
        return alpha

    def neg_slope(self, y: AnyArray, alpha: Array) -> Array:
        """1 for the true class less the shares."""
        return self.loss.neg_slope(y, alpha)

    def bound(self, objective: Objective, alpha: Array, descent: Array) -> float:
        """See :meth:`CrammerSingerDualLoss.bound`."""
        source = objective.in_memory
        _, conjugates = self.loss.coefficients(source.y, alpha)
        gain = source.weights @ conjugates / source.weight_sum
        return self.loss.bound(DualSums(descent, gain), objective.penalty.l2, objective.intercept)

    def signs(self, y: AnyArray) -> float:
        """A share lowers it."""
        return -1.0

    def slopes(self, y: AnyArray, scores: Array, alpha: Array) -> Array:
        """The entries of which the loss is the largest."""
        rows = np.arange(len(y))
        entries: Array = scores - scores[rows, y][:, None] + 1.0
        entries[rows, y] = 0.0
        return entries

    def is_free(self, alpha: Array) -> AnyArray:
        """Shares of rows that have two or more."""
        held = alpha > 0.0
        free: AnyArray = held & (np.count_nonzero(held, axis=1) > 1)[:, None]
        return free

    def tangent(self, v: Array, free: AnyArray) -> Array:
        """The sum of a row's shares is kept."""
        count = np.maximum(np.count_nonzero(free, axis=1), 1)
        return np.where(free, v - (v.sum(axis=1) / count)[:, None], 0.0)

    def feasible(self, alpha: Array) -> Array:
        """On the simplex."""
        below = np.flatnonzero((alpha < 0.0).any(axis=1))
        alpha = alpha.copy()
        alpha[below] = project_to_simplex(alpha[below])
        return alpha

    def stays(self, y: AnyArray, scores: Array, alpha: Array, shrink_margin: float) -> AnyArray:
        """One class has all, and its entry is the largest by the margin."""
        entries, rows = self.slopes(y, scores, alpha), np.arange(len(y))
        top = entries.argmax(axis=1)
        two = np.partition(entries, -2, axis=1)[:, -2:]
        stays: AnyArray = (alpha[rows, top] >= 1.0) & (two[:, 1] - two[:, 0] > shrink_margin)
        return stays


@dataclass(frozen=True)
class ColumnsDual(MulticlassDual):
    """In every column the alphas of two classes: its own against the rest."""

    joint: Joint
    binary: BinaryDualLoss
    columns: int

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """As with two classes."""
        return self.binary.bounded

    @property
    def own_curvature(self) -> float:  # type: ignore[override]
        """Of the squared hinge; that of the logistic loss is not the same for all."""
        return 0.5 if self.bounded else 0.0

    def start(self, y: AnyArray) -> Array:
        """Zeros."""
        return np.zeros((len(y), self.columns))

    def slopes(self, y: AnyArray, scores: Array, alpha: Array) -> Array:
        """What the margins lack, less the conjugate's own slope."""
        slopes: Array = 1.0 - self.signs(y) * scores - self.own_curvature * alpha
        return slopes

    def is_free(self, alpha: Array) -> AnyArray:
        """Above 0."""
        free: AnyArray = alpha > 0.0
        return free

    def tangent(self, v: Array, free: AnyArray) -> Array:
        """Nothing must be kept."""
        return v

    def feasible(self, alpha: Array) -> Array:
        """Not below 0."""
        return np.maximum(alpha, 0.0)

    def signs(self, y: AnyArray) -> Array:
        """+1 in the column of a row's class, -1 in the others."""
        return np.where(y[:, None] == np.arange(self.columns), 1.0, -1.0)

    def neg_slope(self, y: AnyArray, alpha: Array) -> Array:
        """Towards the row's own side of every column."""
        neg_slope: Array = self.signs(y) * alpha
        return neg_slope

    def bound(self, objective: Objective, alpha: Array, descent: Array) -> float:
        """The sum of those of all columns.

        With free biases the side of a column that sums harder is shrunk until both balance.
        """
        source = objective.in_memory
        if objective.intercept:
            alpha = self._balanced(source, alpha)
            descent = self.descent(source, alpha)
        gains = -(source.weights @ self.binary.loss.conjugate(alpha)) / source.weight_sum
        squares = np.sum(descent[:, :-1] ** 2, axis=1) / (4.0 * objective.penalty.l2)
        return float(sum(map(best_dual_scaling, gains.tolist(), squares.tolist())))

    def _balanced(self, source: InMemory, alpha: Array) -> Array:
        """Alphas of which both sides of every column have the same sum."""
        own = self.signs(source.y) > 0.0
        ahead = source.weights @ np.where(own, alpha, 0.0)
        behind = source.weights @ np.where(own, 0.0, alpha)
        least = np.minimum(ahead, behind)
        shares = [np.divide(least, side, out=np.zeros_like(least), where=side > 0.0)
                  for side in (ahead, behind)]  # fmt: skip
        balanced: Array = alpha * np.where(own, shares[0], shares[1])
        return balanced

    def stays(self, y: AnyArray, scores: Array, alpha: Array, shrink_margin: float) -> AnyArray:
        """All alphas are 0, and every margin beyond 1 by so much."""
        if not self.bounded:
            return np.zeros(len(y), dtype=bool)
        beyond = (alpha <= 0.0) & (self.signs(y) * scores > 1.0 + shrink_margin)
        return np.asarray(beyond.all(axis=1))

    def best_biases(self, source: InMemory, scores: Array) -> Array:
        """For each column alone."""
        signs = self.signs(source.y)
        return np.array([
            self.binary.best_bias(signs[:, c], scores[:, c], source.weight)
            for c in range(self.columns)
        ])  # fmt: skip


def has_multiclass_dual(loss: Loss) -> bool:
    """Whether coordinate ascent knows the dual of this loss over many classes."""
    if type(loss) is CrammerSinger:
        return True
    return type(loss) is Columns and type(loss.binary) in (SquaredHinge, Logistic)


def multiclass_dual(objective: Objective) -> MulticlassDual:
    """Of the objective's loss."""
    loss = objective.loss
    if type(loss) is Columns:
        return ColumnsDual(loss, BinaryDualLoss(loss.binary), objective.shape[0])
    dual_loss = dual_loss_of(objective)
    if not isinstance(dual_loss, CrammerSingerDualLoss) or not isinstance(loss, Joint):
        raise TypeError(f"the dual of {loss!r} over many classes is not known")
    return CrammerSingerDual(loss, dual_loss)
