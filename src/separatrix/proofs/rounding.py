"""How exactly J is known at some weights, and J there to twelve digits.

A score ``w.x + b`` is rounded in units of what it is summed from, however little is left of that:
with features near 1e6 and a bias that takes them back, scores near 1 are known to 1e-10. What
that does to J is bounded from the weights and the root mean square of every feature, without a
read. Where it is too much, J is summed again from scores of twice the working precision. These
are rounded, too, in units of 1e-31 of what they are summed from for every feature: J is known to
fewer than twelve digits where the distance of the margins from a perfect fit is that small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data import Block, Sum
from ..losses import Loss
from ..numeric.dot import dot
from ..numeric.tolerances import EPS, LARGEST_FLOAT, SMALLEST_FLOAT, SMALLEST_NORMAL
from ..numeric.types import AnyArray, Array
from ..objective.objective import Objective

ROUNDINGS = 10  # of a sum over rows of what is not negative, in units of ``Source.rounding``
SUMS = ROUNDINGS * EPS  # of such a sum in double precision, relative
DRIFT = 10.0  # roundings of a bound by one visit, at most
EXACT = 5e-13  # of J: what may be unsure of it before it is summed again


def size_of_scores(objective: Objective, W: Array) -> float:
    """What scores are summed from, |w| . |x| + |b| in the mean square, by the largest class.

    In the norm over the classes where a loss is the sum of one for each.
    """
    try:
        size = objective.feature_sizes
    except ValueError:  # squares overflow: nothing is known
        return np.inf if W[:, :-1].any() else float(np.abs(W[:, -1]).max())
    # Not by BLAS, whose threads cost more than the products of a few classes' weights.
    if objective.source.far_off is not None:  # taken away by the bias once more
        size = size + 2.0 * objective.source.far_off
    sizes = np.array([dot(np.abs(w[:-1]), size) + abs(w[-1]) for w in W])
    joint = by_differences(objective.loss)
    return float(2.0 * sizes.max() if joint else np.hypot.reduce(sizes))


def by_differences(loss: Loss) -> bool:
    """Whether rounding changes a loss by the largest difference of scores, not by each of them."""
    return loss.shifts and loss.has_conjugate


def sum_rounding(objective: Objective) -> float:
    """Relative error of a sum over the rows of what is not negative."""
    return ROUNDINGS * objective.source.rounding


def rounding(objective: Objective, W: Array, value: float, little: float = 0.0) -> float:
    """How far J at W may be from the value that was summed for it.

    What is said to be little need not be known better.
    """
    # Of the products and sums that J is made of. In units of this, and of the size of the scores,
    # errors of J stayed below 0.2 in all trials with the compiled loops, for 1 to 5,000 features.
    unit = objective.source.rounding * objective.loss.steepness(value)
    least = np.inf
    square = objective.known_mean_square
    if square is not None and np.isfinite(square):
        # By Cauchy and Schwarz: more than what the moments say, which take a read.
        joint = by_differences(objective.loss)
        size = float(np.sqrt(dot(W, W) * square)) + float(np.hypot.reduce(W[:, -1]))
        least = unit * (2.0 * size if joint else size)
    if not least <= max(EXACT * abs(value), little):
        least = unit * size_of_scores(objective, W)
    return least + sum_rounding(objective) * abs(value)


def rounding_apart(objective: Objective, value: float, above: float) -> float:
    """What rounding adds where weights are as far apart as the penalty allows for so much of J."""
    penalty, least = objective.penalty, objective.penalty.l2
    if not least:
        return 0.0
    factors = penalty.feature_weights
    least *= float(np.min(factors, where=factors > 0.0, initial=1.0))
    known = objective.known_mean_square
    size = np.sqrt(objective.mean_square if known is None else known)
    if objective.source.far_off is not None:
        size += 2.0 * np.hypot.reduce(objective.source.far_off)
    distance = np.sqrt(above / max(least, SMALLEST_NORMAL))
    return float(objective.source.rounding * objective.loss.steepness(value) * size * distance)


def underflow(objective: Objective, W: Array) -> float:
    """How far a bound from exact sums at W may be too high: numbers near 0 have few digits.

    Slopes of rows, and what they lack in balance for the biases, count times the scores.
    """
    size = size_of_scores(objective, W)
    if not np.isfinite(size):  # squares of the features overflow, but not the features
        size = LARGEST_FLOAT * min(float(np.abs(W).sum()), 1.0)
    return (SMALLEST_NORMAL + lost_loss(objective)) * (1.0 + size)


def lost_loss(objective: Objective) -> float:
    """What may be missing of a mean loss because those of the rows are rounded near 0."""
    return SMALLEST_FLOAT * max(1.0, objective.source.n_rows / objective.source.weight_sum)


def drift_of_bound(visits: float) -> float:
    """How much too high a bound may be where visits of rows moved the weights, not a sum of alphas.

    A visit rounds the weights once, by their length at most, and what it adds to them a few times.
    l2 |w|^2 <= J(0) <= 1, as the dual is not below 0; and each step climbs by l2 times the square
    of what it adds, so all squares together are no more than 1: the first is nearly all there is.
    """
    return DRIFT * EPS * visits


@dataclass(frozen=True)
class ExactValue(Sum[tuple[float, float]]):
    """Weighted losses and mistakes, from scores of twice the working precision."""

    loss: Loss
    W: Array
    low: Array | None = None
    """What W lacks, for weights of twice the working precision."""

    def of(self, block: Block) -> tuple[float, float]:
        """In one read of the rows."""
        high, low = _exact_scores(block, self.W, self.low)
        losses = loss_of_pairs(self.loss, block.y, high, low)
        return _weighted(block, losses), _weighted(block, self.loss.mistakes(block.y, high))


def _exact_scores(block: Block, W: Array, W_low: Array | None = None) -> tuple[Array, Array]:
    high, low = block.rows.compensated_scores(W)
    if W_low is not None:
        high, low = _difference(high, low, -block.rows.scores(W_low), np.zeros(1))
    if block.weight is not None:  # as if absent, even where its score overflows
        high[block.weight == 0.0] = low[block.weight == 0.0] = 0.0
    finite = np.isfinite(high) & np.isfinite(low)
    if not finite.all():  # what overflows has no low part
        high = np.where(finite, high, block.rows.scores(W))
        low = np.where(finite, low, 0.0)
    return high, low


def _weighted(block: Block, values: Array) -> float:
    return float(values.sum() if block.weight is None else block.weight @ values)


class Tangents(NamedTuple):
    """J at some weights, and the tangents of the rows' losses there, exactly."""

    value: float
    gradient: Array
    """Of J, if the tangents had its slopes."""
    conjugate: float
    """Mean of phi*(-alpha)."""


