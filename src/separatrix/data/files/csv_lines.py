"""The lines of a CSV file, read slowly, with their numbers: for its names, and for errors."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from .semicolons import comma_separated

NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
NO_UTF8 = re.compile("[\udc80-\udcff]")  # bytes that are kept as surrogates
OTHER_DELIMITERS = "\t|"


def delimiter(path: Path) -> str:
    """A tab for ``.tsv``, else a comma."""
    return "\t" if ".tsv" in path.suffixes else ","


def numbered_rows(path: Path, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the number of the line where it begins, from 1 on.

    Bytes that are no UTF-8 are kept as surrogates.
    """
    with comma_separated(path) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
        rows = csv.reader(text, delimiter=delimiter(path), strict=strict)
        line = 1
        while True:
            try:
                row = next(rows, None)
            except csv.Error as error:
                raise BadLine(line, str(error)) from error
            if row is None:
                return
            if row:
                yield line, row
            line = rows.line_num + 1


class BadLine(Exception):
    """A line that cannot be split into values."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(line, reason)
        self.line, self.reason = line, reason


def header(path: Path) -> tuple[list[str], bool]:
    """The names of the columns, and whether a row follows them.

    The first may be nameless, as that in which pandas and R write the numbers of rows.
    """
    rows = numbered_rows(path)
    try:
        line, names = next(rows, (0, []))
        try:
            has_rows = next(rows, None) is not None
        except BadLine:
            has_rows = True
    except BadLine as bad:
        raise ValueError(f"{path}, line {bad.line} cannot be read: {bad.reason}.") from bad
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error}): it was cut off or damaged; fetch it anew."
        ) from error
    if not names:
        raise ValueError(f"{path} holds only empty lines; expected the names of columns and rows.")
    _check_names(path, line, names)
    return names, has_rows


def _check_names(path: Path, line: int, names: list[str]) -> None:
    if all(NUMBER.fullmatch(name) for name in names):
        raise ValueError(
            f"{path}, line {line}: numbers ({', '.join(names[:3])}, ...) where the names of "
            "columns are expected: write a first line with a name for each column."
        )
    if any(NO_UTF8.search(name) for name in names):
        raise ValueError(_not_utf8(path, line))
    if "" in names[1:]:
        raise ValueError(
            f"{path}, line {line}: column {names.index('', 1) + 1} has no name; expected one "
            "for each column."
        )
    for other in OTHER_DELIMITERS:
        if len(names) == 1 and other in names[0]:
            raise ValueError(
                f"{path} has one column, {names[0]!r}: {other!r} seems to stand between values "
                f"where {delimiter(path)!r} is expected. Write it anew, call it .tsv if these are "
                "tabs, or pass a polars.scan_csv(..., separator=...)."
            )


def flaw(path: Path, names: list[str]) -> str | None:
    """The first line with too few or too many values, or with bytes that are no text."""
    try:
        for line, row in numbered_rows(path):
            if len(row) != len(names):
                return (
                    f"{path}, line {line} has {len(row)} value{'s' * (len(row) != 1)}; expected "
                    f"{len(names)}, as the first line has names: mend the line, or put quotes "
                    "around values that hold commas."
                )
            if any(NO_UTF8.search(value) for value in row):
                return _not_utf8(path, line)
    except BadLine as bad:
        return f"{path}, line {bad.line} cannot be read: {bad.reason}."
    return None


def _not_utf8(path: Path, line: int) -> str:
    return f"{path}, line {line} is not in UTF-8: write it so, e.g. by `iconv -t utf-8`."


def check_closed(path: Path, last: pa.RecordBatch | None = None) -> None:
    """Raise if a quote is never closed; it would be in the last row, if that is known."""
    if last is not None:
        values = (column[-1].as_py() or "" for column in last.columns)
        if not any("\n" in value for value in values):
            return
    try:
        for _ in numbered_rows(path, strict=True):
            pass
    except BadLine as bad:
        raise ValueError(
            f"{path}, line {bad.line} opens a quote that is never closed: all lines after it would "
            "be one value; close it, or write two for one that is meant."
        ) from bad


def line_of(path: Path, row: int) -> int:
    """The number of the line in which a row begins, both counted as their readers do.

    Lines from 1 on, rows from 0 on after the names.
    """
    for at, (line, _) in enumerate(numbered_rows(path), start=-1):
        if at == row:
            return line
    raise IndexError(row)
