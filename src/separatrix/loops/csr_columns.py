"""Columns of sparse rows."""

from __future__ import annotations

import numpy as np

from ..numeric.rows import CsrArrays, shape_of, to_dense
from ..numeric.types import Ints
from ._compiled import _loops


def csr_columns(rows: CsrArrays, features: Ints) -> CsrArrays:
    """Some features of all rows, each stored as a row is, in the order given: (features, n).

    Two reads of the indices, and nothing is made of features that are not asked for.
    """
    place = np.full(rows.n_features, -1, dtype=np.int32)
    place[features] = np.arange(len(features))
    sizes = np.zeros(len(features), dtype=np.int64)
    if len(features):
        _loops.column_sizes(rows, place, sizes)
    ends = np.cumsum(sizes)
    indptr = np.concatenate([[0], ends]).astype(rows.indptr.dtype)
    count = int(indptr[-1])
    data, indices = np.empty(count, rows.data.dtype), np.empty(count, rows.indices.dtype)
    columns = CsrArrays(data, indices, indptr, shape_of(rows)[0])
    if count:
        _loops.copy_columns(rows, place, ends - sizes, columns)
    return columns


def csr_columns_twin(rows: CsrArrays, features: Ints) -> CsrArrays:
    """``csr_columns`` in NumPy; zeros that are stored are left out."""
    turned = to_dense(rows).T[features]
    at = [np.flatnonzero(column) for column in turned]
    indptr = np.cumsum([0, *map(len, at)]).astype(rows.indptr.dtype)
    indices = np.concatenate([*at, np.zeros(0)]).astype(rows.indices.dtype)
    data = turned[np.repeat(np.arange(len(at)), np.diff(indptr)), indices]
    return CsrArrays(data.astype(rows.data.dtype), indices, indptr, shape_of(rows)[0])
