"""Tables, settings and comparisons of the tests of ``inference``."""

from __future__ import annotations

import numpy as np

EXACT = {"l2": 0.0, "tol": 1e-13}


def table(seed, n=300, d=4, k=2):
    """Features of several scales and offsets, and labels that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d) + rng.normal(0, 3, d)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = Z @ rng.normal(0, 0.7, (d, k)) + rng.gumbel(size=(n, k))
    return X, scores.argmax(axis=1)


def with_ones(X):
    return np.column_stack([X, np.ones(len(X))])


def close(found, expected, tol=1e-8):
    found, expected = np.asarray(found), np.asarray(expected)
    assert np.max(np.abs(found - expected)) <= tol * np.max(np.abs(expected))
