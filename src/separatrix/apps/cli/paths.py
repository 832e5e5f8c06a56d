"""Paths of commands: files, globs, standard input and outputs, and words with suggestions."""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from ...numeric.replaced import check_file_path
from .output import say


@contextmanager
def opened(data: list[str], format: str | None = None) -> Iterator[list[str]]:
    """Paths that can be read repeatedly; ``-`` is standard input, copied to a temporary file."""
    from ...data.files.readers.formats import FORMATS, table_format

    if format is not None:
        choice("--format", format, FORMATS)
    if data != ["-"]:
        yield files(data)
        return
    if sys.stdin.isatty():
        say("Reading standard input; Ctrl-D ends it.")
    with tempfile.TemporaryDirectory(prefix="separatrix-") as folder:
        spooled = Path(folder) / "stdin"
        with spooled.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        with spooled.open("rb") as file:
            start = file.read(8)
        if not start:
            raise ValueError("standard input is empty; expected a table with the names of columns")
        suffix = f".{table_format(start)}" if format is None else ""
        spooled = spooled.rename(spooled.with_suffix(suffix))
        try:
            yield [str(spooled)]
        except ValueError as error:
            raise ValueError(str(error).replace(str(spooled), "standard input")) from error


def files(names: list[str]) -> list[str]:
    """The files that paths and globs name; the files of a glob are sorted."""
    found: list[str] = []
    for name in names:
        if glob.has_magic(name) and not Path(name).exists():
            meant = [
                path for path in sorted(glob.glob(name, recursive=True)) if Path(path).is_file()
            ]
            found += meant or [name]  # the reader reports that there is none
        else:
            check_exists(name)
            found.append(name)
    return found


def check_exists(path: str) -> None:
    """Raise an error that suggests the closest name if a file does not exist."""
    if path == "-":
        raise ValueError("- is standard input and cannot be combined: name files, or - alone")
    found = Path(path)
    if found.exists():
        return
    folder = found.parent
    if not folder.is_dir():
        raise ValueError(f"{path}: there is no folder {str(folder)!r}")
    near = get_close_matches(found.name, [other.name for other in folder.iterdir()], n=1)
    raise ValueError(f"{path}: there is no such file{f'; is it {near[0]!r}?' if near else ''}")


def check_output(path: str, *inputs: str) -> None:
    """Check that a file can be written there, before hours are spent on its contents.

    It must not be one of the input files, which would be lost.
    """
    if path == "-":
        raise ValueError(
            "the output cannot be written to -: only predict accepts this name for standard "
            "output; name a file, or /dev/stdout"
        )
    check_file_path(path, "the output")
    for read in files([name for name in inputs if name != "-"]):
        if Path(path).is_file() and os.path.samefile(path, read):
            raise ValueError(f"{path} cannot be written: it is an input file; name another file")


def choice(option: str, given: str, known: Sequence[str]) -> None:
    """Raise an error that suggests the closest name, unless the name is known."""
    if given not in known:
        near = get_close_matches(given, known, n=1)
        asked = f"; is it {near[0]!r}?" if near else ""
        raise ValueError(f"{option} {given}: expected {', '.join(known)}{asked}")
