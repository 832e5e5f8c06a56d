"""Dense rows that are mostly zeros, stored sparse: what visits them one by one reads the rest."""

from __future__ import annotations

import numpy as np

from ..numeric.rows import CsrRows, as_scipy
from .arrays import as_arrays
from .in_memory import InBlocks
from .source import InMemory
from .thresholds import MOST_NONZERO


def without_zeros(source: InMemory) -> InMemory:
    """The same rows as a sparse copy, if they are dense ones in memory and few values count."""
    if source.storage != "dense" or not isinstance(source, InBlocks):
        return source
    arrays = as_arrays(source)
    X = np.asarray(arrays.X)
    if np.count_nonzero(X) > MOST_NONZERO * X.size:
        return source
    x = as_scipy(X)
    return arrays.with_rows(CsrRows(x.data, x.indices, x.indptr, x.shape[1]))
