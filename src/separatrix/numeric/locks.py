"""Locks of files: each ends with its process, in any case.

On Windows (untested) a lock covers one byte far behind the end of any file, as locked bytes cannot
be read there, and a file that is open cannot be removed.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    _FAIL_IMMEDIATELY, _EXCLUSIVE = 1, 2
    _HELD = 33  # ERROR_LOCK_VIOLATION
    _FAR = 0x7FFFFFFF  # high half of the position of the locked byte

    class _Overlapped(ctypes.Structure):
        _fields_ = (
            ("internal", ctypes.c_void_p), ("internal_high", ctypes.c_void_p),
            ("offset", wintypes.DWORD), ("offset_high", wintypes.DWORD),
            ("event", wintypes.HANDLE),
        )  # fmt: skip

    _lock_file = ctypes.WinDLL("kernel32", use_last_error=True).LockFileEx
    _lock_file.argtypes = (
        wintypes.HANDLE, wintypes.DWORD, wintypes.DWORD, wintypes.DWORD, wintypes.DWORD,
        ctypes.POINTER(_Overlapped),
    )  # fmt: skip

    def lock(descriptor: int, *, shared: bool = False) -> None:
        flags = _FAIL_IMMEDIATELY | (0 if shared else _EXCLUSIVE)
        place = _Overlapped(offset_high=_FAR)
        handle = msvcrt.get_osfhandle(descriptor)
        if not _lock_file(handle, flags, 0, 1, 0, ctypes.byref(place)):
            error = ctypes.get_last_error()
            if error == _HELD:
                raise BlockingIOError(error, "another process holds the lock")
            raise ctypes.WinError(error)

    def close_and_remove(descriptor: int, path: Path) -> None:
        os.close(descriptor)
        with suppress(OSError):  # another process may have opened it meanwhile: it stays
            path.unlink()

    def remove_unlocked(path: Path) -> None:
        path.unlink()

else:
    import fcntl

    def lock(descriptor: int, *, shared: bool = False) -> None:
        """Lock an open file for this process, without waiting.

        BlockingIOError if another holds it; another OSError if there are no locks, as on some
        network disks.
        """
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def close_and_remove(descriptor: int, path: Path) -> None:
        """Remove a locked file, then close it: another process sees that it has no name."""
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)

    def remove_unlocked(path: Path) -> None:
        """Remove a file, or raise an OSError if a process has locked it."""
        with path.open("rb") as file:
            lock(file.fileno())
            path.unlink()
