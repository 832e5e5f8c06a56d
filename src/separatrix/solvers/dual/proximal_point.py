"""Ascent of the dual of J by proximal steps, each solved by Newton's method on the weights.

A step maximises the dual less ``sum_i p_i |alpha_i - anchor_i|^2 / (2 sharpness)`` and moves the
anchor to where that is (proximal points; Rockafellar, 1976). Its own dual is smooth: J with its
kinks rounded off, shifted by the anchor. So Newton's method finds the weights, the bias among them
and as free as in J, and every row's response to them is its alpha. Only the rows near a kink bend:
the second derivative is a sum over few of them.

This was chosen over steps in single alphas or pairs of them. With a weak penalty those took
hundreds of passes, badly scaled features make it worse, and a free bias ties all alphas together.
Here some dozens of steps close the gap to 1e-9 of J whatever the scales, and threads share reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ... import loops
from ...data import Block
from ...losses import Loss
from ...numeric.rows import slice_rows
from ...numeric.threads import ordered_sum
from ...numeric.types import Array
from ...objective import Objective
from .losses import Pulls, Response
from .newton_system import Bend

WIDE = 0.5  # first sharpness: rows up to a margin of 1 on either side of the kink bend
GROWTH = 4.0
MANY = 3  # free rows per feature, above which the kinks may be sharper
SETTLED = 0.1  # share of the anchor's move to which the weights of a step are solved
MOST_TRIALS = 60
SOME_ROWS = 1 << 13  # at a time, where something is computed for each
NOTHING = np.empty((0, 0))
ROUNDING = 1e-15


class Point(NamedTuple):
    """Everything at some weights, for an anchor and a sharpness."""

    W: Array
    scores: Array
    objective: float
    mistakes: float
    smooth: float
    """J with its kinks rounded off."""
    gradient: Array
    """Of the smooth one."""
    travel: float
    """What the distance of alpha from the anchor costs."""
    bound: float


@dataclass
class Ascent:
    """Where an ascent stands. ``fixed`` are pulls of rows that are not in the source.

    Such rows count with the tangent that their alpha chooses, and ``weight_sum`` is that of all.
    """

    objective: Objective
    response: Response
    W: Array
    anchor: Array
    sharpness: float = WIDE
    travel: float = np.inf
    """Cost of the last move of the anchor."""
    fixed: Pulls | None = None
    weight_sum: float = field(default=0.0)

    def __post_init__(self) -> None:
        self.source = self.objective.in_memory
        self.weight_sum = self.weight_sum or self.source.weight_sum
        self.at = self._point(self.W)

    def _point(self, W: Array, scores: Array | None = None) -> Point:
        """One read of the data; half of one where the scores are known."""
        known = scores is not None
        scores = np.empty((len(self.source.y), len(W))) if scores is None else scores
        loss_sum, mistakes, smooth, travel, sums, gains = self.source.total(
            partial(
                _respond, loss=self.objective.loss, response=self.response, W=W, known=known,
                anchor=self.anchor, sharpness=self.sharpness, scores=scores,
            )
        )  # fmt: skip
        C, penalty = self.weight_sum, self.objective.penalty
        pulls = Pulls(sums / C, gains / C)
        rest = penalty.value(W)
        if self.fixed is not None:
            pulls = pulls.plus(self.fixed)
            rest += float(self.fixed.gains.sum())
            rest += float(np.vdot(self.response.gradient(self.fixed.sums), W))
        gradient = self.response.gradient(pulls.sums) + penalty.gradient(W)
        if not self.objective.intercept:
            gradient[:, -1] = 0.0
        bound = self.response.bound(pulls, penalty.l2, self.objective.intercept)
        return Point(
            W, scores, loss_sum / C + rest, mistakes, smooth / C + rest, gradient, travel / C,
            bound,
        )  # fmt: skip

    def alpha(self) -> Array:
        """The responses at the weights: made from the scores when needed, they take no place."""
        alpha = np.empty_like(self.anchor)
        for start in range(0, len(alpha), SOME_ROWS):
            at = slice(start, start + SOME_ROWS)
            alpha[at] = self.response.alpha(
                self.source.y[at], self.at.scores[at], self.anchor[at], self.sharpness
            )
        return alpha

    def step(self) -> Point:
        """One Newton step, from a new anchor if the weights have settled for the old one."""
        direction, slope = self._direction()
        if self.response.kinked and -0.5 * slope <= max(
            SETTLED * self.at.travel, ROUNDING * abs(self.at.smooth)
        ):
            self._move_anchor()
            direction, slope = self._direction()
        if -np.inf < slope < 0.0 and np.all(np.isfinite(direction)):
            self._descend(direction, slope)
        self.W = self.at.W
        return self.at

    def _move_anchor(self) -> None:
        """To the responses; kinks get sharper while many rows bend, or where it goes slowly."""
        alpha = self.alpha()
        free, weight = self.response.free(alpha), self.source.weight
        many = np.count_nonzero(free if weight is None else free & (weight != 0.0))
        if many > MANY * self.W.shape[1] or self.at.travel > self.travel / GROWTH:
            self.sharpness *= GROWTH
        self.anchor, self.travel = alpha, self.at.travel
        self.at = self._point(self.at.W, self.at.scores)

    # ---- the length of a step

    def _descend(self, direction: Array, slope: float) -> None:
        """The whole step, or the best length along it, for which scores are enough."""
        # A search is rare: to read the scores once more for it costs less than to hold them.
        before = self.at = self.at._replace(scores=NOTHING)
        there = self._point(before.W + direction)
        if abs(float(np.vdot(there.gradient, direction))) > 0.5 * abs(slope):
            change = there.scores
            del there
            scores = np.empty_like(change)
            self.source.total(partial(_write_scores, W=before.W, scores=scores))
            change -= scores
            length = self._search(direction, scores, change, slope)
            del change, scores
            there = self._point(before.W + length * direction)
        # Beyond what floating point holds it stays where it is.
        self.at = there if np.isfinite(there.objective) else self._point(before.W)

    def _search(self, direction: Array, scores: Array, change: Array, slope: float) -> float:
        """Where the slope along the step vanishes, nearly."""
        low, high, length = 0.0, np.inf, 1.0
        for _ in range(MOST_TRIALS):
            steep = self._slope(direction, scores, change, length)
            if abs(steep) <= 0.1 * abs(slope):
                break
            if steep < 0.0:
                low = length
            else:
                high = length
            length = 2.0 * length if np.isinf(high) else 0.5 * (low + high)
        return length

    def _slope(self, direction: Array, scores: Array, change: Array, length: float) -> float:
        there = self.at.W + length * direction
        steep = float(np.vdot(self.objective.penalty.gradient(there), direction))
        if self.fixed is not None:
            steep += float(np.vdot(self.response.gradient(self.fixed.sums), direction))
        total = 0.0
        for start in range(0, len(change), SOME_ROWS):
            at = slice(start, start + SOME_ROWS)
            y, weight = self.source.y[at], self.source.weight
            moved = scores[at] + length * change[at]
            alpha = self.response.alpha(y, moved, self.anchor[at], self.sharpness)
            pull = np.sum(self.response.pull(y, alpha) * change[at], axis=1)
            total += float(pull.sum() if weight is None else weight[at] @ pull)
        return steep - total / self.weight_sum

    def _direction(self) -> tuple[Array, float]:
        """Newton's direction, and the slope along it."""
        direction = Bend(
            self.objective, self.response, self.at.scores, self.alpha(), self.at.gradient,
            self.sharpness, self.weight_sum,
        ).direction()  # fmt: skip
        return direction, float(np.vdot(direction, self.at.gradient))


