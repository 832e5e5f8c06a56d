"""Parts of CSV text end where rows do, whatever stands between quotes."""

from __future__ import annotations

import io
import random

import pytest

from separatrix.data.files.readers import csv_chunks
from separatrix.data.files.readers.csv_chunks import RowWithoutEnd, row_chunks


def rows_of(text: bytes) -> tuple[list[bytes], bool]:
    """Character by character: a value is quoted if a quote is its first character.

    And whether the last quote is not closed.
    """
    rows, row, quoted, first, at = [], b"", False, True, 0
    if text.startswith(b"\xef\xbb\xbf"):
        row, at = text[:3], 3
    while at < len(text):
        character = text[at : at + 1]
        row += character
        at += 1
        if quoted:
            if character == b'"' and text[at : at + 1] == b'"':
                row += b'"'
                at += 1
            elif character == b'"':
                quoted = False
            continue
        if character == b'"' and first:
            quoted = True
        first = character in b",\r\n"
        if character == b"\r" and text[at : at + 1] == b"\n":
            row += b"\n"
            at += 1
        if character in b"\r\n":
            rows.append(row)
            row = b""
    return [*rows, row] if row else rows, quoted


@pytest.mark.sampled
@pytest.mark.parametrize("alphabet", [b'ab,"\n', b'a,""\r\n', b'a,\r\n"'])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_chunks_are_runs_of_whole_rows(alphabet: bytes, mark: bytes) -> None:
    rng = random.Random(0)
    for _ in range(3000):
        text = mark + bytes(rng.choice(alphabet) for _ in range(rng.randint(1, 24)))
        rows, is_open = rows_of(text)
        chunks: list[bytes] = []
        parts = row_chunks(io.BytesIO(text), ",", rng.randint(4, 9))
        if is_open:
            with pytest.raises(RowWithoutEnd) as caught:
                chunks.extend(parts)
            assert caught.value.start == len(b"".join(chunks)) == len(text) - len(rows[-1])
        else:
            chunks.extend(parts)
            assert b"".join(chunks) == text
        for chunk in chunks:
            some: list[bytes] = []
            while b"".join(some) != chunk:
                assert rows, (text, chunks)
                some.append(rows.pop(0))


def test_plain_quotes_take_one_look_at_the_text() -> None:
    """Quoted values in every row, as Arrow writes them, doubled quotes and line ends inside."""
    line = b'1,"a","say ""x""\r\nagain",2.5\r\n'
    text = line * 500
    chunks = list(row_chunks(io.BytesIO(text), ",", 1000))
    assert b"".join(chunks) == text
    assert len(chunks) > 10
    assert all(len(chunk) % len(line) == 0 for chunk in chunks)


def test_a_value_of_quotes_is_not_looked_at_quote_by_quote(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, look = [], csv_chunks._end_of_lines

    def counted(text: bytes, first: int, last: int) -> int:
        looks.append(first)
        return look(text, first, last)

    monkeypatch.setattr(csv_chunks, "_end_of_lines", counted)
    text = b'1,"' + b'""' * 100_000 + b'"\n2,b\n'
    assert b"".join(row_chunks(io.BytesIO(b"x,y\n" + text), ",", 1000)) == b"x,y\n" + text
    assert len(looks) < 200
