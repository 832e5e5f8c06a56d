"""Memory from the system itself, in whole pages: mapped without a file, on every system."""

from __future__ import annotations

import mmap

import numpy as np

from .types import AnyArray


def pages(size: int) -> AnyArray:
    """Zeroed bytes that go back to the system at once; allocators may keep or fragment them."""
    try:
        return np.frombuffer(mmap.mmap(-1, max(size, 1)), dtype=np.uint8)
    except OSError as error:
        raise MemoryError(f"{size} bytes for a block") from error


def check_room(size: int) -> None:
    """OSError if the system would not give this process that many more bytes."""
    mmap.mmap(-1, size).close()
