"""Rows in parts that an engine holds elsewhere, as a source."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from uuid import uuid4

import numpy as np

from ...numeric.lazy import cached_property
from ...numeric.threads import n_threads
from ...numeric.types import AnyArray, Array, Ints
from ...rows import Storage, host_rows_of, rows_of, with_offset
from ..blocks import Block, concatenated, random_rows, taken
from ..class_moments import FEW_ROWS
from ..fingerprint import DIGEST_BYTES, fingerprint
from ..labels import encoded
from ..row_state import RowChange, RowNumbers
from ..source import InMemory, Source
from ..sum import Sum, T
from ..wrapped import WithoutOffset
from .engine import Engine
from .facts import FactsOf, PartFacts, check_alike
from .parts import Part, SumOver


class ClusterSource(Source):
    """Rows that workers hold in memory, part by part: only sums are sent back.

    The last bits of results depend on part boundaries, but not on the number of workers or on which
    worker holds which part. Empty parts are allowed.
    """

    def __init__(self, engine: Engine, placed: bool = False) -> None:
        self.engine = engine
        if not placed:
            engine.place()
        (found,) = engine.total(FactsOf())
        self.facts: Sequence[PartFacts] = check_alike(found)
        self.lengths = [facts.rows for facts in found]
        filled = self.facts[0]
        self.n_features, self.names = filled.n_features, filled.names
        labels = [facts.labels for facts in self.facts if len(facts.labels)]
        self.classes = np.unique(np.concatenate(labels))
        columns = 1 if len(self.classes) == 2 else len(self.classes)
        if filled.offsets not in (0, columns):
            raise ValueError(
                f"offset has {filled.offsets} columns, expected {columns}: one number per row for "
                "two classes, else one for each class, in the order of classes_"
            )
        self._dtype = np.result_type(*(facts.dtype for facts in self.facts))
        starts = np.concatenate([[0], np.cumsum(self.lengths)]).tolist()
        engine.change(EncodeLabels(self.classes, tuple(starts), self._dtype.name))

    @property
    def n_rows(self) -> int:
        return sum(facts.present for facts in self.facts)

    @property
    def length(self) -> int:
        return sum(self.lengths)

    @property
    def weight_sum(self) -> float:
        return float(self.class_weight_sums().sum())

    def class_weight_sums(self) -> Array:
        """Sum of the weights of every class, known since parts were placed."""
        return self._class_weight_sums.copy()

    @cached_property
    def _class_weight_sums(self) -> Array:
        result = np.zeros(len(self.classes))
        for facts in self.facts:
            result[np.searchsorted(self.classes, facts.labels)] += facts.weights
        return result

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the rows: float64 where some parts have it, and then of all."""
        return self._dtype

    @property
    def storage(self) -> Storage:
        return self.facts[0].storage

    @property
    def row_values(self) -> float:
        return sum(facts.values for facts in self.facts) / self.length

    @property
    def row_bytes(self) -> float:
        return (self.dtype.itemsize + self.facts[0].index_bytes) * self.row_values

    @cached_property
    def threads(self) -> int:
        """How many threads work here on rows that were gathered."""
        return n_threads(None)

    @property
    def parts(self) -> int:
        return len(self.facts)

    @property
    def has_offset(self) -> bool:
        return self.facts[0].offsets > 0

    @property
    def without_offset(self) -> Source:
        return WithoutOffset(self) if self.has_offset else self

    def total(self, sum: Sum[T]) -> T:
        """Made by the workers, and added up along one tree over the parts."""
        return self.engine.total(SumOver(sum))

    def row_numbers(self) -> RowNumbers:
        return PartNumbers(self.engine)

    def blocks(self) -> Iterator[Block]:
        """The parts that have rows, fetched one after another: for what is no sum."""
        for facts in self.facts:
            ((block,),) = self.engine.total(Fetched(facts.number))
            yield block

    def sample(self, size: int) -> InMemory:
        counts = np.zeros(len(self.lengths), dtype=np.int64)
        counts[[facts.number for facts in self.facts]] = [facts.present for facts in self.facts]
        before = tuple((np.cumsum(counts) - counts).tolist())
        (found,) = self.engine.total(Sampled(random_rows(self.n_rows, size), before))
        rows = Source.gathered(concatenated(found), self.classes)
        rows.reading = self.reading
        return rows

    def take(self, rows: Ints) -> InMemory:
        (found,) = self.engine.total(Taken(rows))
        return Source.gathered(concatenated(found), self.classes)

    def approximate_mean(self) -> Array | None:
        """Mean of a few rows from all over the data, if they are dense."""
        if self.storage == "csr":
            return None
        return self.sample(FEW_ROWS).block().rows.mean()

    @cached_property
    def _fingerprint(self) -> str:
        (names,) = self.engine.total(Fingerprints(self.classes))
        return blake2b(repr(names).encode(), digest_size=DIGEST_BYTES).hexdigest()

    def fingerprint(self) -> str:
        """A hash of the data and its part boundaries, as no worker sees all of it."""
        return self._fingerprint

    def layout(self, shuffled: bool) -> dict[str, Any]:
        return {**super().layout(shuffled), "parts": self.lengths}


