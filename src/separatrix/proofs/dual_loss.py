"""The dual of J, row by row: dual variables, their conjugates, and the lower bound they give.

Every convex loss is the upper envelope of its tangents. One tangent per row, selected by the
row's ``alpha``, gives a function below J with a known minimum: that is the bound. For two classes,
with p the weights of the rows over their sum,

    D(alpha) = -sum_i p_i phi*(-alpha_i) - |sum_i p_i alpha_i y_i x_i|^2 / (4 l2)

and with a free bias, ``sum_i p_i alpha_i y_i = 0``.

At a kink the scores do not determine alpha. Then alpha is taken near a center: the value that
maximises ``alpha * (1 - m) - (alpha - center)^2 / (2 penalty_parameter)``. This smooths the kink,
shifted by the center, over a width of 1 / penalty_parameter (the Moreau envelope).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from ..data import Block
from ..numeric.types import AnyArray, Array


class DualSums(NamedTuple):
    """Weighted sums over rows that determine the bound."""

    weighted_rows: Array  # sums of alpha * (x, 1), one row per group
    neg_conjugates: Array  # sums of -phi*(-alpha), one per group

    def plus(self, other: DualSums) -> DualSums:
        return DualSums(
            self.weighted_rows + other.weighted_rows, self.neg_conjugates + other.neg_conjugates
        )


class DualLoss(ABC):
    """Dual operations of a loss. Arrays of alpha have one row per sample."""

    columns: int  # number of alphas per sample
    groups: int  # number of groups over which samples are summed

    @property
    def nonsmooth(self) -> bool:
        """Whether the center matters; a smooth loss has one alpha for each score."""
        return True

    @abstractmethod
    def alpha(self, y: AnyArray, scores: Array, center: Array, penalty_parameter: float) -> Array:
        """Dual variables of every row near the center, (n, columns)."""

    @abstractmethod
    def value(
        self, y: AnyArray, scores: Array, alpha: Array, center: Array, penalty_parameter: float
    ) -> Array:
        """The smoothed loss, with slope alpha, (n,)."""

    @abstractmethod
    def neg_slope(self, y: AnyArray, alpha: Array) -> Array:
        """Minus the slope of the smoothed loss with respect to the scores, (n, k)."""

    @abstractmethod
    def coefficients(self, y: AnyArray, alpha: Array) -> tuple[Array, Array]:
        """Factors of each row in the sums, and each row's -phi*(-alpha): (n, groups)."""

    @abstractmethod
    def of_offset(self, y: AnyArray, coefficients: Array, offset: Array) -> Array:
        """What an offset of the scores (n, k) adds to each row's ``phi*(-alpha)``: (n, groups).

        The loss of ``s + o`` has the conjugate ``phi*(-alpha) + alpha * o``, with the sign of y.
        """

    def tangents(self, block: Block, alpha: Array) -> tuple[Array, Array]:
        """``coefficients`` of the rows of a block, whose offset is part of the conjugates."""
        found, neg_conjugates = self.coefficients(block.y, alpha)
        if (offset := block.rows.offset) is not None:
            neg_conjugates = neg_conjugates - self.of_offset(block.y, found, offset)
        return found, neg_conjugates

    @abstractmethod
    def gradient(self, sums: Array) -> Array:
        """Derivative of the smoothed loss with respect to the weights (k, d + 1), from the sums."""

    @abstractmethod
    def is_free(self, alpha: Array) -> AnyArray:
        """Rows whose alpha is strictly inside its bounds and changes with the scores: (n,)."""

    @abstractmethod
    def curvature(
        self, scores: Array, y: AnyArray, alpha: Array, penalty_parameter: float
    ) -> Array:
        """Second derivative of the smoothed loss with respect to the scores, (n, k, k)."""

    @abstractmethod
    def subgradient(self, y: AnyArray, scores: Array) -> Array:
        """Alpha without a center, any valid one at a kink: (n, columns)."""

    @abstractmethod
    def distance_to_kink(self, y: AnyArray, scores: Array) -> Array:
        """Distance of each row from a kink, (n,)."""

    @abstractmethod
    def bound(self, sums: DualSums, l2: float, intercept: bool) -> float:
        """The lower bound after the smallest change that makes alpha feasible."""


def best_share(half: float, whole: float, square: float) -> float:
    """The share s in [0, 1] of the alphas that about maximises ``gain(s) - s^2 * square``.

    The gain is 0 at 0 and given for s = 1/2 and 1. It is interpolated by a parabola, which is
    exact for the hinge and the squared hinge.
    """
    slope, bend = 4.0 * half - whole, 2.0 * whole - 4.0 * half
    curvature = 2.0 * (square - bend)
    return min(1.0, max(0.0, slope / curvature)) if curvature > 0.0 else 1.0


def best_dual_scaling(gain: float, square: float) -> float:
    """The maximum of ``s * gain - s^2 * square`` for s in [0, 1]; shrunk alphas stay feasible."""
    if not (np.isfinite(gain) and np.isfinite(square)):  # nothing is known, except J >= 0
        return 0.0
    if gain <= 0.0:
        return 0.0
    s = 1.0 if gain >= 2.0 * square else gain / (2.0 * square)
    return s * gain - s * s * square
