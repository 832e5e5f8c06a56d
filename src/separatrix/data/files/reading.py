"""How a fitted model reads what it is to predict: as the rows that it was fitted to were read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...numeric.rows import CsrRows, Rows, shape_of
from .decoding import Decoded, decoded
from .encoding import Encoding
from .formats import open_reader

PIECE_ROWS = 1 << 13  # read at a time


@dataclass(frozen=True)
class Reading:
    """What is kept of a source with the model that was fitted to it."""

    encoding: Encoding | None
    """Columns, dictionaries and means; None for rows that were numbers already."""
    n_features: int
    dtype: str
    format: str | None
    """The one that was said, for files whose suffix says none."""

    def rows(self, what: Any, labels: bool = False) -> Iterator[Decoded]:
        """All rows of files or of a frame, piece by piece; with labels only if asked."""
        if self.encoding is not None:
            what = _with_columns(what, self.encoding, labels)
        reader = open_reader(what, format=self._format(what), block_rows=PIECE_ROWS)
        for piece in decoded(reader, self.encoding, self.dtype, labels):
            yield piece._replace(X=self.widened(piece.X, piece.where))

    def _format(self, what: Any) -> str | None:
        """That of the fit, unless the suffix tells another table."""
        return self.format if is_path(what) else None

    def widened(self, X: Rows, where: str) -> Rows:
        """Sparse rows may lack the last features: files of them tell no number of columns."""
        found = shape_of(X)[1]
        if isinstance(X, CsrRows) and found <= self.n_features:
            return X._replace(n_features=self.n_features)
        if found != self.n_features:
            raise ValueError(
                f"{where}: rows have {found} features, but {self.n_features} were there in the "
                "fit; expected as many"
            )
        return X


def is_path(what: Any) -> bool:
    """Whether this names files: a path or a list of paths."""
    if isinstance(what, (list, tuple)):
        return bool(what) and all(isinstance(one, (str, os.PathLike)) for one in what)
    return isinstance(what, (str, os.PathLike))


def is_frame(what: Any) -> bool:
    """Whether this is a table of pandas, polars, pyarrow or others, or a query of polars."""
    lazy = type(what).__module__.startswith("polars") and type(what).__name__ == "LazyFrame"
    return lazy or hasattr(what, "__arrow_c_stream__")


def _with_columns(what: Any, encoding: Encoding, labels: bool) -> Any:
    """Of a frame only the columns that are read: others may be of any type."""
    if is_path(what):
        return what
    names = encoding.column_names(labels)
    if is_frame(what):
        pandas = type(what).__module__.startswith("pandas")
        return what[names] if pandas and set(names) <= set(what.columns) else what
    values = np.asarray(what)
    if values.ndim != 2 or values.shape[1] != len(names):
        raise ValueError(
            f"X has the shape {values.shape}; expected a frame or a file with the columns "
            f"{names!r}, or an array of them in this order"
        )
    import pyarrow as pa

    columns = [values[:, j].tolist() if values.dtype == object else values[:, j] for j in range(len(names))]
    return pa.table([pa.array(column) for column in columns], names=names)
