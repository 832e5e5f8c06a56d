"""Rows of a reader as numbered blocks, decoded or cached, and facts about all of them."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...numeric.types import Ints
from ...rows import host_rows_of, rows_of
from ..blocks import Block
from ..class_moments import RunningMoments
from .cache.blocks import CachedBlocks
from .cache.index import CacheDamaged
from .cutting import cut
from .encoding.coded_labels import Labels
from .encoding.codes import LabelCodes
from .encoding.decoding import decoded, refuse_mixed
from .encoding.encoding import Encoding
from .encoding.label_sets import target_names
from .facts import Facts, check_weights
from .held_out import held_out
from .memory import advise_on_memory
from .prefetch import prefetched
from .readers.formats import kept_format
from .readers.reader import Place, Reader, SharedFiles, TableReader, TypesRefuted
from .restored import restored
from .thresholds import KEPT_BYTES, LONG_DECODING, MANY_DECODINGS

if TYPE_CHECKING:
    from .encoding.options import EncodingOptions


class MostlyZeros(Exception):
    """Rows that were decoded as dense should be sparse."""


class StoredRows:
    """All rows in blocks, whose labels are codes in order of first occurrence.

    The first pass is made here, unless a cache has its results. It is a survey for a table whose
    encoding depends on the rows, else it decodes; both count the rows. A cache is written while
    rows are decoded, which takes a separate pass after a survey.
    """

    format: str | None  # the format of its files, for a model that is fitted to them
    moments: RunningMoments | None
    """Moments of the training rows, by code: known once all rows have been decoded."""
    unknown: dict[str, int]
    """By column, values missing from its dictionary when all rows were last decoded."""
    kept: Block | None = None
    """All rows of a small table once decoded; None for a larger one, or with a cache."""

    def __init__(
        self,
        reader: Reader,
        options: EncodingOptions | None = None,
        *,
        encoding: Encoding | None = None,
        dtype: str = "float64",
        block_rows: int | None = None,
        validation: float = 0.0,
        cache: str | os.PathLike[str] | None = None,
        keep_cache: bool = True,
    ) -> None:
        if options is not None and isinstance(reader, TableReader):
            reader = options.prepared(reader)
        self.reader, self.options, self.dtype = reader, options, dtype
        self._reader = reader  # or one that guesses types
        self.block_rows, self.validation = block_rows, validation
        self.codes, self.facts, self.encoding = LabelCodes(), Facts(validation), encoding
        self._read_before, self.unknown = False, {}
        self._places: dict[Any, str] = {}
        self.moments, self._decodings, self._seconds = None, 0, 0.0
        self._may_keep = cache is None and isinstance(reader, TableReader)
        identity = {} if cache is None else self._identity()
        keep = keep_cache and "token" not in identity.get("rows", {})
        self._cached = CachedBlocks(cache, identity, keep)
        if not self._restored():
            self._first_pass()
            self.format = kept_format(reader)
        self.codes.frozen = self._read_before = True
        if not any(self.facts.counts[0].values()):
            where = f"{reader.files}: " if isinstance(reader, SharedFiles) else ""
            raise ValueError(where + self.facts.nothing)

    def _identity(self) -> dict[str, Any]:
        """The rows and how they are decoded, as plain data: a cache belongs to one identity."""
        options, encoding = self.options, self.encoding
        return {
            "rows": self.reader.identity(), "dtype": self.dtype, "block_rows": self.block_rows,
            "validation": self.validation, "options": None if options is None else asdict(options),
            "encoding": None if encoding is None else encoding.to_dict(),
        }  # fmt: skip

    def _first_pass(self) -> None:
        """Use guessed types; if a row contradicts them, start again with types from all rows."""
        if self.options is not None and isinstance(self.reader, TableReader):
            self._reader = self.reader.guessed({*self._named, *target_names(self.options.target)})
        try:
            self._survey_and_decode()
        except TypesRefuted:
            self._reader, self._read_before = self.reader, False
            self.codes, self.facts, self.encoding = LabelCodes(), Facts(self.validation), None
            self._survey_and_decode()

    def _survey_and_decode(self) -> None:
        if self.options is not None and self.encoding is None:
            with advise_on_memory(self.block_rows):
                self.encoding = self._surveyed(self.options)
        if not self._read_before:
            try:
                self._read_all()
            except MostlyZeros:  # the dense blocks of a cache are discarded
                self._read_before = True
        if self._cached.wanted:
            self._read_all()

    @property
    def _named(self) -> Mapping[str, str]:
        """Columns that the user declares to be categories."""
        named = None if self.options is None else self.options.categorical
        return named if isinstance(named, Mapping) else {}

    def _refuse_mixed(self, names: Iterable[str]) -> None:
        if self.options is not None and isinstance(self._reader, TableReader):
            refuse_mixed(self._reader, set(names).difference(self._named))

    def _surveyed(self, options: EncodingOptions) -> Encoding:
        """The encoding of a table's columns, from a pass that counts rows if one is needed."""
        from .encoding.survey import Survey

        reader = self._reader
        assert isinstance(reader, TableReader)
        types = reader.types
        try:
            survey = Survey(types.items(), options, self.validation)
        except ValueError as error:  # columns that are missing or unusable
            raise ValueError(f"{reader.name}: {error}") from error
        self._refuse_mixed(survey.features)
        if not survey.needs_rows:
            return survey.encoding()
        facts = Facts(self.validation)
        for piece in prefetched(lambda: reader.pieces(survey.names)):
            batch: Any = piece.X
            y, weight = survey.add(batch, piece.where)
            codes = self._codes_of(y, batch.num_rows, piece.where)
            facts.add_labels(codes, check_weights(weight, len(codes), piece.where))
        self._refuse_mixed(survey.features)  # again: now all rows are known
        encoding = survey.encoding()
        facts.of_table(encoding, self.block_rows, survey.n_values)
        self.facts, self._read_before = facts, True
        return encoding

    def _codes_of(self, y: Labels | None, n: int, where: Place) -> Ints:
        return np.zeros(n, dtype=np.int64) if y is None else self.codes.of(y, where)

    def _to_dict(self) -> dict[str, Any]:
        """Facts about all rows, as plain data."""
        encoding = None if self.encoding is None else self.encoding.to_dict()
        return {
            "labels": self.codes.values, "facts": self.facts.to_dict(), "encoding": encoding,
            "format": kept_format(self.reader),
            "moments": None if self.moments is None else self.moments.to_dict(),
        }  # fmt: skip

    def _restored(self) -> bool:
        """Whether a cache has the results of the first pass; an invalid cache is discarded."""
        cache = self._cached.cache
        if cache is None:
            return False
        of_table = self.options is not None or self.encoding is not None
        try:
            found = restored(cache, self.validation, self.encoding, of_table)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            damage = CacheDamaged("the metadata of the cache does not match its rows")
            damage.__cause__ = error
            self._cached.give_up(damage)
            return False
        self.codes, self.facts, self.encoding, self.moments, self.format = found
        return True

    @property
    def labelled(self) -> bool:
        """Whether its rows have labels."""
        return bool(self.codes.values)

    def lone_labels(self) -> list[Any]:
        """Labels of a single row; rows of weight 0 are ignored."""
        counts = Counter(self.facts.counts[0]) + Counter(self.facts.counts[1])
        return [self.codes.values[code] for code in sorted(counts) if counts[code] == 1]

    def place_of(self, label: Any) -> str:
        """Where the first row with a label stands, "t.csv, line 5"; reads again up to that row.

        Empty if it cannot be found: it is a part of a message that is to come in any case.
        """
        if label not in self._places:
            self._places[label] = ""
            with suppress(OSError, ValueError):
                for piece in decoded(self._reader, self.encoding, self.dtype):
                    rows = np.flatnonzero(piece.y == label)
                    if len(rows):
                        self._places[label] = piece.where.row(int(rows[0]))
                        break
        return self._places[label]

    @property
    def cached(self) -> bool:
        """Whether blocks can be read in any order."""
        return self._cached.cache is not None

    def __iter__(self) -> Iterator[Block]:
        if self.kept is not None:
            self.reader.check_unchanged()
            yield self.kept
            return
        with advise_on_memory(self.block_rows):
            yield from self._cached.blocks(self._decoded, self._to_dict)

    def _read_all(self) -> None:
        """Make a pass only to collect facts."""
        for _ in prefetched(self._passed, check=self.tell):
            pass
        self.tell()

    def tell(self) -> None:
        """Issue warnings that the reading thread has collected."""
        self._cached.tell()

    def _passed(self) -> Iterator[None]:
        """Pass over the blocks without keeping any."""
        for block in self:
            del block
            yield

    def block(self, number: int) -> Block:
        """One block; if the cache is damaged, all rows are decoded again first."""
        cache = self._cached.cache
        if cache is not None:
            with suppress(CacheDamaged), advise_on_memory(self.block_rows):
                return cache.block(number)
            # The pass below finds the damage again and warns.
        found: Block | None = None
        for at, block in enumerate(self):  # to the end, so that the cache is rewritten
            found = block if at == number else found
        assert found is not None
        return found

    def _decoded(self) -> Iterator[Block]:
        """Decode all rows and check that they are those of the first pass."""
        facts = Facts.of_blocks(self.facts)
        blocks = facts.collect(cut(self._coded(), self.block_rows))
        blocks = blocks if self.moments is not None else self._summed(blocks)
        only: Block | None = None
        for number, block in enumerate(self._timed(blocks)):
            keep = not number and self._may_keep and block.rows.nbytes <= KEPT_BYTES
            only = block if keep else None
            yield block
            del block  # before the next is made: it may be large
        if not self._read_before:
            self._refuse_mixed(() if self.encoding is None else self.encoding.column_names(False))
            self.facts = facts
            self._leave_out_zeros()
        elif not facts.agrees(self.facts):
            raise ValueError(
                f"{facts.size} were read, but {self.facts.size} in the first pass, or in "
                "another order, or with other values, labels or weights; expected the same rows in "
                "each pass: the data has changed meanwhile, so read it again, or with cache=, "
                "which reads it once."
            )
        self.facts.witnesses = facts.witnesses
        self.kept = only

    def _leave_out_zeros(self) -> None:
        """After the first pass over a table without survey: switch to sparse rows if better.

        Raises :class:`MostlyZeros` in that case, as dense rows were decoded.
        """
        facts, encoding = self.facts, self.encoding
        if self.options is None or encoding is None or facts.storage == "csr" or not facts.n_rows:
            return
        counted = replace(encoding, row_values=facts.n_nonzero / facts.n_rows)
        if counted.storage == "csr":
            self.encoding = counted
            facts.of_table(counted, self.block_rows, facts.n_nonzero)
            raise MostlyZeros

    def _summed(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield the same blocks and sum the features of labelled rows."""
        moments = RunningMoments()
        for block in blocks:
            if self.labelled:
                weight, share = block.weight, self.validation
                if share:
                    weight = block.weights * ~held_out(block.start, len(block.y), share)
                moments.add(host_rows_of(block.X), weight, block.y)
            yield block
            del block  # before the next is made: it may be large
        self.moments = moments

    def _timed(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Yield the same blocks; advise a cache if passes have spent a long time decoding."""
        while True:
            began = time.perf_counter()
            block = next(blocks, None)
            self._seconds += time.perf_counter() - began
            if block is None:
                break
            yield block
            del block  # before the next is made: it may be large
        self._decodings += 1
        if self._decodings >= MANY_DECODINGS and self._seconds >= LONG_DECODING:
            size = self.facts.n_values * self.facts.value_bytes
            self._cached.advise(
                f"{self.reader.name} was decoded {self._decodings} times, which took "
                f"{self._seconds:.0f} s, and every further pass decodes it again: "
                f'separatrix.read(..., cache="auto") does so once, and keeps {size / 1e6:.0f} MB '
                "on disk"
            )

    def running_moments(self) -> RunningMoments:
        """Moments of the training rows; makes a pass if none has decoded all rows yet."""
        if self.moments is None:
            self._read_all()
        assert self.moments is not None
        return self.moments

    def _coded(self) -> Iterator[Block]:
        """Pieces with labels as codes."""
        labelled: bool | None = None
        self.unknown = unknown = Counter[str]()
        for X, y, weight, where, lost in decoded(self._reader, self.encoding, self.dtype):
            unknown.update(lost)
            n = rows_of(X).shape[0]
            if labelled not in (None, y is not None):
                raise ValueError(
                    f"{where}: {'no ' * (y is None)}labels, unlike the rows before; expected a "
                    "label for every row, or for none."
                )
            labelled = y is not None
            yield Block(X, self._codes_of(y, n, where), check_weights(weight, n, where), 0)
