"""Decoded blocks on disk: text, compression and categories are decoded once, not in every pass.

A cache is one file: the arrays of all blocks as they are in memory, then their index, and at the
very end a seal with the length and checksum of the index. It is written under a temporary name and
renamed when complete. So a file without a seal is not a cache, e.g. if its writer was killed. Two
processes that write the same cache do not interfere: the last to rename wins, and readers of the
other file keep reading it.

The name is a hash of paths and options, so other options have another cache. The index has the
whole identity, including sizes and times of files: if files have changed since, the cache is not
opened and the next one replaces it. Data that no later run could recognise, such as rows of a
function or of standard input, has a cache without a name.

**Trust.** Compiled loops do not check indices and offsets, so a file with wrong ones could make
them read or write any memory. A cache is therefore opened only if it belongs to the user and no
other user may write to it, which leaves the user's own processes and accidents. The index is
checked when the cache is opened, and each block when it is first read: the checksum, and then all
that a decoder guarantees. The check uses a copy of the block in memory, so it cannot change
afterwards. Later reads of a block skip the checks, which take several times as long as the read,
if the size and times of the file are unchanged, which takes one system call per block. If anything
is wrong with a cache, rows are decoded again.
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

MOST_FREE = 3  # unused buffers kept: as many blocks as a pass holds; new memory takes twice as long
NOTED_EVERY = 3600  # seconds: updating the time of last use makes other processes check again
OPENED = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # does not block on a pipe


class DecodedCache:
    """An opened cache: the same blocks in each pass, without decoding.

    ``about`` is plain data that the writer stored with the blocks.
    """

    def __init__(self, descriptor: int, index: dict[str, Any]) -> None:
        self._descriptor = descriptor
        with suppress(OSError):  # a shared lock marks it as in use, so it is not removed
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if abs(time.time() - os.fstat(descriptor).st_mtime) > NOTED_EVERY:
                os.utime(descriptor)
        self.about: dict[str, Any] = index["about"]
        self.codes: int = index["codes"]
        """All labels are codes from 0 to ``codes`` - 1."""
        self.blocks = [StoredBlock(*stored) for stored in index["blocks"]]
        # With sparse rows the first blocks may have fewer features than the last.
        self.features = max((stored.width for stored in self.blocks), default=0)
        self._checked: dict[int, tuple[int, ...]] = {}  # by block, the file's state at the time
        self._free: list[AnyArray] = []

    @classmethod
    def open(cls, where: str | os.PathLike[str], identity: Identity) -> DecodedCache | None:
        """The cache of exactly these files and options; None if there is no complete one.

        Raises :class:`CacheDamaged` if there is one that cannot be trusted.
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

        Its arrays may reuse the memory of earlier blocks that are no longer referenced.
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
        return (self.block(number) for number in range(len(self)))

    def _room(self, size: int) -> AnyArray:
        """A buffer of ``size`` bytes, which is reused once no array refers to it."""
        buffer = None
        while buffer is None:
            try:
                some = self._free.pop()
            except IndexError:
                buffer = _pages(size)
            else:
                buffer = some if len(some) >= size else None  # too small: freed
        return np.asarray(_Lease(buffer, self._free))[:size]


class _Lease:
    """Memory lent to arrays, which keep this object alive as long as one of them lives."""

    def __init__(self, buffer: AnyArray, free: list[AnyArray]) -> None:
        self.__array_interface__ = buffer.__array_interface__
        self._buffer, self._free = buffer, free

    def __del__(self) -> None:
        if len(self._free) < MOST_FREE:
            self._free.append(self._buffer)


class CacheWriter:
    """Writes blocks in order; ``close`` completes the cache, ``discard`` removes it."""

    def __init__(self, where: str | os.PathLike[str], identity: Identity) -> None:
        folder, self._identity = cache_folder(where), _plain(identity)
        self._bounded = where == "auto"  # users clean up the folders that they name
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
        at, checksum, arrays = self._file.tell(), 0, []
        for name, array in parts.items():
            raw = np.ascontiguousarray(array)
            if raw.dtype.str not in TYPES[name]:
                expected = " or ".join(map(str, map(np.dtype, TYPES[name])))
                raise TypeError(f"{name} of a block holds {raw.dtype}; expected {expected}")
            gap = bytes(whole_lines(raw.nbytes) - raw.nbytes)
            for some in (raw.reshape(-1).view(np.uint8).data, gap):
                self._file.write(some)
                checksum = zlib.crc32(some, checksum)
            arrays.append((name, raw.dtype.str, list(raw.shape)))
        self._codes = max(self._codes, int(block.y.max(initial=-1)) + 1)
        size = self._file.tell() - at
        self._blocks.append(StoredBlock(block.start, features, arrays, at, size, checksum))

    def close(self, about: dict[str, Any], keep: bool = True) -> DecodedCache:
        """Seal and rename the file; returns the opened cache, even if another replaces it.

        Without ``keep`` it gets no name and vanishes when it is closed.
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
        """Remove the unfinished file, unless closed before."""
        if not self.open:
            return
        with suppress(OSError):
            os.unlink(self._unfinished)
        with suppress(OSError):  # closing flushes, and the disk may still be full
            self._file.close()


def _plain(data: Any) -> Any:
    """The data as JSON returns it."""
    return json.loads(json.dumps(data))


def _path(folder: Path, identity: Identity) -> Path:
    lasting = json.dumps(_lasting(identity), sort_keys=True).encode()
    return folder / (blake2b(lasting, digest_size=16).hexdigest() + SUFFIX)


def _lasting(data: Any) -> Any:
    """Without the entries that change when a file is rewritten."""
    if isinstance(data, dict):
        return {key: _lasting(value) for key, value in data.items() if key not in Version._fields}
    return [_lasting(value) for value in data] if isinstance(data, list) else data


def _check_owner(descriptor: int, path: Path) -> None:
    """Raise unless the user owns the file and no other user may write to it."""
    about = os.fstat(descriptor)
    others = stat.S_IWGRP | stat.S_IWOTH
    if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & others:
        raise CacheDamaged(
            f"the cache {path} is not a file that only you may write to, so it is not read"
        )


def _state(descriptor: int) -> tuple[int, ...]:
    """Changes whenever the file is written to, within the file system's time resolution."""
    about = os.fstat(descriptor)
    return about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _arrays(block: Block) -> tuple[dict[str, AnyArray], int | None]:
    """The arrays of a block, and for sparse rows the number of features."""
    arrays, features = host_rows_of(block.X).named_arrays()
    arrays["y"] = block.y
    if block.weight is not None:
        arrays["weight"] = block.weight
    if (offset := block.rows.offset) is not None:
        arrays["offset"] = offset
    return arrays, features


def _pages(size: int) -> AnyArray:
    """Memory that is returned to the system at once; allocators may keep or fragment it."""
    try:
        return np.frombuffer(mmap.mmap(-1, max(size, 1)), dtype=np.uint8)
    except OSError as error:
        raise MemoryError(f"{size} bytes for a block") from error
