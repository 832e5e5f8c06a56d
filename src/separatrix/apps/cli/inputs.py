"""What commands read: files, globs and standard input, with the columns that are asked for."""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import separatrix

from ...data.files.readers.formats import FORMATS, TABLES, known_format, table_format
from ...numeric.replaced import check_file_path
from . import skops_files
from .output import say
from .thresholds import MEMORY_BYTES

MISSING = ("indicator", "mean", "zero", "error")


@dataclass
class Options:
    """What is said of the columns of a table."""

    target: str | None = None
    weight: str | None = None
    drop: list[str] = field(default_factory=list)
    as_category: list[str] = field(default_factory=list)
    missing: str | None = None
    format: str | None = None
    cache: str | None = None
    test: float = 0.0
    features: list[str] | None = None

    def read(self, paths: list[str]) -> Any:
        """A source of the rows; without labels it is an error."""
        if self.missing is not None:
            choice("--missing", self.missing, MISSING)
        given: dict[str, Any] = {
            "target": self.target, "weight": self.weight, "format": self.format,
            "cache": self.cache, "validation": self.test or None,
        }  # fmt: skip
        if self.has_columns(paths):
            categories = dict.fromkeys(self.as_category, "onehot")
            given |= {"drop": self.drop, "missing": self.missing or "indicator"}
            given |= {} if self.features is None else {"features": self.features}
            given |= {"categorical": categories} if categories else {}
        elif self.drop or self.as_category or self.missing not in (None, "error"):
            raise ValueError(
                f"{paths[0]} has numbers without names: --drop, --as-category and --missing are "
                "about columns"
            )
        source = _named(paths, lambda: separatrix.read(paths, **given))
        if not len(source.classes):
            names = source.reading.encoding.feature_names.tolist()
            raise ValueError(
                f"{paths[0]}: which column holds the labels? Say --target NAME; the columns are "
                f"{', '.join(names)}"
            )
        if len(source.classes) < 2:
            raise ValueError(
                f"{paths[0]}: every row has the label {source.classes.tolist()[0]!r}; expected two "
                "classes or more"
            )
        return source

    def has_columns(self, paths: list[str]) -> bool:
        """Whether these are tables."""
        return (self.format or known_format(paths[0])) in (*TABLES, None)


def choice(option: str, given: str, known: Sequence[str]) -> None:
    """An error with the name that is nearest, unless it is one of those known."""
    if given not in known:
        near = get_close_matches(given, known, n=1)
        asked = f"; is it {near[0]!r}?" if near else ""
        raise ValueError(f"{option} {given}: expected {', '.join(known)}{asked}")


def read_like(model: Any, paths: list[str], **options: Any) -> Any:
    """Labelled rows as a model reads them."""
    try:
        return _named(paths, lambda: separatrix.read(paths, like=model, **options))
    except TypeError as error:  # rows of another kind than those of the fit
        raise ValueError(f"{paths[0]}: {error}") from error


class Judged(NamedTuple):
    """Rows to judge a model by."""

    rows: Any
    """Those of its fit; of another file, or of a fit that held none out, all."""
    held_out: Any
    is_of_fit: bool | None
    """Whether the file is that of the fit; None where the model cannot tell."""

    def told(self, data: list[str], by: Any = None) -> dict[str, Any]:
        """For ``--json``: those that it is judged ``by``, unless it is by ``rows``."""
        held_out = 0 if self.held_out is None else self.held_out.n_rows
        n_rows = (self.rows if by is None else by).n_rows
        facts = {"file": " ".join(data), "rows": n_rows, "held_out_rows": held_out}
        return facts | {"is_of_fit": self.is_of_fit}


def judged(model: Any, paths: list[str], target: str | None, format: str | None) -> Judged:
    """Labelled rows, in memory if they have room, told apart as a fit did that held some out.

    Whether these are the same is seen by their fingerprint; of another file none is held out.
    """
    given = {"target": target, "format": format}
    split = getattr(model, "split_", None)
    if split is not None:
        try:
            source = read_like(model, paths, validation=split.held_out or None, **given)
        except ValueError:  # of other rows so many may not be held out
            source = None
        rows = None if source is None else in_memory(source)
        if rows is not None and rows.fingerprint() == split.trained_on:
            return Judged(rows, source.validation, True)
    rows = in_memory(read_like(model, paths, **given))
    return Judged(rows, None, None if split is None else False)


def _named(paths: list[str], read: Any) -> Any:
    """Errors name the file."""
    try:
        return read()
    except ValueError as error:
        known = any(path in str(error) for path in paths) or glob.has_magic(paths[0])
        raise ValueError(str(error) if known else f"{paths[0]}: {error}") from error


@contextmanager
def opened(data: list[str], format: str | None = None) -> Iterator[list[str]]:
    """Paths that can be read again and again; ``-`` is standard input, kept in a file meanwhile."""
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
    """The files that paths and globs name; those of a glob are sorted."""
    found: list[str] = []
    for name in names:
        if glob.has_magic(name) and not Path(name).exists():
            meant = [
                path for path in sorted(glob.glob(name, recursive=True)) if Path(path).is_file()
            ]
            found += meant or [name]  # that there is none is told by who reads them
        else:
            _check_there(name)
            found.append(name)
    return found


def _check_there(path: str) -> None:
    """A file that is not there is an error with the name that is nearest."""
    if path == "-":
        raise ValueError("- is standard input, and stands alone: name files, or - and no file")
    found = Path(path)
    if found.exists():
        return
    folder = found.parent
    if not folder.is_dir():
        raise ValueError(f"{path}: there is no folder {str(folder)!r}")
    near = get_close_matches(found.name, [other.name for other in folder.iterdir()], n=1)
    raise ValueError(f"{path}: there is no such file{f'; is it {near[0]!r}?' if near else ''}")


def in_memory(source: Any) -> Any:
    """All rows in memory if they have room there, else the source as it is."""
    if hasattr(source, "block") or source.n_rows * source.row_bytes > MEMORY_BYTES:
        return source
    return source.sample(source.n_rows)


def rows_in_memory(source: Any, what: str) -> Any:
    """All rows in memory, for commands that work there alone."""
    rows = in_memory(source)
    if not hasattr(rows, "block"):
        size = source.n_rows * source.row_bytes / 1e9
        raise ValueError(
            f"{what} works in memory, and these rows take {size:.1f} GB: give it a part of them"
        )
    return rows


def loaded(path: str) -> Any:
    """A model file."""
    _check_there(path)
    return separatrix.load(path)


def anybodys_model(path: str) -> Any:
    """A model of ours, or one of scikit-learn's that skops wrote; never a pickle."""
    if path.endswith((".pkl", ".pickle", ".joblib")):
        raise ValueError(
            f"{path} is a pickle, which may run any program when it is opened: write the model by "
            "skops.io.dump(model, 'model.skops') and certify that"
        )
    _check_there(path)
    return skops_files.loaded(path) if path.endswith(".skops") else separatrix.load(path)


def check_output(path: str, *inputs: str) -> None:
    """That a file can be written there, before hours are spent on what it is to hold.

    It must be none of the files that are read: these would be lost.
    """
    if path == "-":
        raise ValueError(
            "the output cannot be written to -: only predict writes to standard output by this "
            "name; name a file, or /dev/stdout"
        )
    check_file_path(path, "the output")
    for read in files([name for name in inputs if name != "-"]):
        if Path(path).is_file() and os.path.samefile(path, read):
            raise ValueError(
                f"{path} cannot be written: it is read, and would be lost; name another file"
            )