@dataclass
class Pair:
    """A sum to twice the working precision, in two parts."""

    high: Array
    low: Array

    def __add__(self, other: Pair) -> Pair:
        high, low = _difference(self.high, self.low, -other.high, -other.low)
        return Pair(high, low)


@dataclass(frozen=True)
class ExactTangents(Sum[tuple[float, float, Pair]]):
    """Weighted losses, conjugates of the tangents' slopes, and the tangents' gradient.

    For losses of one margin, or one for each class.
    """

    loss: Loss
    W: Array
    alpha: Array | None = None
    """Of every row of the source, less its slope (n, 1); None: those of the loss at W."""
    low: Array | None = None
    """What W lacks, for weights of twice the working precision."""

    def of(self, block: Block) -> tuple[float, float, Pair]:
        """In two reads of the rows."""
        loss = self.loss
        high, low = _exact_scores(block, self.W, self.low)
        sign, binary = loss.signs(block.y, high), loss.column_loss
        assert binary is not None
        a = -binary.slope(sign * high) if self.alpha is None else self.alpha[block.at]
        sums = Pair(*block.rows.compensated_transpose_product(-block.weights[:, None] * a * sign))
        conjugates = binary.conjugate(a).sum(axis=1)
        losses = loss_of_pairs(loss, block.y, high, low)
        return _weighted(block, losses), _weighted(block, conjugates), sums


def loss_of_pairs(loss: Loss, y: AnyArray, high: Array, low: Array) -> Array:
    """Losses at the scores high + low, of which high is the nearest double."""
    if loss.shifts:
        # Only differences count, and those may be small where scores are large.
        own = np.arange(len(y)), y
        with np.errstate(invalid="ignore"):  # two infinite scores: what comes of it is not finite
            high, low = _difference(high, low, high[own][:, None], low[own][:, None])
    # Kinks, and jumps of the curvature, are at 0 or 1: just there the low part tells the side.
    there = (low != 0.0) & ((high == 0.0) | (np.abs(high) == 1.0))
    side = np.where(there, np.nextafter(high, np.copysign(np.inf, low)), high)
    slope = loss.gradient(y, high if loss.smooth else side)
    losses: Array = loss.value(y, high) + np.sum(slope * low, axis=1)
    binary = loss.column_loss
    if binary is not None and binary.has_curvature:  # what is left of a perfect fit
        sign = loss.signs(y, high)
        losses += np.sum(0.5 * binary.curvature(sign * side) * low * low, axis=1)
    return np.maximum(losses, 0.0)


def _difference(a: Array, a_low: Array, b: Array, b_low: Array) -> tuple[Array, Array]:
    """a - b of pairs, as pairs."""
    sum = a - b
    part = sum - a
    low = (a - (sum - part)) - (b + part) + (a_low - b_low)
    high = sum + low
    return high, (sum - high) + low
