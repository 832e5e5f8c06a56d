"""Sparse rows from columns that give each row at most one value."""

from __future__ import annotations

import numpy as np

from ..numeric.rows import CsrArrays
from ..numeric.types import Array, Ints
from ._compiled import _loops


def gather_rows(
    numbers: Array, number_features: Ints, values: Array, features: Ints, order: Ints,
    n_features: int,
) -> CsrArrays:  # fmt: skip
    """Rows of the values other than 0, of two kinds of columns.

    ``numbers`` (n, columns) has rows of values, whose features are ``number_features``. ``values``
    and ``features`` (columns, n) have a row for each of the other columns: its value in every row,
    and the feature of that value, which does not matter where the value is 0. ``order`` is that of
    all columns in the rows, numbered as here.
    """
    n, size = len(numbers), len(order)
    data, indices = np.empty(size * n), np.empty(size * n, dtype=np.int32)
    indptr = np.empty(n + 1, dtype=np.int32)
    count = _loops.gather_rows(
        numbers, number_features, values, features, order, n_features, data, indices, indptr
    )
    return CsrArrays(data[:count], indices[:count], indptr, n_features)
