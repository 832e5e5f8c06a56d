"""A file that is whole or not there at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO


@contextmanager
def replaced(
    path: Path, new: Path | None = None, previous: Path | None = None
) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place only once it is whole, on the disk.

    Until then, and after an error, what was there is as it was. ``new`` is the name that it is
    written under, a random one unless only one process writes; ``previous`` that which the file
    before is kept under.
    """
    new = new or path.with_name(f".{path.name[:200]}.{token_hex(4)}.new")
    try:
        with open(new, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if previous is not None and path.exists():
            os.replace(path, previous)
        os.replace(new, path)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def check_file_path(path: str | os.PathLike[str], what: str) -> None:
    """That a file can be there: ``what`` it is to be is for the error."""
    place = Path(path).absolute()
    if place.is_dir() or not place.parent.is_dir():
        why = "is a directory" if place.is_dir() else "is in a directory that does not exist"
        raise ValueError(f"{what} is a file, and {os.fspath(path)!r} {why}")


def _sync_directory(folder: Path) -> None:
    """The new names, too, are brought to the disk, where directories can be opened."""
    if os.name == "posix":
        directory = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
