"""Reads of a source counted, and refused beyond a number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..data import Block, Source, Sum
from ..data.source import Shuffle, T


class OutOfReads(Exception):
    """A question that may read the data no more."""


class CountedSource(Source):
    """A source that may be read so often: every sum over its blocks, and every pass, is a read."""

    def __init__(self, source: Source, most: float) -> None:
        self.source, self.left = source, most
        self.n_features, self.classes = source.n_features, source.classes

    @property
    def n_rows(self) -> int:
        """Number of rows whose weight is not zero."""
        return self.source.n_rows

    @property
    def weight_sum(self) -> float:
        """Sum of the weights."""
        return self.source.weight_sum

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the rows."""
        return self.source.dtype

    def blocks(self, shuffle: Shuffle | None = None) -> Iterator[Block]:
        """One read."""
        self._count()
        return self.source.blocks(shuffle)

    def total(self, sum: Sum[T] | Callable[[Block], T]) -> T:
        """One read, even where it picks but a few rows."""
        self._count()
        return self.source.total(sum)

    def _count(self) -> None:
        if self.left < 1:
            raise OutOfReads
        self.left -= 1

    def products(self, rows: float) -> None:
        """Products with so many rows that were read before: a share of a read."""
        self.left -= rows / self.n_rows
        if self.left < 0:
            raise OutOfReads
