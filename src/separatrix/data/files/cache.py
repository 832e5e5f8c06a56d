"""Decoded blocks on disk: text, compression and categories are decoded once, not in every pass.

A cache is one file: the arrays of all blocks as they are in memory, then an index of them, and at
the very end a seal, the length and checksum of the index. It is written under a name of its own and
renamed when whole. So a file without a seal is none, whoever was killed while writing it, and two
processes that write the same cache do not meet: the last to rename wins, and who reads the other
keeps reading it.

The name is made of the paths and options that are decoded, so that other options have a cache of
their own. The index has the whole identity, sizes and times of files among it: a cache of files
that have changed since is not opened, and the next one takes its place. What no later run could
know again, as rows of a function or of standard input, has a cache without a name.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...numeric.rows import CsrRows, Rows
from ...numeric.types import AnyArray
from ..blocks import Block
from .cache_folder import SUFFIX, cache_folder, locked_file, remove_abandoned, remove_unused

FORMAT = 3  # to be raised whenever rows are decoded, or written, in another way than before
SEAL = struct.Struct("<QQ8s")
MAGIC = b"sptrx\x00\r\n"
LINE = 64  # bytes: where arrays begin, in the file and so in memory
MOST_FREE = 1  # rooms of blocks that nobody holds, kept for the next ones
OF_A_MOMENT = ("size", "mtime_ns")  # of a file: not in the name of its cache

Identity = dict[str, Any]


class CacheDamaged(Exception):
    """A block is not what was written."""


class Stored(NamedTuple):
    """Where the arrays of a block stand in the file."""

    start: int
    features: int | None
    """Of sparse rows."""
    arrays: list[tuple[str, str, list[int]]]
    """Name, dtype and shape of each."""
    at: int
    size: int
    checksum: int


class DecodedCache:
    """A whole cache, opened: the same blocks at each pass, without decoding.

    ``about`` is plain data that the writer left beside the blocks.
    """

    def __init__(self, descriptor: int, index: dict[str, Any]) -> None:
        self._descriptor = descriptor
        with suppress(OSError):  # shared: it is in use, and so not the next to go
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            os.utime(descriptor)
        self.about: dict[str, Any] = index["about"]
        self._blocks = [Stored(*stored) for stored in index["blocks"]]
        # Of sparse rows the first blocks may know fewer features than the last.
        self._features = max((stored.features or 0 for stored in self._blocks), default=0)
        self._unchecked = set(range(len(self._blocks)))
        self._free: list[AnyArray] = []

    @classmethod
    def open(cls, where: str | os.PathLike[str], identity: Identity) -> DecodedCache | None:
        """The cache of exactly these files and options; None if there is none that is whole."""
        identity = _plain(identity)
        try:
            descriptor = os.open(_path(cache_folder(where), identity), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        index = _sealed_index(descriptor)
        if index is None or index["identity"] != identity:
            os.close(descriptor)
            return None
        return cls(descriptor, index)

    def __len__(self) -> int:
        return len(self._blocks)

    def __del__(self) -> None:
        with suppress(OSError):
            os.close(self._descriptor)

    def block(self, number: int) -> Block:
        """One of the blocks; raises :class:`CacheDamaged` if it is not what was written.

        Its arrays are in memory that other blocks had before, and that nobody holds any more.
        """
        stored = self._blocks[number]
        room = self._room(stored.size)
        if not _read_into(self._descriptor, room, stored.at):
            raise CacheDamaged(f"block {number} of the cache is cut short")
        if number in self._unchecked:  # once: a checksum takes five times as long as the read
            if zlib.crc32(room.data) != stored.checksum:
                raise CacheDamaged(f"block {number} of the cache is not what was written")
            self._unchecked.discard(number)
        return self._assembled(stored, room)

    def __iter__(self) -> Iterator[Block]:
        """All blocks in their order."""
        return (self.block(number) for number in range(len(self)))

    def _room(self, size: int) -> AnyArray:
        """So many bytes, which come back to the free ones when no array of them is left."""
        buffer = None
        while buffer is None:
            try:
                some = self._free.pop()
            except IndexError:
                buffer = _pages(size)
            else:
                buffer = some if len(some) >= size else None  # too small: it goes
        return np.asarray(_Lease(buffer, self._free))[:size]

    def _assembled(self, stored: Stored, room: AnyArray) -> Block:
        arrays: dict[str, AnyArray] = {}
        at = 0
        for name, dtype, shape in stored.arrays:
            kind = np.dtype(dtype)
            size = kind.itemsize * int(np.prod(shape))
            arrays[name] = room[at : at + size].view(kind).reshape(shape)
            at += _whole_lines(size)
        if stored.features is None:
            X: Rows = arrays["X"]
        else:
            X = CsrRows(arrays["data"], arrays["indices"], arrays["indptr"], self._features)
        return Block(X, arrays["y"], arrays.get("weight"), stored.start)


class _Lease:
    """Memory lent to arrays: as long as one of them lives, they keep this alive."""

    def __init__(self, buffer: AnyArray, free: list[AnyArray]) -> None:
        self.__array_interface__ = buffer.__array_interface__
        self._buffer, self._free = buffer, free

    def __del__(self) -> None:
        if len(self._free) < MOST_FREE:
            self._free.append(self._buffer)


class CacheWriter:
    """Writes blocks one after another; ``close`` makes a cache of them, ``discard`` nothing."""

    def __init__(self, where: str | os.PathLike[str], identity: Identity) -> None:
        folder, self._identity = cache_folder(where), _plain(identity)
        self._bounded = where == "auto"  # a folder that a user names is the user's to tidy
        self._path = _path(folder, self._identity)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        remove_abandoned(folder)
        descriptor, self._unfinished = locked_file(folder, self._path.stem)
        self._file = os.fdopen(descriptor, "w+b")
        self._blocks: list[Stored] = []

    @property
    def open(self) -> bool:
        """Neither closed nor discarded."""
        return not self._file.closed

    def write(self, block: Block) -> None:
        """Append a block; an OSError if there is no room for it."""
        parts, features = _arrays(block)
        at, checksum, told = self._file.tell(), 0, []
        for name, array in parts.items():
            raw = np.ascontiguousarray(array)
            if raw.dtype.hasobject:
                raise TypeError(f"{name} of a block holds {raw.dtype}; expected numbers or text")
            gap = bytes(_whole_lines(raw.nbytes) - raw.nbytes)
            for some in (raw.reshape(-1).view(np.uint8).data, gap):
                self._file.write(some)
                checksum = zlib.crc32(some, checksum)
            told.append((name, raw.dtype.str, list(raw.shape)))
        size = self._file.tell() - at
        self._blocks.append(Stored(block.start, features, told, at, size, checksum))

    def close(self, about: dict[str, Any], keep: bool = True) -> DecodedCache:
        """Seal the file and give it its name; returns it opened, whoever renames another later.

        Without ``keep`` it gets no name, and goes with who has it opened.
        """
        index = _plain(
            {
                "format": FORMAT,
                "identity": self._identity,
                "about": about,
                "blocks": self._blocks,
            }
        )
        text = json.dumps(index).encode()
        self._file.write(text)
        self._file.write(SEAL.pack(len(text), zlib.crc32(text), MAGIC))
        self._file.flush()
        if keep:
            os.replace(self._unfinished, self._path)
            if self._bounded:
                remove_unused(self._path)
        else:
            os.unlink(self._unfinished)
        descriptor = os.dup(self._file.fileno())
        self._file.close()
        return DecodedCache(descriptor, index)

    def discard(self) -> None:
        """Leave nothing behind, unless closed before."""
        if not self.open:
            return
        with suppress(OSError):
            os.unlink(self._unfinished)
        with suppress(OSError):  # it flushes, and may find the disk full once more
            self._file.close()


def _plain(data: Any) -> Any:
    """As it comes back from a file."""
    return json.loads(json.dumps(data))


def _path(folder: Path, identity: Identity) -> Path:
    lasting = json.dumps(_lasting(identity), sort_keys=True).encode()
    return folder / (blake2b(lasting, digest_size=16).hexdigest() + SUFFIX)


def _lasting(data: Any) -> Any:
    """Without what changes when a file is written anew."""
    if isinstance(data, dict):
        return {key: _lasting(value) for key, value in data.items() if key not in OF_A_MOMENT}
    return [_lasting(value) for value in data] if isinstance(data, list) else data


def _sealed_index(descriptor: int) -> dict[str, Any] | None:
    """What stands at the end of a file that was written to its end."""
    size = os.fstat(descriptor).st_size
    seal = os.pread(descriptor, SEAL.size, max(size - SEAL.size, 0))
    if len(seal) != SEAL.size:
        return None
    length, checksum, magic = SEAL.unpack(seal)
    if magic != MAGIC or length > size - SEAL.size:
        return None
    text = np.empty(length, dtype=np.uint8)
    whole = _read_into(descriptor, text, size - SEAL.size - length)
    if not whole or zlib.crc32(text.data) != checksum:
        return None
    index: dict[str, Any] = json.loads(text.tobytes())
    return index if index["format"] == FORMAT else None


def _read_into(descriptor: int, room: AnyArray, at: int) -> bool:
    """Whether there were bytes for all of the room: one call reads 2 GB at most."""
    rest = room.data
    while len(rest):
        count = os.preadv(descriptor, [rest], at)
        if count == 0:
            return False
        rest, at = rest[count:], at + count
    return True


def _arrays(block: Block) -> tuple[dict[str, AnyArray], int | None]:
    """The arrays of a block, of sparse rows those entries that are theirs; and their features."""
    features, arrays = None, {}
    if isinstance(block.X, CsrRows):
        data, indices, indptr, features = block.X
        entries = slice(indptr[0], indptr[-1])
        arrays = {"data": data[entries], "indices": indices[entries], "indptr": indptr - indptr[0]}
    else:
        arrays = {"X": block.X}
    arrays["y"] = block.y
    if block.weight is not None:
        arrays["weight"] = block.weight
    return arrays, features


def _pages(size: int) -> AnyArray:
    """Memory of its own, which goes back at once: allocators may keep some, or tear holes."""
    try:
        return np.frombuffer(mmap.mmap(-1, max(size, 1)), dtype=np.uint8)
    except OSError as error:
        raise MemoryError(f"{size} bytes for a block") from error


def _whole_lines(size: int) -> int:
    return -(-size // LINE) * LINE
