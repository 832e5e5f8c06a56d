"""Rows of more features than rows, and cross-validation of them."""

from __future__ import annotations

import numpy as np

from separatrix.estimators.cv import press, row_space

WAYS = ("rows", "inverses", "eigenvectors")


def go(way, monkeypatch):
    """Take this way to least squares without each row, whatever the size."""
    if way != "rows":
        monkeypatch.setattr(row_space, "SVD_VALUES", 0)
        monkeypatch.setattr(press, "FEW_PENALTIES", 0 if way == "eigenvectors" else 10**6)


def wide(n, d, seed=0, empty=True):
    """Rows of which some values are 0, one row all of them, with a constant feature."""
    rng = np.random.default_rng(seed)
    X = np.round(8.0 * rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)) / 8.0
    X[:, d // 2] = 1.5
    if empty:
        X[n // 2] = 0.0
    return X


def columns(y, k):
    """The targets, -1 and +1."""
    return np.where(y[:, None] == (np.arange(k) if k > 2 else 1), 1.0, -1.0)


def losses_of(clf, n):
    return -np.array([clf.cv_results_[f"split{i}_test_score"] for i in range(n)])


def plain_loss(loss, k, y, s):
    """Of every row, by its scores (n, 1) or (n, k)."""
    if k > 2 and loss in ("hinge", "logistic"):
        own = np.take_along_axis(s, y[:, None], axis=1)
        if loss == "hinge":
            return np.max(s - own + (np.arange(k) != y[:, None]), axis=1)
        return np.log(np.sum(np.exp(s - own), axis=1))
    m = columns(y, k) * s
    each = {
        "hinge": np.maximum(0.0, 1.0 - m),
        "squared_hinge": np.maximum(0.0, 1.0 - m) ** 2,
        "logistic": np.log1p(np.exp(-m)),
        "squared": (1.0 - m) ** 2,
    }
    return each[loss].sum(axis=1)
