"""Rows in memory: dense or sparse, and memory-mapped files that look like arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from .. import layout, loops
from ..layout import CsrRows, Rows
from ..typing import AnyArray, Array, Ints
from .pool import n_threads, ordered_sum
from .source import Block, Source

BLOCK_BYTES = 1 << 20  # below this a thread costs more than it saves
MOST_BLOCKS, FEW_BLOCKS = 64, 8
SUMS = 32  # times a sum over features, which every block has of its own, are a block's rows
# In random order: a few pages of neighbouring rows, of which a group mixes so many. Data sorted
# by class is mixed to within a few per cent in every group.
NEIGHBOURS_BYTES, GROUP = 16 << 10, 256


def random_order(
    n: int, rng: np.random.Generator, row_bytes: float = 0.0, group: int = GROUP
) -> Ints:
    """A random order of n rows; of large ones so that pages of memory are read once."""
    neighbours = max(1, int(NEIGHBOURS_BYTES / row_bytes) if row_bytes else n)
    seed = int(rng.integers(2**64, dtype=np.uint64))
    return loops.draw_order(n, neighbours, group, seed)


class ArraySource(Source):
    """Rows, labels and weights in arrays, never copied.

    ``X`` is C-contiguous float32 or float64, or :class:`separatrix.layout.CsrRows`.
    """

    def __init__(
        self,
        X: Rows,
        y: AnyArray,
        classes: AnyArray,
        weight: Array | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.X, self.y, self.weight, self.classes = X, y, weight, classes
        self.n_jobs = n_jobs
        self.n_features = layout.shape(X)[1]

    @cached_property
    def present(self) -> Ints | None:
        """Rows whose weight is not zero; None if that is all of them."""
        if self.weight is None or np.all(self.weight != 0.0):
            return None
        return np.flatnonzero(self.weight)

    @property
    def n_rows(self) -> int:
        """Number of rows whose weight is not zero."""
        return len(self.y) if self.present is None else len(self.present)

    @cached_property
    def weight_sum(self) -> float:
        """Sum of the weights."""
        return float(len(self.y)) if self.weight is None else float(self.weight.sum())

    def typical_row(self) -> Array | None:
        """Mean of a few rows from all over the data, if it is dense."""
        if isinstance(self.X, CsrRows):
            return None
        apart = max(1, self.n_rows // 64)
        rows = self.X[::apart] if self.present is None else self.X[self.present[::apart]]
        mean: Array = rows.mean(axis=0, dtype=np.float64)
        return mean

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Block]:
        """All rows as one block, as they stand or in a random order."""
        order = self.present
        if rng is not None:
            drawn = random_order(self.n_rows, rng, self.row_bytes)
            order = drawn if order is None else order[drawn]
        yield Block(self.X, self.y, self.weight, 0, order)

    @cached_property
    def row_bytes(self) -> float:
        """Bytes of a row, on average."""
        if isinstance(self.X, CsrRows):
            each = self.X.data.itemsize + self.X.indices.itemsize
            return each * len(self.X.data) / max(len(self.y), 1)
        return self.X.itemsize * self.n_features

    @cached_property
    def _parts(self) -> list[Block]:
        n = len(self.y)
        each = max(self.row_bytes, 1)
        apart = min(int(SUMS * 8 * self.n_features / each), -(-n // FEW_BLOCKS))
        size = max(1, int(BLOCK_BYTES / each), -(-n // MOST_BLOCKS), apart)
        return [
            Block(
                layout.part(self.X, start, start + size),
                self.y[start : start + size],
                None if self.weight is None else self.weight[start : start + size],
                start,
            )
            for start in range(0, n, size)
        ]

    @cached_property
    def _threads(self) -> int:
        return 1 if len(self._parts) == 1 else n_threads(self.n_jobs)

    def total(self, part: Callable[[Block], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Sum of ``part(block)`` over blocks that depend on the shape of X alone."""
        return ordered_sum(part, self._parts, self._threads)


def scores(X: Rows, W: Array, n_jobs: int | None = None) -> Array:
    """Scores (n, k) of rows that have no labels."""
    n = layout.shape(X)[0]
    out = np.empty((n, len(W)))

    def part(block: Block) -> tuple[Any, ...]:
        stop = block.start + layout.shape(block.X)[0]
        loops.scores(block.X, W, out[block.start : stop])
        return ()

    ArraySource(X, out, np.empty(0), n_jobs=n_jobs).total(part)
    return out


def all_finite(X: Rows) -> bool:
    """Whether no value is NaN or infinite: 0 times any other is 0, so scores by 0 tell."""
    zeros = np.zeros((1, layout.shape(X)[1] + 1))

    def part(block: Block) -> tuple[int]:
        return (int(np.count_nonzero(loops.scores(block.X, zeros))),)  # NaN is not zero

    return ArraySource(X, np.empty(layout.shape(X)[0]), np.empty(0)).total(part) == (0,)
