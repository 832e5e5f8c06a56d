"""Reading of files: regular files only, so that opening never blocks; errors name the file."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from .descriptors import READ, let_reads_wait

KINDS = {
    stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device", stat.S_IFBLK: "a block device",
}  # fmt: skip


def kind_of(mode: int) -> str:
    return KINDS.get(stat.S_IFMT(mode), "a regular file")


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading, and refuse anything else with a ValueError that names it.

    Opening a pipe would wait for a writer, a device may have no end, and some devices act as soon
    as they are opened.
    """
    _refuse_special(path, os.stat(path).st_mode)
    # The path may have changed by now: open without waiting, and check what was opened.
    file = open(os.open(path, READ), "rb")  # noqa: SIM115  the caller closes it
    try:
        _refuse_special(path, os.fstat(file.fileno()).st_mode)
        let_reads_wait(file.fileno())
    except BaseException:
        file.close()
        raise
    return file


@contextmanager
def named_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in system errors while it is read: only errors of opening do so by themselves.

    An error without a number is not a system error.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _refuse_special(path: str | os.PathLike[str], mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise ValueError(
            f"{os.fspath(path)!r} is {kind_of(mode)}; expected a regular file: copy what it "
            "delivers to a file, and name that"
        )
