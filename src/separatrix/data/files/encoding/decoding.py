"""Pieces of any reader as numbers: as they are, or by the encoding of a table's columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ....numeric.types import AnyArray, Array
from ....rows import HostRowsLike, RowsLike, host_rows_of, rows_of, with_offset
from ...validation import all_finite
from ..readers.reader import Place, Reader, TableReader
from .coded_labels import Labels, plain_labels
from .encoders import Number
from .encoding import Encoding


class Decoded(NamedTuple):
    """Some rows as numbers."""

    X: RowsLike
    labels: Labels | None  # as the file has them
    weight: Array | None
    where: Place
    unknown: dict[str, int]
    """By column, values that its dictionary does not have; of LIBSVM text under "features" entries
    of features that there are not."""

    @property
    def y(self) -> AnyArray | None:
        """The label of every row."""
        return None if self.labels is None else plain_labels(self.labels)


def decoded(
    reader: Reader, encoding: Encoding | None = None, dtype: str = "float64", labels: bool = True
) -> Iterator[Decoded]:
    """All rows, piece by piece; ``labels=False``: without target and weight, which may be absent.

    An encoding is for tables, and tables need one.
    """
    if isinstance(reader, TableReader) != (encoding is not None):
        raise TypeError(
            "rows of a table need an encoding, and rows of numbers none: expected the kind of data "
            "that the model was fitted to"
        )
    if not isinstance(reader, TableReader) or encoding is None:
        before = 0
        rows: Any
        for rows, y, weight, where in reader.pieces():
            now = reader.left_out
            unknown = {"features": now - before} if now > before else {}
            yield Decoded(_as(rows, dtype, where), y if labels else None, weight, where, unknown)
            before = now
        return
    columns = encoding.column_names(labels)
    reader = reader.with_text(encoding.text_columns())
    refuse_mixed(reader, {c.name for c in encoding.columns if type(c) is Number})
    encoding.check_names(reader.names, reader.name, labels)
    for piece in reader.pieces(columns):
        batch: Any = piece.X
        found = encoding.encode(batch, place=piece.where, labels=labels)
        X: RowsLike = _as(found.X, dtype, piece.where)
        if found.offset is not None:
            X = with_offset(rows_of(X), found.offset[:, None]).X
        yield Decoded(X, found.labels, found.weight, piece.where, found.unknown)


def refuse_mixed(reader: TableReader, names: set[str]) -> None:
    """Raise if one of these columns holds words among numbers, and say where."""
    for name, why in reader.mixed().items():
        if name in names:
            raise ValueError(why())


def _as(X: RowsLike, dtype: str, where: Place) -> HostRowsLike:
    """In this precision; a value that is too large for it is an error."""
    rows = host_rows_of(X)
    values = rows.values
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(values, dtype=dtype)
    if converted.itemsize < values.itemsize and not all_finite(converted):
        at = int(np.argmax(~np.isfinite(converted)))
        row, _ = rows.place_of(at)
        raise ValueError(
            f"{where.row(row)}: the value {values.flat[at]:g} is too large for float32; read "
            "with dtype='float64', or scale the feature"
        )
    decoded: HostRowsLike = rows.with_values(converted).X
    return decoded
