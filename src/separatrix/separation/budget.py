"""Reads of a source counted, and refused beyond a number."""

from __future__ import annotations

from collections.abc import Iterator

from ..data import Block, Source, Sum
from ..data.sum import T
from ..data.wrapped import WrappedSource


class OutOfReads(Exception):
    """A question that may read the data no more."""


class ReadBudget:
    """How often a source may still be read."""

    def __init__(self, most: float, n_rows: int) -> None:
        self.left, self.n_rows = most, n_rows

    def read(self) -> None:
        """All rows, once."""
        if self.left < 1:
            raise OutOfReads
        self.left -= 1

    def multiply(self, rows: float) -> None:
        """Products with so many rows that were read before: a share of a read."""
        self.left -= rows / self.n_rows
        if self.left < 0:
            raise OutOfReads


class CountedSource(WrappedSource):
    """A source that may be read so often: every sum over its blocks, and every pass, is a read."""

    def __init__(self, source: Source, budget: ReadBudget) -> None:
        super().__init__(source)
        self.budget = budget

    def blocks(self) -> Iterator[Block]:
        """One read."""
        self.budget.read()
        return self.source.blocks()

    def total(self, sum: Sum[T]) -> T:
        """One read, even where it picks but a few rows."""
        self.budget.read()
        return self.source.total(sum)
