"""The dual of the Crammer-Singer loss, sample by sample: shares on a simplex.

Paper: K. Crammer and Y. Singer, On the algorithmic implementation of multiclass kernel-based vector
machines, JMLR 2 (2001) 265-292.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numeric.dot import scaled_square
from ..numeric.tolerances import SMALLEST_NORMAL
from ..numeric.types import AnyArray, Array
from .dual_loss import DualLoss, DualSums, best_dual_scaling


@dataclass(frozen=True)
class CrammerSingerDualLoss(DualLoss):
    """Dual of Crammer and Singer's loss ``max_c (s_c + [c != d]) - s_d``.

    The alphas of a sample are its shares in the classes, on the simplex. The negative slope is
    minus the share, plus 1 for the true class. The loss is smoothed by the shares closest to
    ``center + penalty_parameter * (s + [c != d])``. The groups are the classes.
    """

    columns: int
    own: Array  # weighted sum of (x, 1) over the rows of each class, (k, d + 1)
    own_offset: float = 0.0  # mean of the offset in each row's class
    mean_offset: Array | float = 0.0  # mean of the offset, (k,)

    @property
    def groups(self) -> int:  # type: ignore[override]
        return self.columns

    def alpha(self, y: AnyArray, scores: Array, center: Array, penalty_parameter: float) -> Array:
        return project_to_simplex(center + penalty_parameter * self._lifted(y, scores))

    def _lifted(self, y: AnyArray, scores: Array) -> Array:
        lifted = scores + 1.0
        rows = np.arange(len(y))
        lifted[rows, y] = scores[rows, y]
        # Only differences count; subtracting the true class's score keeps small ones exact.
        lifted -= scores[rows, y][:, None]
        return lifted

    def value(
        self, y: AnyArray, scores: Array, alpha: Array, center: Array, penalty_parameter: float
    ) -> Array:
        value: Array = np.sum(alpha * self._lifted(y, scores), axis=1)
        value -= np.sum((alpha - center) ** 2, axis=1) / (2.0 * penalty_parameter)
        return value

    def neg_slope(self, y: AnyArray, alpha: Array) -> Array:
        neg_slope = -alpha
        rows = np.arange(len(y))
        # Not 1 - share: when the share is near 1, the sum of the others is more accurate.
        neg_slope[rows, y] = 0.0
        neg_slope[rows, y] = -neg_slope.sum(axis=1)
        return neg_slope

    def coefficients(self, y: AnyArray, alpha: Array) -> tuple[Array, Array]:
        """Minus the slopes with respect to the scores; -phi* is 1 minus the true class's share."""
        neg_slope = self.neg_slope(y, alpha)
        return neg_slope, np.maximum(neg_slope, 0.0)

    def of_offset(self, y: AnyArray, coefficients: Array, offset: Array) -> Array:
        return coefficients * offset

    def gradient(self, sums: Array) -> Array:
        return -sums

    def is_free(self, alpha: Array) -> AnyArray:
        """Whether two or more classes have a positive share."""
        shared: AnyArray = np.count_nonzero(alpha, axis=1) > 1
        return shared

    def curvature(
        self, scores: Array, y: AnyArray, alpha: Array, penalty_parameter: float
    ) -> Array:
        """Centred over the classes with a positive share."""
        share = (alpha > 0.0).astype(np.float64)
        curvature: Array = -share[:, :, None] * share[:, None, :] / share.sum(axis=1)[:, None, None]
        np.einsum("icc->ic", curvature)[:] += share
        curvature *= penalty_parameter
        return curvature

    def subgradient(self, y: AnyArray, scores: Array) -> Array:
        """A share of 1 for the largest entry."""
        share = np.zeros_like(scores)
        share[np.arange(len(y)), self._lifted(y, scores).argmax(axis=1)] = 1.0
        return share

    def distance_to_kink(self, y: AnyArray, scores: Array) -> Array:
        two = np.partition(self._lifted(y, scores), -2, axis=1)[:, -2:]
        distance: Array = two[:, 1] - two[:, 0]
        return distance

    def bound(self, sums: DualSums, l2: float, intercept: bool) -> float:
        """With free biases, mix all samples with one q so that the class counts balance.

        With N the class weights and r the class sums of the alphas, q is
        ``N + (1 - theta) / theta * r``, for the smallest theta at which q is not negative.
        """
        v, gain = sums.weighted_rows[:, :-1], float(sums.neg_conjugates.sum())
        if intercept:
            count, rest = self.own[:, -1], sums.weighted_rows[:, -1]
            short = np.maximum(-rest, 0.0)
            theta = float(np.max(short / np.maximum(count + short, SMALLEST_NORMAL)))
            if theta > 0.0:
                # theta q + (1 - theta) shares; sums to 1 up to rounding, because count and rest do.
                mixed = np.maximum(theta * count + (1.0 - theta) * rest, 0.0)
                mixed *= theta / mixed.sum()
                v = (1.0 - theta) * v + theta * self.own[:, :-1]
                v -= mixed[:, None] * self.own[:, :-1].sum(axis=0)
                gain = (1.0 - theta) * gain + float(count @ (theta - mixed))
                gain -= theta * self.own_offset - float(np.sum(mixed * self.mean_offset))
        return best_dual_scaling(gain, scaled_square(v, over=4.0 * l2))


def project_to_simplex(points: Array) -> Array:
    n, k = points.shape
    points = points - points.max(axis=1, keepdims=True)  # the relevant values are now in [-1, 0]
    falling = -np.sort(-points, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, k + 1)
    size = np.count_nonzero(falling > excess, axis=1)
    cut = excess[np.arange(n), size - 1]
    nearest: Array = np.maximum(points - cut[:, None], 0.0)
    return nearest
