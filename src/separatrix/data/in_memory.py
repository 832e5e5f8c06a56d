"""Sources stored like other rows; rows in memory that are processed block by block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ..numeric.types import AnyArray, Array, Ints
from ..rows import Rows, Storage, VectorSpace
from .blocks import Block
from .source import InMemory, Source
from .sum import Sum, T
from .thresholds import ONE_THREAD_BYTES


class SameStorage(Source):
    """A source whose precision, accuracy and sizes are those of other rows."""

    @property
    @abstractmethod
    def original(self) -> Source | Rows:
        """The other rows."""

    @property
    def storage(self) -> Storage:
        return self.original.storage

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.original.dtype

    @property
    def row_bytes(self) -> float:
        return self.original.row_bytes

    @property
    def row_values(self) -> float:
        return self.original.row_values

    @property
    def rounding(self) -> float:
        return self.original.rounding

    @property
    def cancelling(self) -> AnyArray | float:
        return self.original.cancelling

    @property
    def has_offset(self) -> bool:
        original = self.original
        return original.has_offset if isinstance(original, Source) else original.offset is not None

    def vectors_of(self, shape: tuple[int, int]) -> VectorSpace:
        return self.original.vectors_of(shape)

    @property
    def visitable(self) -> bool:
        return self.original.visitable


class InBlocks(SameStorage, InMemory):
    """Rows in memory that threads process block by block."""

    @abstractmethod
    def _each(self, of: Callable[[Block], T]) -> T:
        """The sum over blocks, which do not depend on the number of threads.

        Blocks know the positions of their rows, so ``of`` may write numbers of its rows.
        """

    def _write_rows(self, write: Callable[[Block], object], work: int = 1) -> None:
        """Write numbers for every row that do not depend on block boundaries; few rows at once.

        ``work`` is how many numbers are written per row.
        """

        def part(block: Block) -> tuple[()]:
            write(block)
            return ()

        if len(self.y) * self.row_bytes * work <= ONE_THREAD_BYTES:
            write(self.block())
        else:
            self._each(part)

    @property
    def without_offset(self) -> InBlocks:
        return self

    @abstractmethod
    def slices_of(self, n: int) -> list[slice]:
        """Slices that cut n rows into blocks."""

    @abstractmethod
    def block_of(self, rows: Ints, start: int = 0) -> Block:
        """Some rows in the given order, as a block whose first row has the number ``start``."""

    @abstractmethod
    def of_block(self, block: Block) -> InMemory:
        """Other rows of the same features and classes, on as many threads."""

    def take(self, rows: Ints) -> InMemory:
        """Some rows; increasing runs of dense ones are not copied."""
        return self.of_block(self.block_of(rows))

    def total(self, sum: Sum[T]) -> T:
        """The sum over blocks, which depend only on the rows; over batches if it is large."""
        if sum.batch_rows is not None and self.visitable:
            return sum.over(self.batches(sum.batch_rows), self.threads)
        return self._each(sum.of)

    def scores(self, W: Array, out: Array | None = None) -> Array:
        found = np.empty((len(self.y), len(W))) if out is None else out
        self._write_rows(lambda block: block.rows.scores(W, found[block.at]), len(W))
        return found

    def transpose_product(self, C: Array) -> Array:
        """C' (X, 1), summed over the same blocks as any other sum."""

        def part(block: Block) -> tuple[Array]:
            out = np.zeros((C.shape[1], self.n_features + 1))
            block.rows.transpose_product(C[block.at], out)
            return (out,)

        return self._each(part)[0]

    def row_norms(self, squared: bool = False) -> Array:
        out = np.empty(len(self.y))
        self._write_rows(lambda block: block.rows.squared_norms(out[block.at]))
        return out if squared else np.sqrt(out)
