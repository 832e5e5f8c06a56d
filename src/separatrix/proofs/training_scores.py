"""Bounds on the predictions of the exact minimum, from the training rows.

See :mod:`separatrix.proofs.prediction_bounds` for what is proven and how. The rows are read once or
twice; the biases are then bounded from one score and one distance for each row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..data import Block, Source, Sum
from ..losses import Loss
from ..numeric.lazy import cached_property
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array
from ..objective.known import ClassSums
from ..penalties import Penalty
from ..rows import host_rows_of
from ..rows.exact_standardization import exact_bias
from .bias_bounds import column_bounds, softmax_bounds
from .centred_rows import Point
from .curvature_ball import (
    MOST_VALUES,
    MOST_VARIABLES,
    chunks,
    factor_rounding,
    has_least_curvature,
    least_curvature,
    lower_factor,
)
from .curvature_bound import CurvatureBound
from .gradient_ball import GradientBall, NearMinimum, has_gradient_ball
from .prediction_bounds import FEW_ROUNDINGS, ROOT_2, PredictionBounds
from .units import GivenUnits
from .weight_ball import OPERATIONS, WeightBall, reach_of, with_all_features

ROOT_ROUNDING = 1.0 + 4 * EPS  # of the root of a gap
LARGEST = 1e250  # size of a sum whose parts do not overflow in that precision
MOST_ROUNDS = 3  # of bounds on the curvature, each from the bounds on scores of the last
ENOUGH = 0.5  # of the curvature at the weights: then better bounds are not worth another read


def why_unbounded(loss: Loss, penalty: Penalty) -> str:
    """Why predictions of the minimum cannot be bounded, and a remedy; empty if they can."""
    name = f"loss={loss.name!r}"
    if not loss.convex or loss.homogeneous:
        lacks = "is not convex" if not loss.convex else "has its minimum at zero weights"
        return f"{name} {lacks}: use loss='logistic', 'squared_hinge' or 'hinge'"
    if loss.several_labels:
        return "the fit has several labels for a row: fit and certify each label by itself"
    if loss.column_loss is None and not loss.log_likelihood:
        return (
            f"{name} is joint for more than two classes, and its biases have no bounds: use "
            f"loss='one_vs_rest_{loss.name}' or 'logistic'"
        )
    if penalty.l1 > 0.0:
        return "l1 is not 0: use l2 alone"
    if penalty.constrains:
        return "the weights have constraints: fit without bounds and monotone"
    if not penalty.coercive or not penalty.l2 > 0.0:
        return (
            "some features have no penalty, so that the gap does not bound their weights: use "
            "l2 > 0, and penalty_weights > 0 for every feature"
        )
    return ""


class TrainingScores(NamedTuple):
    """Scores of the rows with a positive weight."""

    values: Array  # ``w.(x - c)`` plus the offset, (n, k)
    rounding: Array
    spread: Array
    y: AnyArray
    weight: Array


def _of_block(ball: WeightBall, block: Block) -> tuple[Any, TrainingScores]:
    """The rows of a block as a matrix, and their scores."""
    here = np.flatnonzero(block.weights)
    X = host_rows_of(block.X).take(here).as_matrix()
    values, rounding, spread = ball.scores(X)
    if (offset := block.rows.offset) is not None:
        rounding = rounding + FEW_ROUNDINGS * (np.abs(values) + np.abs(offset[here]))
        values = values + offset[here]
    return X, TrainingScores(values, rounding, spread, block.y[here], block.weights[here])


@dataclass(frozen=True)
class ScoresInBall(Sum[tuple[Any, ...]]):
    """``TrainingScores`` of all rows: lists, with one array for each block."""

    ball: WeightBall

    def of(self, block: Block) -> tuple[list[Any], ...]:
        return tuple([each] for each in _of_block(self.ball, block)[1])


@dataclass(frozen=True)
class LeastCurvature(Sum[tuple[Array, float, float]]):
    """Second derivatives that J has at least, on the way to the minimum, for each class.

    Also the sums of the curvatures of the rows, as bounded and at the weights.
    """

    loss: Loss
    bounds: PredictionBounds  # with the factors of another bound, if there is one

    def of(self, block: Block) -> tuple[Array, float, float]:
        """The sum over one block: (k, m, m)."""
        found, column = self.bounds, self.loss.column_loss
        assert column is not None
        X, rows = _of_block(found.ball, block)
        away = np.maximum(found.bias_high - found.bias, found.bias - found.bias_low)
        within = rows.spread[:, None] + away
        if (nearer := found.curvature_ball) is not None:
            # Scores that overflowed have an infinite spread, and nothing is known about them.
            some = np.isfinite(rows.spread)[:, None]
            within = np.where(some, np.minimum(within, nearer.deviations(X)), np.inf)
        within = within + rows.rounding + found.bias_rounding
        signs = self.loss.signs(rows.y, rows.values)
        margins = signs * (rows.values + found.bias)
        weight = rows.weight[:, None]
        least = weight * least_curvature(column, margins, within)
        m = X.shape[1] + (found.bias_unit > 0.0)
        total, start = np.zeros((signs.shape[1], m, m)), 0
        for Z in chunks(found.ball, found.bias_unit, X):
            roots = np.sqrt(least[start : start + len(Z)])
            for c, gram in enumerate(total):
                scaled = Z * roots[:, c, None]
                gram += scaled.T @ scaled
            start += len(Z)
        return total, float(least.sum()), float(np.sum(weight * column.curvature(margins)))


@dataclass(frozen=True)
class FittedWeights:
    """A fit of which predictions are to be bounded, in the units of the rows as given."""

    loss: Loss
    source: Source  # the rows, labels and weights of the fit, not standardised
    W: Array  # (k, d + 1), bias last
    reach: Array  # ``1 / sqrt(l2_j)``, (d,)
    intercept: bool
    mean: Array | None = None  # the mean row, or near it, if it is known

    @classmethod
    def of(cls, units: GivenUnits, W: Array, mean: Array | None = None) -> FittedWeights:
        """Weights of the objective, such as a run returns; ``mean`` of its rows, if it is known."""
        objective, features = units.objective, units.features
        reach = reach_of(objective.penalty, objective.source.n_features, features)
        source, V = objective.source, W
        if units.given is not None:
            if units.standardization is not None:
                mean = with_all_features(units.standardization.mean, features)
            source, V = units.given, units.weights(W)
            reach = with_all_features(reach, features)
        return cls(objective.loss, source, V, reach, objective.intercept, mean)

    def bounds(self, gap: float) -> PredictionBounds:
        """Bounds on the predictions of the minimum, given the duality gap."""
        near = self.by_gradient(gap)
        return self._bounds(gap)[0] if near is None else near

    def checked_bounds(self, gap: float) -> tuple[PredictionBounds, float, float]:
        """The same, and the mean loss at the weights with its error from the rounding of scores.

        Other rows would have another mean loss.
        """
        found, rows = self._bounds(gap)
        found = self.by_gradient(gap) or found
        scores, share = rows.values + found.bias, rows.weight / np.sum(rows.weight)
        away = rows.rounding + found.bias_rounding
        errors = (np.abs(self.loss.gradient(rows.y, scores)) + away) * away
        losses = self.loss.value(rows.y, scores)
        return found, float(np.sum(share * losses)), float(np.sum(share * errors.sum(axis=1)))

    def without_gap(self, bounds: PredictionBounds) -> PredictionBounds:
        """Bounds on the scores of the fit itself, whose width is that of rounding."""
        low, high = bounds.bias - bounds.bias_rounding, bounds.bias + bounds.bias_rounding
        return replace(bounds, radius=0.0, bias_low=low, bias_high=high, factors=None)

    def _bounds(self, gap: float) -> tuple[PredictionBounds, TrainingScores]:
        radius = math.sqrt(gap) * ROOT_ROUNDING
        at = self.point
        ball = WeightBall(at.weights, at.centre, at.reach, radius)
        rows = TrainingScores(*map(np.concatenate, self.source.total(ScoresInBall(ball))))
        low, high = self._biases(rows, at.bias) if self.intercept else (at.bias, at.bias)
        found = PredictionBounds(
            at.weights, at.centre, at.reach, radius, low, high, self.loss.shifts, at.bias,
            at.bias_rounding,
        )  # fmt: skip
        return self._with_curvature(found, rows), rows

    @cached_property
    def point(self) -> Point:
        """The weights about the mean row."""
        weights, b, centre = self.W[:, :-1], self.W[:, -1], self._centre()
        near = exact_bias(centre, self.W)[0]  # large means would cost digits
        size = np.abs(b) + np.sum(np.abs(weights * centre), axis=1)
        terms = (OPERATIONS + len(centre)) * EPS
        lost = np.where(size < LARGEST, terms, 1.0) * terms * size
        return Point(weights, centre, self.reach, near, FEW_ROUNDINGS * (np.abs(near) + lost))

    def by_gradient(self, gap: float) -> PredictionBounds | None:
        """Bounds from the gradient at the weights, in one read; None if it is too large."""
        ball = self.gradient_ball(with_curvature=True)
        near = None if ball is None else ball.near(ball.curvature)
        if ball is None or near is None:
            return None
        radius = math.sqrt(gap) * ROOT_ROUNDING
        return self.near_bounds(near, None if ball.joint else ball.curvature, radius)

    def gradient_ball(self, with_curvature: bool) -> GradientBall | None:
        """The gradient at the weights, unless the loss has no bounds from it."""
        if not has_gradient_ball(self.loss):
            return None
        k, d = self.W[:, :-1].shape
        joint, m = self.loss.column_loss is None, d + self.intercept
        m, k = (k * m, 1) if joint else (m, k)
        few = m <= MOST_VARIABLES and k * m * m <= MOST_VALUES
        return GradientBall.of(
            self.loss, self.source, self.point, self.intercept, with_curvature and few
        )

    def near_bounds(
        self, near: NearMinimum, curvature: CurvatureBound | None, radius: float = np.inf
    ) -> PredictionBounds:
        """Bounds on the predictions of a minimum that is near, and at most at this radius."""
        at, least = self.point, min(near.radius, radius)
        factors, unit = (
            (None, 0.0) if curvature is None else (curvature.factors, curvature.bias_unit)
        )
        if factors is not None and least < near.radius:
            factors = factors * (least / near.radius)
        return PredictionBounds(
            at.weights, at.centre, at.reach, least, at.bias - near.bias, at.bias + near.bias,
            self.loss.shifts, at.bias, at.bias_rounding, factors, unit,
        )  # fmt: skip

    def _with_curvature(self, found: PredictionBounds, rows: TrainingScores) -> PredictionBounds:
        """The same with a smaller region, if the loss has a second derivative everywhere."""
        column, (k, d) = self.loss.column_loss, found.weights.shape
        m = d + self.intercept
        if column is None or not has_least_curvature(column) or not 0.0 < found.radius < np.inf:
            return found
        if m > MOST_VARIABLES or k * m * m > MOST_VALUES:
            return found
        # In these units, features and the bias have about the same size.
        unit = float(np.mean(rows.spread)) / found.radius / math.sqrt(d)
        found = replace(found, bias_unit=(unit if 0.0 < unit < np.inf else 1.0) * self.intercept)
        for _ in range(MOST_ROUNDS):
            sums, least, present = self.source.total(LeastCurvature(self.loss, found))
            grams = (gram / self.source.weight_sum for gram in sums)
            factors = [self._factor(gram, len(rows.y)) for gram in grams]
            if any(factor is None for factor in factors):
                break
            found = replace(found, factors=np.array(factors))
            if least > ENOUGH * present:
                break
        return found

    def _factor(self, gram: Array, n_rows: int) -> Array | None:
        """A factor of the second derivative; a bias, the last variable, has no penalty."""
        penalty = np.full(len(gram), 2.0)
        penalty[len(gram) - self.intercept :] = 0.0
        return lower_factor(gram, penalty, factor_rounding(gram, penalty, n_rows))

    def _centre(self) -> Array:
        """The mean row; without an intercept 0."""
        if self.intercept and self.mean is not None:
            return self.mean
        if self.intercept:
            with np.errstate(over="ignore", invalid="ignore"):
                sums = ClassSums.of(self.source)
                mean = sums.shift + sums.total / self.source.weight_sum
            if np.all(np.isfinite(mean)):
                return np.broadcast_to(mean, (self.source.n_features,)).copy()
        return np.zeros(self.source.n_features)

    def _biases(self, rows: TrainingScores, near: Array) -> tuple[Array, Array]:
        slack, share = rows.spread[:, None] + rows.rounding, rows.weight / np.sum(rows.weight)
        if self.loss.shifts:
            apart = ROOT_2 * rows.spread + 2.0 * rows.rounding.max(axis=1)
            return softmax_bounds(rows.y, rows.values, apart, share, near)
        column = self.loss.column_loss
        assert column is not None
        signs = self.loss.signs(rows.y, rows.values)
        found = [
            column_bounds(column.slope, signs[:, c], rows.values[:, c], slack[:, c], share, b)
            for c, b in enumerate(near.tolist())
        ]
        low, high = np.array(found).T
        return low, high
