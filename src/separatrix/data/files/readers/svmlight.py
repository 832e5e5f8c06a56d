"""LIBSVM and SVMlight text: ``label [qid:n] index:value ... [# comment]``, a row a line."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ....loops import svmlight as loops
from ....numeric.lazy import cached_property
from ....numeric.types import AnyArray
from ....rows import CsrRows
from .paths import Files
from .reader import Piece, Place, SharedFiles

CHUNK = 1 << 20  # bytes of text at a time: the text and its rows fit into a cache
PACKED = 1 << 16  # bytes of a compressed file at a time
EXAMPLE = "-1 3:0.5 7:2"
SHOWN = 40  # characters of a wrong word


class IndexRange(NamedTuple):
    """The smallest and the largest index of some files."""

    low: int
    high: int

    def __add__(self, other: Any) -> IndexRange:
        """The range of the indices of both."""
        return IndexRange(min(self.low, other[0]), max(self.high, other[1]))


class SvmlightReader(SharedFiles):
    """Sparse rows with numbers as labels, by the compiled parser.

    ``zero_based`` says whether the first feature has the number 0 in the file; None: yes if there
    is a 0 in one of the files. The number of features follows from the largest index, unless
    ``n_features`` is given, as when a model predicts: then entries of other features are left out
    and counted in ``left_out``. Plain text, or compressed by gzip, bzip2 or xz.
    """

    format = "svmlight"

    def __init__(
        self, files: Files, zero_based: bool | None = None, n_features: int | None = None
    ) -> None:
        self.files, self.name = files, str(files)
        self._zero_based, self._n_features = zero_based, n_features
        self.left_out = 0

    def as_in_fit(self, zero_based: bool, n_features: int) -> SvmlightReader:
        """With the features of a fit, numbered as there unless they were said to be otherwise."""
        chosen = zero_based if self._zero_based is None else self._zero_based
        return SvmlightReader(self.files, chosen, n_features)

    def identity(self) -> dict[str, Any]:
        return {
            "format": "svmlight",
            "files": self.files.identity(),
            "zero_based": self._zero_based,
            "n_features": self._n_features,
        }

    def check_unchanged(self) -> None:
        self.files.check_unchanged()

    def findings(self) -> IndexRange:
        return self._index_range

    def common(self, findings: Any = None) -> Any:
        """Whether features are counted from 0 on, and how many there are."""
        if findings is None and (self._zero_based is None or self._n_features is None):
            return None
        known = copy(self)
        known.__dict__["_index_range"] = findings
        return known.zero_based, known.n_features

    def as_part(self, common: Any, stretch: tuple[int, int] | None = None) -> SvmlightReader:
        return self if common is None else SvmlightReader(self.files, *common)

    @property
    def zero_based(self) -> bool:
        """Whether the first feature has the number 0."""
        return self._index_range[0] == 0 if self._zero_based is None else self._zero_based

    @property
    def n_features(self) -> int:
        """How many features there are."""
        if self._n_features is not None:
            return self._n_features
        return max(self._index_range[1] + self.zero_based, 0)

    @cached_property
    def _index_range(self) -> IndexRange:
        """The smallest and the largest index of all files: a read, much faster than parsing."""
        ranges = [
            loops.index_range(chunk.text)
            for path in self.files.paths
            for chunk in self._chunks(path)
        ]
        if not ranges:
            raise ValueError(
                f"{self.files.paths[0]} unpacks to no text at all; expected rows: leave it out, or "
                "write it anew."
            )
        return IndexRange(min(low for low, _ in ranges), max(high for _, high in ranges))

    def pieces(self) -> Iterator[Piece]:
        """All rows, about a megabyte of text at a time."""
        first_index, n_features = 1 - self.zero_based, self.n_features
        self.left_out = 0
        for path in self.files.paths:
            place = Place(str(path), 0, partial(self._line_of, path))
            for chunk in self._chunks(path):
                rows = loops.parse_svmlight(chunk.text, first_index, n_features)
                if rows.flaw:
                    raise ValueError(_complaint(path, chunk, rows.flaw, rows.at, first_index))
                self.left_out += rows.left_out
                yield Piece(CsrRows(*rows.X), rows.labels, None, place)
                place = place._replace(first=place.first + len(rows.labels))

    def _line_of(self, path: Path, row: int) -> int:
        """The number of the line of a row, lines counted from 1 on, rows from 0 on."""
        before = 0
        for chunk in self._chunks(path):
            for line, text in enumerate(chunk.text.tobytes().split(b"\n"), chunk.line):
                if loops.WORD.search(text.partition(b"#")[0]):
                    if before == row:
                        return line
                    before += 1
        raise IndexError(row)

    def _chunks(self, path: Path) -> Iterator[_Chunk]:
        with self.files.opened(path) as file:
            try:
                yield from _chunks(_uncompressed(file, path))
            except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
                if isinstance(error, OSError) and error.errno is not None:  # of the disk
                    raise
                raise ValueError(
                    f"{path} cannot be decompressed ({error}): it is cut off or damaged; fetch or "
                    "write it anew."
                ) from error


class _Bytes(Protocol):
    def readinto(self, room: Any, /) -> int: ...


class _Chunk(NamedTuple):
    """Whole lines, in memory that the next chunk will have."""

    text: AnyArray
    line: int  # the number of the first one, from 1 on


class _Streams:
    """Bytes that were compressed as one stream or as several, one after another.

    Those of Python take a damaged stream after the first for the end of the file.
    """

    def __init__(self, start: Callable[[], Any], file: BufferedReader) -> None:
        self._start, self._file, self._stream = start, file, start()

    def readinto(self, room: Any, /) -> int:
        """Some bytes more; 0 at the end of the last stream."""
        text = b""
        while not text:
            packed = b""
            if self._stream.eof:
                packed = self._next_stream()
                if not packed:
                    return 0
                self._stream = self._start()
            elif self._stream.needs_input:
                packed = self._file.read(PACKED)
                if not packed:
                    raise EOFError("it ends before its last stream does")
            text = self._stream.decompress(packed, len(room))
        room[: len(text)] = text
        return len(text)

    def _next_stream(self) -> bytes:
        """The first bytes after a stream that are not the zeros which fill up a file."""
        packed: bytes = self._stream.unused_data.lstrip(b"\0")
        while not packed and (more := self._file.read(PACKED)):
            packed = more.lstrip(b"\0")
        return packed


OPENERS: dict[bytes, Callable[[BufferedReader], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": partial(_Streams, bz2.BZ2Decompressor),
    b"\xfd7zXZ": partial(_Streams, lzma.LZMADecompressor),
}


def _uncompressed(file: BufferedReader, path: Path) -> _Bytes:
    begin = file.peek(8)
    if begin.startswith(b"\x28\xb5\x2f\xfd"):
        raise ValueError(
            f"{path} is compressed by Zstandard; expected LIBSVM text, plain or compressed by "
            f"gzip, bzip2 or xz: `zstd -d {path.name}` first."
        )
    opener = next((one for magic, one in OPENERS.items() if begin.startswith(magic)), None)
    return file if opener is None else opener(file)


def _chunks(file: _Bytes) -> Iterator[_Chunk]:
    """Some lines after another; a line longer than a chunk gets the room that it needs."""
    room, filled, line = bytearray(CHUNK), 0, 1
    while True:
        if filled == len(room) - 1:
            room = room + bytearray(len(room))
        count = file.readinto(memoryview(room)[filled:-1])
        if count == 0 and filled:  # the last line may have no end: it gets one
            room[filled : filled + 1] = b"\n"
            count = 1
        if count == 0:
            return
        size = room.rfind(b"\n", filled, filled + count) + 1
        filled += count
        if size:
            yield _Chunk(np.frombuffer(room, dtype=np.uint8, count=size), line)
            line += room.count(b"\n", 0, size)
            room[: filled - size] = room[size:filled]
            filled -= size


def _complaint(path: Path, chunk: _Chunk, flaw: int, at: int, first_index: int) -> str:
    """Where the flaw is, what it is, and what was expected."""
    text = chunk.text.tobytes()
    line = chunk.line + text.count(b"\n", 0, at)
    found = loops.WORD.match(text, at)
    assert found is not None
    word = found.group().decode(errors="replace")
    index, _, value = word.partition(":")
    shown = repr(_cut(word))
    if flaw == loops.LABEL:
        what = f"the label {shown} is {_kind(word)}; expected a finite number"
        if ":" in word:
            what = f"it begins with {shown}; expected a label first"
        elif "," in word:
            what = f"{shown} are several labels; expected one number"
    elif flaw == loops.FEATURE:
        what = f"{shown} is no index:value; expected a whole number, a colon and a number"
    elif flaw == loops.VALUE:
        what = f"the value in {shown} is {_kind(value)}; expected a finite number after the colon"
    elif flaw == loops.INDEX_ORDER:
        what = (
            f"the index {_cut(index)} in {shown} does not come after the one before it; expected "
        )
        what += "increasing indices: sort the entries of a row, each feature once"
    else:
        last = first_index + loops.LAST_INDEX
        what = f"the index {_cut(index)} in {shown} is out of range; expected from {first_index} "
        what += f"to {last}"
        if first_index and not index.strip("0"):
            what += ' (format="svmlight-0" counts features from 0)'
    return f"{path}, line {line}: {what}, as in {EXAMPLE!r}."


def _cut(word: str) -> str:
    """The beginning of a word that is too long to be shown."""
    return word if len(word) <= SHOWN else word[:SHOWN] + "..."


def _kind(word: str) -> str:
    """What a word is that is no finite number."""
    try:
        value = float(word)
    except ValueError:
        return "no number" if word else "missing"
    if np.isnan(value):
        return "not a number (nan)"
    return "infinite, or too large for a double" if np.isinf(value) else "not written as a number"
