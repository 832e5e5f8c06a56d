"""The smallest margin of the rows at given weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Block, Sum
from ..losses import Loss
from ..numeric.types import Array
from .objective import Objective


def smallest_margin(objective: Objective, W: Array) -> float:
    """The smallest margin of a row that counts, for losses with one margin or one per class."""
    (margins,) = objective.source.total(SmallestMargins(objective.loss, W))
    return min(margins, default=np.inf)


@dataclass(frozen=True)
class SmallestMargins(Sum[tuple[list[float]]]):
    """The smallest margin of every block."""

    loss: Loss
    W: Array

    def of(self, block: Block) -> tuple[list[float]]:
        """Uses scores of twice the working precision."""
        scores, _ = block.rows.compensated_scores(self.W)
        sign = self.loss.signs(block.y, scores)
        counts = np.broadcast_to(block.weights[:, None] > 0.0, scores.shape)
        return ([float(np.min(sign * scores, where=counts, initial=np.inf))],)
