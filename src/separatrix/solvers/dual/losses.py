"""The dual of J, row by row: dual variables, their conjugates, and the lower bound they prove.

Every convex loss is the upper envelope of its tangents. A tangent per row, chosen by the row's
``alpha``, gives a function below J whose minimum is known: that is the bound. For two classes,
with p the weights of the rows over their sum,

    D(alpha) = -sum_i p_i phi*(-alpha_i) - |sum_i p_i alpha_i y_i x_i|^2 / (4 l2)

and a free bias demands ``sum_i p_i alpha_i y_i = 0``.

At a kink the scores do not determine alpha. So alpha is taken near a center: the one that
maximises ``alpha * (1 - m) - (alpha - center)^2 / (2 penalty_parameter)``. This smooths the kink,
shifted by the center, over a width of 1 / penalty_parameter (the Moreau envelope).

For more than two classes: K. Crammer and Y. Singer, On the algorithmic implementation of multiclass
kernel-based vector machines, JMLR 2 (2001) 265-292.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...losses import CrammerSinger, Hinge, Logistic, Loss, MarginLoss, SquaredHinge
from ...numeric.tolerances import SMALLEST_NORMAL
from ...numeric.types import AnyArray, Array
from ...objective import Objective

MOST_BIAS_STEPS = 50


class DualSums(NamedTuple):
    """Weighted sums over rows from which the bound follows."""

    weighted_rows: Array
    """Of alpha * (x, 1), one row per group."""
    neg_conjugates: Array
    """Of -phi*(-alpha), one per group."""

    def plus(self, other: DualSums) -> DualSums:
        """Sums over both."""
        return DualSums(
            self.weighted_rows + other.weighted_rows, self.neg_conjugates + other.neg_conjugates
        )


class DualLoss(ABC):
    """What a loss needs of the dual. Arrays of alpha have one row per row of the data."""

    columns: int
    """Numbers per row in alpha."""
    groups: int
    """Rows in the sums: a row of the data counts in that of its group."""

    @property
    def nonsmooth(self) -> bool:
        """Whether the center counts; a smooth loss has one alpha for each score."""
        return True

    @abstractmethod
    def alpha(self, y: AnyArray, scores: Array, center: Array, penalty_parameter: float) -> Array:
        """The dual variables of every row near the center, (n, columns)."""

    @abstractmethod
    def value(
        self, y: AnyArray, scores: Array, alpha: Array, center: Array, penalty_parameter: float
    ) -> Array:
        """The smoothed loss whose slope alpha is, (n,)."""

    @abstractmethod
    def neg_slope(self, y: AnyArray, alpha: Array) -> Array:
        """Minus the slope of the smoothed loss by the scores, (n, k)."""

    @abstractmethod
    def coefficients(self, y: AnyArray, alpha: Array) -> tuple[Array, Array]:
        """What multiplies each row in the sums, and each row's -phi*(-alpha): (n, groups)."""

    @abstractmethod
    def gradient(self, sums: Array) -> Array:
        """Derivative of the smoothed loss by the weights (k, d + 1), from the sums."""

    @abstractmethod
    def is_free(self, alpha: Array) -> AnyArray:
        """Rows whose alpha changes with their scores, strictly inside its bounds: (n,)."""

    @abstractmethod
    def curvature(
        self, scores: Array, y: AnyArray, alpha: Array, penalty_parameter: float
    ) -> Array:
        """Second derivative of the smoothed loss by the scores, (n, k, k)."""

    @abstractmethod
    def subgradient(self, y: AnyArray, scores: Array) -> Array:
        """Alpha without a center, one of those possible at a kink: (n, columns)."""

    @abstractmethod
    def distance_to_kink(self, y: AnyArray, scores: Array) -> Array:
        """How far a row is from a kink, (n,)."""

    @abstractmethod
    def bound(self, sums: DualSums, l2: float, intercept: bool) -> float:
        """The proven lower bound, after the least change that makes alpha feasible."""


