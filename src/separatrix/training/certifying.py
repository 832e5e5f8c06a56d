"""Stop a run when the predictions of given rows are proven to be those of the exact minimum.

Each check reads the training rows a few times. So the next check waits for the gap that the last
one left to be expected: half-widths of score intervals are in proportion to the root of the gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data import Source
from ..numeric.tolerances import SMALLEST_NORMAL
from ..numeric.types import AnyArray, Array
from ..proofs.prediction_bounds import ScoreBounds
from ..proofs.training_scores import FittedWeights
from ..proofs.units import GivenUnits
from ..rows import host_rows_of

SPARE = 1.02
"""During a run, labels must also be proven for a gap that is larger by this factor: at its end the
gap is computed more exactly."""
OPTIMISM = 0.5  # of the gap expected to be small enough
SHARES = 1e-4, 0.25  # of the present gap, at least and at most, for the next check


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
    """The weights of the last check that proved all labels, and the largest gap for which it does.
    """

    def holds(self, W: Array, gap: float) -> bool:
        """Whether all labels are proven for the weights that a run returns."""
        if self.proven is not None and gap <= self.proven[1] and np.array_equal(W, self.proven[0]):
            return True
        return self.check(W, gap).all_decided

    def check(self, W: Array, gap: float) -> Found:
        """The predictions of these weights of the objective, with this duality gap."""
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
