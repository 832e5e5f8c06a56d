"""Newton's steps on J, and how far from the minimum they end.

See :mod:`separatrix.proofs.gradient_ball` for the bounds. Here they come from J's own gradient and
second derivative, which are compiled sums, so that a bound costs about as much as a step. Later
steps keep the second derivative of the first: where the scores of a row have changed by at most t,
it is larger than at the first weights by ``exp(-t)`` at least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from ..data import Block, Sum
from ..numeric.dot import SAFE_SQUARE
from ..numeric.lazy import cached_property
from ..numeric.standardization import Standardization
from ..numeric.tolerances import EPS
from ..numeric.types import Array
from ..objective import Evaluation, Objective
from ..rows import HOST, host_rows_of
from .centred_rows import FEW, ROUNDED, Point, scaled_rows, sparse_lengths
from .curvature_ball import lower_factor
from .curvature_bound import CurvatureBound, bias_unit_of
from .gradient_ball import NearMinimum, has_gradient_ball, least_eigenvalue, near_minimum
from .units import GivenUnits
from .weight_ball import OPERATIONS, reach_of, with_all_features

MOST_VARIABLES = 1024  # whose second derivative is computed
MUCH = 0.5  # change of a score, above which it is computed and not only bounded


@dataclass(frozen=True)
class LongestRow(Sum[tuple[list[float]]]):
    """The largest length of a row in units of the penalty, of each block."""

    reach: Array

    def of(self, block: Block) -> tuple[list[float]]:
        X = host_rows_of(block.X).as_matrix()
        if not isinstance(X, np.ndarray):
            return ([float(sparse_lengths(X, self.reach).max(initial=0.0))],)
        if len(self.reach) and np.all(self.reach == self.reach[0]):
            square = float(np.einsum("ij,ij->i", X, X).max(initial=0.0))
            if SAFE_SQUARE < square < np.inf:  # the others may underflow
                return ([float(self.reach[0]) * math.sqrt(square)],)
        lengths = (length for _, length in scaled_rows(X, np.zeros(X.shape[1]), self.reach))
        return ([max((float(each.max(initial=0.0)) for each in lengths), default=0.0)],)


def applies(objective: Objective) -> bool:
    """Whether the objective has these bounds, and they are not expensive."""
    source, few = objective.source, math.prod(objective.shape) <= MOST_VARIABLES
    double = source.vectors is HOST and source.dtype == np.float64 and not objective.float32_sums
    return few and double and not source.has_offset and has_gradient_ball(objective.loss)


@dataclass(frozen=True)
class MostChange(Sum[tuple[list[float]]]):
    """The largest change of the scores of a row, or of their range, of each block."""

    direction: Array
    ranges: bool

    def of(self, block: Block) -> tuple[list[float]]:
        found = block.rows.scores(self.direction)
        if self.ranges:
            return ([float(np.ptp(found, axis=1).max(initial=0.0))],)
        return ([float(np.abs(found).max(initial=0.0))],)


@dataclass(frozen=True, eq=False)
class NewtonBall:
    """Weights of an objective with the gradient there, and a bound on the second derivative."""

    objective: Objective
    weights: Array  # (k, d + 1)
    gradient: Array  # in units of the penalty, about the centre
    reach: Array  # ``1 / sqrt(l2_j)``, (d,)
    centre: Array
    factor: Array  # of all variables, column by column
    bias_unit: float
    bias_curvature: float  # ``D'H D`` where a bias moves by 1, at least
    longest: float  # row about the centre
    largest: float  # the same or the length of what it is computed from
    at: Evaluation | None = None  # J there, after a step
    changed: float = 0.0  # of the scores of a row since the factor was computed, or their range

    @classmethod
    def of(cls, objective: Objective, W: Array, gradient: Array | None = None) -> NewtonBall | None:
        """In two reads; None where these bounds do not apply, or rounding leaves nothing.

        ``gradient`` of J at the weights, if it is known.
        """
        if not applies(objective):
            return None
        with np.errstate(all="ignore"):
            return cls._of(objective, W, gradient)

    @classmethod
    def _of(cls, objective: Objective, W: Array, gradient: Array | None) -> NewtonBall | None:
        (k, d), n = W[:, :-1].shape, objective.source.n_rows
        standardization = objective.checked_standardization()
        reach = reach_of(objective.penalty, d, None)
        centre = standardization.mean * objective.intercept
        (lengths,) = objective.source.total(LongestRow(reach))
        away = math.sqrt(float(np.sum((centre * reach) ** 2)))
        largest = (max(lengths) + 2.0 * away) * ROUNDED
        gradient, H = _derivatives(objective, W, standardization, gradient)
        unit = bias_unit_of(largest, d)
        last = standardization.scale[-1] * unit if objective.intercept else 1.0
        units = np.tile(np.append(standardization.scale[:-1] * reach, last), k)
        H *= units[:, None]
        H *= units
        biases = np.arange(d, len(H), d + 1)
        square = H[np.ix_(biases, biases)] / unit**2
        moments = np.delete(H[biases], biases, axis=1) / unit
        size = float(np.trace(H)) + 4.0 * largest**2
        lost = (2 * n + 32 * (len(H) + OPERATIONS)) * EPS
        factor = lower_factor(H * (1.0 / ROUNDED), np.zeros(len(H)), lost * size)
        if factor is None:
            return None
        joint = objective.loss.shifts
        least = float(least_eigenvalue(square, lost)[0] if joint else np.diag(square).min())
        moment = float(np.sqrt(np.sum(moments**2))) + lost * k * k * largest
        curvature = (
            least**2 / (least + 0.5 * moment**2) / ROUNDED if objective.intercept else np.inf
        )
        return cls(
            objective, W, about(centre, reach, gradient, objective.intercept), reach, centre,
            factor, unit, curvature, (max(lengths) + away) * ROUNDED, largest,
        )  # fmt: skip

    def step(self) -> NewtonBall:
        """At the weights after Newton's step with the factor; in one read."""
        k, d = self.gradient[:, :-1].shape
        found = solve_triangular(self.factor.T, -self.solved, check_finite=False).reshape(k, d + 1)
        move = found * np.append(self.reach, self.bias_unit * self.objective.intercept)
        # The last variable is the bias about the centre.
        move[:, -1] -= move[:, :-1] @ self.centre
        W, joint = self.weights + move, self.objective.loss.shifts
        at = self.objective.value_and_gradient(W)
        g = about(self.centre, self.reach, at.gradient, self.objective.intercept)
        scaled = (W - self.weights)[:, :-1] / self.reach
        biases = (W - self.weights)[:, -1] + (W - self.weights)[:, :-1] @ self.centre
        change = math.sqrt(float(np.sum(scaled**2))) * self.longest
        change += math.sqrt(float(np.sum(biases**2)))
        change *= (math.sqrt(2.0) if joint else 1.0) * ROUNDED
        if change > MUCH:
            (most,) = self.objective.source.total(MostChange(W - self.weights, joint))
            # Differences of weights and scores are rounded.
            lost = FEW * d * (self._size(W) + self._size(self.weights))
            change = min(change, max(most) * ROUNDED + lost)
        return replace(self, weights=W, gradient=g, at=at, changed=self.changed + change)

    @cached_property
    def solved(self) -> Array:
        """The gradient in variables in which the factor's square is the identity."""
        g = self.gradient * np.append(np.ones(len(self.reach)), self.bias_unit)
        found: Array = solve_triangular(self.factor, g.ravel(), lower=True, check_finite=False)
        return found

    @property
    def length(self) -> float:
        """Of the gradient in these variables."""
        return math.sqrt(float(np.sum(self.solved**2)))

    def _size(self, W: Array) -> float:
        """Of the terms of a score, at most."""
        scaled = math.sqrt(float(np.sum((W[:, :-1] / self.reach) ** 2)))
        return self.largest * scaled + float(np.max(np.abs(W[:, -1])))

    def of_columns(self) -> CurvatureBound | None:
        """The second derivative, if it is that of one column."""
        if len(self.gradient) > 1 or not self.objective.intercept:
            return None
        return CurvatureBound(self.factor[None], self.bias_unit).after(self.changed)

    def seen_from(self, at: Point, near: NearMinimum, units: GivenUnits) -> NearMinimum:
        """How far the minimum is from the same weights as they are returned, which are rounded."""
        W, features = self.weights, units.features
        own = with_all_features(W[:, :-1] / self.reach, features if units.rounds_rows else None)
        origin = self.centre * (units.given is None)  # standardised rows have the mean 0
        biases = W[:, -1] + W[:, :-1] @ origin
        apart = at.bias - biases
        if self.objective.loss.shifts:
            apart = apart - apart.mean()
        weights = math.sqrt(float(np.sum((at.scaled - own) ** 2)))
        weights += FEW * math.sqrt(float(np.sum(own**2)))
        lost = np.abs(apart) + at.bias_rounding + FEW * (np.abs(W[:, :-1]) @ np.abs(origin))
        moved = math.sqrt(float(np.sum((lost + FEW * np.abs(W[:, -1])) ** 2)))
        moved += near.radius * math.sqrt(float(np.sum(((self.centre - origin) * self.reach) ** 2)))
        size = math.sqrt(float(np.sum(self.factor**2))) + math.sqrt(2.0)
        distance = near.distance + size * (weights + moved / self.bias_unit)
        return NearMinimum(distance * ROUNDED, (near.bias + moved) * ROUNDED)

    def near(self) -> NearMinimum | None:
        """How far the minimum can be from the weights; None if that is too far for these bounds."""
        with np.errstate(all="ignore"):
            return self._near()

    def _near(self) -> NearMinimum | None:
        k, d = self.gradient[:, :-1].shape
        n, joint = self.objective.source.n_rows, self.objective.loss.shifts
        of_score = (d + OPERATIONS) * EPS * self._size(self.weights) + FEW
        lost = math.sqrt(k) * ((2 * n + OPERATIONS) * EPS + of_score) * ROUNDED
        grown = math.exp(0.5 * self.changed + of_score) * ROUNDED
        per_bias = grown / math.sqrt(self.bias_curvature)
        rho = self.length * grown
        rho += lost * (self.largest * math.sqrt(0.5) + per_bias)
        rho += 4 * FEW * math.sqrt(float(np.sum((self.weights[:, :-1] / self.reach) ** 2)))
        change = (self.longest * math.sqrt(0.5) + per_bias) * (math.sqrt(2.0) if joint else 1.0)
        return near_minimum(rho, change, per_bias, joint)


def _derivatives(
    objective: Objective, W: Array, variables: Standardization, gradient: Array | None
) -> tuple[Array, Array]:
    """The gradient, which may be known, and the second derivative."""
    if len(W) > 1 or gradient is None:
        at, H = objective.hessian(W, variables)
        return at.gradient, H
    return gradient, objective.class_hessian(W, variables)


def about(centre: Array, reach: Array, gradient: Array, intercept: bool) -> Array:
    """A gradient in units of the penalty, about a centre."""
    found = gradient.copy()
    found[:, :-1] -= found[:, -1:] * centre
    found[:, :-1] *= reach
    found[:, -1] *= intercept
    return found
