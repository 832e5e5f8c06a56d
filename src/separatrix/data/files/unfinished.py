"""Files that are being written; those left by killed processes are removed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from ...numeric.locks import lock, remove_unlocked

UNFINISHED = ".unfinished"


def locked_file(folder: Path, stem: str) -> tuple[int, str]:
    """A new file with a unique name, locked as long as its process lives."""
    while True:
        descriptor, name = mkstemp(UNFINISHED, stem + ".", folder)
        with suppress(OSError):  # some network disks have no locks
            lock(descriptor)
        if os.fstat(descriptor).st_nlink:  # else removed as abandoned before it was locked
            return descriptor, name
        os.close(descriptor)


def remove_abandoned(folder: Path) -> None:
    """Remove unlocked files, which killed processes left behind."""
    for path in folder.glob("*" + UNFINISHED):
        with suppress(OSError):
            remove_unlocked(path)
