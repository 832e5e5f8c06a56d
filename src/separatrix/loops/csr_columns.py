"""Columns of sparse rows."""

from __future__ import annotations

import numpy as np

from ..numeric.rows import CsrArrays, shape_of
from ..numeric.types import Ints
from ._compiled import _loops


def csr_columns(rows: CsrArrays, features: Ints) -> CsrArrays:
    """Some features of all rows as sparse rows, in the given order: (features, n).

    Reads the indices twice; other features are not copied.
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