def best_dual_scaling(gain: float, square: float) -> float:
    """The best ``s * gain - s^2 * square`` for s in [0, 1]: shrinking alpha keeps it feasible."""
    if not (np.isfinite(gain) and np.isfinite(square)):  # nothing is known, but that J is not < 0
        return 0.0
    s = 1.0 if gain >= 2.0 * square else max(gain, 0.0) / (2.0 * square)
    return s * gain - s * s * square


@dataclass(frozen=True)
class BinaryDualLoss(DualLoss):
    """Two classes: the groups are the rows of either class, +1 first."""

    loss: MarginLoss
    columns = 1
    groups = 2

    @property
    def nonsmooth(self) -> bool:
        """For the hinge."""
        return not self.loss.smooth

    @property
    def bounded(self) -> bool:
        """Whether alphas come to rest at a bound: not where slopes only tend to theirs."""
        return not isinstance(self.loss, Logistic)

    @property
    def most(self) -> float:
        """The upper bound of the alphas."""
        return np.inf if isinstance(self.loss, SquaredHinge) else 1.0

    def alpha(self, y: AnyArray, scores: Array, center: Array, penalty_parameter: float) -> Array:
        """``clip(center + penalty_parameter * (1 - m), 0, 1)`` for the hinge, else -phi'(m)."""
        m = y[:, None] * scores
        if not self.nonsmooth:
            return -self.loss.slope(m)
        return np.clip(center + penalty_parameter * (1.0 - m), 0.0, 1.0)

    def value(
        self, y: AnyArray, scores: Array, alpha: Array, center: Array, penalty_parameter: float
    ) -> Array:
        """The smoothed hinge, or the loss itself."""
        m = y * scores[:, 0]
        if not self.nonsmooth:
            return self.loss.phi(m)
        value: Array = alpha[:, 0] * (1.0 - m)
        value -= (alpha - center)[:, 0] ** 2 / (2.0 * penalty_parameter)
        return value

    def neg_slope(self, y: AnyArray, alpha: Array) -> Array:
        """Towards the row's own side."""
        neg_slope: Array = y[:, None] * alpha
        return neg_slope

    def coefficients(self, y: AnyArray, alpha: Array) -> tuple[Array, Array]:
        """Each row in the group of its class."""
        group = np.stack([y > 0.0, y < 0.0], axis=1)
        return np.where(group, alpha, 0.0), np.where(group, -self.loss.conjugate(alpha), 0.0)

    def gradient(self, sums: Array) -> Array:
        """Minus the sum of alpha * y * (x, 1)."""
        gradient: Array = sums[1:] - sums[:1]
        return gradient

    def is_free(self, alpha: Array) -> AnyArray:
        """Between the bounds of the hinge; wherever a smooth loss sums."""
        return ((alpha > 0.0) & (alpha < 1.0))[:, 0] if self.nonsmooth else alpha[:, 0] > 0.0

    def curvature(
        self, scores: Array, y: AnyArray, alpha: Array, penalty_parameter: float
    ) -> Array:
        """The penalty parameter where free, or the loss's own."""
        if self.nonsmooth:
            return np.where(self.is_free(alpha), penalty_parameter, 0.0)[:, None, None]
        curvature: Array = self.loss.curvature(y * scores[:, 0])[:, None, None]
        return curvature

    def subgradient(self, y: AnyArray, scores: Array) -> Array:
        """Minus the slope."""
        return -self.loss.slope(y[:, None] * scores)

    def distance_to_kink(self, y: AnyArray, scores: Array) -> Array:
        """From a margin of 1."""
        distance: Array = np.abs(1.0 - y * scores[:, 0])
        return distance

    def best_bias(self, y: Array, scores: Array, weight: Array | None) -> float:
        """What to add to all scores for the least sum of losses."""
        c = np.ones(len(y)) if weight is None else weight
        if self.nonsmooth:
            return _weighted_quantile_bias(y, scores, c)
        low, high, shift = -np.inf, np.inf, 0.0
        for _ in range(MOST_BIAS_STEPS):
            m = y * (scores + shift)
            slope = float((c * y) @ self.loss.slope(m))
            low, high = (low, shift) if slope > 0.0 else (shift, high)
            step = -slope / max(float(c @ self.loss.curvature(m)), 1e-300)
            if not low < shift + step < high:
                step = 0.5 * (low + high) - shift
            if not np.isfinite(step) or abs(step) <= 1e-12 * (1.0 + abs(shift)):
                break
            shift += step
        return shift

    def bound(self, sums: DualSums, l2: float, intercept: bool) -> float:
        """With a free bias the class that sums harder is shrunk until both balance.

        The conjugate is convex and 0 at 0: it shrinks at least as much as alpha does.
        """
        share = np.ones(2)
        if intercept:
            totals = sums.weighted_rows[:, -1]
            if not totals.min() > 0.0:
                return 0.0
            share = totals.min() / totals
        v = share[0] * sums.weighted_rows[0, :-1] - share[1] * sums.weighted_rows[1, :-1]
        return best_dual_scaling(float(share @ sums.neg_conjugates), float(v @ v) / (4.0 * l2))


