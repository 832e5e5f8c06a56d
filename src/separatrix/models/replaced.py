"""A file that is whole or not there at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place only once it is whole, on the disk.

    Until then, and after an error, what was there is as it was.
    """
    if path.is_dir() or not path.parent.is_dir():
        what = "is a directory" if path.is_dir() else "is in a directory that does not exist"
        raise ValueError(f"the path of a file is expected, and {os.fspath(path)!r} {what}")
    new = path.with_name(f".{path.name[:200]}.{token_hex(4)}.new")
    try:
        with open(new, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # the new name, too
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
