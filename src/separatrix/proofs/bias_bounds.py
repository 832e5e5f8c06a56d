"""Bounds on the biases of the exact minimum, given how far its other scores can be from a fit's.

Problem: the biases have no penalty, so the duality gap alone does not bound them. Input: centred
scores ``s_i`` of the training rows, and by how much those of the minimum can differ, ``slack_i``.
Output: bounds on the bias of the minimum.

One column, phi(y (s + beta)): the derivative by the bias, ``g(beta, e) = sum_i p_i y_i phi'(y_i
(s_i + e_i + beta))``, is nondecreasing in beta and in every e_i, because phi is convex. The minimum
has ``g(beta*, e*) = 0`` (0 is in its interval at a kink) for some ``|e*_i| <= slack_i``. So where
``g(beta, +slack) < 0``, beta is below every beta*, and where ``g(beta, -slack) > 0``, above it.

Softmax: the mean probability of class c over the rows equals its share, ``F_c(beta) = 0``. If
``F_c(beta) <= 0`` for all classes but one, r, then ``beta_c - beta_r <= beta*_c - beta*_r`` for all
of them: otherwise let T be the classes with a larger difference. Raising their biases from beta* to
beta, with equal ones for r, raises the probability of T in every row, so that the sum of F_c over
T would be positive at beta. Lowering all biases but that of r by t lowers these F_c, and so the
smallest t for which they are negative for all scores within the slack is a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..numeric.tolerances import EPS, SMALLEST_NORMAL
from ..numeric.types import Array, Ints

Slope = Callable[[Array], Array]
SLOPE_SUMS = 64 * EPS  # relative error of a pairwise sum of slopes, with a few roundings each
PRECISION = 0.02  # of the mean slack: to which a root is located
MOST_DOUBLINGS = 200  # of a step away from the start, before a bound is given up
MOST_SHIFT = 500.0  # of biases of softmax: beyond, probabilities underflow


def column_bounds(
    slope: Slope, y: Array, scores: Array, slack: Array, share: Array, near: float
) -> tuple[float, float]:
    """Bounds on the bias of one column, for labels -1 and +1; ``near`` is a first guess."""
    low = _lower_bound(slope, y, scores, slack, share, near)
    # Mirrored: -beta is the bias of the negative scores and labels.
    return low, -_lower_bound(slope, -y, -scores, slack, share, -near)


def _lower_bound(
    slope: Slope, y: Array, scores: Array, slack: Array, share: Array, near: float
) -> float:
    """A bias below every root, and near the smallest."""

    def is_below(beta: float) -> bool:
        # The largest scores within the slack; the roundings added also decide at a kink.
        top = scores + beta
        top += slack + EPS * (np.abs(scores) + abs(beta) + slack) + SMALLEST_NORMAL
        slopes = share * slope(y * top)
        return bool(np.sum(y * slopes) < -SLOPE_SUMS * np.sum(np.abs(slopes)))

    return near - _smallest_step(lambda step: is_below(near - step), *_scale(slack, share, near))


def softmax_bounds(
    y: Ints, scores: Array, slack: Array, share: Array, near: Array
) -> tuple[Array, Array]:
    """Bounds on differences of biases: of a and b, ``low[a] - high[b]`` to ``high[a] - low[b]``.

    ``slack`` bounds the change of a difference of two scores of a row.
    """
    at = scores + near
    slack = slack + EPS * (2.0 * np.abs(at).max(axis=1) + 2.0 * np.abs(near).max() + slack)
    E = np.exp(at - at.max(axis=1, keepdims=True))
    shares, total = np.bincount(y, share, len(near)), float(np.sum(share))
    shrink = np.exp(-slack)[:, None]

    def is_below(reference: int, t: float) -> bool:
        if abs(t) > MOST_SHIFT:
            return False
        lowered = E * np.exp(-t)
        lowered[:, reference] = E[:, reference]
        others = np.maximum(lowered.sum(axis=1, keepdims=True) - lowered, 0.0)
        # The probability of each class if its score alone is as large as the slack allows.
        own = np.maximum(lowered, SMALLEST_NORMAL)
        largest = own / (own + shrink * others)
        excess = share @ largest - shares
        return bool(np.all(np.delete(excess, reference) < -SLOPE_SUMS * total))

    first, precision = _scale(slack, share, float(np.abs(near).max()))
    steps = [_smallest_step(partial(is_below, c), first, precision) for c in range(len(near))]
    return near, near + np.maximum(steps, 0.0)


def _scale(slack: Array, share: Array, near: float) -> tuple[float, float]:
    """The first step away from a guess, and the precision of a root."""
    mean = float(np.sum(share * slack) / np.sum(share))
    least = 16.0 * EPS * (1.0 + abs(near))
    return (mean + least, PRECISION * mean + least) if np.isfinite(mean) else (np.inf, 1.0)


def _smallest_step(is_enough: Callable[[float], bool], first: float, precision: float) -> float:
    """About the smallest step that is enough, if all larger ones are; infinite if none is found.

    It may be negative: the first guess may be off.
    """
    if not np.isfinite(first):
        return np.inf
    towards = -1.0 if is_enough(first) else 1.0
    known = step = first
    for doubling in range(MOST_DOUBLINGS):
        known, step = step, first + towards * first * 2.0**doubling
        if is_enough(step) == (towards > 0.0):
            break
    else:
        return step if towards < 0.0 else np.inf
    short, enough = (known, step) if towards > 0.0 else (step, known)
    while enough - short > precision:
        middle = 0.5 * (short + enough)
        if not short < middle < enough:
            break
        if is_enough(middle):
            enough = middle
        else:
            short = middle
    return enough
