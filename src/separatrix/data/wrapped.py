"""Sources that give the rows of another in a way of their own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numeric.threads import running_sum
from ..numeric.types import AnyArray, Array, Ints
from ..rows import Storage
from .blocks import Block, Shuffle, Visit
from .class_moments import FEW_ROWS
from .row_state import RowChange, RowNumbers
from .source import InMemory, Source
from .sum import Sum, T
from .thresholds import VALUES_AT_ONCE

LEAST_ROWS = 512  # of a part of a block: its own sum over features takes time too
BLOCKS_IN_TURNS = 3  # that a source visits in turns, or fewer
BlockMap = Callable[[Block], Block]
"""The same rows in another way; it can be pickled, as it goes to where the rows are."""


class WrappedSource(Source):
    """What it does not say otherwise is that of the source it wraps; ``blocks`` is its own.

    Sums, visits and samples are then made of its own blocks.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.n_features, self.classes = source.n_features, source.classes

    @property
    def n_rows(self) -> int:
        """Number of rows whose weight is not zero."""
        return self.source.n_rows

    @property
    def length(self) -> int:
        """Number of all rows."""
        return self.source.length

    @property
    def weight_sum(self) -> float:
        """Sum of the weights."""
        return self.source.weight_sum

    @property
    def rounding(self) -> float:
        """Relative error of its sums."""
        return self.source.rounding

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the rows."""
        return self.source.dtype

    @property
    def row_bytes(self) -> float:
        """Bytes of a row, on average."""
        return self.source.row_bytes

    @property
    def row_values(self) -> float:
        """Values stored in a row, on average."""
        return self.source.row_values

    @property
    def storage(self) -> Storage:
        """How the rows of its blocks are stored."""
        return self.source.storage

    @property
    def threads(self) -> int:
        """How many threads may work on its rows."""
        return self.source.threads

    def layout(self, shuffled: bool) -> dict[str, Any]:
        """That of the source."""
        return self.source.layout(shuffled)


class MappedSource(WrappedSource):
    """Every row of another source in another way, made of its blocks while they are read."""

    def __init__(self, source: Source, map: BlockMap) -> None:
        super().__init__(source)
        self.map = map

    def blocks(self) -> Iterator[Block]:
        """The blocks of the source, mapped."""
        return map(self.map, self.source.blocks())

    def visits(self, shuffle: Shuffle | None = None) -> Iterator[Visit]:
        """In the order in which the source has its rows visited.

        It may come back to some blocks in turns, which are not mapped again.
        """
        held: deque[tuple[Block, Block]] = deque(maxlen=BLOCKS_IN_TURNS)
        for block, order in self.source.visits(shuffle):
            mapped = next((mapped for given, mapped in held if given is block), None)
            if mapped is None:
                mapped = self.map(block)
                held.append((block, mapped))
            yield Visit(mapped, order)

    @property
    def parts(self) -> int | None:
        """Those of the source."""
        return self.source.parts

    def total(self, sum: Sum[T]) -> T:
        """Summed by the source: its threads and its reading ahead serve mapped rows too."""
        return self.source.total(SumOfMapped(sum, self.map))

    def row_numbers(self) -> RowNumbers | None:
        """Kept by the source, beside its rows as they are mapped."""
        kept = self.source.row_numbers()
        return None if kept is None else NumbersOfMapped(kept, self.map)

    def sample(self, size: int) -> InMemory:
        """The rows that a sample of the source has, mapped."""
        found = self.source.sample(size)
        return Source.gathered(self.map(found.block()), self.classes)

    def approximate_mean(self) -> Array | None:
        """Of rows that are far away those of a sample: no whole part comes here for it."""
        if self.source.parts is None or self.storage == "csr":
            return super().approximate_mean()
        return self.sample(FEW_ROWS).block().rows.mean()


class SomeFeatures(MappedSource):
    """Some features of the rows of another source, by increasing numbers."""

    def __init__(self, source: Source, features: Ints) -> None:
        super().__init__(source, FeatureSelection(features))
        self.n_features = len(features)


@dataclass(frozen=True)
class FeatureSelection:
    """A block with some of its features."""

    features: Ints

    def __call__(self, block: Block) -> Block:
        """A copy of these."""
        return block._replace(X=block.rows.take_features(self.features).X)


@dataclass(frozen=True)
class SumOfMapped(Sum[T]):
    """A sum over mapped rows."""

    sum: Sum[T]
    map: BlockMap

    def of(self, block: Block) -> T:
        """That of the mapped block, a few rows at a time: what is mapped stays in the cache."""
        if self.sum.whole_parts:
            return self.sum.of(self.map(block))
        n = len(block.y)
        size = max(LEAST_ROWS, int(VALUES_AT_ONCE * n // max(block.rows.n_values, 1)))
        parts = (block.part(at, min(at + size, n)) for at in range(0, max(n, 1), size))
        return running_sum(self.sum.of(self.map(part)) for part in parts)

    def beside(self, numbers: Mapping[str, AnyArray], start: int) -> SumOfMapped[T]:
        """With numbers that are kept with the rows."""
        return replace(self, sum=self.sum.beside(numbers, start))

    @property
    def whole_parts(self) -> bool:
        """As the sum itself has it."""
        return self.sum.whole_parts

    @property
    def batch_rows(self) -> int | None:
        """As the sum itself has it."""
        return self.sum.batch_rows

    def over(self, batches: Iterable[Block], threads: int) -> T:
        """Of mapped batches."""
        return self.sum.over(map(self.map, batches), threads)


class NumbersOfMapped(RowNumbers):
    """Numbers kept beside rows that are mapped before they are changed by them."""

    def __init__(self, kept: RowNumbers, map: BlockMap) -> None:
        self.kept, self.map, self.name = kept, map, kept.name

    def advance(self, change: RowChange) -> None:
        """By rows as they are mapped."""
        self.kept.advance(ChangeOfMapped(change, self.map))


@dataclass(frozen=True)
class ChangeOfMapped:
    """A change by rows that are mapped first."""

    change: RowChange
    map: BlockMap

    def __call__(self, block: Block, numbers: AnyArray | None) -> AnyArray:
        """Of one block."""
        return self.change(self.map(block), numbers)
