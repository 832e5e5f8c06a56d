"""A subset of rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from .. import loops
from ..losses import MarginLoss
from ..numeric.lazy import cached_property
from ..numeric.threads import ordered_sum
from ..numeric.types import AnyArray, Array, Ints
from .blocks import Block, Shuffle, Visit, random_rows
from .in_memory import InBlocks
from .source import InMemory
from .sum import T
from .thresholds import KEPT_SAMPLE, LONG_RUN


class Subset(InBlocks):
    """Some rows by their numbers, copied a block at a time unless they are contiguous."""

    def __init__(self, source: InBlocks, rows: Ints) -> None:
        self.source, self.rows = source, rows
        self.n_features, self.classes = source.n_features, source.classes

    @property
    def original(self) -> InBlocks:
        return self.source

    @cached_property
    def weight(self) -> Array | None:
        return None if self.source.weight is None else self.source.weight[self.rows]

    @property
    def n_rows(self) -> int:
        return len(self.rows) if self.weight is None else int(np.count_nonzero(self.weight))

    @cached_property
    def weight_sum(self) -> float:
        return float(len(self.rows)) if self.weight is None else float(self.weight.sum())

    @property
    def without_offset(self) -> Subset:
        return Subset(self.source.without_offset, self.rows) if self.has_offset else self

    @cached_property
    def offset(self) -> Array | None:
        offset = self.source.offset
        return None if offset is None else offset[self.rows]

    def blocks(self) -> Iterator[Block]:
        """The blocks used for sums: copies, or slices of neighbouring rows."""
        return map(self.block, self.block_slices)

    def visits(self, shuffle: Shuffle | None = None) -> Iterator[Visit]:
        return self.materialised.visits(shuffle)

    @cached_property
    def block_slices(self) -> list[slice]:
        """Slices that cut the rows into blocks, also at both ends of long runs of neighbours."""
        breaks = np.flatnonzero(np.diff(self.rows) != 1) + 1
        edges = np.concatenate([[0], breaks, [len(self.rows)]])
        long = np.flatnonzero(np.diff(edges) >= LONG_RUN)
        cuts = np.union1d(edges[[0, -1]], [edges[long], edges[long + 1]])
        return [
            slice(start + at.start, start + at.stop)
            for start, stop in pairwise(cuts.tolist())
            for at in self.source.slices_of(stop - start)
        ]

    def block(self, at: slice | None = None) -> Block:
        start, stop, _ = (at or slice(None)).indices(len(self.rows))
        rows = self.rows[start:stop]
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and self.increasing:
            run = self.source.block(slice(int(rows[0]), int(rows[-1]) + 1))
            return run._replace(start=start)
        return self.source.block_of(rows, start)

    @cached_property
    def increasing(self) -> bool:
        """Whether the row numbers increase strictly."""
        return bool(np.all(np.diff(self.rows) > 0))

    @property
    def threads(self) -> int:
        return self.source.threads

    def approximate_mean(self) -> Array | None:
        """None: a sample's moments only scale variables, so sums about 0 are enough."""
        return None

    @cached_property
    def y(self) -> AnyArray:
        """Labels of these rows."""
        return self.source.y[self.rows]

    def _each(self, of: Callable[[Block], T]) -> T:
        return ordered_sum(lambda at: of(self.block(at)), self.block_slices, self.threads)

    def slices_of(self, n: int) -> list[slice]:
        return self.source.slices_of(n)

    def block_of(self, rows: Ints, start: int = 0) -> Block:
        return self.source.block_of(self.rows[rows], start)

    def of_block(self, block: Block) -> InMemory:
        return self.source.of_block(block)

    def with_weight(self, weight: Array | None) -> InMemory:
        return self.materialised.with_weight(weight)

    def with_labels(self, y: AnyArray, classes: AnyArray) -> InMemory:
        return self.materialised.with_labels(y, classes)

    def gram(self, rows: Ints | None = None) -> Array:
        return self.source.gram(self.rows if rows is None else self.rows[rows])

    def ascent_round(
        self, loss: MarginLoss, alpha: Array, w: Array, active: Ints, *orders: Any, **numbers: Any
    ) -> loops.RoundResult:
        return self.materialised.ascent_round(loss, alpha, w, active, *orders, **numbers)

    def multiclass_epoch(
        self, alpha: Array, lines: Array, order: Ints, **numbers: Any
    ) -> loops.MulticlassEpochResult:
        return self.materialised.multiclass_epoch(alpha, lines, order, **numbers)

    def random_rows(self, size: int) -> Ints:
        """Numbers of ``size`` random rows, one per stretch; the same at each call."""
        some: Ints = self.rows[random_rows(len(self.rows), size)]
        return some

    def sample(self, size: int) -> InMemory:
        """``size`` random rows of non-zero weight; a small sample is copied once."""
        rows = self.rows if self.present is None else self.rows[self.present]
        if size >= len(rows):
            return self
        sample = Subset(self.source, rows[random_rows(len(rows), size)])
        return sample.sampled_from(len(rows))

    def sampled_from(self, n: int) -> InMemory:
        """These rows as a sample of n: copied once if they are few."""
        few = len(self.rows) <= KEPT_SAMPLE * n or len(self.source.slices_of(len(self.rows))) == 1
        return self.materialised if few or not self.visitable else self

    @cached_property
    def materialised(self) -> InMemory:
        """A copy of the rows in arrays."""
        return self.of_block(self.block())
