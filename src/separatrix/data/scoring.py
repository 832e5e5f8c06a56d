"""Scores of rows that have no labels, for predictions."""

from __future__ import annotations

import numpy as np

from ..numeric.types import Array
from ..rows import RowsLike, rows_of
from .arrays import ArraySource

SPARE = 64  # exponents: more than sums over features can need


def scores(X: RowsLike, W: Array, n_jobs: int | None = None) -> Array:
    """Scores (n, k) of rows that have no labels."""
    return ArraySource(X, np.zeros(rows_of(X).shape[0]), np.empty(0), n_jobs=n_jobs).scores(W)


def small_scores(X: RowsLike, W: Array, n_jobs: int | None = None) -> Array:
    """Scores of weights times the power of two below which no finite row's can overflow."""
    return scores(X, np.ldexp(W, -SPARE - int(np.frexp(np.abs(W).max())[1])), n_jobs)
