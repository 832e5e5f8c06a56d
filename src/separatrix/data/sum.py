"""Sums over all rows of a source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from ..numeric.threads import ordered_sum
from ..numeric.types import AnyArray, Ints
from .blocks import Block

T = TypeVar("T", bound=tuple[Any, ...])
T_co = TypeVar("T_co", bound=tuple[Any, ...], covariant=True)


class Sum(ABC, Generic[T_co]):
    """A query of a source: some numbers and arrays, each a sum over all rows.

    A frozen dataclass of its parameters, which can be pickled and sent to where the rows are. It is
    pure: it writes only to new arrays, which it returns. Entries of the tuples are numbers, arrays,
    or lists, which are concatenated.

    A sum with ``by_blocks`` can be computed by a compiled loop over all blocks.
    """

    @abstractmethod
    def of(self, block: Block) -> T_co:
        """The sum over one block, which may be empty."""

    @property
    def by_blocks(self) -> bool:
        """Whether a compiled loop over all blocks can compute the sum."""
        return False

    @property
    def few_numbers(self) -> bool:
        """Whether it stores a few numbers per row at most, so that a block may be all rows."""
        return False

    def over_blocks(self, rows: Block, edges: Ints, threads: int) -> T_co:
        """With ``by_blocks``: the sum over the blocks between edges, with the bits of ``of``."""
        raise NotImplementedError(f"{self!r} has no compiled loop of its own")

    def over_parts(self, block: Block, parts: list[Block], threads: int) -> T_co:
        """The sum over a block, given the parts that threads share, added in their order."""
        if not self.by_blocks or len(parts) == 1 or not block.rows.compiled:
            return ordered_sum(self.of, parts, threads)
        edges = np.array([*(part.start for part in parts), block.at.stop], np.int64) - block.start
        return self.over_blocks(block, edges, min(threads, len(parts)))

    @property
    def batch_rows(self) -> int | None:
        """Rows at a time, if threads should share the (large) sum and not the rows; else None."""
        return None

    def over(self, batches: Iterable[Block], threads: int) -> T_co:
        """With ``batch_rows``: the sum over all batches, on the given number of threads."""
        raise NotImplementedError(f"{self!r} is summed over blocks")

    @property
    def whole_parts(self) -> bool:
        """Whether each partition of the source must be summed as one block."""
        return False

    def with_row_numbers(self, numbers: Mapping[str, AnyArray], start: int) -> Sum[T_co]:
        """The same sum, given the named numbers stored with the rows from ``start`` on."""
        return self
