"""Scores of unlabelled rows, for predictions."""

from __future__ import annotations

import numpy as np

from ..numeric.types import Array
from ..rows import RowsLike, rows_of
from .arrays import ArraySource

SPARE = 64  # powers of two: more headroom than sums over features need


def scores(X: RowsLike, W: Array, n_jobs: int | None = None) -> Array:
    """Scores (n, k) of unlabelled rows."""
    return ArraySource(X, np.zeros(rows_of(X).shape[0]), np.empty(0), n_jobs=n_jobs).scores(W)


def small_scores(X: RowsLike, W: Array, n_jobs: int | None = None) -> Array:
    """Scores with weights scaled by a power of two so that no finite row's score overflows."""
    return scores(X, np.ldexp(W, -SPARE - int(np.frexp(np.abs(W).max())[1])), n_jobs)
