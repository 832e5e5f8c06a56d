"""Opening and reading of files by number, where systems differ.

On Windows (untested) files are opened as bytes, child processes do not inherit them, and there is
neither an owner nor a read at a position.
"""

from __future__ import annotations

import os
import stat
import sys
import threading

HAS_OWNERS = sys.platform != "win32"
"""Whether a file shows whose it is: only then can one be trusted that another process wrote."""

if sys.platform == "win32":
    _ALWAYS = os.O_BINARY | os.O_NOINHERIT
    READ = os.O_RDONLY | _ALWAYS
    READ_NO_LINK = READ
    CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _ALWAYS
    WRITE = os.O_WRONLY | _ALWAYS

    def let_reads_wait(descriptor: int) -> None:
        """Regular files never block here."""

    def written_by_the_user_alone(about: os.stat_result) -> bool:
        """Unknown without reading access lists: so nothing is trusted."""
        return False

    def without_name(descriptor: int, path: str | os.PathLike[str]) -> int:
        os.close(descriptor)
        return os.open(path, READ | os.O_TEMPORARY)

else:
    READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    """Flags to open an existing file; opening a pipe does not wait for its writer."""
    READ_NO_LINK = READ | os.O_NOFOLLOW
    """The same, and an error if the name is that of a symbolic link."""
    CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    """Flags to make a new file; a link that another user put there is not followed."""
    WRITE = os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC
    """Flags to write to what exists: a pipe or a device."""

    def let_reads_wait(descriptor: int) -> None:
        """Undo the part of ``READ`` that matters only while a file is opened."""
        os.set_blocking(descriptor, True)

    def written_by_the_user_alone(about: os.stat_result) -> bool:
        """Whether the file is the user's and no other user may write to it."""
        return about.st_uid == os.geteuid() and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)

    def without_name(descriptor: int, path: str | os.PathLike[str]) -> int:
        """Descriptor of a file that loses its name and vanishes when it is closed."""
        os.unlink(path)
        return descriptor


_at_one_position = threading.Lock()


def read_at(descriptor: int, room: memoryview, at: int) -> int:
    """Fill as much of ``room`` as one call does, from a position; the number of bytes."""
    if sys.platform != "win32" and hasattr(os, "preadv"):
        return os.preadv(descriptor, [room], at)
    return _read_after_seek(descriptor, room, at)


def _read_after_seek(descriptor: int, room: memoryview, at: int) -> int:
    """For systems without a read at a position: one thread at a time moves it."""
    with _at_one_position:
        os.lseek(descriptor, at, os.SEEK_SET)
        part = os.read(descriptor, min(len(room), MOST_AT_ONCE))
    room[: len(part)] = part
    return len(part)


MOST_AT_ONCE = 1 << 24
"""Bytes that are read and copied in one step after a seek: 16 MB, far more than a copy costs."""
