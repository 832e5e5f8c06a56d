"""The only place that writes files: completely, or not at all."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile
from typing import BinaryIO

from .descriptors import CREATE, READ, WRITE
from .regular_file import kind_of

MOST_LINKS = 40  # as many as Linux follows
REFUSED = (stat.S_IFDIR, stat.S_IFSOCK, stat.S_IFBLK)

if sys.platform == "win32":
    RETRIES = 20
    RETRY_AFTER = 0.05  # seconds: virus scanners and indexers hold a new file about as long

    def _rename(old: Path, new: Path) -> None:
        """Untested. A file that another process has open cannot be replaced: wait a second."""
        for _ in range(RETRIES):
            with suppress(PermissionError):
                os.replace(old, new)
                return
            time.sleep(RETRY_AFTER)
        os.replace(old, new)

else:

    def _rename(old: Path, new: Path) -> None:
        """In one step: other processes see the old file or the new one."""
        os.replace(old, new)


@contextmanager
def replaced(
    path: Path, new: Path | None = None, previous: Path | None = None
) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces ``path`` in one step, once it is on the disk.

    Until then, and after an error, the old file is unchanged.

    - A symbolic link stays: the file it points to is replaced, or created if there is none.
    - The new file has the permissions of the old one, and its owner and group if the process
      may set them. Without an old file the umask decides. Other hard links to the old file keep
      the old content.
    - A file that may not be opened for writing (mode 0444) is refused, as by ``>`` in a shell,
      although the directory may allow to replace it.
    - Pipes, character devices (``/dev/null``) and open descriptors (``/dev/stdout``,
      ``/dev/fd/3``) stay and are written to directly. Opening a pipe waits for its reader, and
      what was written before an error stays written.
    - Directories, sockets and block devices are refused.

    ``new`` is the temporary name, by default a random one; a fixed name suits a path that a single
    process writes to, as a file that a killed process left is replaced. ``previous`` is the name
    under which the old file is kept.
    """
    check_file_path(path, "a file")
    direct = _opened_directly(path)
    target = followed(path)
    new = new or target.with_name(f".separatrix-{token_hex(8)}.new")
    with _errors_name(path, new):
        if direct is not None:
            with open(direct, "wb") as file:
                yield file
            return
        old = os.stat(target) if target.exists() else None
        new.unlink(missing_ok=True)
        # Do not widen who may read the file.
        descriptor = os.open(new, CREATE, 0o666 if old is None else 0o600)
        try:
            with open(descriptor, "wb") as file:
                yield file
                file.flush()
                if old is not None:
                    _take_over_permissions(descriptor, old)
                os.fsync(descriptor)
            if previous is not None and old is not None:
                _rename(target, previous)
            _rename(new, target)
        except BaseException:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            raise
    _sync_directory(target.parent)


def check_file_path(path: str | os.PathLike[str], what: str, *, regular: bool = False) -> None:
    """Raise if a file cannot be written there; to be called before the work of filling it.

    ``what`` is named in the error. With ``regular``, pipes and devices are refused too, as the file
    will be read again.
    """
    name, mode, parent = os.fspath(path), _mode(path), followed(path).parent
    wrong = None
    if descriptor_of(path) is not None and not regular:
        if mode:
            return
        wrong = "no file is open under this number"
    elif mode and (stat.S_IFMT(mode) in REFUSED or (regular and not stat.S_ISREG(mode))):
        wrong = f"it is {kind_of(mode)}"
    elif not mode and not parent.is_dir():
        wrong = f"the directory {str(parent)!r} does not exist"
    elif not mode and name.endswith(os.sep):
        wrong = "it is the name of a directory"
    if wrong is not None:
        raise ValueError(f"{what} cannot be written to {name!r}: {wrong}")
    if mode and not os.access(path, os.W_OK):
        raise PermissionError(
            f"{what} cannot be written to {name!r}: the file is read-only; name another file, or "
            "`chmod +w` it"
        )
    if not mode or stat.S_ISREG(mode):
        try:
            TemporaryFile(dir=parent).close()
        except OSError as error:
            raise type(error)(
                f"{what} cannot be written to {name!r}: no file can be created in the directory "
                f"{str(parent)!r} ({error.strerror}); name a file in another one"
            ) from error


def followed(path: str | os.PathLike[str]) -> Path:
    """The absolute path; for a symbolic link that of its target, whether it exists or not."""
    place = Path(path).absolute()
    return Path(os.path.realpath(place)) if place.is_symlink() else place


def descriptor_of(path: str | os.PathLike[str]) -> int | None:
    """The descriptor in this process that a path such as ``/dev/stdout`` names."""
    place = Path(path).absolute()
    for _ in range(MOST_LINKS):
        folder = os.path.realpath(place.parent)
        if folder in ("/dev/fd", f"/proc/{os.getpid()}/fd") and place.name.isdecimal():
            return int(place.name)
        if not place.is_symlink():
            break
        place = place.parent / os.readlink(place)
    return None


def _mode(path: str | os.PathLike[str]) -> int:
    """``st_mode`` of the file, 0 if there is none; circular links raise an OSError."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _opened_directly(path: Path) -> int | None:
    """A descriptor if the file must be written to directly, None if it is replaced."""
    number, mode = descriptor_of(path), _mode(path)
    if number is not None:
        return os.dup(number)
    if not mode or stat.S_ISREG(mode):
        return None
    return os.open(path, WRITE)


def _take_over_permissions(descriptor: int, old: os.stat_result) -> None:
    """As far as the process and the file system allow; a system without owners has defaults."""
    if sys.platform != "win32":
        mode = old.st_mode & 0o777
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except OSError:
            try:
                os.fchown(descriptor, -1, old.st_gid)
            except OSError:  # another group must not get the rights of the old one
                mode &= ~0o070 | (mode & 0o007) << 3
        with suppress(OSError):
            os.fchmod(descriptor, mode)


@contextmanager
def _errors_name(path: Path, new: Path) -> Iterator[None]:
    """System errors name the requested file, not its temporary name or none."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and str(error.filename) in ("None", str(new)):
            error.filename, error.filename2 = os.fspath(path), None
        raise


def _sync_directory(folder: Path) -> None:
    """Sync the new name to disk where directories can be opened; the file itself is on disk."""
    with suppress(OSError):
        directory = os.open(folder, READ)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
