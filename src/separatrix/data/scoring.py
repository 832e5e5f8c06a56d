"""Scores of unlabelled rows, for predictions."""

from __future__ import annotations

import numpy as np

from ..numeric.types import Array
from ..rows import RowsLike, rows_of
from .arrays import ArraySource
from .thresholds import ONE_THREAD_BYTES

SPARE = 64  # powers of two: more headroom than sums over features need


def scores(X: RowsLike, W: Array, n_jobs: int | None = None) -> Array:
    """Scores (n, k) of unlabelled rows."""
    rows = rows_of(X)
    n = rows.shape[0]
    found = np.empty((n, len(W)))
    if n * rows.row_bytes * len(W) <= ONE_THREAD_BYTES:
        rows.scores(W, found)
        return found
    return ArraySource(X, np.zeros(n), np.empty(0), n_jobs=n_jobs).scores(W, found)


def small_scores(X: RowsLike, W: Array, n_jobs: int | None = None) -> Array:
    """Scores with weights scaled by a power of two so that no finite row's score overflows."""
    return scores(
        rows_of(X).without_offset.X, np.ldexp(W, -SPARE - int(np.frexp(np.abs(W).max())[1])), n_jobs
    )
