"""CSV, a row of names first; plain or compressed. Types come from all rows of all files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from ...numeric.lazy import cached_property
from .compression import uncompressed
from .csv_lines import check_closed, delimiter, flaw, header
from .csv_types import FALSE, TRUE, ColumnTypes
from .paths import Files
from .tables import TableFiles, explained, plain_schema, unified

BLOCK_BYTES = 1 << 18  # of text, parsed at once; Arrow reads up to 32 such blocks ahead
LONGEST_ROW = 1 << 28  # bytes: longer than that, a quote was not closed
TOO_LONG = "straddling object"  # what Arrow says of a row that is longer than a block


class CsvReader(TableFiles):
    """Text that is parsed a little at a time.

    A pass of its own finds the types: an integer column that holds a fraction in its last line is
    one of fractions, and one that holds a word is text, and ``mixed`` tells so.
    """

    format = "csv"

    def __init__(self, files: Files, block_rows: int) -> None:
        super().__init__(files, block_rows)
        self.block_bytes = BLOCK_BYTES
        self.text: set[str] = set()

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, found by reading all rows."""
        fields = ((name, pa.string() if name in self.text else type) for name, type in self._types)
        return pa.schema(list(fields))

    def read_as_text(self, names: Iterable[str]) -> None:
        """Values of these columns stay as they are written."""
        self.text.update(names)

    @cached_property
    def _types(self) -> ColumnTypes:
        first = self.files.paths[0]
        untyped = self._schema(first)
        for path in self.files.paths[1:]:
            unified(untyped, self._schema(path), first, path)
        types = ColumnTypes(untyped.names)
        for path in self.files.paths:
            while not self._surveyed(path, types):
                self.block_bytes *= 4
        return types

    def _surveyed(self, path: Path, types: ColumnTypes) -> bool:
        """Whether all rows could be looked at: none is longer than a block.

        What was looked at twice tells no more than once.
        """
        n_rows, last = 0, None
        try:
            for last in self._parsed(path, dict.fromkeys(types.types, pa.string())):
                types.add(last, path, n_rows)
                n_rows += last.num_rows
        except _RowTooLong:
            return False
        if last is not None:
            check_closed(path, last)
        return True

    def _schema(self, path: Path) -> pa.Schema:
        """Names alone: no type is known before all rows were seen."""
        with self.files.unchanged(path):
            names, _ = header(path)
        return plain_schema(pa.schema([(name, pa.null()) for name in names if name]), str(path))

    def _batches(self, path: Path, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, str]]:
        types = {name: self.schema.field(name).type for name in columns}
        for batch in self._parsed(path, types):
            yield batch, str(path)

    def _parsed(self, path: Path, types: dict[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """These columns as these types; missing are the words that pandas takes so."""
        with self.files.unchanged(path):
            names, has_rows = header(path)
            if not has_rows:
                return
            try:
                with uncompressed(path) as raw:
                    yield from pacsv.open_csv(
                        raw,
                        pacsv.ReadOptions(use_threads=False, block_size=self.block_bytes),
                        pacsv.ParseOptions(delimiter=delimiter(path), newlines_in_values=True),
                        pacsv.ConvertOptions(
                            column_types=types, include_columns=list(types),
                            strings_can_be_null=True, true_values=TRUE, false_values=FALSE,
                        ),
                    )  # fmt: skip
            except (pa.ArrowException, OSError) as error:
                if TOO_LONG in str(error) and self.block_bytes < LONGEST_ROW:
                    raise _RowTooLong from error
                raise self._explained(error, path, names) from error

    def _explained(self, error: Exception, path: Path, names: list[str]) -> ValueError:
        if isinstance(error, OSError):
            return explained(error, str(path), "it was cut off or damaged; fetch it anew.")
        found = flaw(path, names)
        return ValueError(found) if found else explained(error, str(path), "mend the file.")

    def mixed(self) -> dict[str, Callable[[], str]]:
        """Columns of text that hold numbers too, each with a function that says where."""
        names = (name for name in self._types.mixed() if name not in self.text)
        return {name: partial(self._types.why_mixed, name) for name in names}


class _RowTooLong(Exception):
    """A row does not fit into a block."""
