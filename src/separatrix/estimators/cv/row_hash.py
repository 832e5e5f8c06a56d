"""Folds of a source: a hash of the row's number selects the fold that leaves the row out.

A source may be readable only block by block, so it cannot be split by its labels first. A row is in
the same fold wherever blocks end, in memory or in a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...data import Block, InMemory, Shuffle, Source, Sum
from ...data.blocks import Visit, random_rows, row_hash
from ...data.class_moments import ClassMoments, group_sums
from ...data.labels import class_numbers
from ...data.sum import T
from ...data.thresholds import MOST_SUMS
from ...data.wrapped import BlockMap, MappedSource
from ...numeric import checks
from ...numeric.types import AnyArray, Array, Ints
from ...rows import host_rows_of
from .splits import check_labels_vary

HASHED_AT_ONCE = 1 << 20  # row numbers


class SourceFold(NamedTuple):
    """The training rows and the test rows of a fold."""

    training: Source
    test: Source


def fold_numbers(first: int, count: int, folds: int) -> Ints:
    """The fold that leaves out each of these rows."""
    numbers: Ints = (row_hash(first, count) % np.uint64(folds)).astype(np.int64)
    return numbers


def check_folds(cv: Any, kind: str) -> int:
    """Check for a number of folds, the only option for a source that is read in blocks."""
    if not checks.is_integer(cv) or cv < 2:
        raise ValueError(
            f"cv={cv!r}: the folds of {kind}, which is read block by block, are chosen by a "
            "hash of the row number; cv must be their number, 2 or more"
        )
    return int(cv)


def hashed_splits(rows: int, folds: int) -> Iterator[tuple[Ints, Ints]]:
    """The same folds for rows in memory, as a splitter would yield them: train and test."""
    fold = fold_numbers(0, rows, folds)
    for number in range(folds):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def source_folds(source: Source, folds: int) -> Iterator[SourceFold]:
    """All folds of a source, after one pass that counts and sums their rows."""
    if source.multilabel:
        yield from _label_folds(source, folds)
        return
    k, d = len(source.classes), source.n_features
    shift = _typical_row(source)
    rows, weights, *sums = source.total(FoldSums(folds, k, shift, folds * k * d <= MOST_SUMS))
    for fold in range(folds):
        trained = np.delete(rows, fold, axis=0).sum(axis=0)
        if not trained.all() or not rows[fold].any():
            raise ValueError(
                f"a fold trains on {np.count_nonzero(trained)} of {len(source.classes)} classes "
                f"and tests on {int(rows[fold].sum())} rows: use fewer folds, or leave out the "
                f"rarest classes; each has {rows.sum(axis=0).astype(int).tolist()} rows"
            )
        others = (np.delete(each, fold, axis=0).sum(axis=0) for each in (weights, *sums))
        rest, *own = others
        about = np.zeros(d) if shift is None else shift
        moments = ClassMoments(about, own[0], rest, own[1]) if own else None
        training = LeftOut(fold, folds)
        yield SourceFold(
            FoldSource(source, training, int(trained.sum()), float(rest.sum()), moments),
            FoldSource(
                source, LeftOut(fold, folds, tests=True), int(rows[fold].sum()),
                float(weights[fold].sum()),
            ),
        )  # fmt: skip


def _label_folds(source: Source, folds: int) -> Iterator[SourceFold]:
    rows, weights, counts = source.total(LabelFoldSums(folds, len(source.classes)))
    for fold in range(folds):
        others = np.arange(folds) != fold
        n, weight = int(rows[others].sum()), float(weights[others].sum())
        check_labels_vary(source.classes, counts[others].sum(axis=0), n, int(rows[fold]))
        yield SourceFold(
            FoldSource(source, LeftOut(fold, folds), n, weight),
            FoldSource(
                source, LeftOut(fold, folds, tests=True), int(rows[fold]), float(weights[fold])
            ),
        )


@dataclass(frozen=True)
class LabelFoldSums(Sum[tuple[Array, Array, Array]]):
    """For every fold, the number of rows, their weight, and the number with each label."""

    folds: int
    labels: int

    def of(self, block: Block) -> tuple[Array, Array, Array]:
        """(folds,), (folds,) and (folds, labels)."""
        fold = fold_numbers(block.start, len(block.y), self.folds)
        there = (block.weights != 0.0).astype(np.float64)
        own = np.where(fold == np.arange(self.folds)[:, None], there, 0.0)
        return own.sum(axis=1), own @ block.weights, own @ (block.y > 0)


def _typical_row(source: Source) -> Array | None:
    """The centre for sums over features: close to the means of dense rows."""
    known = None if source.storage == "csr" else source.class_moments()
    return source.approximate_mean() if known is None else known.shift


@dataclass(frozen=True)
class FoldSums(Sum[tuple[Array, ...]]):
    """For every fold and class: the number of rows, their weight, and sums for moments."""

    folds: int
    classes: int
    shift: Array | None
    with_moments: bool

    def of(self, block: Block) -> tuple[Array, ...]:
        """(folds, classes) each; sums of features and their squares are (folds, classes, d)."""
        fold = fold_numbers(block.start, len(block.y), self.folds)
        at = fold * self.classes + class_numbers(block.y, self.classes)
        size, shape = self.folds * self.classes, (self.folds, self.classes)
        there = (block.weights != 0.0).astype(np.float64)
        counts = (np.bincount(at, each, size).reshape(shape) for each in (there, block.weights))
        rows, weights = (each.astype(np.float64, copy=False) for each in counts)
        if not self.with_moments:
            return rows, weights
        found = group_sums(host_rows_of(block.X), block.weight, at, size, self.shift)
        return rows, weights, *(each.reshape(*shape, -1) for each in found)


@dataclass(frozen=True)
class LeftOut(BlockMap):
    """Gives weight 0 to the rows of a fold; or, for its test, to all others."""

    fold: int
    folds: int
    tests: bool = False
    copies = False

    def __call__(self, block: Block) -> Block:
        own: AnyArray = fold_numbers(block.start, len(block.y), self.folds) == self.fold
        return block._replace(weight=np.where(own == self.tests, block.weights, 0.0))


class FoldSource(MappedSource):
    """The rows of a source that a fold trains on, or tests: others get weight 0."""

    def __init__(
        self,
        source: Source,
        map: LeftOut,
        n_rows: int,
        weight_sum: float,
        moments: ClassMoments | None = None,
    ) -> None:
        super().__init__(source, map)
        self.map: LeftOut = map
        self._n_rows, self._weight_sum, self._moments = n_rows, weight_sum, moments

    def class_moments(self) -> ClassMoments | None:
        """Computed when the folds were counted."""
        return self._moments

    @property
    def n_rows(self) -> int:
        return self._n_rows

    @property
    def weight_sum(self) -> float:
        return self._weight_sum

    def visits(self, shuffle: Shuffle | None = None) -> Iterator[Visit]:
        """Visit in the order of the source, without the rows of weight 0."""
        for block, order in super().visits(shuffle):
            rows = np.arange(len(block.y)) if order is None else order
            yield Visit(block, rows[block.weights[rows] != 0.0])

    def total(self, sum: Sum[T]) -> T:
        """Summed by the source, except for batches, which do not have row numbers."""
        if sum.batch_rows is not None:
            return sum.over(self.batches(sum.batch_rows), self.threads)
        return super().total(sum)

    def sample(self, size: int) -> InMemory:
        """A sample of its own rows: a sample of the source does not have row numbers.

        For rows that are not local only the sampled ones are fetched, by their numbers.
        """
        if self.source.parts is None or self.source.n_rows != self.source.length:
            return Source.sample(self, size)
        found = self.source.take(self._numbers(random_rows(self.n_rows, size)))
        return found.with_weight(found.weights)

    def _numbers(self, wanted: Ints) -> Ints:
        """Numbers in the source of some rows, given by their increasing numbers in the fold."""
        found, before = [], 0
        for first in range(0, self.source.length, HASHED_AT_ONCE):
            count = min(HASHED_AT_ONCE, self.source.length - first)
            there = fold_numbers(first, count, self.map.folds) == self.map.fold
            own = first + np.flatnonzero(there == self.map.tests)
            at = slice(*np.searchsorted(wanted, [before, before + len(own)]))
            found.append(own[wanted[at] - before])
            before += len(own)
        return np.concatenate(found)
