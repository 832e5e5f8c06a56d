"""How far the exact minimum can be, from the gradient: for logistic losses and softmax.

Problem: near the minimum, the gradient bounds the distance much better than a duality gap, which
also has the error of its dual point. Input: weights, their rows, and so the gradient g there with
its rounding. Output: bounds on the differences D of the weights and D_b of the centred biases.

Let ``q^2 = D'H D`` with H the second derivative of J at the weights. On the way to the minimum the
curvature of a row falls at most by ``exp(-t)`` where its scores have changed by t, because the
third derivative of these losses is at most the second times the change (for softmax, times the
range of the changes of a row's scores). No score changes by more than ``V q``, so ``-g'D >= q^2
(1 - exp(-V q)) / (V q)``. With ``-g'D <= rho q`` it follows that ``q <= -log(1 - rho V) / V``.

H is at least 2 in the weights, in units of the penalty, so ``|D| <= q / sqrt(2)``. For the biases
let ``a`` be the smallest eigenvalue of ``A = sum_i p_i Q_i``, with Q_i the second derivative by the
scores of row i, and ``T = sum_i p_i Q_i z_i'``. A square is above its tangents, so that for all D
the curvature ``D'H D`` is at least ``a^2 / (a + |T|^2 / 2)`` times ``|D_b|^2``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data import Source
from ..losses import Loss
from ..numeric.tolerances import EPS
from ..numeric.types import Array
from .centred_rows import FEW, ROUNDED, Point
from .curvature_bound import CurvatureBound, bias_unit_of
from .gradient_sums import GradientSums
from .weight_ball import OPERATIONS

MOST_STEP = 0.5  # of ``rho V``: farther from the minimum, other bounds are better


class NearMinimum(NamedTuple):
    """How far the minimum can be from some weights."""

    distance: float  # bound on ``sqrt(D'H D)``
    bias: float  # bound on the change of each centred bias

    @property
    def radius(self) -> float:
        """Bound on the length of D in units of the penalty."""
        return self.distance * math.sqrt(0.5) * (1.0 + OPERATIONS * EPS)


def has_gradient_ball(loss: Loss) -> bool:
    """Whether the third derivative of the loss is at most its second."""
    column = loss.column_loss
    return loss.shifts and loss.log_likelihood if column is None else column.log_likelihood


@dataclass(frozen=True, eq=False)
class GradientBall:
    """The gradient at some weights, and what it says about the minimum.

    Lengths are those of all columns together if the columns have one loss, else of each.
    """

    at: Point
    gradient: Array  # in units of the penalty, and by the biases: (k, d + 1)
    error: Array  # bounds on the rounding of the length of the gradient
    bias_error: Array
    per_bias: Array  # how far biases can move where ``D'H D`` is 1
    change: Array  # how far a score can move there, or the range of those of a row
    joint: bool
    longest: float  # row, in units of the penalty
    curvature: CurvatureBound | None  # at these weights

    @classmethod
    def of(
        cls, loss: Loss, source: Source, at: Point, intercept: bool, with_curvature: bool
    ) -> GradientBall:
        """In one read of the rows."""
        with np.errstate(all="ignore"):
            sums = source.total(GradientSums(loss, at, source.n_rows, with_curvature))
            return cls._of(loss, source, at, intercept, sums)

    @classmethod
    def _of(
        cls, loss: Loss, source: Source, at: Point, intercept: bool, sums: tuple[Any, ...]
    ) -> GradientBall:
        joint = loss.column_loss is None
        slopes, biases, error, bias_error, square, moments, grams = (
            each / source.weight_sum for each in sums[:-1]
        )
        longest, rounding = np.max(sums[-1], axis=0).tolist()
        lost = (2 * source.n_rows + OPERATIONS) * EPS
        error = error * ROUNDED + 4 * FEW * at.length
        bias_error = bias_error * ROUNDED * intercept
        if joint:
            error, bias_error = _length(error), _length(bias_error)
            least = least_eigenvalue(square, lost)
        else:
            least = square
        moment = np.atleast_1d(np.sqrt(np.sum(moments**2, axis=None if joint else 1)))
        moment += lost * square.size * longest
        shrink = math.exp(-2.0 * rounding) / ROUNDED
        per_bias = np.zeros_like(least)
        if intercept:
            per_bias = 1.0 / np.sqrt(least**2 / (least + 0.5 * moment**2) * shrink)
        change = (longest * math.sqrt(0.5) + per_bias) * (math.sqrt(2.0) if joint else 1.0)
        known = None
        if grams.ndim and np.isfinite(grams).all():
            unit = bias_unit_of(longest, len(at.reach)) if intercept else 0.0
            known = CurvatureBound.of(grams, moments, square, unit, source.n_rows, shrink, longest)
        g = np.column_stack([slopes + 2.0 * at.scaled, biases * intercept])
        return cls(at, g, error, bias_error, per_bias, change * ROUNDED, joint, longest, known)

    def near(self, curvature: CurvatureBound | None = None) -> NearMinimum | None:
        """How far the minimum can be; None if that is too far for these bounds.

        ``curvature``: a bound on the second derivative at these weights.
        """
        with np.errstate(all="ignore"):
            found = self._near(self._lengths(curvature))
        finite = np.isfinite(found.distance) and np.isfinite(found.bias)
        return found if finite else None

    def most_change(self, to: Point) -> float:
        """Bound on the change of the scores of a row, or of their range, on the way to weights."""
        weights = to.scaled - self.at.scaled
        biases = to.bias - self.at.bias
        lost = float(np.max(to.bias_rounding + self.at.bias_rounding))
        if self.joint:
            length = float(np.sqrt(np.sum(weights**2))) * self.longest
            return math.sqrt(2.0) * (length + float(np.sqrt(np.sum(biases**2)))) + 2.0 * lost
        lengths = np.sqrt(np.sum(weights**2, axis=1)) * self.longest
        return float(np.max(lengths + np.abs(biases))) + lost

    def _lengths(self, curvature: CurvatureBound | None) -> Array:
        """Bounds on ``-g'D`` where ``D'H D`` is 1."""
        lost = self.error * math.sqrt(0.5) + self.bias_error * self.per_bias
        if curvature is not None:
            return curvature.lengths(self.gradient) + lost
        weights, biases = self.gradient[:, :-1], self.gradient[:, -1]
        if self.joint:
            by_weights, by_bias = _length(weights), _length(biases)
        else:
            by_weights, by_bias = np.sqrt(np.sum(weights**2, axis=1)), np.abs(biases)
        return by_weights * math.sqrt(0.5) + by_bias * self.per_bias + lost

    def _near(self, rho: Array) -> NearMinimum:
        step = most_distance(rho, self.change)
        # Biases of joint losses sum to 0: two differ by at most sqrt(2) times the length of all.
        bias = step * self.per_bias * (math.sqrt(0.5) if self.joint else 1.0) * ROUNDED
        return NearMinimum(float(_length(step)[0]) * ROUNDED, float(np.max(bias)))


def most_distance(rho: Array, change: Array) -> Array:
    """Bounds on ``sqrt(D'H D)``, infinite far from the minimum."""
    x = rho * change * ROUNDED
    far = -np.log1p(-np.minimum(x, MOST_STEP)) / change * ROUNDED
    return np.where(rho == 0.0, 0.0, np.where(x < MOST_STEP, far, np.inf))


def near_minimum(rho: float, change: float, per_bias: float, joint: bool) -> NearMinimum | None:
    """The same for all columns together, and the biases."""
    if not rho * change * ROUNDED < MOST_STEP:
        return None
    distance = -math.log1p(-rho * change * ROUNDED) / change * ROUNDED if rho > 0.0 else 0.0
    bias = distance * per_bias * (math.sqrt(0.5) if joint else 1.0) * ROUNDED
    return NearMinimum(distance, bias) if distance < np.inf and bias < np.inf else None


def _length(values: Array) -> Array:
    """Of all values together, (1,)."""
    return np.array([math.sqrt(float(np.sum(values**2)))])


def least_eigenvalue(A: Array, lost: float) -> Array:
    """The smallest eigenvalue of ``sum p Q`` for biases that sum to 0, (1,)."""
    if not np.isfinite(A).all():
        return np.array([np.nan])
    centred = A - A.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    found = np.linalg.eigvalsh(centred)[1] - (lost + A.size * FEW) * (np.trace(A) + 1.0)
    return np.array([max(float(found), 0.0)])
