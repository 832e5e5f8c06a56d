"""Which reader reads what: by the suffix of a file, by ``format``, or by the kind of object."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from .npy import NpyReader
from .numbers import FunctionReader
from .paths import Files, is_stream, named_files
from .reader import Reader
from .svmlight import SvmlightReader

CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
COMPRESSED = (*CODECS, ".xz")
SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".arrows": "arrow",
    ".csv": "csv", ".tsv": "csv",
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".npy": "npy",
}  # fmt: skip
ZERO_BASED = {"svmlight": None, "svmlight-0": True, "svmlight-1": False}
"""Whether LIBSVM text numbers its features from 0 on; None: it does if there is a 0."""
FORMATS = tuple(dict.fromkeys([*SUFFIXES.values(), *ZERO_BASED]))
TABLES = ("parquet", "arrow", "csv")  # formats whose columns have names
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow"}  # how a file of tables begins, if it is not text


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
    if hasattr(what, "__arrow_c_stream__") or _is_lazy_frame(what):
        return _open_object(what, block_rows)
    if hasattr(what, "__next__") and not hasattr(what, "read"):
        raise TypeError(
            f"a {type(what).__name__} can be read only once, and a fit reads its rows again and "
            "again: pass the function that returns it, without calling it."
        )
    if isinstance(what, np.ndarray) or sp.issparse(what):
        raise TypeError(
            f"read takes files, tables with named columns, and functions, got a "
            f"{type(what).__name__}: what is in memory goes straight to fit(X, y)."
        )
    if what == "-" or hasattr(what, "read"):
        return _open_stream(what, format, block_rows)
    paths = named_files(what)
    format = format or format_of(paths)
    if any(is_stream(path) for path in paths):
        if len(paths) > 1:
            raise ValueError(f"{paths[0]} and others: expected files, or one pipe alone.")
        return _open_stream(paths[0], format, block_rows)
    return open_files(Files(paths), format, target, weight, block_rows)


def open_files(files: Files, format: str, target: Any, weight: Any, block_rows: int) -> Reader:
    """The reader of files whose format is known."""
    if format == "npy":
        return NpyReader(files, target, weight, block_rows)
    if format in ZERO_BASED:
        return SvmlightReader(files, ZERO_BASED[format])
    import_arrow(f"to read {files}")
    if format == "parquet":
        from .parquet import ParquetReader

        return ParquetReader(files, block_rows)
    if format == "arrow":
        from .arrow import ArrowReader

        return ArrowReader(files, block_rows)
    from .csv import CsvReader

    return CsvReader(files, block_rows)


def _open_object(what: Any, block_rows: int) -> Reader:
    pa = import_arrow(f"to read a {type(what).__name__}")
    from .streams import BatchStream, LazyFrameReader, ObjectReader

    if isinstance(what, pa.RecordBatchReader):
        return BatchStream(what, block_rows)
    return (LazyFrameReader if _is_lazy_frame(what) else ObjectReader)(what, block_rows)


def _open_stream(what: Any, format: str | None, block_rows: int) -> Reader:
    """Standard input, an open file or a pipe: opened when it is spooled."""
    if format is None:
        raise ValueError("the format of a stream cannot be detected: pass format= (e.g. 'csv').")
    import_arrow("to read a stream")
    from .streams import ByteStream

    def bytes() -> AbstractContextManager[BinaryIO]:
        if isinstance(what, Path):
            return what.open("rb")
        stream: Any = sys.stdin if what == "-" else what
        return nullcontext(getattr(stream, "buffer", stream))

    def file(spooled: Files) -> Reader:
        return open_files(spooled, str(format), None, None, block_rows)

    if what == "-":
        name = "standard input"
    else:
        name = str(what if isinstance(what, Path) else getattr(what, "name", type(what).__name__))
    return ByteStream(bytes, name, file)


def _is_lazy_frame(what: Any) -> bool:
    kind = type(what)
    return kind.__module__.partition(".")[0] == "polars" and kind.__name__ == "LazyFrame"


def import_arrow(purpose: str) -> Any:
    """The module pyarrow; an error that says what it is needed for, if it is missing."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            f"pyarrow is needed {purpose}: pip install 'separatrix[files]'."
        ) from error
    return pyarrow


def kept_format(reader: Reader) -> str | None:
    """The format of files as ``format=`` says it; LIBSVM text with where its numbers begin."""
    if isinstance(reader, SvmlightReader):
        return "svmlight-0" if reader.zero_based else "svmlight-1"
    return reader.format


def tells_format(path: str | PathLike[str]) -> bool:
    """Whether the suffix does."""
    return known_format(path) is not None


def known_format(path: str | PathLike[str]) -> str | None:
    """The format that the suffix shows, if any."""
    return SUFFIXES.get(_suffix(Path(path)))


def table_format(start: bytes) -> str:
    """The format of a table, by its first bytes."""
    return next((format for magic, format in MAGIC.items() if start.startswith(magic)), "csv")


def format_of(paths: list[Path]) -> str:
    """The format that the suffixes show, the same for all files."""
    found = {path: known_format(path) for path in paths}
    formats = ", ".join(FORMATS)
    for path, format in found.items():
        if format is None:
            raise ValueError(
                f"{path}: its suffix {_suffix(path)!r} shows no format; expected one of "
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
    """The suffix that shows the format: the one before a compression suffix."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
