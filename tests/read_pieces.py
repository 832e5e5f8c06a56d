"""Rows that a function gives in pieces, and all rows of a source again."""

from __future__ import annotations

import numpy as np

from separatrix.numeric.rows import to_dense

N, D = 500, 3


def data(k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    y = np.argmax(X[:, :k] + 0.7 * rng.standard_normal((N, min(k, D)))[:, :k], axis=1)
    return X, y


def pieces_of(X, y, weight=None, size=37):
    """A function that gives the rows in pieces of this size."""

    def pieces():
        for start in range(0, len(y), size):
            at = slice(start, start + size)
            yield (X[at], y[at]) if weight is None else (X[at], y[at], weight[at])

    return pieces


def all_rows(source):
    blocks = list(source.blocks())
    X = np.concatenate([to_dense(block.X) for block in blocks])
    return X, np.concatenate([block.y for block in blocks])
