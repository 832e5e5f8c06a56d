"""Store dense rows that are mostly zeros as sparse rows: visits then read less."""

from __future__ import annotations

import numpy as np

from ..rows import CsrRows, DenseRows, with_offset
from .arrays import as_arrays
from .in_memory import InBlocks
from .source import InMemory
from .thresholds import MOST_NONZERO


def without_zeros(source: InMemory) -> InMemory:
    """The same rows as a sparse copy, if they are dense, in memory and mostly zeros."""
    if source.storage != "dense" or not isinstance(source, InBlocks):
        return source
    arrays = as_arrays(source)
    rows = arrays.stored.without_offset
    if not isinstance(rows, DenseRows) or np.count_nonzero(rows.X) > MOST_NONZERO * rows.X.size:
        return source
    return arrays.with_rows(with_offset(CsrRows.of_scipy(rows.as_scipy()), arrays.offset).X)
