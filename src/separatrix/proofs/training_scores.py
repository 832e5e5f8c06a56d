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
from ..numeric.dot import scaled_square
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array
from ..objective.known import ClassSums
from ..penalties import Penalty
from ..rows import host_rows_of
from .bias_bounds import column_bounds, softmax_bounds
from .curvature_ball import (
    MOST_VALUES,
    MOST_VARIABLES,
    chunks,
    has_least_curvature,
    least_curvature,
    lower_factor,
)
from .prediction_bounds import ROOT_2, PredictionBounds
from .units import GivenUnits
from .weight_ball import WeightBall, reach_of, with_all_features

ROOT_ROUNDING = 1.0 + 4 * EPS  # of the root of a gap
BIAS_ROUNDING = 64 * EPS  # of a pairwise sum over the features
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
        rounding = rounding + EPS * (np.abs(values) + np.abs(offset[here]))
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
            within = np.minimum(within, nearer.deviations(X))
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

    @classmethod
    def of(cls, units: GivenUnits, W: Array) -> FittedWeights:
        """Weights of the objective, such as a run returns."""
        objective, features = units.objective, units.features
        reach = reach_of(objective.penalty, objective.source.n_features, features)
        source, V = objective.source, W
        if units.given is not None:
            source, V = units.given, units.weights(W)
            reach = with_all_features(reach, features)
        return cls(objective.loss, source, V, reach, objective.intercept)

    def bounds(self, gap: float) -> PredictionBounds:
        """Bounds on the predictions of the minimum, given the duality gap."""
        return self._bounds(gap)[0]

    def checked_bounds(self, gap: float) -> tuple[PredictionBounds, float]:
        """The same, and the objective at the weights: other rows would have another one."""
        found, rows = self._bounds(gap)
        scores = rows.values + found.bias
        C = float(np.sum(rows.weight))
        mean = float(np.sum(rows.weight * self.loss.value(rows.y, scores))) / C
        used = self.reach > 0.0
        scaled = self.W[:, :-1][:, used] / self.reach[used]
        return found, mean + scaled_square(scaled)

    def without_gap(self, bounds: PredictionBounds) -> PredictionBounds:
        """Bounds on the scores of the fit itself, whose width is that of rounding."""
        low, high = bounds.bias - bounds.bias_rounding, bounds.bias + bounds.bias_rounding
        return replace(bounds, radius=0.0, bias_low=low, bias_high=high, factors=None)

    def _bounds(self, gap: float) -> tuple[PredictionBounds, TrainingScores]:
        radius = math.sqrt(gap) * ROOT_ROUNDING
        weights, b = self.W[:, :-1], self.W[:, -1]
        ball = WeightBall(weights, self._centre(), self.reach, radius)
        rows = TrainingScores(*map(np.concatenate, self.source.total(ScoresInBall(ball))))
        near = b + np.sum(weights * ball.centre, axis=1)
        size = np.abs(b) + np.sum(np.abs(weights * ball.centre), axis=1)
        low, high = self._biases(rows, near) if self.intercept else (near, near)
        found = PredictionBounds(
            weights, ball.centre, self.reach, radius, low, high, self.loss.shifts, near,
            BIAS_ROUNDING * size,
        )  # fmt: skip
        return self._with_curvature(found, rows), rows

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
            factors = [lower_factor(gram / self.source.weight_sum, self.intercept) for gram in sums]
            if any(factor is None for factor in factors):
                break
            found = replace(found, factors=np.array(factors))
            if least > ENOUGH * present:
                break
        return found

    def _centre(self) -> Array:
        """The mean row; without an intercept 0."""
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
