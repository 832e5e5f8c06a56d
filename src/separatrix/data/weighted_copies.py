"""Rows that count as several weighted copies with different labels, without copying the rows.

A row whose label is uncertain is a copy with each label, and the weights of the copies say how much
of the row has it. The loss is then the cross-entropy, and what is proven about weighted rows holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from ..numeric.lazy import cached_property
from ..numeric.threads import running_sum
from ..numeric.types import AnyArray, Array, Ints
from .blocks import Block, concatenated
from .fingerprint import DIGEST_BYTES
from .source import InMemory, Source
from .sum import Sum, T
from .wrapped import BlockMap, SumOfMapped, WrappedSource


class Copies(ABC):
    """Labels and weights of the copies; picklable, as it is sent to where the rows are."""

    by_position: bool
    """Whether they depend on the positions of rows, so that rows cannot be taken out of order."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of copies of every row."""

    @abstractmethod
    def labels_and_weights(self, block: Block) -> list[tuple[AnyArray, Array]]:
        """Encoded labels and weights of the rows of a block, for each copy."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """All that defines it, for a fingerprint."""

    def of(self, block: Block) -> list[Block]:
        """The copies one after the other, which share the rows of the block."""
        start = self.count * block.start
        return [
            Block(block.X, y, weight, start + c * len(block.y))
            for c, (y, weight) in enumerate(self.labels_and_weights(block))
        ]


@dataclass(frozen=True)
class SmoothedLabels(Copies):
    """For two classes: ``share`` of a row has the other label."""

    share: float
    by_position = False
    count = 2

    def labels_and_weights(self, block: Block) -> list[tuple[AnyArray, Array]]:
        weight = block.weights
        return [(block.y, (1.0 - self.share) * weight), (-block.y, self.share * weight)]

    def to_bytes(self) -> bytes:
        return np.float64(self.share).tobytes()


@dataclass(frozen=True, eq=False)
class Probabilities(Copies):
    """The probability of each class for every row."""

    shares: Array  # (n, k), rows that sum to 1
    by_position = True

    @property
    def count(self) -> int:
        return int(self.shares.shape[1])

    def labels_and_weights(self, block: Block) -> list[tuple[AnyArray, Array]]:
        k, n, weight = self.count, len(block.y), block.weights
        labels: list[AnyArray] = [np.full(n, c, dtype=np.int64) for c in range(k)]
        if k == 2:
            labels = [np.full(n, -1.0), np.full(n, 1.0)]
        some = self.shares[block.at]
        return [(labels[c], weight * some[:, c]) for c in range(k)]

    def to_bytes(self) -> bytes:
        return self.shares.tobytes()


class WeightedCopies(WrappedSource):
    """Copies of the rows of another source, which share the stored rows in sums.

    Held-out rows are as they were: they are only evaluated.
    """

    def __init__(self, source: Source, copies: Copies) -> None:
        super().__init__(source)
        self.copies = copies
        self.validation, self.reading = source.validation, source.reading
        self.target = source.target

    @cached_property
    def n_rows(self) -> int:
        """Number of copies whose weight is not 0."""
        if not self.copies.by_position:
            return self.copies.count * self.source.n_rows
        return self.total(PresentRows())[0]

    @property
    def length(self) -> int:
        return self.copies.count * self.source.length

    @property
    def parts(self) -> int | None:
        return self.source.parts

    def blocks(self) -> Iterator[Block]:
        for block in self.source.blocks():
            yield from self.copies.of(block)

    def total(self, sum: Sum[T]) -> T:
        return self.source.total(SumOfCopies(sum, self.copies))

    def sample(self, size: int) -> InMemory:
        """A sample of the copies: all copies of a sample of rows, unless positions count."""
        if self.copies.by_position:
            return super().sample(size)
        some = self.source.sample(max(1, size // self.copies.count))
        return Source.gathered(Stacked(self.copies)(some.block()).stored, self.classes)

    def approximate_mean(self) -> Array | None:
        return self.source.approximate_mean()

    def fingerprint(self) -> str:
        whole = blake2b(self.source.fingerprint().encode(), digest_size=DIGEST_BYTES)
        whole.update(self.copies.to_bytes())
        return whole.hexdigest()


@dataclass(frozen=True)
class PresentRows(Sum[tuple[int]]):
    """Number of rows whose weight is not 0."""

    def of(self, block: Block) -> tuple[int]:
        return (int(np.count_nonzero(block.weights)),)


@dataclass(frozen=True)
class Stacked(BlockMap):
    """All copies of a block as one block, for what needs them together."""

    of: Copies

    def __call__(self, block: Block) -> Block:
        return concatenated(self.of.of(block))._replace(start=self.of.count * block.start)


@dataclass(frozen=True)
class SumOfCopies(Sum[T]):
    """A sum over the copies of rows, one copy after the other."""

    sum: Sum[T]
    copies: Copies

    def of(self, block: Block) -> T:
        if self.sum.whole_parts:
            return self.sum.of(Stacked(self.copies)(block))
        return running_sum(map(self.sum.of, self.copies.of(block)))

    def with_row_numbers(self, numbers: Mapping[str, AnyArray], start: int) -> Sum[T]:
        found = self.sum.with_row_numbers(numbers, start)  # numbers of stacked copies
        return self if found is self.sum else SumOfMapped(found, Stacked(self.copies))

    @property
    def by_blocks(self) -> bool:
        return self.sum.by_blocks

    @property
    def few_numbers(self) -> bool:
        return self.sum.few_numbers

    def over_blocks(self, rows: Block, edges: Ints, threads: int) -> T:
        copies = self.copies.of(rows)
        return running_sum(self.sum.over_blocks(copy, edges, threads) for copy in copies)

    @property
    def whole_parts(self) -> bool:
        return self.sum.whole_parts

    @property
    def batch_rows(self) -> int | None:
        """See :class:`Sum`; not if positions count, which rows of a batch do not have."""
        return None if self.copies.by_position else self.sum.batch_rows

    def over(self, batches: Iterable[Block], threads: int) -> T:
        return self.sum.over((copy for each in batches for copy in self.copies.of(each)), threads)
