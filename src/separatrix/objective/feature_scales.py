"""Means and standard deviations of features, for standardising before a fit, at any scale.

Problem: the weighted mean and standard deviation of every feature, accurate even if squares
overflow or underflow, or if a feature varies little compared with its distance from 0. Input: a
source. Output: a :class:`Standardization` whose scale is 1 for constant features. Algorithm: one
read of sums about a typical row, unless the source knows them. Features for which these are not
accurate are read once more, about the mean just found and in a unit of their own size.

Chan, Golub and LeVeque, Algorithms for computing the sample variance, 1983.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Block, Source, Sum
from ..numeric.standardization import Standardization
from ..numeric.tolerances import VANISHING
from ..numeric.types import Array, Ints
from .known import ClassSums
from .moments import Moments

CANCELLED = 1e-6  # variance / mean square: below, ten digits of the variance are uncertain
SAME = 8 * np.finfo(np.float64).eps  # deviation / mean: up to this, it is rounding
UNIT = 2.0**600  # scales the largest and the smallest numbers so that squares are finite
LEAST_DEVIATION = 1e-270  # smallest deviation that a weight may be divided by
DENSE_VALUES = 1 << 17  # values of the uncertain features in memory at a time


def feature_standardization(source: Source, centre: bool) -> Standardization:
    """Scale features to deviation 1; with ``centre``, centre dense ones. The bias is unchanged.

    Constant features keep their scale.
    """
    mean, deviation = feature_moments(source)
    if np.any((deviation > 0.0) & (deviation < LEAST_DEVIATION)):
        at = int(np.argmin(np.where(deviation > 0.0, deviation, np.inf)))
        raise ValueError(
            f"feature {at} varies by only {deviation[at]:.3g}: its weight would overflow floating "
            "point; use another unit, e.g. multiply it by 1e100"
        )
    if not centre or source.storage == "csr":  # the bias absorbs the mean: the same minimum
        mean = np.zeros_like(mean)
    return Standardization(mean, np.append(np.where(deviation > 0.0, deviation, 1.0), 1.0))


def feature_moments(source: Source) -> Moments:
    """Weighted mean and deviation of every feature; the deviation is 0 only if it is constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        shift, sums, _, squares, total = ClassSums.of(source)
        away = total / source.weight_sum
        square = squares / source.weight_sum
        mean, variance = shift + away, square - away**2
        deviation = np.sqrt(np.maximum(variance, 0.0))
    tiny = (square < VANISHING**2) & (np.any(sums != 0.0, axis=0) | (total != 0.0))
    varies = np.sqrt(square) > SAME * np.abs(mean)
    doubt = ~np.isfinite(square) | tiny | (varies & ~(variance > CANCELLED * square))
    if doubt.any():
        at = np.flatnonzero(doubt)
        unit = np.where(tiny, 1.0 / UNIT, np.where(np.isfinite(square), 1.0, UNIT))[at]
        near = np.where(np.isfinite(mean), mean, shift)[at]
        mean[at], deviation[at] = _moments_about(source, at, near, unit)
    return Moments(mean, np.where(deviation > SAME * np.abs(mean), deviation, 0.0))


def _moments_about(source: Source, at: Ints, near: Array, unit: Array) -> Moments:
    """Moments of some features, from sums about ``near``, in units of their own."""
    sums, squares = source.total(FewMomentSums(at, near, unit))
    away = sums / source.weight_sum
    variance = np.maximum(squares / source.weight_sum - away**2, 0.0)
    return Moments(near + unit * away, unit * np.sqrt(variance))


@dataclass(frozen=True)
class FewMomentSums(Sum[tuple[Array, Array]]):
    """Sums of (x - near) / unit, and of its squares, for some features."""

    at: Ints
    near: Array
    unit: Array

    def of(self, block: Block) -> tuple[Array, Array]:
        """A few rows at a time, without rows of weight 0."""
        sums, squares = np.zeros(len(self.at)), np.zeros(len(self.at))
        size = max(1, DENSE_VALUES // len(self.at))
        for start in range(0, len(block.y), size):
            part = block.part(start, min(start + size, len(block.y)))
            there = part.weights != 0.0
            c, x = part.weights[there], part.rows.features_as_dense(self.at)[there]
            z = x / self.unit - self.near / self.unit
            sums += c @ z
            squares += c @ (z * z)
        return sums, squares
