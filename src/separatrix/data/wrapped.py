"""Sources that wrap another source and transform its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numeric.threads import running_sum
from ..numeric.types import AnyArray, Array, Ints
from ..rows import DenseRows, Storage, with_offset
from ..rows.thresholds import VALUES_AT_ONCE
from .blocks import Block, Shuffle, Visit
from .class_moments import FEW_ROWS, ClassMoments
from .in_memory import SameStorage
from .row_state import RowChange, RowNumbers
from .source import InMemory, Source
from .sum import Sum, T

LEAST_ROWS = 512  # fewest rows per part of a block: its sum over features takes time too
BLOCKS_IN_TURNS = 3  # most blocks that a source visits in turns


class BlockMap(ABC):
    """A transformation of rows; it must be picklable, as it is sent to where the rows are."""

    @property
    def copies(self) -> bool:
        """Whether it copies rows: then sums map a few at a time, which stay in the cache."""
        return True

    @abstractmethod
    def __call__(self, block: Block) -> Block:
        """The same block with transformed rows, labels or weights."""


class WrappedSource(SameStorage):
    """A source that delegates to another one, except for ``blocks``.

    Sums, visits and samples use its own blocks.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.n_features, self.classes = source.n_features, source.classes

    @property
    def original(self) -> Source:
        return self.source

    @property
    def n_rows(self) -> int:
        return self.source.n_rows

    @property
    def length(self) -> int:
        return self.source.length

    @property
    def weight_sum(self) -> float:
        return self.source.weight_sum

    @property
    def threads(self) -> int:
        return self.source.threads

    @property
    def without_offset(self) -> Source:
        return WithoutOffset(self) if self.has_offset else self

    def layout(self, shuffled: bool) -> dict[str, Any]:
        return self.source.layout(shuffled)


class MappedSource(WrappedSource):
    """The rows of another source, transformed block by block while they are read."""

    def __init__(self, source: Source, map: BlockMap) -> None:
        super().__init__(source)
        self.map = map

    def blocks(self) -> Iterator[Block]:
        return map(self.map, self.source.blocks())

    def visits(self, shuffle: Shuffle | None = None) -> Iterator[Visit]:
        """The mapped rows in the order of the source's visits.

        Blocks that the source visits in turns are not mapped again.
        """
        held: deque[tuple[Block, Block]] = deque(maxlen=BLOCKS_IN_TURNS)
        for block, order in self.source.visits(shuffle):
            mapped = next((mapped for given, mapped in held if given is block), None)
            if mapped is None:
                mapped = self.map(block).stored
                held.append((block, mapped))
            yield Visit(mapped, order)

    @property
    def parts(self) -> int | None:
        return self.source.parts

    def total(self, sum: Sum[T]) -> T:
        return self.source.total(SumOfMapped(sum, self.map))

    def row_numbers(self) -> RowNumbers | None:
        kept = self.source.row_numbers()
        return None if kept is None else NumbersOfMapped(kept, self.map)

    def sample(self, size: int) -> InMemory:
        return self._copied(self.source.sample(size))

    def _copied(self, found: InMemory) -> InMemory:
        return Source.gathered(self.map(found.block()).stored, self.classes)

    def approximate_mean(self) -> Array | None:
        """Mean of a few rows; of a sample if rows are remote, to avoid fetching a whole part."""
        if self.source.parts is None or self.storage == "csr":
            return super().approximate_mean()
        return self.sample(FEW_ROWS).block().rows.mean()


class WithoutOffset(MappedSource):
    """The rows of another source without their offset."""

    has_offset = False

    def __init__(self, source: Source) -> None:
        super().__init__(source, OffsetRemoval())
        self.validation = source.validation

    def class_moments(self) -> ClassMoments | None:
        return self.source.class_moments()


@dataclass(frozen=True)
class OffsetRemoval(BlockMap):
    """A block without its offset."""

    copies = False

    def __call__(self, block: Block) -> Block:
        return block._replace(X=block.rows.without_offset.X)


class Featureless(MappedSource):
    """Another source with a single feature, which is 0: what the biases and the offset explain."""

    storage: Storage = "dense"
    row_bytes = 8.0
    row_values = 1.0
    cancelling = 0.0

    def __init__(self, source: Source) -> None:
        super().__init__(source, FeatureRemoval())
        self.n_features = 1

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)


@dataclass(frozen=True)
class FeatureRemoval(BlockMap):
    """A block with a single feature, which is 0, and the same offset."""

    def __call__(self, block: Block) -> Block:
        rows = DenseRows(np.zeros((len(block.y), 1)))
        return block._replace(X=with_offset(rows, block.rows.offset).X)


class SomeFeatures(MappedSource):
    """Some features of another source, given by increasing numbers."""

    def __init__(self, source: Source, features: Ints) -> None:
        super().__init__(source, FeatureSelection(features))
        self.n_features, self.features = len(features), features

    @property
    def cancelling(self) -> AnyArray | float:
        """The entries of these features."""
        added = self.source.cancelling
        return added[self.features] if isinstance(added, np.ndarray) else added


@dataclass(frozen=True)
class FeatureSelection(BlockMap):
    """A block with some of its features."""

    features: Ints

    def __call__(self, block: Block) -> Block:
        return block._replace(X=block.rows.take_features(self.features).X)


@dataclass(frozen=True)
class SumOfMapped(Sum[T]):
    """A sum over mapped rows."""

    sum: Sum[T]
    map: BlockMap

    def of(self, block: Block) -> T:
        """The sum over the mapped block; if rows are copied, over a few at a time."""
        if self.sum.whole_parts or not self.map.copies:
            return self.sum.of(self.map(block))
        n = len(block.y)
        size = max(LEAST_ROWS, int(VALUES_AT_ONCE * n // max(block.rows.n_values, 1)))
        parts = (block.part(at, min(at + size, n)) for at in range(0, max(n, 1), size))
        return running_sum(self.sum.of(self.map(part)) for part in parts)

    def with_row_numbers(self, numbers: Mapping[str, AnyArray], start: int) -> SumOfMapped[T]:
        return replace(self, sum=self.sum.with_row_numbers(numbers, start))

    @property
    def by_blocks(self) -> bool:
        """See :class:`Sum`; not if rows are copied, as the copies would be large."""
        return self.sum.by_blocks and not self.map.copies

    def over_blocks(self, rows: Block, edges: Ints, threads: int) -> T:
        return self.sum.over_blocks(self.map(rows), edges, threads)

    @property
    def whole_parts(self) -> bool:
        return self.sum.whole_parts

    @property
    def batch_rows(self) -> int | None:
        return self.sum.batch_rows

    def over(self, batches: Iterable[Block], threads: int) -> T:
        return self.sum.over(map(self.map, batches), threads)


class NumbersOfMapped(RowNumbers):
    """Numbers stored with rows; changes see the mapped rows."""

    def __init__(self, kept: RowNumbers, map: BlockMap) -> None:
        self.kept, self.map, self.name = kept, map, kept.name

    def advance(self, change: RowChange) -> None:
        self.kept.advance(ChangeOfMapped(change, self.map))


@dataclass(frozen=True)
class ChangeOfMapped:
    """A change that is given the mapped rows."""

    change: RowChange
    map: BlockMap

    def __call__(self, block: Block, numbers: AnyArray | None) -> AnyArray:
        return self.change(self.map(block), numbers)
