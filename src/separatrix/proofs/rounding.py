"""Rounding errors of J, and J to twelve digits.

A score ``w.x + b`` has a rounding error relative to its terms, even if they cancel: with features
near 1e6 and a bias that offsets them, scores near 1 are accurate to 1e-10. The effect on J is
bounded from the weights and the root mean square of every feature, without a read. If it is too
large, J is computed again from scores in twice the working precision. Their error is 1e-31
relative to the terms of every feature: J has fewer than twelve digits if the margins are that
close to a perfect fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ..data import Block, Sum
from ..losses import Loss
from ..numeric.dot import dot, pair_difference
from ..numeric.tolerances import EPS, LARGEST_FLOAT, SMALLEST_FLOAT, SMALLEST_NORMAL
from ..numeric.types import AnyArray, Array
from ..objective.objective import Objective
from ..rows import HOST, DenseRows, space_of

ROUNDINGS = 10  # of a sum of non-negative terms over rows, in units of ``Source.rounding``
SUMS = ROUNDINGS * EPS  # relative error of such a sum in double precision
DRIFT = 10.0  # roundings of a bound per visit, at most
EXACT = 5e-13  # of J: uncertainty above which it is computed again


def size_of_scores(objective: Objective, W: Array) -> float:
    """Size of |w| . |x| + |b|, the terms of the scores as they are summed, for the largest class.

    For losses that are sums over the classes, the norm over the classes.
    """
    try:
        size = objective.feature_sizes
    except ValueError:  # squares overflow: nothing is known
        if W[:, :-1].any():
            return np.inf
        return float((np.abs(W[:, -1]) + objective.offset_size).max())
    space = space_of(W, objective.source.vectors)
    if space is HOST:
        # Without BLAS, whose threads cost more than the products for a few classes.
        sizes = np.array([dot(np.abs(w[:-1]), size) + abs(w[-1]) for w in W])
    else:
        sizes = space.to_host(np.abs(W[:, :-1]) @ space.kept(size) + np.abs(W[:, -1]))
    sizes = sizes + objective.offset_size
    joint = by_differences(objective.loss)
    return float(2.0 * sizes.max() if joint else np.hypot.reduce(sizes))


def by_differences(loss: Loss) -> bool:
    """Whether the loss changes with the largest difference of scores, not with each score."""
    return loss.shifts and loss.has_conjugate


def sum_rounding(objective: Objective) -> float:
    """Relative error of a sum over the rows of non-negative terms."""
    return ROUNDINGS * objective.source.rounding


def rounding(objective: Objective, W: Array, value: float, little: float = 0.0) -> float:
    """Bound on the rounding error of J at W.

    If ``little`` is given, errors below it need not be known better.
    """
    # Of the products and sums in J. In units of this and of the size of the scores, errors of J
    # stayed below 0.2 in all trials with the compiled loops, for 1 to 5,000 features.
    unit = objective.source.rounding * objective.loss.steepness(value)
    least = np.inf
    square = objective.known_mean_square
    if square is not None and math.isfinite(square):
        # Cauchy-Schwarz: a rougher bound than from the moments, which take a read.
        joint = by_differences(objective.loss)
        square = _with_cancelling(objective, square)
        own = space_of(W, objective.source.vectors).to_host(W[:, -1])
        biases = np.abs(own) + objective.offset_size
        size = math.sqrt(dot(W, W) * square) + float(np.hypot.reduce(biases))
        least = unit * (2.0 * size if joint else size)
    if not least <= max(EXACT * abs(value), little):
        least = unit * size_of_scores(objective, W)
    return least + sum_rounding(objective) * abs(value)


def rounding_apart(objective: Objective, value: float, above: float) -> float:
    """Rounding error if weights are as far apart as the penalty allows for this difference of J."""
    penalty, least = objective.penalty, objective.penalty.l2
    if not least:
        return 0.0
    if penalty.weights is not None:
        factors = penalty.feature_weights
        least *= float(np.min(factors, where=factors > 0.0, initial=1.0))
    known = objective.known_mean_square
    square = objective.mean_square if known is None else known
    size = math.sqrt(_with_cancelling(objective, square))
    distance = math.sqrt(above / max(least, SMALLEST_NORMAL))
    return float(objective.source.rounding * objective.loss.steepness(value) * size * distance)


def _with_cancelling(objective: Objective, square: float) -> float:
    """The mean of ``(|x| + |added|)^2``, at most, given that of ``|x|^2``."""
    added = objective.source.cancelling
    if not isinstance(added, np.ndarray):
        return square
    return float(np.sqrt(square) + np.hypot.reduce(added)) ** 2


def underflow(objective: Objective, W: Array) -> float:
    """Error of a bound from exact sums at W because of underflow.

    The slopes of rows, and the imbalance of the biases, are multiplied by the scores.
    """
    size = size_of_scores(objective, W)
    if not np.isfinite(size):  # squares of the features overflow, but not the features
        size = LARGEST_FLOAT * min(float(np.abs(W).sum()), 1.0)
    return (SMALLEST_NORMAL + lost_loss(objective)) * (1.0 + size)


def lost_loss(objective: Objective) -> float:
    """Loss that may be missing from the mean because small losses underflow."""
    return SMALLEST_FLOAT * max(1.0, objective.source.n_rows / objective.source.weight_sum)


def drift_of_bound(visits: float) -> float:
    """Rounding error of a bound if updates of single rows changed the weights, not a sum of alphas.

    Each update rounds the weights once, relative to their length, and the added terms a few times.
    l2 |w|^2 <= J(0) <= 1, because the dual is not negative; and each step gains l2 times the square
    of what it adds, so these squares sum to at most 1: the first error dominates.
    """
    return DRIFT * EPS * visits


@dataclass(frozen=True)
class ExactMistakes(Sum[tuple[float]]):
    """Weighted mistakes from scores in twice the working precision."""

    loss: Loss
    W: Array
    low: Array | None = None  # low part of W, for weights in twice the working precision

    def of(self, block: Block) -> tuple[float]:
        if (sums := _exact_sums(block, self.loss, self.W, self.low)) is not None:
            return (sums[1],)
        high, _ = _exact_scores(block, self.W, self.low)
        return (_weighted(block, self.loss.mistakes(block.y, high)),)


@dataclass(frozen=True)
class ExactValue(Sum[tuple[float]]):
    """Weighted losses from scores in twice the working precision."""

    loss: Loss
    W: Array
    low: Array | None = None  # low part of W, for weights in twice the working precision

    def of(self, block: Block) -> tuple[float]:
        if (sums := _exact_sums(block, self.loss, self.W, self.low)) is not None:
            return (sums[0],)
        high, low = _exact_scores(block, self.W, self.low)
        return (_weighted(block, loss_of_pairs(self.loss, block.y, high, low)),)


def _exact_sums(
    block: Block, loss: Loss, W: Array, low: Array | None
) -> tuple[float, float] | None:
    """Losses and mistakes where a device sums them itself; else None."""
    if low is not None:
        return None
    return block.rows.exact_sums(block.y, loss, partial(loss_of_pairs, loss), W, block.weight)


def _exact_scores(block: Block, W: Array, W_low: Array | None = None) -> tuple[Array, Array]:
    high, low = block.rows.compensated_scores(W)
    if W_low is not None:
        high, low = pair_difference(
            high, low, -block.rows.without_offset.scores(W_low), np.zeros(1)
        )
    if block.weight is not None:  # ignore the row, even if its score overflows
        high[block.weight == 0.0] = low[block.weight == 0.0] = 0.0
    finite = np.isfinite(high) & np.isfinite(low)
    if not finite.all():  # overflowed values have no low part
        high = np.where(finite, high, block.rows.scores(W))
        low = np.where(finite, low, 0.0)
    return high, low


def _weighted(block: Block, values: Array) -> float:
    return float(values.sum() if block.weight is None else block.weight @ values)


class Tangents(NamedTuple):
    """J at some weights, and the exact tangents of the rows' losses there."""

    value: float
    gradient: Array  # gradient of J if the tangents had its slopes
    conjugate: float  # mean of phi*(-alpha)


