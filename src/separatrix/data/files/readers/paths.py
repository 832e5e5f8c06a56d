"""Which files are meant by a path, a glob or a list, and whether they are still the same."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

from ....numeric.lazy import cached_property
from ....numeric.regular_file import named_in_errors

DIGEST_BYTES = 16  # 128 bits: no two contents have the same by accident
SAMPLES, SAMPLE_BYTES = 16, 1 << 14
"""Pieces of a file that are looked at to know it again: 256 KB, smaller files entirely."""


class Version(NamedTuple):
    """What a file system says of a file, and what changes with each change of its content.

    The time of the last modification can be set back by any program, the time of the last change
    of the status (``ctime``) cannot. A file that is replaced has another inode. Numbers of devices
    are left out: they may differ from one start of a machine to the next.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    digest: str = ""
    """A hash of samples of the content (:func:`sampled_digest`), if a later run has to know it."""

    @classmethod
    def of(cls, about: os.stat_result) -> Version:
        """From the status of a file."""
        return cls(about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)


class Files:
    """Files in the order in which they are read, each with the version that was there at first."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        self.first = {path: Version.of(path.stat()) for path in self.paths}
        for path, version in self.first.items():
            if version.size == 0:
                raise ValueError(
                    f"{path} is empty (0 bytes); expected rows: leave it out, or write it anew."
                )

    def __str__(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"

    def identity(self) -> list[dict[str, Any]]:
        """Path and version of each, as plain data."""
        return [
            {"path": str(path.absolute())}
            | self.first[path]._replace(digest=self.digests[path])._asdict()
            for path in self.paths
        ]

    @cached_property
    def digests(self) -> dict[Path, str]:
        """A hash of samples of the content of each file."""
        return {path: self._digest(path) for path in self.first}

    def _digest(self, path: Path) -> str:
        with self.opened(path) as file:
            return sampled_digest(file)

    def check_unchanged(self) -> None:
        """Raise if a file changed or vanished since it was first looked at, and name it."""
        for path in self.paths:
            self._check_unchanged(path)

    def _check_unchanged(self, path: Path) -> None:
        before = self.first[path]
        try:
            now = Version.of(path.stat())
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{path} has vanished since it was first read: put it back, and begin anew."
            ) from None
        if now != before:
            raise ValueError(
                f"{path} has changed since it was first read ({_difference(before, now)}): its "
                "rows would be of two files; leave it alone while it is used, and begin anew."
            )

    @contextmanager
    def unchanged(self, path: Path) -> Iterator[None]:
        """What is read of the file herein is of the file as it was first seen, or an error."""
        self._check_unchanged(path)
        try:
            with named_in_errors(path):
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
def named_as(name: str, path: Path | None) -> Iterator[None]:
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


def _difference(before: Version, now: Version) -> str:
    if before.size != now.size:
        return f"{before.size} bytes then, {now.size} now"
    if before.inode != now.inode:
        return "another file took its place"
    return "it was written to, or its time, name or permissions were changed"


def sampled_digest(file: BufferedReader) -> str:
    """A digest of the size of a file and of pieces from all over it, its begin and end included.

    It differs for files that differ in one of these pieces. A file of at most 256 KB is one piece.
    """
    size = os.fstat(file.fileno()).st_size
    digest = blake2b(str(size).encode(), digest_size=DIGEST_BYTES)
    if size <= SAMPLES * SAMPLE_BYTES:
        digest.update(file.read(SAMPLES * SAMPLE_BYTES))
        return digest.hexdigest()
    for number in range(SAMPLES):
        file.seek((size - SAMPLE_BYTES) * number // (SAMPLES - 1))
        digest.update(file.read(SAMPLE_BYTES))
    return digest.hexdigest()


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
