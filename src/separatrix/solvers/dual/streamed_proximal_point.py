"""Proximal points of the dual over rows that are read block by block.

Problem: that of :mod:`separatrix.solvers.dual.proximal_point`, for a source whose rows are not in
memory. Input: blocks of rows, the same ones at each read. Output: the same.
Algorithm: the same steps, but one read gives all values at some weights: J, its smoothed form and
gradient, the bound, and the free rows, from which Newton's next direction follows in memory. What
is kept from read to read is the center, one number a row for two classes, k for k, and while it
moves the one before. Scores are not kept: a search along a step tries many lengths in one read.
A remote source that stores numbers with its rows keeps the center there; what is remembered
here is where it moved, from which a run that is taken up again, or rows made again, have it again.

Free rows are gathered up to ``GATHERED_BYTES``. Where there are more, as far from the minimum,
every block gives its share of them, drawn evenly, and each counts for those left out: the direction
is then that of a sample, which depends on where blocks end; J, gradient and bound never do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...data import Block, Source, Sum
from ...data.blocks import concatenated, random_rows, taken
from ...losses import Loss
from ...numeric.dot import dot
from ...numeric.types import AnyArray, Array
from ...proofs.dual_loss import DualLoss, DualSums
from ...proofs.dual_sums import SOME_ROWS, joined, scores_of
from ..thresholds import GATHERED_BYTES
from .newton_system import NewtonSystem
from .proximal_steps import LEVEL, TOO_STEEP, ProximalIterate, ProximalSteps, SmoothedSums

SHORTEST, LONGEST = -16, 10  # powers of two: lengths of a step that are tried first
BETWEEN = 15  # lengths tried at once between two
MOST_SEARCHES = 6  # reads to find the length of one step

T = TypeVar("T", bound=tuple[Any, ...])


class FreeRows(NamedTuple):
    """Copies of some of the rows whose alphas are free."""

    rows: Block
    scores: Array
    alpha: Array


@dataclass
class StreamedProximalPointRun(ProximalSteps):
    """An ascent that reads the rows for every point. A ``center`` without rows is zero.

    If the center is stored with the rows, ``center`` has a row for each of its moves instead: the
    penalty parameter, and the weights whose alphas it moved to.
    """

    def _begin(self) -> ProximalIterate:
        self.kept = self.objective.source.row_numbers()
        if self.kept is not None:
            self.center = self.center.reshape(-1, 1 + self.W.size)
            for move in self.center:
                self._advance(move)
        return self._point(self.W)

    def _advance(self, move: Array) -> None:
        assert self.kept is not None
        W = move[1:].reshape(self.W.shape).copy()
        self.kept.advance(MovedCenter(self.dual_loss, W, float(move[0])))

    @property
    def kept_bytes(self) -> int:
        """Bytes of the center, unless it is stored with the rows."""
        return self.center.nbytes if self.kept is None else 0

    @property
    def _center(self) -> Array | str:
        """The center, or its name in the source."""
        return self.center if self.kept is None else self.kept.name

    def _point(self, W: Array, *, moves_from: float | None = None) -> ProximalIterate:
        """One read of the data; with a penalty parameter, the center is moved there first."""
        source = self.objective.source
        share = GATHERED_BYTES / max(1.0, source.row_bytes * source.n_rows)
        if self.kept is not None and moves_from is not None:
            move, moves_from = np.concatenate([[moves_from], W.ravel()]), None
            self._advance(move)
            self.center = np.concatenate([self.center, move[None]])
        asked = StreamedSums(
            self.dual_loss, W, self._center, self.penalty_parameter, self.objective.loss,
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
        """Computed in one read of the data: scores are not kept between reads."""
        asked = Alphas(self.dual_loss, self.at.W, self._center, self.penalty_parameter)
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
        """The whole step, or a length at which the slope along it nearly vanishes."""
        before, free, n_free = self.at, self.free, self.n_free
        there = self._point(before.W + direction)
        if abs(dot(there.gradient, direction)) > TOO_STEEP * abs(slope):
            there = self._point(before.W + self._search(direction, slope) * direction)
        if np.isfinite(there.objective):
            self.at = there
        else:  # overflow: the point stays unchanged
            self.free, self.n_free = free, n_free

    def _search(self, direction: Array, slope: float) -> float:
        """The best of many lengths, then of lengths between its neighbours, several per read."""
        lengths = 2.0 ** np.arange(SHORTEST, LONGEST + 1.0)
        for _ in range(MOST_SEARCHES):
            slopes = self._slopes(direction, lengths)
            best = int(np.argmin(np.abs(slopes)))
            if abs(slopes[best]) <= LEVEL * abs(slope):
                break
            # It grows with the length, because the function is convex.
            above = int(np.searchsorted(slopes > 0.0, True))
            low = lengths[above - 1] if above else 0.0
            high = lengths[above] if above < len(lengths) else 2.0 * lengths[-1]
            lengths = np.linspace(low, high, BETWEEN + 2)[1:-1]
        return float(lengths[best])

    def _slopes(self, direction: Array, lengths: Array) -> Array:
        """Slopes of the smoothed J along the direction, at several lengths."""
        W, penalty = self.at.W, self.objective.penalty
        (sums,) = self.objective.source.total(
            SlopesAlong(self.dual_loss, W, self._center, self.penalty_parameter, direction, lengths)
        )
        steep = [dot(penalty.gradient(W + t * direction), direction) for t in lengths]
        return np.array(steep) - sums / self.weight_sum


# ---- sums over the rows

Streamed = tuple[float, float, float, float, Array, Array, int, list[FreeRows], list[Array]]


@dataclass(frozen=True)
class NearCenter(Sum[T]):
    """A sum that needs the center of the rows: the whole center, or its name in the source."""

    dual_loss: DualLoss
    W: Array
    center: Array | str | KeptCenter
    penalty_parameter: float

    def with_row_numbers(self, numbers: Mapping[str, AnyArray], start: int) -> NearCenter[T]:
        if not isinstance(self.center, str):
            return self
        return replace(self, center=KeptCenter(numbers.get(self.center), start))

    def center_of(self, block: Block) -> Array:
        """The part of a block; zeros if there is none yet."""
        if isinstance(self.center, KeptCenter):
            found = self.center.of(block)
        else:
            assert not isinstance(self.center, str), "the center is where the rows are"
            found = self.center[block.at] if len(self.center) else None
        return np.zeros((len(block.y), self.dual_loss.columns)) if found is None else found


class KeptCenter(NamedTuple):
    """The center of the rows from ``start`` on; None: zeros."""

    alpha: AnyArray | None
    start: int

    def of(self, block: Block) -> Array | None:
        """The part of a block."""
        first = block.start - self.start
        return None if self.alpha is None else self.alpha[first : first + len(block.y)]


@dataclass(frozen=True)
class MovedCenter:
    """Moves the center of some rows to their alphas at W."""

    dual_loss: DualLoss
    W: Array
    penalty_parameter: float

    def __call__(self, block: Block, center: AnyArray | None) -> AnyArray:
        """The center is zero at first."""
        if center is None:
            center = np.zeros((len(block.y), self.dual_loss.columns))
        s = scores_of(block, self.W)
        return self.dual_loss.alpha(block.y, s, center, self.penalty_parameter)


@dataclass(frozen=True)
class StreamedSums(NearCenter[Streamed]):
    """The sums of ``SmoothedSums``, the number of free rows, some of them, and moved centers."""

    loss: Loss
    share: float  # maximum number of rows whose free rows are collected
    moves_from: float | None
    """Penalty parameter of the given center, if it is to be moved to the alphas at W."""

    def of(self, block: Block) -> Streamed:
        y, s = block.y, scores_of(block, self.W)
        center = self.center_of(block)
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
class Alphas(NearCenter[tuple[list[Array]]]):
    """Dual variables of every row, near a center."""

    def of(self, block: Block) -> tuple[list[Array]]:
        center = self.center_of(block)
        s = scores_of(block, self.W)
        return ([self.dual_loss.alpha(block.y, s, center, self.penalty_parameter)],)


@dataclass(frozen=True)
class SlopesAlong(NearCenter[tuple[Array]]):
    """Minus the slopes of the smoothed losses along a direction, at several lengths."""

    direction: Array
    lengths: Array

    def of(self, block: Block) -> tuple[Array]:
        """Process a few rows at a time, so that temporary arrays stay in cache."""
        plain = block._replace(X=block.rows.without_offset.X)
        s, change = scores_of(block, self.W), scores_of(plain, self.direction)
        center, c = self.center_of(block), block.weights
        out = np.zeros(len(self.lengths))
        for start in range(0, len(c), SOME_ROWS):
            at = slice(start, start + SOME_ROWS)
            for i, length in enumerate(self.lengths):
                there = s[at] + length * change[at]
                alpha = self.dual_loss.alpha(block.y[at], there, center[at], self.penalty_parameter)
                neg_slope = self.dual_loss.neg_slope(block.y[at], alpha)
                out[i] += c[at] @ np.sum(neg_slope * change[at], axis=1)
        return (out,)
