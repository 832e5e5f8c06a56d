"""Passes of single alphas over some rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...data import Block, Shuffle
from ...data.blocks import random_order
from ...numeric.rows import squared_norms
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Objective
from .losses import MarginResponse

MIXED = 16  # stretches of neighbouring rows whose order is mixed: about a cache full
CAREFUL = 6.0  # times the mean slope: how far beyond its kink a row at a bound may be left out
# Of a smooth loss: rows that bend much in the units of the penalty take many passes, of which a
# stiff bias, as one more feature of all rows, would take twice as many; where they bend little, a
# soft one would take many rounds. Measured on text.
SOFT, SOFTEST = 0.25, 0.1


@dataclass
class CoordinatePasses:
    """Every row's alpha, the weights that follow from them, and what passes have found out."""

    objective: Objective
    response: MarginResponse
    alpha: Array
    seed: int
    passes: int = 0
    safe: float = np.inf
    """How far beyond its kink a row at a bound need not be visited again."""
    slope: float = field(default=np.inf, init=False)
    """Mean distance to its kink of those rows whose alpha could follow, in the last pass."""

    def __post_init__(self) -> None:
        self.source = source = self.objective.in_memory
        self.square = np.empty(len(source.y))
        source.total(partial(_squares, out=self.square))
        self.share = 1.0 / source.weight_sum
        self.give = 0.5 / self.objective.penalty.l2
        self.bias_give = 0.0
        if self.objective.intercept:  # as stiff as a feature of the rows' own size
            weight = np.ones(len(source.y)) if source.weight is None else source.weight
            square = float(weight @ self.square) * self.share or 1.0
            self.bias_give = self.give * square
            if not self.response.kinked:
                bend = (self.response.loss.max_curvature or 1.0) * square * self.give * self.share
                self.bias_give *= min(1.0, max(SOFTEST, SOFT / bend))
        self.again = np.zeros(len(source.y), dtype=bool)
        self.W = np.zeros(self.objective.shape)

    def _pass(self, rows: Ints) -> AnyArray:
        """One of single alphas over all rows given, in a random order; which to visit again."""
        source = self.source
        shuffle = Shuffle(self.seed, self.passes)
        order = rows[random_order(len(rows), shuffle, source.row_bytes, MIXED)]
        self.passes += 1
        kept, slope = source.coordinate_epoch(
            self.response.loss, self.alpha, self.W[0], order, inv_weight_sum=self.share,
            row_norm2=self.square, inv_2l2=self.give, bias_inv_penalty=self.bias_give,
            shrink_margin=self.safe,
        )  # fmt: skip
        self.again[order[:kept]] = True
        again = self.again[rows]
        self.again[rows] = False
        if self.response.bounded:
            self.slope = slope * self.share
            self.safe = CAREFUL * slope / (kept or 1)
        return again

    def _gains(self, rows: Ints, steps: Array) -> Any:
        """Of the dual's linear part, by each step of these rows' alphas."""
        weight = self.source.weight
        return self.share * (steps.sum(axis=-1) if weight is None else steps @ weight[rows])

    def _product(self, v: Array, w: Array) -> Any:
        """Of weights as the dual has it, where there is no bias."""
        return v[..., :-1] @ w[:-1] / self.give


# Parts of a sum, one block each.


def _squares(block: Block, out: Array) -> tuple[()]:
    out[block.start : block.start + len(block.y)] = squared_norms(block.X)
    return ()
