"""How rows are stored: dense arrays, or compressed sparse rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from .thresholds import PRODUCT_ROWS
from .types import AnyArray, Array, Ints


class CsrRows(NamedTuple):
    """Sparse rows. ``indptr`` may be a slice of a larger matrix's, so a block is no copy."""

    data: AnyArray
    indices: AnyArray
    indptr: AnyArray
    n_features: int


Rows = AnyArray | CsrRows


def shape_of(rows: Rows) -> tuple[int, int]:
    """Number of rows and of features."""
    if isinstance(rows, CsrRows):
        return len(rows.indptr) - 1, rows.n_features
    return rows.shape[0], rows.shape[1]


def n_values(rows: Rows) -> int:
    """How many values they store."""
    if isinstance(rows, CsrRows):
        return int(rows.indptr[-1] - rows.indptr[0])
    return int(rows.size)


def slice_rows(rows: Rows, start: int, stop: int) -> Rows:
    """Rows start, ..., stop - 1 without copying them."""
    if isinstance(rows, CsrRows):
        return rows._replace(indptr=rows.indptr[start : stop + 1])
    return rows[start:stop]


def take_rows(rows: Rows, at: Ints) -> Rows:
    """A copy of some rows, in the order given; increasing runs of dense rows are no copy."""
    if not isinstance(rows, CsrRows):
        if len(at) and at[-1] - at[0] == len(at) - 1 and np.all(np.diff(at) == 1):
            return rows[at[0] : at[-1] + 1]
        return rows.take(at, axis=0)  # twice as fast as rows[at]
    sizes = np.diff(rows.indptr)[at]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(rows.indptr.dtype)
    entries = np.repeat(rows.indptr[at] - indptr[:-1], sizes) + np.arange(indptr[-1])
    return CsrRows(rows.data[entries], rows.indices[entries], indptr, rows.n_features)


def take_features(rows: Rows, at: Ints) -> Rows:
    """A copy of some features of all rows, in increasing order."""
    if not isinstance(rows, CsrRows):
        return rows.take(at, axis=1)
    some = as_scipy(rows)[:, at]
    offsets = some.indptr.astype(some.indices.dtype, copy=False)
    return CsrRows(some.data, some.indices, offsets, len(at))


def absolute(rows: Rows) -> Rows:
    """A copy with absolute values."""
    if not isinstance(rows, CsrRows):
        return np.abs(rows)
    return CsrRows(np.abs(rows.data), rows.indices, rows.indptr, rows.n_features)


def concatenate_rows(parts: list[Rows]) -> Rows:
    """Rows of one storage, one part after another: copied."""
    sparse = [rows for rows in parts if isinstance(rows, CsrRows)]
    if not sparse:
        return np.concatenate([rows for rows in parts if not isinstance(rows, CsrRows)])
    at = [slice(rows.indptr[0], rows.indptr[-1]) for rows in sparse]
    lengths = np.concatenate([np.diff(rows.indptr) for rows in sparse])
    return CsrRows(
        np.concatenate([rows.data[some] for rows, some in zip(sparse, at, strict=True)]),
        np.concatenate([rows.indices[some] for rows, some in zip(sparse, at, strict=True)]),
        np.concatenate([[0], np.cumsum(lengths)]).astype(sparse[0].indptr.dtype),
        sparse[0].n_features,
    )


def to_dense(rows: Rows) -> Array:
    """The rows as a float64 array: for blocks, never for the whole."""
    if not isinstance(rows, CsrRows):
        return rows.astype(np.float64, copy=False)
    n, d = shape_of(rows)
    out = np.zeros((n, d))
    at = slice(rows.indptr[0], rows.indptr[-1])
    out[np.repeat(np.arange(n), np.diff(rows.indptr)), rows.indices[at]] = rows.data[at]
    return out


def dense_features(rows: Rows, start: int, stop: int) -> Array:
    """Features start, ..., stop - 1 of all rows as a float64 array of its own."""
    if not isinstance(rows, CsrRows):
        return rows[:, start:stop].astype(np.float64)
    some: Array = as_scipy(rows)[:, start:stop].toarray().astype(np.float64, copy=False)
    return some


def as_scipy(rows: Rows) -> csr_array:
    """The same rows for SciPy, whose first offset must be 0."""
    if not isinstance(rows, CsrRows):
        return csr_array(rows)
    at = slice(rows.indptr[0], rows.indptr[-1])
    offsets = rows.indptr - rows.indptr[0]
    return csr_array((rows.data[at], rows.indices[at], offsets), shape=shape_of(rows))


def row_products(rows: Rows) -> Array:
    """All products of two rows, (n, n); of sparse ones a few at a time, for room's sake."""
    if not isinstance(rows, CsrRows):
        dense_rows = to_dense(rows)
        out: Array = dense_rows @ dense_rows.T
        return out
    x = as_scipy(rows).astype(np.float64, copy=False)
    turned, out = x.T.tocsr(), np.empty((x.shape[0], x.shape[0]))
    for start in range(0, len(out), PRODUCT_ROWS):
        at = slice(start, start + PRODUCT_ROWS)
        out[at] = (x[at] @ turned).toarray()
    return out


def row_nonzeros(rows: Rows, i: int) -> tuple[slice | AnyArray, Array]:
    """Where a row's values stand, and the values."""
    if isinstance(rows, CsrRows):
        at = slice(rows.indptr[i], rows.indptr[i + 1])
        return rows.indices[at], rows.data[at].astype(np.float64)
    return slice(None), rows[i].astype(np.float64)
