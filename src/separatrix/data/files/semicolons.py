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

DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*")
SEPARATOR_LINE = "sep=;"
"""What some spreadsheets write before the names of the columns."""
FIRST_LINE_BYTES = 1 << 16


@contextmanager
def comma_separated(path: Path) -> Iterator[Any]:
    """The bytes of a CSV file; of one with semicolons as if it had commas, and decimal points.

    Lines keep their numbers. A dot between thousands is left alone, and so is no number.
    """
    with uncompressed(path) as raw:
        semicolons = ".tsv" not in path.suffixes and _has_semicolons(raw.read(FIRST_LINE_BYTES))
    with uncompressed(path) as raw:
        yield io.BufferedReader(_Rewritten(raw)) if semicolons else raw


def _has_semicolons(start: bytes) -> bool:
    """Whether these stand between the names of the first line."""
    first = start.decode("utf-8-sig", "replace").splitlines()[:1]
    names = next(csv.reader(first), [])
    return len(names) == 1 and ";" in names[0]


class _Rewritten(io.RawIOBase):
    """The rows of a file with semicolons, written with commas while they are read."""

    def __init__(self, raw: Any) -> None:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
        self._text = text  # closed with the file, not before
        self._rows, self._left = csv.reader(text, delimiter=";"), b""
        self._first = True

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, into: Any) -> int:
        """Some bytes more; 0 at the end."""
        while not self._left:
            row = next(self._rows, None)
            if row is None:
                return 0
            self._left = self._written(row)
        count = min(len(into), len(self._left))
        into[:count], self._left = self._left[:count], self._left[count:]
        return count

    def _written(self, row: list[str]) -> bytes:
        first, self._first = self._first, False
        if first and ";".join(row).lower() == SEPARATOR_LINE:
            row = []
        out = io.StringIO(newline="")
        values = (v.replace(",", ".") if DECIMAL_COMMA.fullmatch(v) else v for v in row)
        csv.writer(out, lineterminator="\n").writerow(values)
        return out.getvalue().encode("utf-8", "surrogateescape")
