"""What every place that holds rows offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..loops import BlockSum
from ..numeric.rows import Rows, take_rows
from ..numeric.types import AnyArray, Array, Ints


class Shuffle(NamedTuple):
    """One of the random orders that a seed stands for, or several one after another."""

    seed: int
    number: int
    passes: int = 1


class Block(NamedTuple):
    """Some rows, and where they stand in the whole."""

    X: Rows
    y: AnyArray
    weight: Array | None
    start: int
    order: Ints | None = None
    """Rows of the block to visit, in this order; None: all, as they stand."""


def check_numbers(y: AnyArray, classes: int) -> None:
    """That labels of more than two classes are numbers of classes.

    They index weights: one out of range would read and write elsewhere. Sources check their rows
    once, for a loop may be called for every few of them.
    """
    if classes <= 2 or not len(y):
        return
    # Negative ones are the largest of all without a sign.
    if y.dtype != np.int64 or y.view(np.uint64).max() >= classes:
        raise ValueError(
            f"y must hold the numbers of {classes} classes, int64 from 0 to {classes - 1}, got "
            f"{y.dtype} from {y.min()} to {y.max()}"
        )


class CompiledPart(ABC):
    """A part of a sum that a compiled loop can make of block after block by itself."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers a block comes to."""

    @abstractmethod
    def __call__(self, block: Block) -> tuple[Any, ...]:
        """Of one block."""

    @abstractmethod
    def add_blocks(self, rows: Block, blocks: BlockSum) -> None:
        """Of those blocks of the rows that no other thread has taken."""

    @abstractmethod
    def told(self, sum: Array) -> tuple[Any, ...]:
        """The sum of all blocks as ``__call__`` tells it."""


class Source(ABC):
    """Rows, labels and weights: in memory, in files, on a cluster.

    For two classes ``y`` is -1.0 or +1.0, the larger class +1.
    """

    n_features: int
    classes: AnyArray

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows whose weight is not zero: the others are as if absent."""

    @property
    @abstractmethod
    def weight_sum(self) -> float:
        """Sum of the weights of all rows."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the rows."""
        return np.dtype(np.float64)

    @property
    def row_bytes(self) -> float:
        """Bytes of a row, on average."""
        return 8.0 * self.n_features

    def typical_row(self) -> Array | None:
        """Values near the means, (d,); None for zeros, near which sparse rows are."""
        return None

    @abstractmethod
    def blocks(self, shuffle: Shuffle | None = None) -> Iterator[Block]:
        """For solvers that go row by row: as they stand, or in a random order."""

    @abstractmethod
    def total(self, part: Callable[[Block], tuple[Any, ...]]) -> tuple[Any, ...]:
        """For batch solvers: the sum of ``part(block)`` over all blocks, entry by entry.

        Block boundaries and the order of summation do not depend on the number of threads.
        """

    @property
    def threads(self) -> int:
        """How many threads may work on its rows."""
        return 1

    def some_at_a_time(self, size: int) -> Iterator[Block]:
        """All rows, so many at a time, for work that threads share otherwise than by blocks."""
        for X, y, weight, _, order in self.blocks():
            rows = np.arange(len(y)) if order is None else order
            for start in range(0, len(rows), size):
                at = rows[start : start + size]
                some = None if weight is None else weight[at]
                yield Block(take_rows(X, at), y[at], some, start)

    def sample(self, size: int) -> Source:
        """About so many random rows, the same ones each time; all of them will do too."""
        return self
