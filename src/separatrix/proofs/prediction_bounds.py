"""Bounds on the scores, probabilities and labels that the exact minimum of J gives to any row.

Problem: a fit stops near the minimum; which of its predictions are those of the minimum itself?
Input: weights, their duality gap, the training rows. Output: for every row, an interval that
contains its score at the exact minimum, and the label if all of the interval has the same.
Algorithm: the minimum's weights are in a ball (:mod:`separatrix.proofs.weight_ball`), which bounds
all scores of the training rows, and so the biases (:mod:`separatrix.proofs.bias_bounds`). With
several classes, the weights of two differ from those of the minimum by at most ``sqrt(2 gap)`` in
the same norm, because the squares of all classes sum to at most the gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..data.feature_map import FeatureMap
from ..losses import Loss
from ..numeric.tolerances import EPS
from ..numeric.types import Array, Ints
from .curvature_ball import CurvatureBall
from .weight_ball import WeightBall, with_all_features

ROOT_2 = math.sqrt(2.0) * (1.0 + EPS)
FEW_ROUNDINGS = 16 * EPS
"""Of sums of a few terms and of a probability, relative to the absolute values of the terms."""
UNDECIDED = -1  # in place of the number of a class


class ScoreBounds(NamedTuple):
    """Bounds on the scores of some rows at the exact minimum."""

    low: Array  # (n, k)
    high: Array
    lead: Array
    """With several classes: bounds on the score of each less the largest of the others, (n, k)."""
    lower: Array
    """Bounds on the scores at the same distance in all classes: a difference of two scores is at
    least ``lower[:, a] - upper[:, b] - apart``. In joint losses up to a constant for each row."""
    upper: Array
    apart: Array  # (n,)

    def numbers(self, threshold: float = 0.0) -> Ints:
        """The class that the minimum predicts, or ``UNDECIDED``, (n,).

        The larger of two classes is predicted from a score of ``threshold`` on.
        """
        if self.low.shape[1] == 1:
            found = np.where(self.low[:, 0] >= threshold, 1, UNDECIDED)
            return np.where(self.high[:, 0] < threshold, 0, found)
        best = self.lead.argmax(axis=1)
        return np.where(self.lead[np.arange(len(best)), best] > 0.0, best, UNDECIDED)


@dataclass(frozen=True, eq=False)
class PredictionBounds:
    """What bounds the scores of the exact minimum, for the features as given."""

    weights: Array  # weights of the fit, (k, d)
    centre: Array  # the mean row, (d,); zeros without an intercept
    reach: Array  # ``1 / sqrt(l2_j)``, (d,); 0 for a weight that is 0 in the fit and at the minimum
    radius: float
    """The root of the duality gap: the weights differ by at most this, in units of the reach."""
    bias_low: Array
    """Bounds on ``b + w.centre`` of the minimum, (k,). In joint losses, these bound differences of
    two classes: ``bias_low[a] - bias_high[b]`` is the smallest that is possible."""
    bias_high: Array
    joint: bool  # whether the loss depends only on differences of scores
    bias: Array  # ``b + w.centre`` of the fit, (k,)
    bias_rounding: Array
    factors: Array | None = None
    """For losses with a second derivative: factors of a bound on that of J, (k, m, m); see
    :mod:`separatrix.proofs.curvature_ball`."""
    bias_unit: float = 0.0

    @property
    def ball(self) -> WeightBall:
        """The weights, and how far the exact minimum can be."""
        return WeightBall(self.weights, self.centre, self.reach, self.radius)

    @property
    def curvature_ball(self) -> CurvatureBall | None:
        """The smaller region for the weights and biases, if it is known."""
        if self.factors is None:
            return None
        return CurvatureBall(self.ball, self.bias_unit, self.factors)

    def for_given(self, features: FeatureMap | None) -> PredictionBounds:
        """The same for all given features, of which the objective may have only some."""
        known = self.weights, self.centre, self.reach
        weights, centre, reach = (with_all_features(each, features) for each in known)
        if len(centre) == len(self.centre):
            return self
        # Factors for some features are not worth the memory of those for all.
        return replace(self, weights=weights, centre=centre, reach=reach, factors=None)

    def of(self, X: Any, offset: Array | None = None) -> ScoreBounds:
        """Bounds on the scores of rows in an array or a CSR matrix, with their offset (n, k)."""
        S, rounding, spread = self.ball.scores(X)
        if offset is not None:
            rounding = rounding + EPS * (np.abs(S) + np.abs(offset))
            S = S + offset
        lower = _down(S, self.bias_low, -rounding)
        upper = _up(S, self.bias_high, rounding)
        apart = spread if len(self.weights) == 1 else ROOT_2 * spread
        lead = _down(lower, -_largest_other(upper), -apart[:, None])
        if self.joint:
            low, high = _of_differences(lower, upper, apart, offset)
        else:
            low, high = _down(lower, -spread[:, None]), _up(upper, spread[:, None])
        found = ScoreBounds(low, high, lead, lower, upper, apart)
        nearer = self.curvature_ball
        if nearer is None:
            return found
        return _nearer(found, S + self.bias, rounding + self.bias_rounding, nearer.deviations(X))


def _of_differences(
    lower: Array, upper: Array, apart: Array, offset: Array | None
) -> tuple[Array, Array]:
    """Bounds on scores that sum to the offset: each is the mean of its differences from all."""
    k, mean = lower.shape[1], 0.0 if offset is None else offset.mean(axis=1)[:, None]
    far = (k - 1) * apart[:, None]
    most, least = upper.sum(axis=1)[:, None] - upper, lower.sum(axis=1)[:, None] - lower
    low = _down((k - 1) * lower, -most, -far, k * mean, times=k) / k
    return low, _up((k - 1) * upper, -least, far, k * mean, times=k) / k


def _nearer(found: ScoreBounds, scores: Array, rounding: Array, deviation: Array) -> ScoreBounds:
    """The same bounds, or those from scores of the fit and their deviations if they are better."""
    low = np.maximum(found.low, _down(scores, -rounding, -deviation))
    high = np.minimum(found.high, _up(scores, rounding, deviation))
    lead = found.lead.copy()
    k = scores.shape[1]
    for a in range(k if k > 1 else 0):
        others = np.arange(k) != a
        # The squares of the deviations of two classes add up to at most one gap.
        apart = np.hypot(deviation[:, [a]], deviation[:, others])
        least = _down(scores[:, [a]], -scores[:, others], -rounding[:, [a]], -rounding[:, others],
                      -apart)  # fmt: skip
        lead[:, a] = np.maximum(lead[:, a], least.min(axis=1))
    return found._replace(low=low, high=high, lead=lead)


def _down(*terms: Any, times: int = 1) -> Array:
    """The sum of a few terms, rounded down."""
    return _sum(terms, -times)


def _up(*terms: Any, times: int = 1) -> Array:
    return _sum(terms, times)


def _sum(terms: Any, times: int) -> Array:
    with np.errstate(invalid="ignore"):
        size = sum(np.abs(term) for term in terms)
        total: Array = sum(terms) + times * FEW_ROUNDINGS * size
    # Infinite terms: nothing is known.
    return np.where(np.isnan(total), -np.inf if times < 0 else np.inf, total)


def _largest_other(scores: Array) -> Array:
    """The largest score of the other classes, for each class; 0 if there is no other."""
    if scores.shape[1] == 1:
        return np.zeros_like(scores)
    top = np.partition(scores, -2, axis=1)
    largest, second = top[:, -1:], top[:, -2:-1]
    return np.where(scores == largest, np.where(_ties(scores, largest), largest, second), largest)


def _ties(scores: Array, largest: Array) -> Array:
    several: Array = np.sum(scores == largest, axis=1, keepdims=True) > 1
    return several


def probability_bounds(loss: Loss, found: ScoreBounds) -> tuple[Array, Array]:
    """Bounds on the probabilities of the classes, (n, k), of a loss that defines them."""
    if found.low.shape[1] == 1:
        of: Callable[[Array], Array] = getattr(loss, "probability")  # noqa: B009
        low, high = of(found.low[:, 0]), of(found.high[:, 0])
        smaller, larger = of(-found.high[:, 0]), of(-found.low[:, 0])
        return _widened(np.column_stack([smaller, low]), np.column_stack([larger, high]))
    if loss.shifts:
        return _widened(*_softmax(found))
    of = getattr(loss.column_loss, "probability")  # noqa: B009
    return _widened(*_normalised(of(found.low), of(found.high)))


def _softmax(found: ScoreBounds) -> tuple[Array, Array]:
    """From bounds on all differences of two scores."""
    low, high = np.empty_like(found.lower), np.empty_like(found.lower)
    for a in range(low.shape[1]):
        others = np.arange(low.shape[1]) != a
        apart = found.apart[:, None]
        most = _up(found.upper[:, others], -found.lower[:, a, None], apart)
        least = _down(found.lower[:, others], -found.upper[:, a, None], -apart)
        with np.errstate(over="ignore"):
            low[:, a] = 1.0 / (1.0 + np.exp(most).sum(axis=1))
            high[:, a] = 1.0 / (1.0 + np.exp(least).sum(axis=1))
    return low, high


def _normalised(low: Array, high: Array) -> tuple[Array, Array]:
    """Probabilities of each class against the rest, divided by their sum."""
    rest_high = np.maximum(high.sum(axis=1, keepdims=True) - high, 0.0)
    rest_low = np.maximum(low.sum(axis=1, keepdims=True) - low, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        least, most = low / (low + rest_high), high / (high + rest_low)
    return np.nan_to_num(least, nan=0.0), np.nan_to_num(most, nan=1.0)


def _widened(low: Array, high: Array) -> tuple[Array, Array]:
    """By the rounding of a probability."""
    least = np.maximum(low * (1.0 - FEW_ROUNDINGS) - FEW_ROUNDINGS, 0.0)
    return least, np.minimum(high * (1.0 + FEW_ROUNDINGS) + FEW_ROUNDINGS, 1.0)