def _weighted_quantile_bias(y: Array, scores: Array, weight: Array) -> float:
    """For the hinge: the sum turns where rows reach their kink."""
    turns = y - scores
    order = np.argsort(turns, kind="stable")
    slope = np.cumsum(weight[order]) - float(weight @ (y > 0.0))
    return float(turns[order[min(int(np.searchsorted(slope, 0.0)), len(y) - 1)]])


@dataclass(frozen=True)
class CrammerSingerDualLoss(DualLoss):
    """Crammer and Singer's: ``max_c (s_c + [c != d]) - s_d``, a largest entry.

    alpha of a row is its share in every class, on the simplex; minus the slope by a class's score
    is 1 for the true one less the share. The shares nearest to
    ``center + penalty_parameter * (s + [c != d])`` smooth the largest entry. The groups are the
    classes.
    """

    columns: int
    own: Array
    """Weighted sum of (x, 1) over the rows of each class, (k, d + 1)."""

    @property
    def groups(self) -> int:  # type: ignore[override]
        """The classes."""
        return self.columns

    def alpha(self, y: AnyArray, scores: Array, center: Array, penalty_parameter: float) -> Array:
        """Projected onto the simplex."""
        return project_to_simplex(center + penalty_parameter * self._lifted(y, scores))

    def _lifted(self, y: AnyArray, scores: Array) -> Array:
        lifted = scores + 1.0
        rows = np.arange(len(y))
        lifted[rows, y] = scores[rows, y]
        # Only differences count: those to the true class lose nothing to rounding.
        lifted -= scores[rows, y][:, None]
        return lifted

    def value(
        self, y: AnyArray, scores: Array, alpha: Array, center: Array, penalty_parameter: float
    ) -> Array:
        """The smoothed largest entry."""
        value: Array = np.sum(alpha * self._lifted(y, scores), axis=1)
        value -= np.sum((alpha - center) ** 2, axis=1) / (2.0 * penalty_parameter)
        return value

    def neg_slope(self, y: AnyArray, alpha: Array) -> Array:
        """1 for the true class less the shares."""
        neg_slope = -alpha
        rows = np.arange(len(y))
        # Not 1 - share: where the share is nearly 1 the others tell it more exactly.
        neg_slope[rows, y] = 0.0
        neg_slope[rows, y] = -neg_slope.sum(axis=1)
        return neg_slope

    def coefficients(self, y: AnyArray, alpha: Array) -> tuple[Array, Array]:
        """Minus the slopes by the scores; -phi* is what the true class lacks."""
        neg_slope = self.neg_slope(y, alpha)
        return neg_slope, np.maximum(neg_slope, 0.0)

    def gradient(self, sums: Array) -> Array:
        """Minus the sums."""
        return -sums

    def is_free(self, alpha: Array) -> AnyArray:
        """Two or more classes share."""
        shared: AnyArray = np.count_nonzero(alpha, axis=1) > 1
        return shared

    def curvature(
        self, scores: Array, y: AnyArray, alpha: Array, penalty_parameter: float
    ) -> Array:
        """Centred over the classes that share."""
        share = (alpha > 0.0).astype(np.float64)
        curvature: Array = -share[:, :, None] * share[:, None, :] / share.sum(axis=1)[:, None, None]
        np.einsum("icc->ic", curvature)[:] += share
        curvature *= penalty_parameter
        return curvature

    def subgradient(self, y: AnyArray, scores: Array) -> Array:
        """All to the largest entry."""
        share = np.zeros_like(scores)
        share[np.arange(len(y)), self._lifted(y, scores).argmax(axis=1)] = 1.0
        return share

    def distance_to_kink(self, y: AnyArray, scores: Array) -> Array:
        """Between the two largest entries."""
        two = np.partition(self._lifted(y, scores), -2, axis=1)[:, -2:]
        distance: Array = two[:, 1] - two[:, 0]
        return distance

    def bound(self, sums: DualSums, l2: float, intercept: bool) -> float:
        """With free biases all rows are mixed with one q, so that every class gets its count.

        With N the weights of the classes and r what the sums on them add up to, q is
        ``N + (1 - theta) / theta * r``; theta the least that keeps q from being negative.
        """
        v, gain = sums.weighted_rows[:, :-1], float(sums.neg_conjugates.sum())
        if intercept:
            count, rest = self.own[:, -1], sums.weighted_rows[:, -1]
            short = np.maximum(-rest, 0.0)
            theta = float(np.max(short / np.maximum(count + short, SMALLEST_NORMAL)))
            if theta > 0.0:
                # theta q + (1 - theta) shares; sums to 1 up to rounding, as count and rest do.
                mixed = np.maximum(theta * count + (1.0 - theta) * rest, 0.0)
                mixed *= theta / mixed.sum()
                v = (1.0 - theta) * v + theta * self.own[:, :-1]
                v -= mixed[:, None] * self.own[:, :-1].sum(axis=0)
                gain = (1.0 - theta) * gain + float(count @ (theta - mixed))
        return best_dual_scaling(gain, float(np.sum(v * v)) / (4.0 * l2))


