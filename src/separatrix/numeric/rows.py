"""Rows as compiled loops take them: a dense array, or the arrays of compressed sparse rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .types import AnyArray, Array


class CsrArrays(NamedTuple):
    """The arrays of sparse rows. ``indptr`` may be a slice of a larger matrix's."""

    data: AnyArray
    indices: AnyArray
    indptr: AnyArray
    n_features: int


RowArrays = AnyArray | CsrArrays


def shape_of(rows: RowArrays) -> tuple[int, int]:
    """Number of rows and of features."""
    if isinstance(rows, CsrArrays):
        return len(rows.indptr) - 1, rows.n_features
    return rows.shape[0], rows.shape[1]


def to_dense(rows: RowArrays) -> Array:
    """The rows as a float64 array: for a few rows, never for all."""
    if not isinstance(rows, CsrArrays):
        return rows.astype(np.float64, copy=False)
    n, d = shape_of(rows)
    out = np.zeros((n, d))
    at = slice(rows.indptr[0], rows.indptr[-1])
    out[np.repeat(np.arange(n), np.diff(rows.indptr)), rows.indices[at]] = rows.data[at]
    return out


def row_nonzeros(rows: RowArrays, i: int) -> tuple[slice | AnyArray, Array]:
    """The features of a row's values, and the values."""
    if isinstance(rows, CsrArrays):
        at = slice(rows.indptr[i], rows.indptr[i + 1])
        return rows.indices[at], rows.data[at].astype(np.float64)
    return slice(None), rows[i].astype(np.float64)
