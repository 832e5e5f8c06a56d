"""Rows in memory that are worked on block by block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from ..numeric.types import Array, Ints
from .blocks import Block
from .source import InMemory
from .sum import Sum, T
from .thresholds import ONE_THREAD_BYTES


class InBlocks(InMemory):
    """Rows that are worked on block by block, on threads."""

    @abstractmethod
    def _each(self, of: Callable[[Block], T]) -> T:
        """The sum over blocks, the same ones on any number of threads.

        Blocks know where their rows stand: what there is of every row may be written.
        """

    def _write_rows(self, write: Callable[[Block], object], work: int = 1) -> None:
        """What there is of every row alone, which no block changes: of few rows in one go.

        ``work`` is how many numbers that is for each.
        """

        def part(block: Block) -> tuple[()]:
            write(block)
            return ()

        if len(self.y) * self.row_bytes * work <= ONE_THREAD_BYTES:
            write(self.block())
        else:
            self._each(part)

    @abstractmethod
    def slices_of(self, n: int) -> list[slice]:
        """Where n rows are cut into blocks."""

    @abstractmethod
    def block_of(self, rows: Ints, start: int = 0) -> Block:
        """Some rows in the order given, as the block that begins with that number."""

    @abstractmethod
    def of_block(self, block: Block) -> InMemory:
        """Other rows of the same features and classes, on as many threads."""

    def take(self, rows: Ints) -> InMemory:
        """Some rows; increasing runs of dense ones are not copied."""
        return self.of_block(self.block_of(rows))

    def total(self, sum: Sum[T]) -> T:
        """The sum over blocks that depend on the rows alone, or over batches if it is large."""
        if sum.batch_rows is not None:
            return sum.over(self.batches(sum.batch_rows), self.threads)
        return self._each(sum.of)

    def scores(self, W: Array, out: Array | None = None) -> Array:
        """Of every row, block by block."""
        found = np.empty((len(self.y), len(W))) if out is None else out
        self._write_rows(lambda block: block.rows.scores(W, found[block.at]), len(W))
        return found

    def transpose_product(self, C: Array) -> Array:
        """Summed over the same blocks as any other sum."""

        def part(block: Block) -> tuple[Array]:
            out = np.zeros((C.shape[1], self.n_features + 1))
            block.rows.transpose_product(C[block.at], out)
            return (out,)

        return self._each(part)[0]

    def row_norms(self, squared: bool = False) -> Array:
        """``|x|`` of every row, or its square."""
        out = np.empty(len(self.y))
        self._write_rows(lambda block: block.rows.squared_norms(out[block.at]))
        return out if squared else np.sqrt(out)
