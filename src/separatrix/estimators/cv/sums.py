"""Sums over rows that only cross-validation asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Block, Sum
from ...losses import Loss
from ...numeric.types import AnyArray, Array
from .thresholds import ROWS_AT_ONCE


@dataclass(frozen=True)
class MaxNorms(Sum[tuple[list[float]]]):
    """Of each block the largest ``|(x - mean) * factor|^2`` of a row with a weight."""

    mean: Array
    factor: Array

    def of(self, block: Block) -> tuple[list[float]]:
        """Of one block."""
        square = block.rows.max_standardised_norm2(block.weight, self.mean, self.factor)
        return ([square],)


@dataclass(frozen=True)
class ScoreSums(Sum[tuple[Array]]):
    """For each of many weights (m, k, d + 1) the weight of the rows that it gets right.

    With ``scoring="loss"`` minus the weighted sum of the losses.
    """

    scoring: Any
    loss: Loss
    weights: Array

    def of(self, block: Block) -> tuple[Array]:
        """Of one block, (m,)."""
        m, k, d = self.weights.shape
        sums = np.zeros(m)
        if self.scoring is None:
            block.rows.weighted_correct(block.y, block.weight, self.weights, sums)
            return (sums,)
        W, weight = self.weights.reshape(m * k, d), block.weights
        for start in range(0, len(block.y), ROWS_AT_ONCE):
            at = slice(start, min(start + ROWS_AT_ONCE, len(block.y)))
            s = block.rows.part(at.start, at.stop).scores(W).T
            each = row_scores(self.scoring, self.loss, block.y[at], s.reshape(m, k, -1))
            sums += each @ weight[at]
        return (sums,)


def row_scores(scoring: Any, loss: Loss, y: AnyArray, s: Array) -> AnyArray:
    """Whether each row is right, or minus its loss, (m, n), for scores (m, k, n) by m weights."""
    if scoring == "loss":
        with np.errstate(over="ignore"):  # of rows far outside of the others
            return np.array([-loss.value(y, each.T) for each in s])
    right: AnyArray = (s[:, 0] >= 0) == (y > 0) if s.shape[1] == 1 else s.argmax(axis=1) == y
    return right
