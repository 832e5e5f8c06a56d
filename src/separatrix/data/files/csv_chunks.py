"""The text of a CSV file in parts that end where rows do: each can be parsed by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from ...numeric.types import Ints

QUOTE, BYTE_ORDER_MARK = ord('"'), b"\xef\xbb\xbf"
LONGEST_ROW = 1 << 28  # bytes: longer than that, a quote was not closed


class Bytes(Protocol):
    """A file that is read from its begin to its end."""

    def read(self, nbytes: int, /) -> bytes:
        """So many bytes more, or all that are left."""


class RowTooLong(Exception):
    """No row ends within ``LONGEST_ROW``."""


def row_chunks(file: Bytes, delimiter: str, size: int) -> Iterator[bytes]:
    """All of the text, about so many bytes at a time; a line may end by LF, CR LF or CR.

    Line ends between quotes end no row. A value is quoted if a quote is its first character.
    """
    text, wanted = b"", size
    while more := file.read(wanted):
        text += more
        end = _end_of_rows(text, delimiter.encode())
        if end:
            yield text[:end]
            text, wanted = text[end:], size
        elif len(text) > LONGEST_ROW:
            raise RowTooLong
        else:
            wanted = len(text)
    if text:
        yield text


def _end_of_rows(text: bytes, delimiter: bytes) -> int:
    """Where the last row ends that is whole, of text that begins with a row; 0 if none does."""
    if b'"' not in text:
        return _end_of_lines(text, 0, len(text))
    quotes = _plain_quotes(text, delimiter)
    if quotes is None:
        return _end_beside_odd_quotes(text, delimiter)
    # Between the quotes of a pair, or after one that is not closed, lines end no row.
    last = len(text)
    for at in range(len(quotes), -1, -1):
        first = int(quotes[at - 1]) + 1 if at else 0
        if at % 2 == 0 and (found := _end_of_lines(text, first, last)):
            return found
        last = first
    return 0


def _plain_quotes(text: bytes, delimiter: bytes) -> Ints | None:
    """Where quotes stand, if they open and close values in turn, or come in twos within one."""
    characters = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(characters == QUOTE)
    beside = np.zeros(256, dtype=np.bool_)  # what may stand beside a quote, outside of its value
    beside[[*b'\r\n"', *delimiter]] = True
    opening, closing = quotes[::2], quotes[1::2]
    if opening[0] == (3 if text.startswith(BYTE_ORDER_MARK) else 0):
        opening = opening[1:]
    if len(closing) and closing[-1] == len(text) - 1:
        closing = closing[:-1]
    plain = beside[characters[opening - 1]].all() and beside[characters[closing + 1]].all()
    return quotes if plain else None


def _end_beside_odd_quotes(text: bytes, delimiter: bytes) -> int:
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
