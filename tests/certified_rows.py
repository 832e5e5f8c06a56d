"""Rows whose classifiers are certified."""

from __future__ import annotations

import numpy as np


def rows(k=2, n=120, d=3, seed=0):
    """Classes that overlap, of unequal size, with words for labels."""
    rng = np.random.default_rng(seed)
    number = np.minimum(rng.integers(0, k + 1, n), k - 1)
    centres = rng.standard_normal((k, d))
    X = rng.standard_normal((n, d)) * [1.0, 0.5, 3.0] + centres[number] + [0.0, 2.0, -1.0]
    return X, np.array(["a", "b", "c", "d"])[number]


def row_weights(n=120, seed=1):
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 4.0], n)


def apart(k=2):
    """The same so far apart that planes separate them."""
    X, y = rows(k)
    return X + 30.0 * np.array([[0.0], [1.0], [2.0]])[np.searchsorted(["a", "b", "c"], y)] * (
        [1.0, -1.0, 0.5]
    ), y  # fmt: skip
