"""Passes of single alphas over some rows, which two threads may share.

Each climbs a part of the rows from weights of its own. For a smooth loss those move twice as far as
the alphas say, so that both together do not go too far (see cpp/dual/coordinate_ascent.hpp). The
hinge's moves are added as they are: how far to go along their sum is found out after the pass, or
after each of its pieces. Parts that were in each other's way go alone for some passes, each time
twice as many.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ... import loops
from ...data import Block, Shuffle
from ...data.arrays import random_order
from ...numeric.rows import squared_norms
from ...numeric.threads import ordered_sum
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Objective
from .losses import MarginResponse

PARTS = 2  # of the rows, climbed at the same time; more take more passes: 4 a third more
PIECES = 8  # of a pass before a face is known; after each the parts hear of each other
COPIED = 32  # times their copies of the weights are the rows of a piece, at least
MIXED = 16  # stretches of neighbouring rows whose order is mixed: about a cache full
CAREFUL = 6.0  # times the mean slope: how far beyond its kink a row at a bound may be left out
TOO_FAR = 0.4  # of a pass: if its best length is so much shorter, parts are in each other's way
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
    alone: int = 0
    """Passes still to come that are not shared by parts, because those were in each other's way."""
    caution: int = 1
    """How many that will be the next time."""
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

    def _parts(self) -> int:
        """Of the rows, climbed at the same time in the next pass."""
        self.alone -= (alone := self.alone > 0)
        return 1 if alone else PARTS

    def _go_alone(self) -> None:
        self.alone, self.caution = self.caution, 2 * self.caution

    def _early_pass(self, rows: Ints) -> AnyArray:
        """In pieces that are worth the copies of the weights that parts make, or by one part."""
        pieces = int(len(rows) * self.source.row_bytes / (COPIED * self.W.nbytes))
        if pieces > 1 and self._parts() > 1:
            return self._pass(rows, PARTS, min(pieces, PIECES))
        return self._pass(rows, 1)

    def _pass(self, rows: Ints, parts: int, pieces: int = 0) -> AnyArray:
        """One of single alphas over all rows given, in a random order; which to visit again.

        After each of the pieces, if any, parts go back to where together they are highest.
        """
        source = self.source
        shuffle = Shuffle(self.seed, self.passes)
        drawn = random_order(len(rows), shuffle, source.row_bytes, MIXED)
        self.passes += 1
        # With a kink the parts' moves are added: how far to go along their sum is found out.
        held = 1 if self.response.kinked else parts
        part = partial(self._climb_part, parts=held)
        total = 0.0
        for piece in np.array_split(rows[drawn], max(pieces, 1)):
            before = self.alpha[piece] if pieces else None
            moved, slope, kept = ordered_sum(
                part, np.array_split(piece.copy(), parts), source.threads
            )
            if before is not None:
                self._shorten(piece, before, moved)
            self.W[0] += moved / held
            total += slope
            for some in kept:
                self.again[some] = True
        again = self.again[rows]
        self.again[rows] = False
        if self.response.bounded:
            self.slope = total * self.share
            self.safe = CAREFUL * total / (np.count_nonzero(again) or 1)
        return again

    def _climb_part(self, order: Ints, parts: int) -> tuple[Array, float, list[Ints]]:
        source, w = self.source, self.W[0].copy()
        kept, slope = loops.coordinate_epoch(
            source.X, source.y, self.response.loss, self.alpha, w, order, inv_weight_sum=self.share,
            row_norm2=self.square, inv_2l2=self.give, bias_inv_penalty=self.bias_give, parts=parts,
            weight=source.weight, shrink_margin=self.safe,
        )  # fmt: skip
        w -= self.W[0]
        return w, slope, [order[:kept]]

    def _shorten(self, rows: Ints, before: Array, moved: Array) -> None:
        """Back along what parts did without each other, to where the dual is highest."""
        change = self.alpha[rows] - before
        bend = self._product(moved, moved)
        beyond = self._product(moved, self.W[0]) + bend - self._gains(rows, change)
        if not beyond > 0.0:
            return
        length = 1.0 - beyond / bend
        self.alpha[rows] = np.clip(before + length * change, 0.0, 1.0)
        moved *= length
        if length < 1.0 - TOO_FAR:
            self._go_alone()

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
