"""CSV, a row of names first; plain or compressed. Types come from all rows of all files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from .compression import uncompressed
from .csv_lines import check_closed, delimiter, flaw, header
from .csv_types import FALSE, TRUE, ColumnTypes
from .paths import Files
from .tables import TableFiles, explained, plain_schema, unified

BLOCK_BYTES = 1 << 20  # of text, parsed at once
LONGEST_ROW = 1 << 28  # bytes: longer than that, a quote was not closed
TOO_LONG = "straddling object"  # what Arrow says of a row that is longer than a block


class CsvReader(TableFiles):
    """Text that is parsed a megabyte at a time.

    The first pass is made at once, to find the types: an integer column that holds a fraction in
    its last line is one of fractions, and one that holds a word is text, and ``mixed`` tells so.
    """

    format = "csv"

    def __init__(self, files: Files, block_rows: int) -> None:
        self.block_bytes = BLOCK_BYTES
        super().__init__(files, block_rows)

    def _common_schema(self) -> pa.Schema:
        first = self.files.paths[0]
        nameless = self._schema(first)
        for path in self.files.paths[1:]:
            unified(nameless, self._schema(path), first, path)
        self.types = ColumnTypes(nameless.names)
        for path in self.files.paths:
            while not self._surveyed(path):
                self.block_bytes *= 4
        return self.types.schema()

    def _surveyed(self, path: Path) -> bool:
        """Whether all rows could be looked at: none is longer than a block.

        What was looked at twice tells no more than once.
        """
        n_rows, last = 0, None
        try:
            for last in self._parsed(path, dict.fromkeys(self.types.types, pa.string())):
                self.types.add(last, path, n_rows)
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

    def mixed(self) -> dict[str, str]:
        """Columns that hold words among numbers, with a sentence on where and what to do."""
        return self.types.mixed()


class _RowTooLong(Exception):
    """A row does not fit into a block."""
