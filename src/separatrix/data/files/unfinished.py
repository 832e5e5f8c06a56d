"""Files that are being written: what killed processes leave is removed."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

UNFINISHED = ".unfinished"


def locked_file(folder: Path, stem: str) -> tuple[int, str]:
    """A new file of a name of its own, locked as long as its process lives."""
    while True:
        descriptor, name = mkstemp(UNFINISHED, stem + ".", folder)
        with suppress(OSError):  # some network disks know no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:  # else taken for abandoned before it was locked
            return descriptor, name
        os.close(descriptor)


def remove_abandoned(folder: Path) -> None:
    """Files that a killed process left behind: nobody has them locked."""
    for path in folder.glob("*" + UNFINISHED):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
