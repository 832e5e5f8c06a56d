"""Generated data: the same seed and size give the same rows, in any process.

Dense rows are made in float32, so that a contestant may read them in float32 or in float64 and
still see the same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

Table = tuple[Any, Any]  # rows and labels


def clouds(n: int, d: int, seed: int = 0) -> Table:
    """Independent Gaussian columns; labels drawn from a logistic model."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    u = np.random.default_rng(1).standard_normal(d)  # the same for every seed
    return X, _labels(X @ (3.0 * u / np.linalg.norm(u)).astype(np.float32), rng)


def correlated(n: int, d: int, condition: float = 1e4) -> Table:
    """Columns whose covariance has this condition number; every direction counts for the label."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, d), dtype=np.float32)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    spread = np.sqrt(np.geomspace(1.0, 1.0 / condition, d) * d)
    u = rng.standard_normal(d)
    y = _labels(Z @ (3.0 * u / np.linalg.norm(u)).astype(np.float32), rng)
    return Z @ (spread[:, None] * turn).astype(np.float32), y


def separable(n: int, d: int, gap: float) -> Table:
    """Gaussian rows, each moved away from a plane by a gap: the smaller, the more passes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    u = rng.standard_normal(d).astype(np.float32)
    u /= np.linalg.norm(u)
    y = np.where(X @ u >= 0.0, 1, -1)
    X += (gap * y).astype(np.float32)[:, None] * u
    return X, y


def text(n: int, d: int, nonzeros: int) -> Table:
    """CSR rows of unit norm: a word of rank r is met in proportion to 1/r, and weighs tf-idf."""
    rng = np.random.default_rng(0)
    draws = int(1.25 * nonzeros)  # common words are drawn more than once
    words = np.minimum(d ** rng.random(n * draws) - 1.0, d - 1.0).astype(np.int32)
    starts = np.arange(0, n * draws + 1, draws, dtype=np.int32)
    X = sp.csr_matrix((np.ones(len(words)), words, starts), shape=(n, d))
    X.sum_duplicates()
    rarity = 1.0 + np.log(n / (1.0 + np.bincount(X.indices, minlength=d)))
    X.data = (1.0 + np.log(X.data)) * rarity[X.indices]
    norms = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(norms, np.diff(X.indptr))
    scores = X @ rng.standard_normal(d)
    return X, _labels(3.0 * (scores - scores.mean()) / scores.std(), rng)


def images(n: int, pixels: int, k: int) -> Table:
    """Like written digits: values from 0 to 1, most of them 0, styles shared by the classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    y[:k] = np.arange(k)
    shapes = rng.standard_normal((k, pixels), dtype=np.float32)
    styles = rng.standard_normal((20, pixels), dtype=np.float32)
    X = rng.standard_normal((n, 20), dtype=np.float32) @ styles / np.float32(20**0.5)
    X += np.float32(0.35) * shapes[y]
    X += np.float32(0.5) * rng.standard_normal((n, pixels), dtype=np.float32)
    X -= np.float32(0.9)  # about four of five pixels become 0
    np.clip(X, 0.0, 1.0, out=X)
    X[:, : pixels // 10] = 0.0  # margins that nobody writes on
    return X, y


def rings(n: int, d: int, seed: int = 0) -> Table:
    """Two classes with a curved boundary and a few wrong labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    bent = (X[:, : d // 2] ** 2).sum(axis=1) - (X[:, d // 2 :] ** 2).sum(axis=1) + 2.0 * X[:, 0]
    return X, _labels(1.5 * bent, rng)


def _labels(scores: Any, rng: np.random.Generator) -> Any:
    """-1 or +1, drawn with the probabilities that a logistic model gives to the scores."""
    return np.where(rng.logistic(size=len(scores)) < scores, 1, -1)
