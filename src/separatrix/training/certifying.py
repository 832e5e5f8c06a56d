"""Stop a run when the predictions of given rows are proven to be those of the exact minimum.

For losses with bounds from the gradient, a check takes a few steps of Newton's method with one
second derivative, which also proves how far the minimum is: the run returns these weights. Other
checks read the training rows a few times. So the next check waits for the gap that the last
one left to be expected: half-widths of score intervals are in proportion to the root of the gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data import Source
from ..numeric.tolerances import SMALLEST_NORMAL
from ..numeric.types import AnyArray, Array
from ..proofs.gradient_ball import NearMinimum, Point, parts
from ..proofs.newton_ball import NewtonBall
from ..proofs.prediction_bounds import ROOT_2, PredictionBounds, ScoreBounds
from ..proofs.training_scores import FittedWeights
from ..proofs.units import GivenUnits, canonical
from ..rows import host_rows_of

SPARE = 1.02
"""During a run, labels must also be proven for a gap that is larger by this factor: at its end the
gap is computed more exactly."""
OPTIMISM = 0.5  # of the gap expected to be small enough
SHARES = 1e-4, 0.25  # of the present gap, at least and at most, for the next check
MOST_STEPS = 3  # of Newton's method in a check
FURTHER = 0.1  # of the present gap, for the next check with such steps


class Found(NamedTuple):
    """Result of a check."""

    all_decided: bool  # whether all labels are proven, and are those of the weights
    share: float  # share of the gap at which they may be


@dataclass
class Certifying:
    """The rows whose predictions are to be proven."""

    units: GivenUnits
    rows: Source
    proven: tuple[Array, float] | None = None
    """The weights of the last check that proved all labels, as they are returned, and the largest
    gap for which it does."""

    def returned(self, W: Array) -> Array:
        """The weights for which a check has proven all labels, or the same if there are none."""
        return W if self.proven is None else self.proven[0]

    def holds(self, W: Array, gap: float) -> bool:
        """Whether all labels are proven for the weights that a run returns."""
        if self.proven is not None and gap <= self.proven[1] and np.array_equal(W, self.proven[0]):
            return True
        return self.check(W, gap).all_decided

    def check(self, W: Array, gap: float) -> Found:
        """The predictions of these weights of the objective, with this duality gap."""
        W = canonical(self.units.objective, W)
        if (ball := NewtonBall.of(self.units.objective, W)) is not None:
            return Found(self._by_steps(ball), FURTHER)
        fitted, features = FittedWeights.of(self.units, W), self.units.features
        bounds = fitted.bounds(gap)
        own = fitted.without_gap(bounds).for_given(features)
        bounds, decided, least = bounds.for_given(features), True, 1.0
        for block in self.rows.blocks():
            X = host_rows_of(block.X).as_matrix()
            possible, there = bounds.of(X), own.of(X)
            numbers = possible.numbers()
            same = (numbers >= 0) & (numbers == there.numbers())
            decided = decided and bool(same.all())
            least = min(least, _share(possible, there, ~same))
        if decided:
            self.proven = W.copy(), gap
        smallest, largest = SHARES
        return Found(decided, min(max(OPTIMISM * least**2, smallest), largest))


    def _by_steps(self, ball: NewtonBall) -> bool:
        """Whether all labels are proven for these weights, or after a few steps."""
        for step in range(MOST_STEPS + 1):
            near = ball.near()
            if near is not None and self._decides(ball, near):
                return True
            if step == MOST_STEPS or (step and near is None):
                return False
            ball = ball.step()
        return False

    def _decides(self, ball: NewtonBall, near: NearMinimum) -> bool:
        """Whether all labels are proven, and are those of the weights as they are returned."""
        W = canonical(self.units.objective, ball.weights)
        fitted = FittedWeights.of(self.units, W, ball.centre)
        near = ball.seen_from(fitted.point, near, self.units)
        curvature = ball.of_columns()
        bounds = fitted.near_bounds(near, curvature).for_given(self.units.features)
        if not all(
            decides(bounds, near, host_rows_of(block.X).as_matrix()) for block in self.rows.blocks()
        ):
            return False
        self.proven = W, np.inf
        return True


def decides(bounds: PredictionBounds, near: NearMinimum, X: Any) -> bool:
    """Whether the labels of all rows are proven, also for bounds that are slightly larger."""
    at = Point(bounds.weights, bounds.centre, bounds.reach, bounds.bias, bounds.bias_rounding)
    for here, part in parts(at, X):
        scores, rounding = part.values + at.bias, part.rounding.max(axis=1)
        if scores.shape[1] == 1:
            least = np.abs(scores[:, 0]) - rounding
            away = near.radius * part.lengths + near.bias
        else:
            top = np.partition(scores, -2, axis=1)
            least = top[:, -1] - top[:, -2] - 2.0 * rounding
            away = ROOT_2 * near.radius * part.lengths + 2.0 * near.bias
        open_rows = np.flatnonzero(~(least > SPARE * away))
        if len(open_rows) == 0:
            continue
        if bounds.factors is None or not np.all(least[open_rows] > 0.0):
            return False
        if np.any(bounds.of(X[here][open_rows]).numbers() < 0):
            return False
    return True


def _share(possible: ScoreBounds, own: ScoreBounds, rows: AnyArray) -> float:
    """The share of the distance from the minimum at which all of these rows may be decided."""
    if not rows.any():
        return 1.0
    if own.low.shape[1] == 1:
        margin = 0.5 * (own.low + own.high)[rows, 0]
        least = np.where(margin >= 0.0, possible.low[rows, 0], -possible.high[rows, 0])
        margin = np.abs(margin)
    else:
        best = own.lead[rows].argmax(axis=1)[:, None]
        margin = np.take_along_axis(own.lead[rows], best, axis=1)[:, 0]
        least = np.take_along_axis(possible.lead[rows], best, axis=1)[:, 0]
    width = np.maximum(margin - least, SMALLEST_NORMAL)
    return float(np.min(np.maximum(margin, 0.0) / width))