@dataclass
class Pair:
    """A sum in twice the working precision, in two parts."""

    high: Array
    low: Array

    def __add__(self, other: Pair) -> Pair:
        high, low = pair_difference(self.high, self.low, -other.high, -other.low)
        return Pair(high, low)


@dataclass(frozen=True)
class ExactTangents(Sum[tuple[float, float, Pair]]):
    """Weighted losses, conjugates of the tangents' slopes, and the tangents' gradient.

    The conjugates are those of the losses as functions of ``w.x + b``: an offset is part of them.

    For margin losses, with one column or one for each class.
    """

    loss: Loss
    W: Array
    alpha: Array | None = None
    """Minus the slope of every row of the source (n, 1); None: the slopes at W."""
    low: Array | None = None  # low part of W, for weights in twice the working precision

    def of(self, block: Block) -> tuple[float, float, Pair]:
        loss = self.loss
        high, low = _exact_scores(block, self.W, self.low)
        sign, binary = loss.signs(block.y, high), loss.column_loss
        assert binary is not None
        a = -binary.slope(sign * high) if self.alpha is None else self.alpha[block.at]
        conjugates, weight = binary.conjugate(a), block.weights[:, None]
        if loss.weighs_columns:
            each = loss.column_weights(block.y)
            conjugates, weight = each * conjugates, each * weight
        slopes = -weight * a * sign
        sums = Pair(*block.rows.compensated_transpose_product(slopes))
        total = _weighted(block, conjugates.sum(axis=1))
        if (offset := block.rows.offset) is not None:
            total -= _exact_dot(slopes, offset)
        losses = loss_of_pairs(loss, block.y, high, low)
        return _weighted(block, losses), total, sums


def _exact_dot(slopes: Array, offset: Array) -> float:
    """The sum of their products to twice the working precision."""
    of_columns = DenseRows(np.ascontiguousarray(offset)).compensated_transpose_product
    high, low = of_columns(np.ascontiguousarray(slopes))
    return float(np.trace(high) + np.trace(low))


def loss_of_pairs(loss: Loss, y: AnyArray, high: Array, low: Array) -> Array:
    """Losses at the scores high + low, where high is the nearest double."""
    if loss.shifts:
        # Only differences matter, and these may be small when the scores are large.
        own = np.arange(len(y)), y
        with np.errstate(invalid="ignore"):  # the difference of two infinite scores is NaN
            high, low = pair_difference(high, low, high[own][:, None], low[own][:, None])
    # Kinks and jumps of the curvature are at 0 or 1: there the low part decides the side.
    there = (low != 0.0) & ((high == 0.0) | (np.abs(high) == 1.0))
    side = np.where(there, np.nextafter(high, np.copysign(np.inf, low)), high)
    slope = loss.gradient(y, high if loss.smooth else side)
    losses: Array = loss.value(y, high) + np.sum(slope * low, axis=1)
    binary = loss.column_loss
    if binary is not None and binary.has_curvature:  # the loss of a near-perfect fit
        sign = loss.signs(y, high)
        curvature = loss.column_weights(y) * binary.curvature(sign * side)
        losses += np.sum(0.5 * curvature * low * low, axis=1)
    return np.maximum(losses, 0.0)
