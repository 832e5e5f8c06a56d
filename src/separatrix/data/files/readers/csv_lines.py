"""The lines of a CSV file, read slowly, with their numbers: for its names, and for errors."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from pathlib import Path

from .compression import uncompressed
from .csv_chunks import BYTE_ORDER_MARK, LINE_END, SOME_BYTES, rows_of_file, split_rows
from .semicolons import comma_separated, delimiter

NUMBER = re.compile(r"[ \t]*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?[ \t]*")
NO_UTF8 = re.compile("[\udc80-\udcff]")  # bytes that are kept as surrogates
OTHER_DELIMITERS = "\t|"


def numbered_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the number of the line where it begins, from 1 on.

    Bytes that are no UTF-8 are kept as surrogates.
    """
    first = 1
    for chunk in map(bytes, rows_of_file(path, comma_separated, delimiter(path), SOME_BYTES)):
        for before, row in split_rows(chunk.removeprefix(BYTE_ORDER_MARK), delimiter(path)):
            if row:
                yield first + before, row
        first += len(LINE_END.findall(chunk))


def header(path: Path) -> list[str]:
    """The names of the columns.

    The first may be nameless, as that in which pandas and R write the numbers of rows.
    """
    line, names = next(numbered_rows(path), (0, []))
    if not names:
        raise ValueError(f"{path} holds only empty lines; expected the names of columns and rows.")
    _check_names(path, line, names)
    return names


def _check_names(path: Path, line: int, names: list[str]) -> None:
    if all(NUMBER.fullmatch(name) for name in names):
        raise ValueError(
            f"{path}, line {line}: numbers ({', '.join(names[:3])}, ...) where the names of "
            "columns are expected: write a first line with a name for each column."
        )
    if NO_UTF8.search("".join(names)):
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
    for line, row in numbered_rows(path):
        if len(row) != len(names):
            return (
                f"{path}, line {line} has {len(row)} value{'s' * (len(row) != 1)}; expected "
                f"{len(names)}, as the first line has names: mend the line, or put quotes "
                "around values that hold commas."
            )
        if any(NO_UTF8.search(value) for value in row):
            return _not_utf8(path, line)
    return None


def _not_utf8(path: Path, line: int) -> str:
    with uncompressed(path) as raw:
        start = raw.read(2)
    # Without a mark, the encoding of spreadsheets on Windows is the likeliest.
    encoding = "UTF-16" if start in (BOM_UTF16_LE, BOM_UTF16_BE) else "WINDOWS-1252"
    return (
        f"{path}, line {line} is not in UTF-8, but probably in {encoding}: convert it by "
        f"`iconv -f {encoding} -t UTF-8`."
    )


def line_of(path: Path, row: int) -> int:
    """The number of the line in which a row begins, both counted as their readers do.

    Lines from 1 on, rows from 0 on after the names.
    """
    for at, (line, _) in enumerate(numbered_rows(path), start=-1):
        if at == row:
            return line
    raise IndexError(row)