class PartNumbers(RowNumbers):
    """Numbers stored with the parts until they are no longer used."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.name = engine, uuid4().hex
        weakref.finalize(self, engine.change, Forgotten(self.name))

    def advance(self, change: RowChange) -> None:
        """A change that parts go through, again if they are made again."""
        self.engine.change(Advanced(self.name, change))


# ---- what is asked of parts, and what becomes of them


@dataclass(frozen=True)
class Advanced:
    """The change of numbers that are stored with the rows."""

    name: str
    change: RowChange

    def __call__(self, part: Part) -> None:
        if part.X is not None:
            part.kept[self.name] = self.change(part.block, part.kept.get(self.name))


@dataclass(frozen=True)
class Forgotten:
    """The end of numbers that were kept."""

    name: str

    def __call__(self, part: Part) -> None:
        part.kept.pop(self.name, None)


@dataclass(frozen=True)
class EncodeLabels:
    """The change from labels as given to the numbers that loops take, and to one precision."""

    classes: AnyArray
    starts: tuple[int, ...]
    dtype: str

    def __call__(self, part: Part) -> None:
        if part.X is None:
            return
        part.start, part.y = self.starts[part.number], encoded(part.y, self.classes)
        rows, offset = host_rows_of(part.X), rows_of(part.X).offset
        plain = rows.with_values(rows.values.astype(self.dtype, copy=False))
        part.X = with_offset(plain, offset).X


@dataclass(frozen=True)
class Fetched:
    """All rows of one part."""

    number: int

    def __call__(self, part: Part, threads: int) -> tuple[list[Block]] | None:
        """Nothing of the others."""
        return ([part.block],) if part.number == self.number else None


@dataclass(frozen=True)
class Sampled:
    """Rows by their numbers among those that count."""

    wanted: Ints
    before: tuple[int, ...]  # rows that count before each part

    def __call__(self, part: Part, threads: int) -> tuple[list[Block]] | None:
        if part.X is None:
            return None
        present, first = part.block.present, self.before[part.number]
        count = len(part.y) if present is None else len(present)
        at = _between(self.wanted, first, count)
        return ([taken(part.block, at if present is None else present[at])],)


@dataclass(frozen=True)
class Taken:
    """Rows by their numbers."""

    rows: Ints

    def __call__(self, part: Part, threads: int) -> tuple[list[Block]] | None:
        if part.X is None:
            return None
        return ([taken(part.block, _between(self.rows, part.start, len(part.y)))],)


def _between(rows: Ints, first: int, count: int) -> Ints:
    """The numbers within a range, counted from its beginning; numbers increase."""
    found: Ints = rows[slice(*np.searchsorted(rows, [first, first + count]))] - first
    return found


@dataclass(frozen=True)
class Fingerprints:
    """A name for each part."""

    classes: AnyArray

    def __call__(self, part: Part, threads: int) -> tuple[list[str]] | None:
        """The name of one part; None if it has no rows."""
        return None if part.X is None else ([fingerprint([part.block], self.classes)],)
