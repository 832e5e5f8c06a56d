"""Rows of several classes, and their objective, for what is asked of some of the rows."""

from __future__ import annotations

import numpy as np

from separatrix import (
    L2,
    ArraySource,
    LinearClassifier,
    Objective,
    get_loss,
)
from separatrix.data.validation import check_rows


def problem(rows, labels, loss="logistic", weight=None, intercept=True):
    classes, number = np.unique(labels, return_inverse=True)
    two = len(classes) == 2
    y = np.where(number == 1, 1.0, -1.0) if two else number
    kind = get_loss(loss) if two else get_loss(loss).multiclass()
    return Objective(kind, L2(0.0), ArraySource(check_rows(rows), y, classes, weight), intercept)


def kinds(n, k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 0.0]
    scores = X @ (rng.standard_normal((3, k)) / np.array([[1.0], [10.0], [0.1]]))
    return X, (scores + rng.gumbel(size=(n, k))).argmax(axis=1)


def fold_scores(loss, rows, labels, splits, l2s, weight=None, tol=1e-10):
    """Accuracy of every fold and value, each fit from nothing."""
    weight = np.ones(len(labels)) if weight is None else weight
    return np.array([
        [LinearClassifier(loss, l2=l2, tol=tol).fit(rows[a], labels[a], weight[a])
         .score(rows[b], labels[b], weight[b]) for l2 in l2s]
        for a, b in splits
    ])  # fmt: skip
