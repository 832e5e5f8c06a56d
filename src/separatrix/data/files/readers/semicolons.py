"""What a spreadsheet writes where numbers have a decimal comma: semicolons between values."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .compression import uncompressed
from .csv_chunks import BYTE_ORDER_MARK, LINE_END, SOME_BYTES, rows_of_file, split_rows

DECIMAL_COMMA = re.compile(r"[ \t]*[-+]?[0-9]*,[0-9]+([eE][-+]?[0-9]+)?[ \t]*")
SEPARATOR_LINE = "sep=;"  # what some spreadsheets write before the names of the columns
FIRST_LINE_BYTES = 1 << 16  # in which separators are counted


def delimiter(path: Path) -> str:
    """A tab for ``.tsv``, else a comma."""
    return "\t" if ".tsv" in map(str.lower, path.suffixes) else ","


@contextmanager
def comma_separated(path: Path) -> Iterator[Any]:
    """The bytes of a CSV file; of one with semicolons as if it had commas, and decimal points.

    Lines keep their numbers. A dot between thousands is left alone, and so is no number.
    """
    with uncompressed(path) as raw:
        semicolons = delimiter(path) == "," and has_semicolons(raw.read(FIRST_LINE_BYTES))
    if semicolons:
        with io.BufferedReader(_Rewritten(path)) as file:
            yield file
    else:
        with uncompressed(path) as raw:
            yield raw


def has_semicolons(start: bytes) -> bool:
    """Whether semicolons separate the names of the first line."""
    first = LINE_END.split(start, maxsplit=1)[0].decode("utf-8-sig", "replace")
    names = next(csv.reader([first]), [])
    return len(names) == 1 and ";" in names[0]


class _Rewritten(io.RawIOBase):
    """The rows of a file with semicolons, written with commas while they are read."""

    def __init__(self, path: Path) -> None:
        self._chunks = rows_of_file(path, uncompressed, ";", SOME_BYTES)
        self._left, self._first = memoryview(b""), True

    def readable(self) -> bool:
        """Always True."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._chunks.close()
        super().close()

    def readinto(self, into: Any) -> int:
        """Some bytes more; 0 at the end."""
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._left = memoryview(self._written(bytes(chunk)))
        count = min(len(into), len(self._left))
        into[:count], self._left = self._left[:count], self._left[count:]
        return count

    def _written(self, chunk: bytes) -> bytes:
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator="\n")
        for _, row in split_rows(chunk.removeprefix(BYTE_ORDER_MARK), ";"):
            first, self._first = self._first, False
            if first and ";".join(row).lower() == SEPARATOR_LINE:
                row = []
            writer.writerow(v.replace(",", ".") if DECIMAL_COMMA.fullmatch(v) else v for v in row)
        return out.getvalue().encode("utf-8", "surrogateescape")
