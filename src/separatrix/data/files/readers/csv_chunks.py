"""The text of a CSV file in parts that end where rows do: each can be parsed by itself."""

from __future__ import annotations

import csv
import io
import re
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ....loops.csv import end_of_rows

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST_ROW = 1 << 26  # bytes: a row is held in memory
SOME_BYTES = 1 << 14  # read at a time where speed does not matter
LINE_END = re.compile(rb"\r\n?|\n")
OPEN_QUOTE = (
    "opens a quote that is {}: all lines after it would be one value; close it, or write two for "
    "one that is meant"
)
_limit = threading.Lock()  # the csv module has one limit of the length of values for all threads


class Bytes(Protocol):
    """A file that is read from its beginning to its end."""

    def read(self, nbytes: int, /) -> bytes:
        """Up to ``nbytes`` more bytes, or all that are left."""

    def readinto(self, into: Any, /) -> int:
        """Up to as many bytes as there is room for; 0 at the end."""


Opener = Callable[[Path], AbstractContextManager[Bytes]]


class RowWithoutEnd(Exception):
    """A row that begins at byte ``start`` of the text does not end, and why."""

    def __init__(self, start: int, reason: str) -> None:
        super().__init__(start, reason)
        self.start, self.reason = start, reason


def rows_of_file(
    path: Path, opened: Opener, delimiter: str, size: int
) -> Generator[memoryview, None, None]:
    """The text of a file as ``row_chunks`` has it; errors name the file, and the line if known."""
    try:
        with opened(path) as file:
            yield from row_chunks(file, delimiter, size)
    except RowWithoutEnd as error:
        with opened(path) as file:
            line = 1 + _line_ends(file, error.start)
        raise ValueError(f"{path}, line {line} {error.reason}.") from error
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({str(error).rstrip('. ')}): it was cut off or damaged; fetch "
            "it anew."
        ) from error


def row_chunks(file: Bytes, delimiter: str, size: int) -> Iterator[memoryview]:
    """All of the text, about ``size`` bytes at a time; lines may end with LF, CR LF or CR.

    Line ends between quotes end no row. A value is quoted if a quote is its first character.
    """
    room, count, wanted, start = _room(size), 0, size, 0
    while more := file.readinto(room[count : count + wanted]):
        count += more
        text, wanted = room[:count], size
        end = _end_of_rows(text, delimiter)
        if end:
            yield text[:end]
            start, count = start + end, count - end
        elif count > LONGEST_ROW:
            raise RowWithoutEnd(start, _why_so_long(bytes(text)))
        else:
            wanted = min(count, LONGEST_ROW + size - count)
        room = _room(count + wanted)  # who has the text may keep it
        room[:count] = text[end:]
    if count:
        text = memoryview(bytes(room[:count]) + b"\n")
        if not _end_of_rows(text, delimiter) > count:
            raise RowWithoutEnd(start, OPEN_QUOTE.format("never closed"))
        yield text[:count]


def _room(size: int) -> memoryview:
    """New memory, which nothing is written to."""
    return np.empty(size, dtype=np.uint8).data


def _why_so_long(text: bytes) -> str:
    longest = f"{LONGEST_ROW >> 20} MB" if LONGEST_ROW >> 20 else f"{LONGEST_ROW} bytes"
    if LINE_END.search(text):
        return OPEN_QUOTE.format(f"not closed within {longest}")
    return (
        f"is longer than {longest}; expected shorter rows, each on a line of its own: write it "
        "anew, without such long values"
    )


def _line_ends(file: Bytes, size: int) -> int:
    """How many lines end within the first bytes, at the last of which one does."""
    count, before = 0, b""
    while size > 0 and (text := file.read(min(SOME_BYTES, size))):
        size -= len(text)
        count += len(LINE_END.findall(text))
        count -= before.endswith(b"\r") and text.startswith(b"\n")  # which is one end
        before = text
    return count


def split_rows(text: bytes, delimiter: str) -> list[tuple[int, list[str]]]:
    """Whole rows taken apart slowly, each with the number of lines before it.

    Empty lines are rows without values; bytes that are no UTF-8 are kept as surrogates.
    """
    lines = io.StringIO(text.decode("utf-8", "surrogateescape"), newline="")
    rows, found, line = csv.reader(lines, delimiter=delimiter), [], 0
    with _limit:
        before = csv.field_size_limit(len(text))
        try:
            for row in rows:
                found.append((line, row))
                line = rows.line_num
        finally:
            csv.field_size_limit(before)
    return found


def _end_of_rows(text: memoryview, delimiter: str) -> int:
    """Where the last row ends that is whole, of text that begins with a row; 0 if none does."""
    end = end_of_rows(np.frombuffer(text, dtype=np.uint8), delimiter)
    return _end_of_odd_quotes(bytes(text), delimiter.encode()) if end is None else end


def _end_of_odd_quotes(text: bytes, delimiter: bytes) -> int:
    """The same for text with quotes also within values that are not quoted."""
    last = len(text)
    begin = rb"(?:\A(?:%s)?|[\r\n%s])" % (BYTE_ORDER_MARK, re.escape(delimiter))
    quoted = re.compile(begin + rb'"[^"]*(?:""[^"]*)*(?:"|\Z)')
    gap, found = 0, 0  # between quoted values
    for value in quoted.finditer(text):
        found = _end_of_lines(text, gap, value.start() + 1) or found
        gap = value.end()
    # A quote at the very end closes its value, or is the first of two that stand for one.
    return (_end_of_lines(text, gap, last) if gap < last else 0) or found


def _end_of_lines(text: bytes, first: int, last: int) -> int:
    """Where the last line ends between these two; 0 if none does there."""
    if last == len(text) and text.endswith(b"\r"):  # perhaps of CR LF
        last -= 1
    return max(text.rfind(b"\n", first, last), text.rfind(b"\r", first, last)) + 1
