"""CSV, a row of names first; plain or compressed. Types come from all rows of all files.

They are found by a pass of their own, or guessed from the first rows and checked by the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from ....numeric.lazy import cached_property
from ....numeric.threads import computed_ahead, n_threads
from .csv_chunks import BYTE_ORDER_MARK, SOME_BYTES, rows_of_file
from .csv_lines import flaw, header, line_of
from .csv_plain import PlainCsv
from .csv_types import NUMERIC, ColumnTypes
from .paths import Files
from .reader import Piece, Place, TypesRefuted
from .semicolons import comma_separated, delimiter
from .tables import TableFiles, check_same_names, explained, plain_names
from .wide import FALSE, TRUE, WideBatch, is_wide, wide_text

CHUNK_BYTES = 1 << 19  # of text at once
MANY_WORDS, WORDY = 0.25, 4
"""Share of columns of words from which chunks are larger: each takes some time in every chunk."""
WHOLE_CHUNKS = 1 << 13  # rows from which pieces end only where chunks do, which are small anyway
GUESS_BYTES = 1 << 18  # of text from which types are guessed
WIDE = 1 << 12  # columns from which chunks are larger: each costs some time for each column


class CsvReader(TableFiles):
    """Text that is parsed a little at a time.

    A separate pass finds the types, unless they are ``guessed``: an integer column with a fraction
    in its last line is a column of fractions, and one with a word is text, which ``mixed``
    reports.
    """

    format = "csv"

    def __init__(self, files: Files, block_rows: int) -> None:
        super().__init__(files, block_rows if block_rows < WHOLE_CHUNKS else sys.maxsize)
        self.text: set[str] = set()

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(list(self.types.items()))

    @property
    def names(self) -> list[str]:
        return list(self._types.types)

    @property
    def types(self) -> dict[str, pa.DataType]:
        """Found by reading all rows."""
        return self._types.types | dict.fromkeys(self.text & self._types.types.keys(), pa.string())

    def with_text(self, names: Iterable[str]) -> CsvReader:
        """The same reader but that values of these columns stay as they are written."""
        found = copy(self)
        found.text = self.text.union(names)
        return found

    def guessed(self, exact: Iterable[str]) -> CsvReader:
        return GuessedCsv(self, set(exact))

    def findings(self) -> ColumnTypes:
        """The types, found by reading all rows."""
        return self._types

    def common(self, findings: Any = None) -> Any:
        """The types, which depend on all rows."""
        return findings

    def as_part(self, common: Any, stretch: tuple[int, int] | None = None) -> CsvReader:
        """The same files with the types of all; without them it finds its own."""
        found = copy(self)
        found.is_part = True
        if common is not None:
            found.__dict__["_types"] = common
        return found

    @property
    def _names(self) -> list[str]:
        """Names of the columns, the same in all files."""
        first, *others = self.files.paths
        names = self._names_of(first)
        for path in others:
            check_same_names(names, self._names_of(path), first, path)
        return names

    @cached_property
    def _types(self) -> ColumnTypes:
        types = ColumnTypes(self._names)
        for path in self.files.paths:
            n_rows = 0
            for batch in self._parsed(path, dict.fromkeys(types.types, pa.string()), text=True):
                types.add(batch, path, n_rows)
                n_rows += batch.num_rows
        types.whole = True
        return types

    def _names_of(self, path: Path) -> list[str]:
        with self.files.unchanged(path):
            names = header(path)
        return plain_names([name for name in names if name], str(path))

    def _batches(
        self, path: Path, columns: list[str]
    ) -> Iterator[tuple[pa.RecordBatch | WideBatch, Place]]:
        types = self.types  # made anew each time it is asked for
        for batch in self._parsed(path, {name: types[name] for name in columns}):
            yield batch, self._place(path)

    def _place(self, path: Path) -> Place:
        return Place(str(path), line_of=partial(line_of, path))

    def _parsed(
        self, path: Path, types: dict[str, pa.DataType], text: bool = False
    ) -> Iterator[Any]:
        """These columns as these types; missing are the words that pandas takes so.

        ``text``: all types are text, and rows of very many columns may be :class:`WideText`.
        """
        with self.files.unchanged(path):
            names = header(path)
            plain = None if text else PlainCsv(names, types, delimiter(path))
            size = min(CHUNK_BYTES, GUESS_BYTES)
            if plain is not None:
                many = len(plain.words) >= MANY_WORDS * len(names)
                size = CHUNK_BYTES * (WORDY if many else 1)
            size *= 1 + len(names) // WIDE
            chunks = rows_of_file(path, comma_separated, delimiter(path), size)
            filled = filter(_has_rows, chunks)
            numbered = zip(chain([True], repeat(False)), filled, strict=False)
            parse = partial(self._rows, delimiter(path), names, types, plain)
            try:
                for batches in computed_ahead(parse, numbered, n_threads(None)):
                    yield from batches
            except pa.ArrowException as error:
                raise self._explained(error, path, names) from error
            finally:
                chunks.close()

    def _rows(
        self, delimiter: str, names: list[str], types: dict[str, pa.DataType],
        plain: PlainCsv | None, chunk: tuple[bool, memoryview],
    ) -> list[Any]:  # fmt: skip
        """Rows parsed in one piece: Arrow loses line ends within values at edges of its own."""
        has_names, text = chunk
        last = bytes(text[-1:])
        if last not in b"\r\n":  # Arrow refuses names alone without the end of a line
            text, last = memoryview(bytes(text) + b"\n"), b"\n"
        found = plain.batch(text, has_names) if plain and last == b"\n" else None
        if found is not None:
            return [found] if found.num_rows else []
        wide = wide_text(bytes(text), names, delimiter, has_names) if is_wide(names) else None
        if wide is not None:
            return [wide.typed(types) if plain else wide.select(list(types))]
        # Arrow leaves out the line of names, where none are given.
        given = None if has_names else names
        table = pacsv.read_csv(
            pa.BufferReader(pa.py_buffer(text)),
            pacsv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=given),
            pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pacsv.ConvertOptions(
                column_types=types, include_columns=list(types),
                strings_can_be_null=True, true_values=TRUE, false_values=FALSE,
            ),
            memory_pool=pa.system_memory_pool(),  # others keep what each thread let go
        )  # fmt: skip
        return table.to_batches()  # type: ignore[no-any-return]

    def _explained(self, error: Exception, path: Path, names: list[str]) -> Exception:
        found = flaw(path, names)
        return ValueError(found) if found else explained(error, str(path), "mend the file.")

    def mixed(self) -> dict[str, Callable[[], str]]:
        names = (name for name in self._types.mixed() if name not in self.text)
        return {name: partial(self._types.why_mixed, name) for name in names}


def _has_rows(text: memoryview) -> bool:
    """Whether there is more than empty lines."""
    start = bytes(text[:SOME_BYTES]).removeprefix(BYTE_ORDER_MARK)
    return bool(start.strip(b"\r\n") or bytes(text[SOME_BYTES:]).strip(b"\r\n"))


class GuessedCsv(CsvReader):
    """For a first pass over all columns of all rows, and those after it.

    The first pass raises :class:`TypesRefuted` where a row is not as guessed. Whole numbers are
    read as fractions, which many turn out to be, but in columns that are to be ``exact``.
    """

    def __init__(self, given: CsvReader, exact: set[str]) -> None:
        super().__init__(given.files, given.block_rows)
        self.text, self.exact = given.text, exact

    @property
    def types(self) -> dict[str, pa.DataType]:
        number = pa.float64()
        return {
            name: number if type.id in NUMERIC and name not in self.exact else type
            for name, type in super().types.items()
        }

    @cached_property
    def _types(self) -> ColumnTypes:
        types = ColumnTypes(self._names)
        for path in self.files.paths:
            for first in self._parsed(path, dict.fromkeys(types.types, pa.string()), text=True):
                types.add(first, path, 0)
                return types
        return types

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        """All rows. If none raises an error, the guess is confirmed."""
        yield from super().pieces(columns)
        self._types.whole = True

    def _batches(
        self, path: Path, columns: list[str]
    ) -> Iterator[tuple[pa.RecordBatch | WideBatch, Place]]:
        types = self._types
        if types.whole:
            yield from super()._batches(path, columns)
            return
        words = [name for name, type in types if type.id == pa.lib.Type_STRING]
        n_rows = 0
        for batch in self._parsed(path, self.types):
            text = (batch.others if isinstance(batch, WideBatch) else batch).select(words)
            coded = words and pa.types.is_dictionary(text.schema.field(0).type)
            (types.add_words if coded else types.add)(text, path, n_rows)
            n_rows += batch.num_rows
            yield batch.select(columns), self._place(path)

    def _explained(self, error: Exception, path: Path, names: list[str]) -> Exception:
        guess = self.__dict__.get("_types")
        refuted = isinstance(error, pa.ArrowInvalid) and guess is not None and not guess.whole
        return TypesRefuted() if refuted else super()._explained(error, path, names)
