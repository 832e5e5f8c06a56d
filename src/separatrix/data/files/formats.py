"""Which reader reads what: by the suffix of a file, by ``format``, or by the kind of object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .numbers import FunctionReader
from .paths import named_files
from .reader import Reader

COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".arrows": "arrow",
    ".csv": "csv", ".tsv": "csv",
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".npy": "npy",
}  # fmt: skip
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))


def open_reader(
    what: Any,
    *,
    format: str | None = None,
    target: Any = None,
    weight: Any = None,
    block_rows: int = 4096,
) -> Reader:
    """The reader of a path, a glob, a list of them, a function, or an object with columns.

    ``target`` and ``weight`` matter to ``.npy`` files only; tables have them among their columns.
    No piece has more than ``block_rows`` rows if it could be cut without a copy.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)} or None, got {format!r}.")
    if callable(what):
        return FunctionReader(what)
    if hasattr(what, "__next__"):
        raise TypeError(
            f"a {type(what).__name__} can be read only once, and a fit reads its rows again and "
            "again: pass the function that returns it, without calling it."
        )
    paths = named_files(what)
    format = format or format_of(paths)
    raise NotImplementedError(format)


def format_of(paths: list[Path]) -> str:
    """The format that the suffixes tell, the same for all files."""
    found = {path: SUFFIXES.get(_suffix(path)) for path in paths}
    formats = ", ".join(FORMATS)
    for path, format in found.items():
        if format is None:
            raise ValueError(
                f"{path}: its suffix {_suffix(path)!r} tells no format; expected one of "
                f"{', '.join(SUFFIXES)}, or say format= ({formats})."
            )
    first = paths[0]
    for path, format in found.items():
        if format != found[first]:
            raise ValueError(
                f"{first} is {found[first]} and {path} is {format}; expected files of one format: "
                "read them apart, or say format=."
            )
    return str(found[first])


def _suffix(path: Path) -> str:
    """The suffix that tells the format: before that of a compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
