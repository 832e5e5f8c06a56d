"""Passes of single alphas over some rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...data import Block, Shuffle
from ...data.arrays import random_order
from ...numeric.rows import squared_norms
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Objective
from .losses import BinaryDualLoss

MIXED = 16  # stretches of neighbouring rows whose order is mixed: about a cache full
CAREFUL = 6.0  # times the mean slope: how far beyond its kink a row at a bound may be left out
# Of a smooth loss: rows that curvature much in the units of the penalty take many epochs, of which a
# stiff bias, as one more feature of all rows, would take twice as many; where they curvature little, a
# soft one would take many rounds. Measured on text.
SOFT, SOFTEST = 0.25, 0.1


@dataclass
class CoordinateEpochs:
    """Every row's alpha, the weights that follow from them, and what epochs have found out."""

    objective: Objective
    dual_loss: BinaryDualLoss
    alpha: Array
    seed: int
    epochs: int = 0
    shrink_margin: float = np.inf
    """How far beyond its kink a row at a bound need not be active is_active."""
    slope: float = field(default=np.inf, init=False)
    """Mean distance to its kink of those rows whose alpha could follow, in the last pass."""

    def __post_init__(self) -> None:
        self.source = source = self.objective.in_memory
        self.row_norm2 = np.empty(len(source.y))
        source.total(partial(_squares, out=self.row_norm2))
        self.inv_weight_sum = 1.0 / source.weight_sum
        self.inv_2l2 = 0.5 / self.objective.penalty.l2
        self.bias_inv_penalty = 0.0
        if self.objective.intercept:  # as stiff as a feature of the rows' own size
            weight = np.ones(len(source.y)) if source.weight is None else source.weight
            square = float(weight @ self.row_norm2) * self.inv_weight_sum or 1.0
            self.bias_inv_penalty = self.inv_2l2 * square
            if not self.dual_loss.nonsmooth:
                curvature = (
                    (self.dual_loss.loss.max_curvature or 1.0)
                    * square
                    * self.inv_2l2
                    * self.inv_weight_sum
                )
                self.bias_inv_penalty *= min(1.0, max(SOFTEST, SOFT / curvature))
        self.is_active = np.zeros(len(source.y), dtype=bool)
        self.W = np.zeros(self.objective.shape)

    def _epoch(self, rows: Ints) -> AnyArray:
        """One of single alphas over all rows given, in a random order; which to visit is_active."""
        source = self.source
        shuffle = Shuffle(self.seed, self.epochs)
        order = rows[random_order(len(rows), shuffle, source.row_bytes, MIXED)]
        self.epochs += 1
        kept, slope = source.coordinate_epoch(
            self.dual_loss.loss, self.alpha, self.W[0], order, inv_weight_sum=self.inv_weight_sum,
            row_norm2=self.row_norm2, inv_2l2=self.inv_2l2, bias_inv_penalty=self.bias_inv_penalty,
            shrink_margin=self.shrink_margin,
        )  # fmt: skip
        self.is_active[order[:kept]] = True
        is_active = self.is_active[rows]
        self.is_active[rows] = False
        if self.dual_loss.bounded:
            self.slope = slope * self.inv_weight_sum
            self.shrink_margin = CAREFUL * slope / (kept or 1)
        return is_active

    def _gains(self, rows: Ints, steps: Array) -> Any:
        """Of the dual's linear part, by each step of these rows' alphas."""
        weight = self.source.weight
        return self.inv_weight_sum * (
            steps.sum(axis=-1) if weight is None else steps @ weight[rows]
        )

    def _product(self, v: Array, w: Array) -> Any:
        """Of weights as the dual has it, where there is no bias."""
        return v[..., :-1] @ w[:-1] / self.inv_2l2


# Parts of a sum, one block each.


def _squares(block: Block, out: Array) -> tuple[()]:
    out[block.start : block.start + len(block.y)] = squared_norms(block.X)
    return ()
