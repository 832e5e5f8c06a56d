"""Sums over rows that only cross-validation needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Block, Sum
from ...losses import Loss
from ...losses.rivals import predicted_numbers
from ...numeric.types import AnyArray, Array
from .thresholds import ROWS_AT_ONCE


@dataclass(frozen=True)
class MaxNorms(Sum[tuple[list[float]]]):
    """The largest ``|(x - mean) * factor|^2`` in each block among rows with a weight."""

    mean: Array
    factor: Array

    def of(self, block: Block) -> tuple[list[float]]:
        square = block.rows.max_standardised_norm2(block.weight, self.mean, self.factor)
        return ([square],)


@dataclass(frozen=True)
class ScoreSums(Sum[tuple[Array]]):
    """For each of many weights (m, k, d + 1), the weight of the correctly classified rows.

    With ``scoring="loss"``, minus the weighted sum of the losses.
    """

    scoring: Any
    loss: Loss
    weights: Array

    @property
    def few_numbers(self) -> bool:
        """Whether a device computes it without the scores of all rows."""
        return bool(self.scoring == "loss")

    def of(self, block: Block) -> tuple[Array]:
        m, k, d = self.weights.shape
        sums, rows = np.zeros(m), block.rows
        if self.few_numbers and not rows.on_threads:
            y, weight = block.y, block.weight
            found = [rows.value_gradient(y, self.loss, W, weight)[0] for W in self.weights]
            return (-np.array(found),)
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
    """Whether each row is correct, or minus its loss, (m, n), for scores (m, k, n) of m weights."""
    if scoring == "loss":
        with np.errstate(over="ignore"):  # for rows far from all others
            return np.array([-loss.value(y, each.T) for each in s])
    right: AnyArray = predicted_numbers(s) == (y > 0 if s.shape[1] == 1 else y)
    return right
