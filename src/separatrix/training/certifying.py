"""Stop a run when the predictions of given rows are proven to be those of the exact minimum.

For losses with bounds from the gradient, a check takes a few steps of Newton's method with one
second derivative, which also proves how far the minimum is: the run returns these weights. Other
checks read the training rows a few times. So the next check waits for the gap that the last
one left to be expected: half-widths of score intervals are in proportion to the root of the gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..data import Source
from ..numeric.tolerances import SMALLEST_NORMAL
from ..numeric.types import AnyArray, Array
from ..proofs.centred_rows import Point, rounding_of, scores
from ..proofs.gradient_ball import NearMinimum
from ..proofs.newton_ball import NewtonBall, applies
from ..proofs.prediction_bounds import ROOT_2, PredictionBounds, ScoreBounds
from ..proofs.training_scores import FittedWeights
from ..proofs.units import GivenUnits, canonical
from ..rows import host_rows_of

SPARE = 1.02
"""During a run, labels must also be proven for a gap that is larger by this factor: at its end the
gap is computed more exactly."""
OPTIMISM = 0.5  # of the gap expected to be small enough
SHARES = 1e-4, 0.25  # of the present gap, at least and at most, for the next check
MOST_OPEN = 50  # rows of a few thousand, for which bounds that cost more are tried
MOST_STEPS = 12  # of Newton's method in a check
TYPICAL = 0.4  # length of a row, relative to the longest
FIRST_CONTRACTION = 0.15  # of the gradient in the first step, at most
CONTRACTION = 0.5  # of the gradient in a step: then another one is likely to help
NEAR = 0.1  # of the tolerance: what J is expected to decrease by at the first of such checks
FURTHER = 0.1  # of the gap, for the next one


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

    reached: NewtonBall | None = None
    """Where the steps of that check ended."""

    def holds(self, W: Array, gap: float) -> bool:
        """Whether all labels are proven for the weights that a run returns."""
        if self.proven is not None and gap <= self.proven[1] and np.array_equal(W, self.proven[0]):
            return True
        return self.by_steps(W) if self.takes_steps else self.check(W, gap).all_decided

    def check(self, W: Array, gap: float) -> Found:
        """The predictions of these weights of the objective, with this duality gap."""
        W = canonical(self.units.objective, W)
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

    @property
    def takes_steps(self) -> bool:
        """Whether checks take steps, and need no gap."""
        return applies(self.units.objective)

    def by_steps(self, W: Array, gradient: Array | None = None) -> bool:
        """Whether all labels are proven after a few steps of Newton's method from the weights.

        ``gradient`` of J there, if it is known.
        """
        ball = NewtonBall.of(self.units.objective, W, gradient)
        if ball is None:
            return False
        for step in range(MOST_STEPS):
            before, ball = ball.length, ball.step()
            slow = ball.length > (CONTRACTION if step else FIRST_CONTRACTION) * before
            near, last = ball.near(), step == MOST_STEPS - 1 or slow
            tries = near is not None and (last or self._undecided(ball, near) < 1.0)
            if near is not None and tries and self._decides(ball, near):
                return True
            if last:
                break
        return False

    def _undecided(self, ball: NewtonBall, near: NearMinimum) -> float:
        """About how many labels to expect that are not proven, if scores are spread over 1."""
        return (near.radius * TYPICAL * ball.longest + near.bias) * self.rows.n_rows

    def _decides(self, ball: NewtonBall, near: NearMinimum) -> bool:
        """Whether all labels are proven, and are those of the weights as they are returned."""
        W = canonical(self.units.objective, ball.weights)  # as a run returns it
        fitted = FittedWeights.of(self.units, W, ball.centre)
        near = ball.seen_from(fitted.point, near, self.units)
        curvature = ball.of_columns()
        bounds = fitted.near_bounds(near, curvature).for_given(self.units.features)
        if not all(
            decides(bounds, near, host_rows_of(block.X).as_matrix()) for block in self.rows.blocks()
        ):
            return False
        self.proven, self.reached = (W, np.inf), ball
        return True


def decides(bounds: PredictionBounds, near: NearMinimum, X: Any) -> bool:
    """Whether the labels of all rows are proven, also for bounds that are slightly larger."""
    at = Point(bounds.weights, bounds.centre, bounds.reach, bounds.bias, bounds.bias_rounding)
    several = len(at.bias) > 1
    rounding, of_bias = rounding_of(at)
    slope = SPARE * (ROOT_2 * near.radius if several else near.radius) + 2.0 * rounding
    constant = SPARE * (2.0 if several else 1.0) * near.bias + 2.0 * of_bias
    for here, values, lengths in scores(at, X):
        if several:
            top = np.partition(values + at.bias, -2, axis=1)
            margins = top[:, -1] - top[:, -2]
        else:
            margins = np.abs(values[:, 0] + at.bias[0])
        margins -= slope * lengths
        open_rows = np.flatnonzero(~(margins > constant))
        if len(open_rows) == 0:
            continue
        if bounds.factors is None or len(open_rows) > MOST_OPEN:
            return False
        own = replace(bounds, radius=0.0, bias_low=at.bias, bias_high=at.bias, factors=None)
        some = X[here][open_rows]
        if not np.all((n := bounds.of(some).numbers()) >= 0) or np.any(n != own.of(some).numbers()):
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
