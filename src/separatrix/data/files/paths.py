"""Which files are meant by a path, a glob or a list, and whether they are still the same."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any


class Files:
    """Files in the order in which they are read, with the size and time each had at first."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        self.first = [_size_and_time(path) for path in self.paths]
        for path, (size, _) in zip(self.paths, self.first, strict=True):
            if size == 0:
                raise ValueError(
                    f"{path} is empty (0 bytes); expected rows: leave it out, or write it anew."
                )

    def __str__(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"

    def identity(self) -> list[dict[str, Any]]:
        """Path, size and time of the last change of each, as plain data."""
        return [
            {"path": str(path.absolute()), "size": size, "mtime_ns": time}
            for path, (size, time) in zip(self.paths, self.first, strict=True)
        ]

    def check_unchanged(self) -> None:
        """Raise if a file changed or vanished since it was first looked at, and name it."""
        for path in self.paths:
            self._check_unchanged(path)

    def _check_unchanged(self, path: Path) -> None:
        before = self.first[self.paths.index(path)]
        try:
            now = _size_and_time(path)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{path} has vanished since it was first read: put it back, and begin anew."
            ) from None
        if now != before:
            raise ValueError(
                f"{path} has changed since it was first read ({before[0]} bytes then, {now[0]} "
                "now): its rows would be of two files; leave it alone while it is used, and begin "
                "anew."
            )

    @contextmanager
    def unchanged(self, path: Path) -> Iterator[None]:
        """What is read of the file herein is of the file as it was first seen, or an error."""
        self._check_unchanged(path)
        try:
            yield
        except (ValueError, OSError, EOFError):
            self._check_unchanged(path)  # which is the better reason
            raise
        self._check_unchanged(path)

    @contextmanager
    def opened(self, path: Path) -> Iterator[BufferedReader]:
        """The file, to be read from its beginning; unchanged before and after it was read."""
        with self.unchanged(path), _open(path) as file:
            yield file


@contextmanager
def told_as(name: str, path: Path | None) -> Iterator[None]:
    """Errors name what was given, not the file in which it is kept, if it is."""
    try:
        yield
    except (ValueError, OSError) as error:
        if path is None or str(path) not in str(error):
            raise
        text = str(error).replace(str(path), name)
        raise (ValueError if isinstance(error, ValueError) else OSError)(text) from error


def _open(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except PermissionError as error:
        raise PermissionError(
            f"{path} may not be read (permission denied): ask its owner, or `chmod +r` it."
        ) from error


def _size_and_time(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def named_files(what: Any) -> list[Path]:
    """The files that a path, a glob or a list of them names; at least one, and none a folder."""
    if isinstance(what, (list, tuple)):
        if not what:
            raise ValueError("an empty list of files was given; expected at least one path.")
        return [path for one in what for path in named_files(one)]
    if not isinstance(what, (str, os.PathLike)):
        raise TypeError(f"expected a path, a glob or a list of them, got {what!r}.")
    name = os.path.expanduser(os.fsdecode(what))
    if "://" in name:
        raise ValueError(
            f"{name} is an address; files are read from this machine only: fetch it first, or "
            "pass an object with __arrow_c_stream__ (e.g. of DuckDB or polars) that reads it."
        )
    path = Path(name)
    if glob.has_magic(name) and not _exists(path):
        return _matches(name)
    _check_file(path)
    return [path]


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except PermissionError as error:
        raise PermissionError(
            f"{path} may not be looked at (permission denied in one of its folders): ask their "
            "owner, or `chmod +rx` them."
        ) from error
    except OSError:
        return False
    return True


def _check_file(path: Path) -> None:
    if not _exists(path):
        raise FileNotFoundError(
            f"there is no file {path} (from {os.getcwd()}): check the path, or use a glob such as "
            '"part-*.parquet".'
        )
    if path.is_dir():
        raise IsADirectoryError(
            f'{path} is a folder; expected a file or a glob: e.g. "{path / "*.parquet"}", or '
            f'"{path / "**" / "*.parquet"}" for those in folders below too.'
        )
    if not os.access(path, os.R_OK):
        raise PermissionError(
            f"{path} may not be read (permission denied): ask its owner, or `chmod +r` it."
        )


def _matches(pattern: str) -> list[Path]:
    """Files that match, sorted by name; folders that match are no files."""
    found = [Path(name) for name in sorted(glob.glob(pattern, recursive=True))]
    files = [path for path in found if not path.is_dir()]
    if files:
        for path in files:
            _check_file(path)
        return files
    folder = Path(pattern)
    while glob.has_magic(str(folder)):
        folder = folder.parent
    if not _exists(folder):
        raise FileNotFoundError(f"no file matches {pattern}: there is no folder {folder}.")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise PermissionError(
            f"no file matches {pattern}, as the folder {folder} may not be listed (permission "
            "denied): ask its owner, or `chmod +rx` it."
        )
    raise FileNotFoundError(f"no file matches {pattern} (in {folder.absolute()}).")


def is_stream(path: Path) -> bool:
    """Whether it is a pipe or a terminal: what is read from it is gone."""
    mode = path.stat().st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)
