"""Weights as a dense array, however a model stores them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .types import Array


def dense(coef: Any) -> Array:
    """Weights (k, d): a sparse matrix is made dense, a vector becomes one row.

    >>> from scipy.sparse import csr_array
    >>> dense(csr_array([[0.0, 2.0]]))
    array([[0., 2.]])
    """
    if isinstance(coef, np.ndarray) and coef.ndim == 2 and coef.dtype == np.float64:
        return coef
    return np.atleast_2d(np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, float))