def project_to_simplex(points: Array) -> Array:
    """The nearest point of the simplex to every row."""
    n, k = points.shape
    points = points - points.max(axis=1, keepdims=True)  # what counts is then in [-1, 0]
    falling = -np.sort(-points, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, k + 1)
    size = np.count_nonzero(falling > excess, axis=1)
    cut = excess[np.arange(n), size - 1]
    nearest: Array = np.maximum(points - cut[:, None], 0.0)
    return nearest


def has_dual(loss: Loss) -> bool:
    """Whether the dual of this loss is known here; by exact type, as a subclass may differ."""
    return type(loss) in (Hinge, SquaredHinge, Logistic, CrammerSinger)


def dual_loss_of(objective: Objective) -> DualLoss:
    """The dual of the objective's loss, row by row."""
    loss = objective.loss
    if isinstance(loss, MarginLoss):
        return BinaryDualLoss(loss)
    own = objective.class_sums / objective.source.weight_sum
    return CrammerSingerDualLoss(objective.shape[0], own)


def binary_dual_loss(objective: Objective) -> BinaryDualLoss:
    """Of two classes; refused for more."""
    dual_loss = dual_loss_of(objective)
    if not isinstance(dual_loss, BinaryDualLoss):
        raise TypeError(f"a problem of two classes is needed, got {objective.shape[0]}")
    return dual_loss
