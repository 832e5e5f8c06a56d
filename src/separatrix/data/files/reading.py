"""How a fitted model reads new rows: in the same way as the rows of its fit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...rows import Storage, rows_of, widened
from .encoding.decoding import Decoded, decoded
from .encoding.encoding import Encoding
from .readers.formats import open_reader, tells_format
from .readers.reader import Reader
from .readers.svmlight import SvmlightReader

PIECE_ROWS = 1 << 13  # read at a time


@dataclass(frozen=True)
class Split:
    """The split into held-out rows, chosen by a hash of their number, and training rows."""

    held_out: float  # the share given as ``read(validation=...)``, or 0
    trained_on: str  # the fingerprint of the training rows


@dataclass(frozen=True)
class Reading:
    """What a model keeps of the source that it was fitted to."""

    encoding: Encoding | None
    """Columns, dictionaries and means; None for rows that were already numbers."""
    n_features: int
    dtype: str
    format: str | None = None  # the format of the files, for files whose suffix shows none
    split: Split | None = field(default=None, compare=False)
    """The split into held-out and training rows; None if it would have taken another read."""

    def rows(self, what: Any, labels: bool = False) -> Iterator[Decoded]:
        """All rows of files, of a frame, or of an array of its columns; optionally with labels."""
        if self.encoding is not None:
            what = _table(what, self.encoding.column_names(labels))
        format = self.format if is_path(what) and not all(map(tells_format, _paths(what))) else None
        reader = self.adapted(open_reader(what, format=format, block_rows=PIECE_ROWS))
        for piece in decoded(reader, self.encoding, self.dtype, labels):
            given = rows_of(piece.X)
            width = self.check_width(given.storage, given.shape[1])
            yield piece._replace(X=widened(given, width).X)

    def adapted(self, reader: Reader) -> Reader:
        """The reader with the features of the fit: LIBSVM entries of others are dropped."""
        if isinstance(reader, SvmlightReader) and self.format in ("svmlight-0", "svmlight-1"):
            return reader.as_in_fit(self.format == "svmlight-0", self.n_features)
        return reader

    def check_alike(self, other: Reading) -> None:
        """Raise if rows were read with other columns or dictionaries."""
        mine, its = self.encoding, other.encoding
        if mine is not None and (its is None or mine.columns != its.columns):
            raise ValueError(
                "these rows were read with other columns, dictionaries or means than those of the "
                "fit: read them by separatrix.read(..., like=model)"
            )

    def check_width(self, storage: Storage, found: int) -> int:
        """Number of features of the fit; sparse rows may lack the last ones."""
        if found == self.n_features or (storage == "csr" and found < self.n_features):
            return self.n_features
        raise ValueError(
            f"X has {found} features, but there were {self.n_features} in the fit; expected as many"
        )


def _paths(what: Any) -> list[Any]:
    return list(what) if isinstance(what, (list, tuple)) else [what]


def is_path(what: Any) -> bool:
    """Whether this names files: a path or a list of paths."""
    if isinstance(what, (list, tuple)):
        return bool(what) and all(isinstance(one, (str, os.PathLike)) for one in what)
    return isinstance(what, (str, os.PathLike))


def is_frame(what: Any) -> bool:
    """Whether this is a table of pandas, polars, pyarrow or others, or a query of polars."""
    lazy = type(what).__module__.startswith("polars") and type(what).__name__ == "LazyFrame"
    return lazy or hasattr(what, "__arrow_c_stream__")


def _table(what: Any, names: list[str]) -> Any:
    """Files unchanged; of a frame only the columns needed, as others may have any type."""
    if is_path(what):
        return what
    if is_frame(what):
        pandas = type(what).__module__.startswith("pandas")
        return what[names] if pandas and set(names) <= set(what.columns) else what
    values = np.asarray(what)
    if values.ndim != 2 or values.shape[1] != len(names):
        raise ValueError(
            f"X has the shape {values.shape}; expected a frame or files with the columns {names!r},"
            " or an array of these columns in this order"
        )
    import pyarrow as pa

    return pa.table([pa.array(column.tolist()) for column in values.T], names=names)
