"""The cache folder: its location and size limit."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ....numeric.locks import remove_unlocked

SUFFIX = ".blocks"
MOST_BYTES = 1 << 36
"""Most bytes of caches in the user's folder, 64 GB; the least recently used are removed."""


def cache_folder(where: str | os.PathLike[str]) -> Path:
    """The cache folder; "auto" is the user's, ``$XDG_CACHE_HOME/separatrix``."""
    if where != "auto":
        return Path(where)
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "separatrix"


def remove_unused(newest: Path) -> None:
    """Remove the least recently used caches of the folder until ``MOST_BYTES`` are left.

    The newest one and those that a process has open are kept.
    """
    others = []
    for path in newest.parent.glob("*" + SUFFIX):
        with suppress(OSError):  # another process may have removed it
            about = path.stat()
            others += [(about.st_mtime_ns, about.st_size, path)] * (path != newest)
    total = newest.stat().st_size + sum(size for _, size, _ in others)
    for _, size, path in sorted(others):
        if total <= MOST_BYTES:
            return
        with suppress(OSError):
            remove_unlocked(path)
            total -= size