# Parts of a sum, one block each.


def block_weight(block: Block) -> Array:
    """Of every row, 1 where none is given."""
    return np.ones(len(block.y)) if block.weight is None else block.weight


def block_scores(block: Block, W: Array, out: Array) -> Array:
    """Of every row, written to ``out``; 0 of those without weight."""
    loops.scores(block.X, W, out)
    if block.weight is not None:
        out[block.weight == 0.0] = 0.0  # as if absent, even where its score overflows
    return out


def _write_scores(block: Block, W: Array, scores: Array) -> tuple[()]:
    block_scores(block, W, scores[block.start : block.start + len(block.y)])
    return ()


def _respond(block: Block, **given: Any) -> tuple[Any, ...]:
    """A few rows at a time: what is computed for them then stays small, and in cache."""
    pieces = []
    for start in range(0, len(block.y), SOME_ROWS):
        at = slice(start, start + SOME_ROWS)
        weight = None if block.weight is None else block.weight[at]
        X = slice_rows(block.X, start, min(start + SOME_ROWS, len(block.y)))
        pieces.append(Block(X, block.y[at], weight, block.start + start))
    return ordered_sum(partial(_respond_piece, **given), pieces, 1)


def _respond_piece(
    block: Block,
    loss: Loss,
    response: Response,
    W: Array,
    known: bool,
    anchor: Array,
    sharpness: float,
    scores: Array,
) -> tuple[float, float, float, float, Array, Array]:
    """Sums of losses, mistakes, smooth losses and travel, and the pulls; writes what is per row."""
    at = slice(block.start, block.start + len(block.y))
    y, c = block.y, block_weight(block)
    s = scores[at] if known else block_scores(block, W, scores[at])
    a = response.alpha(y, s, anchor[at], sharpness)
    pull, gain = response.coefficients(y, a)
    sums = np.zeros((response.groups, W.shape[1]))
    loops.transpose_product(block.X, c[:, None] * pull, sums)
    smooth = response.value(y, s, a, anchor[at], sharpness)
    travel = np.sum((a - anchor[at]) ** 2, axis=1) / (2.0 * sharpness)
    return (
        float(c @ loss.value(y, s)), float(c @ loss.mistakes(y, s)), float(c @ smooth),
        float(c @ travel), sums, c @ gain,
    )  # fmt: skip
