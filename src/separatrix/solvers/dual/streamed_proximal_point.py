"""Proximal points of the dual over rows that are read block by block.

Problem: that of :mod:`separatrix.solvers.dual.proximal_point`, for a source whose rows are not in
memory. Input: blocks of rows, the same ones at each read. Output: the same.
Algorithm: the same steps, but a read tells everything at some weights: J, its smoothed form and
gradient, the bound, and the free rows, from which Newton's next direction follows in memory. What
is kept from read to read is the center, one number a row for two classes, k for k, and while it
moves the one before. Scores are not kept: a search along a step tries many lengths in one read.

Free rows are gathered up to ``GATHERED_BYTES``. Where there are more, as far from the minimum,
every block gives its share of them, drawn evenly, and each counts for those left out: the direction
is then that of a sample, which depends on where blocks end; J, gradient and bound never do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...data import Block, Source, Sum
from ...data.blocks import concatenated, random_rows, taken
from ...losses import Loss
from ...numeric.types import Array
from ..thresholds import GATHERED_BYTES
from .dual_loss import DualLoss, DualSums
from .newton_system import NewtonSystem
from .proximal_steps import LEVEL, TOO_STEEP, Point, ProximalSteps
from .sums import SOME_ROWS, SmoothedSums, joined, scores_of

SHORTEST, LONGEST = -16, 10  # powers of two: lengths of a step that are tried first
BETWEEN = 15  # lengths tried at once between two
MOST_SEARCHES = 6  # reads for the length of one step


class FreeRows(NamedTuple):
    """Some of the rows whose alphas are free: copied."""

    rows: Block
    scores: Array
    alpha: Array


@dataclass
class StreamedProximalPointRun(ProximalSteps):
    """An ascent whose rows are read for every point. A ``center`` without rows is one of zeros."""

    def _begin(self) -> Point:
        return self._point(self.W)

    def _point(self, W: Array, *, moves_from: float | None = None) -> Point:
        """One read of the data; with a penalty parameter, of a center that is moved there first."""
        source = self.objective.source
        share = GATHERED_BYTES / max(1.0, source.row_bytes * source.n_rows)
        asked = StreamedSums(
            self.objective.loss, self.dual_loss, W, self.center, self.penalty_parameter,
            min(share, 1.0), moves_from,
        )  # fmt: skip
        loss, wrong, smooth, proximal, rows, conjugates, n_free, free, centers = source.total(asked)
        self.n_free = n_free
        self.free = FreeRows(
            concatenated([some.rows for some in free]),
            np.concatenate([some.scores for some in free]),
            np.concatenate([some.alpha for some in free]),
        )
        if centers:
            self.center = joined(centers)
        return self._evaluated(W, (loss, wrong, smooth, proximal), DualSums(rows, conjugates))

    def alpha(self) -> Array:
        """In one read of the data: between reads there are no scores."""
        asked = Alphas(self.dual_loss, self.at.W, self.center, self.penalty_parameter)
        return joined(self.objective.source.total(asked)[0])

    def _newton_direction(self) -> Array:
        rows = Source.gathered(self.free.rows, self.objective.source.classes)
        return NewtonSystem(
            self.objective.on_rows(rows), self.dual_loss, self.free.scores, self.free.alpha,
            self.at.gradient, self.penalty_parameter, self.weight_sum,
        ).direction()  # fmt: skip

    def _move_center(self) -> None:
        before = self.penalty_parameter
        self._sharpen(self.n_free)
        self.at = self._point(self.at.W, moves_from=before)

    def _descend(self, direction: Array, slope: float) -> None:
        """The whole step, or a length at which the slope along it has nearly vanished."""
        before, free, n_free = self.at, self.free, self.n_free
        there = self._point(before.W + direction)
        if abs(float(np.vdot(there.gradient, direction))) > TOO_STEEP * abs(slope):
            there = self._point(before.W + self._search(direction, slope) * direction)
        if np.isfinite(there.objective):
            self.at = there
        else:  # beyond what floating point holds it stays where it is
            self.free, self.n_free = free, n_free

    def _search(self, direction: Array, slope: float) -> float:
        """The best of many lengths; then between its neighbours, some at a read."""
        lengths = 2.0 ** np.arange(SHORTEST, LONGEST + 1.0)
        for _ in range(MOST_SEARCHES):
            slopes = self._slopes(direction, lengths)
            best = int(np.argmin(np.abs(slopes)))
            if abs(slopes[best]) <= LEVEL * abs(slope):
                break
            # It grows with the length: of a convex function.
            above = int(np.searchsorted(slopes > 0.0, True))
            low = lengths[above - 1] if above else 0.0
            high = lengths[above] if above < len(lengths) else 2.0 * lengths[-1]
            lengths = np.linspace(low, high, BETWEEN + 2)[1:-1]
        return float(lengths[best])

    def _slopes(self, direction: Array, lengths: Array) -> Array:
        """Of the smoothed J along the direction, at so many lengths."""
        W, penalty = self.at.W, self.objective.penalty
        (sums,) = self.objective.source.total(
            SlopesAlong(self.dual_loss, W, direction, lengths, self.center, self.penalty_parameter)
        )
        steep = [np.vdot(penalty.gradient(W + t * direction), direction) for t in lengths]
        return np.array(steep) - sums / self.weight_sum


# ---- sums over the rows

Streamed = tuple[float, float, float, float, Array, Array, int, list[FreeRows], list[Array]]


@dataclass(frozen=True)
class StreamedSums(Sum[Streamed]):
    """What ``SmoothedSums`` tells; the number of free rows, some of them; centers if they moved."""

    loss: Loss
    dual_loss: DualLoss
    W: Array
    center: Array
    penalty_parameter: float
    share: float
    """Of the rows, at most, whose free ones are gathered."""
    moves_from: float | None
    """The penalty parameter of the center given, if it is to be moved to the alphas at W."""

    def of(self, block: Block) -> Streamed:
        """In one read of the rows."""
        y, s = block.y, scores_of(block, self.W)
        center = center_of(block, self.center, self.dual_loss)
        if self.moves_from is not None:
            center = self.dual_loss.alpha(y, s, center, self.moves_from)
        smoothed = SmoothedSums(
            self.loss, self.dual_loss, self.W, center, self.penalty_parameter, s
        )
        alpha = self.dual_loss.alpha(y, s, center, self.penalty_parameter)
        present = block.weights != 0.0
        free = np.flatnonzero(self.dual_loss.is_free(alpha) & present)
        most = math.ceil(self.share * np.count_nonzero(present))
        some = free[random_rows(len(free), most)]
        rows = taken(block, some)
        if len(some) < len(free):
            rows = rows._replace(weight=rows.weights * (len(free) / len(some)))
        gathered = FreeRows(rows, s[some], alpha[some])
        moved = [] if self.moves_from is None else [center]
        return *smoothed.of(block._replace(start=0))[:-1], len(free), [gathered], moved


@dataclass(frozen=True)
class Alphas(Sum[tuple[list[Array]]]):
    """Dual variables of every row, near a center."""

    dual_loss: DualLoss
    W: Array
    center: Array
    penalty_parameter: float

    def of(self, block: Block) -> tuple[list[Array]]:
        """Of one block."""
        center = center_of(block, self.center, self.dual_loss)
        s = scores_of(block, self.W)
        return ([self.dual_loss.alpha(block.y, s, center, self.penalty_parameter)],)


@dataclass(frozen=True)
class SlopesAlong(Sum[tuple[Array]]):
    """Minus the slopes of the smoothed losses along a direction, at several lengths."""

    dual_loss: DualLoss
    W: Array
    direction: Array
    lengths: Array
    center: Array
    penalty_parameter: float

    def of(self, block: Block) -> tuple[Array]:
        """A few rows at a time: what is computed for them stays in cache."""
        s, change = scores_of(block, self.W), scores_of(block, self.direction)
        center, c = center_of(block, self.center, self.dual_loss), block.weights
        out = np.zeros(len(self.lengths))
        for start in range(0, len(c), SOME_ROWS):
            at = slice(start, start + SOME_ROWS)
            for i, length in enumerate(self.lengths):
                there = s[at] + length * change[at]
                alpha = self.dual_loss.alpha(block.y[at], there, center[at], self.penalty_parameter)
                neg_slope = self.dual_loss.neg_slope(block.y[at], alpha)
                out[i] += c[at] @ np.sum(neg_slope * change[at], axis=1)
        return (out,)


def center_of(block: Block, center: Array, dual_loss: DualLoss) -> Array:
    """The part of a block; zeros if there is none yet."""
    if not len(center):
        return np.zeros((len(block.y), dual_loss.columns))
    return center[block.at]
