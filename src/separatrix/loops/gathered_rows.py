"""Sparse rows from columns that give each row at most one value."""

from __future__ import annotations

import numpy as np

from ..numeric.rows import CsrArrays
from ..numeric.types import AnyArray, Array
from ._compiled import _loops


def gather_rows(values: Array, features: AnyArray, n_features: int) -> CsrArrays:
    """Rows of the values other than 0, in the order of the columns.

    ``values`` (float64) and ``features`` (int32) have a row for each column: (columns, n).
    """
    data, indices = np.empty(values.size), np.empty(values.size, dtype=np.int32)
    indptr = np.empty(values.shape[1] + 1, dtype=np.int32)
    count = _loops.gather_rows(values, features, data, indices, indptr)
    return CsrArrays(data[:count], indices[:count], indptr, n_features)
