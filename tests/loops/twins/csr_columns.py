"""Columns of sparse rows in NumPy."""

from __future__ import annotations

import numpy as np

from separatrix.numeric.rows import CsrArrays, shape_of, to_dense
from separatrix.numeric.types import Ints


def csr_columns(rows: CsrArrays, features: Ints) -> CsrArrays:
    turned = to_dense(rows).T[features]
    at = [np.flatnonzero(column) for column in turned]
    indptr = np.cumsum([0, *map(len, at)]).astype(rows.indptr.dtype)
    indices = np.concatenate([*at, np.zeros(0)]).astype(rows.indices.dtype)
    data = turned[np.repeat(np.arange(len(at)), np.diff(indptr)), indices]
    return CsrArrays(data.astype(rows.data.dtype), indices, indptr, shape_of(rows)[0])
