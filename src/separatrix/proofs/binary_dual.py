"""The duals of margin losses, sample by sample, and which losses have one (see ``dual_loss``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..losses import CrammerSinger, Hinge, Logistic, Loss, MarginLoss, SquaredHinge
from ..numeric.dot import scaled_square
from ..numeric.types import AnyArray, Array
from ..objective import Objective
from .crammer_singer import CrammerSingerDualLoss
from .dual_loss import DualLoss, DualSums, best_dual_scaling

MOST_BIAS_STEPS = 50  # Newton steps for the best bias of given scores


@dataclass(frozen=True)
class BinaryDualLoss(DualLoss):
    """Dual for two classes; the groups are the two classes, +1 first."""

    loss: MarginLoss
    columns = 1
    groups = 2

    @property
    def nonsmooth(self) -> bool:
        return not self.loss.smooth

    @property
    def bounded(self) -> bool:
        """Whether alphas reach a bound; False if slopes only approach it."""
        return self.loss.attained

    @property
    def most(self) -> float:
        """The upper bound of the alphas."""
        return np.inf if self.loss.dual_range is None else self.loss.dual_range[1]

    def alpha(self, y: AnyArray, scores: Array, center: Array, penalty_parameter: float) -> Array:
        """``clip(center + penalty_parameter * (1 - m), 0, 1)`` for the hinge, else -phi'(m)."""
        m = y[:, None] * scores
        if not self.nonsmooth:
            return -self.loss.slope(m)
        return np.clip(center + penalty_parameter * (1.0 - m), 0.0, 1.0)

    def value(
        self, y: AnyArray, scores: Array, alpha: Array, center: Array, penalty_parameter: float
    ) -> Array:
        m = y * scores[:, 0]
        if not self.nonsmooth:
            return self.loss.phi(m)
        value: Array = alpha[:, 0] * (1.0 - m)
        value -= (alpha - center)[:, 0] ** 2 / (2.0 * penalty_parameter)
        return value

    def neg_slope(self, y: AnyArray, alpha: Array) -> Array:
        neg_slope: Array = y[:, None] * alpha
        return neg_slope

    def coefficients(self, y: AnyArray, alpha: Array) -> tuple[Array, Array]:
        group = np.stack([y > 0.0, y < 0.0], axis=1)
        return np.where(group, alpha, 0.0), np.where(group, -self.loss.conjugate(alpha), 0.0)

    def of_offset(self, y: AnyArray, coefficients: Array, offset: Array) -> Array:
        return coefficients * (y[:, None] * offset)

    def gradient(self, sums: Array) -> Array:
        """Minus the sum of alpha * y * (x, 1)."""
        gradient: Array = sums[1:] - sums[:1]
        return gradient

    def is_free(self, alpha: Array) -> AnyArray:
        """Strictly between the bounds for the hinge; positive for a smooth loss."""
        free: AnyArray = alpha[:, 0] > 0.0
        if self.nonsmooth:
            free &= alpha[:, 0] < 1.0  # in place, to avoid an array as long as the data
        return free

    def curvature(
        self, scores: Array, y: AnyArray, alpha: Array, penalty_parameter: float
    ) -> Array:
        if self.nonsmooth:
            return np.where(self.is_free(alpha), penalty_parameter, 0.0)[:, None, None]
        curvature: Array = self.loss.curvature(y * scores[:, 0])[:, None, None]
        return curvature

    def subgradient(self, y: AnyArray, scores: Array) -> Array:
        """Minus the slope."""
        return -self.loss.slope(y[:, None] * scores)

    def distance_to_kink(self, y: AnyArray, scores: Array) -> Array:
        distance: Array = np.abs(1.0 - y * scores[:, 0])
        return distance

    def best_bias(self, y: Array, scores: Array, weight: Array | None) -> float:
        """The shift of all scores with the smallest sum of losses."""
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
        """With a free bias, alphas of the class with the larger sum are shrunk to balance both.

        The conjugate is convex and 0 at 0, so it shrinks at least as much as alpha. So is that with
        an offset, to which a multiple of alpha is added.
        """
        share = np.ones(2)
        if intercept:
            totals = sums.weighted_rows[:, -1]
            if not totals.min() > 0.0:
                return 0.0
            share = totals.min() / totals
        v = share[0] * sums.weighted_rows[0, :-1] - share[1] * sums.weighted_rows[1, :-1]
        square = scaled_square(v, over=4.0 * l2)
        return best_dual_scaling(float(share @ sums.neg_conjugates), square)


def _weighted_quantile_bias(y: Array, scores: Array, weight: Array) -> float:
    """For the hinge: a weighted quantile, as the slope changes where samples reach their kink."""
    turns = y - scores
    order = np.argsort(turns, kind="stable")
    slope = np.cumsum(weight[order]) - float(weight @ (y > 0.0))
    return float(turns[order[min(int(np.searchsorted(slope, 0.0)), len(y) - 1)]])


def has_dual(loss: Loss) -> bool:
    """Whether the dual of this loss can be maximised by coordinate ascent."""
    # By exact class: the compiled loops climb these duals, and a subclass may differ.
    return type(loss) in (Hinge, SquaredHinge, Logistic, CrammerSinger)


def dual_loss_of(objective: Objective) -> DualLoss:
    loss = objective.loss
    if loss.column_loss is not None:
        return BinaryDualLoss(loss.column_loss)
    C = objective.source.weight_sum
    own, total, _ = objective.offset_sums
    return CrammerSingerDualLoss(
        objective.shape[0], objective.class_sums / C, float(own.sum()) / C, total / C
    )


def binary_dual_loss(objective: Objective) -> BinaryDualLoss:
    """The dual of a two-class problem; raises TypeError for more classes."""
    dual_loss = dual_loss_of(objective)
    if not isinstance(dual_loss, BinaryDualLoss):
        raise TypeError(f"a problem of two classes is needed, got {objective.shape[0]}")
    return dual_loss
