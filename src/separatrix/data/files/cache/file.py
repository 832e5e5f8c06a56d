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

**What is believed of a cache.** Compiled loops follow indices and offsets without looking, so a
file with the wrong ones could read or write any memory. A cache is therefore opened only if it
belongs to the user and nobody else may write to it: what is left is what the user's own processes
do, and accidents. Its index is checked when it is opened, each block when it is first read: the
checksum, and then all that a decoder guarantees. A copy of the block is in memory by then, so
nobody can change what was checked. Later reads of a block skip the checks, which take several
times as long as the read, as long as the size and times of the file are those of the check: a
system call for each block shows it. Whatever is wrong with a cache, rows are decoded again.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from ....numeric.types import AnyArray
from ....rows import host_rows_of
from ...blocks import Block
from ..readers.paths import Version
from ..unfinished import locked_file, remove_abandoned
from .folder import SUFFIX, cache_folder, remove_unused
from .index import (
    FORMAT,
    MAGIC,
    SEAL,
    TYPES,
    CacheDamaged,
    Identity,
    StoredBlock,
    flaw,
    read_into,
    sealed_index,
    whole_lines,
)

MOST_FREE = 1  # rooms of blocks that nobody holds, kept for the next ones
NOTED_EVERY = 3600  # seconds: a new time of last use makes other processes check blocks again
OPENED = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # it does not wait for a pipe


class DecodedCache:
    """A whole cache, opened: the same blocks at each pass, without decoding.

    ``about`` is plain data that the writer left beside the blocks.
    """

    def __init__(self, descriptor: int, index: dict[str, Any]) -> None:
        self._descriptor = descriptor
        with suppress(OSError):  # shared: it is in use, and so not the next to go
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if abs(time.time() - os.fstat(descriptor).st_mtime) > NOTED_EVERY:
                os.utime(descriptor)
        self.about: dict[str, Any] = index["about"]
        self.codes: int = index["codes"]
        """All labels are codes from 0 to before this."""
        self.blocks = [StoredBlock(*stored) for stored in index["blocks"]]
        # Of sparse rows the first blocks may know fewer features than the last.
        self.features = max((stored.width for stored in self.blocks), default=0)
        self._checked: dict[int, tuple[int, ...]] = {}  # by block, the file's state at the time
        self._free: list[AnyArray] = []

    @classmethod
    def open(cls, where: str | os.PathLike[str], identity: Identity) -> DecodedCache | None:
        """The cache of exactly these files and options; None if there is none that is whole.

        Raises :class:`CacheDamaged` if there is one that is not to be believed.
        """
        identity = _plain(identity)
        path = _path(cache_folder(where), identity)
        try:
            descriptor = os.open(path, OPENED)
        except OSError:
            return None
        try:
            _check_owner(descriptor, path)
            index = sealed_index(descriptor, identity)
        except BaseException:
            os.close(descriptor)
            raise
        if index is None:
            os.close(descriptor)
            return None
        return cls(descriptor, index)

    def __len__(self) -> int:
        return len(self.blocks)

    def __del__(self) -> None:
        with suppress(OSError):
            os.close(self._descriptor)

    def block(self, number: int) -> Block:
        """One of the blocks; raises :class:`CacheDamaged` if it is not what was written.

        Its arrays are in memory that other blocks had before, and that nobody holds any more.
        """
        stored = self.blocks[number]
        room = self._room(stored.size)
        if not read_into(self._descriptor, room, stored.at):
            raise CacheDamaged(f"block {number} of the cache is cut short")
        block = stored.assembled(room, self.features)
        state = _state(self._descriptor)  # after the read: a write before it shows
        if self._checked.get(number) != state:
            if zlib.crc32(room.data) != stored.checksum:
                raise CacheDamaged(f"block {number} of the cache is not what was written")
            if why := flaw(block, self.codes):
                raise CacheDamaged(f"block {number} of the cache was not written by a fit: {why}")
            self._checked[number] = state
        return block

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
        self._blocks: list[StoredBlock] = []
        self._codes = 0

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
            if raw.dtype.str not in TYPES[name]:
                expected = " or ".join(map(str, map(np.dtype, TYPES[name])))
                raise TypeError(f"{name} of a block holds {raw.dtype}; expected {expected}")
            gap = bytes(whole_lines(raw.nbytes) - raw.nbytes)
            for some in (raw.reshape(-1).view(np.uint8).data, gap):
                self._file.write(some)
                checksum = zlib.crc32(some, checksum)
            told.append((name, raw.dtype.str, list(raw.shape)))
        self._codes = max(self._codes, int(block.y.max(initial=-1)) + 1)
        size = self._file.tell() - at
        self._blocks.append(StoredBlock(block.start, features, told, at, size, checksum))

    def close(self, about: dict[str, Any], keep: bool = True) -> DecodedCache:
        """Seal the file and give it its name; returns it opened, whoever renames another later.

        Without ``keep`` it gets no name, and goes with who has it opened.
        """
        index = _plain(
            {
                "format": FORMAT,
                "identity": self._identity,
                "about": about,
                "codes": self._codes,
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
        return {key: _lasting(value) for key, value in data.items() if key not in Version._fields}
    return [_lasting(value) for value in data] if isinstance(data, list) else data


def _check_owner(descriptor: int, path: Path) -> None:
    """Nobody but the user may have written the file, or may write to it."""
    about = os.fstat(descriptor)
    others = stat.S_IWGRP | stat.S_IWOTH
    if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & others:
        raise CacheDamaged(
            f"the cache {path} is no file that only you may write to, and is not read"
        )


def _state(descriptor: int) -> tuple[int, ...]:
    """Changes whenever the file is written to, as fine as its file system takes the time."""
    about = os.fstat(descriptor)
    return about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _arrays(block: Block) -> tuple[dict[str, AnyArray], int | None]:
    """The arrays of a block, of sparse rows those entries that are theirs; and their features."""
    arrays, features = host_rows_of(block.X).named_arrays()
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
