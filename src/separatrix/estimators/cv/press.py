"""Least squares without each row, exactly and without n fits.

Problem: for every l2 and every row i, the score of row i by the minimum over the other n - 1 rows
of ``mean (x.w + b - y)^2 + l2 |w|^2``. Input: an objective with rows of equal weight in memory, and
the values of l2. Output: these scores, (len(l2s), n, k). Algorithm: with the matrix M that takes y
to the residuals of the ridge fit to all rows (at the penalty of n - 1), the residual of a row left
out is ``(M y)_i / M_ii``; one factorisation serves all l2.

Allen, The relationship between variable selection and data augmentation and a method for
prediction, 1974 (PRESS).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg

from ...data import InMemory
from ...numeric.rows import to_dense
from ...numeric.threads import one_blas_thread
from ...numeric.tolerances import EPS
from ...numeric.types import Array
from ...objective import Objective
from ...solvers.least_squares import QR_ROWS, targets
from .thresholds import SVD_VALUES

LARGEST_PENALTY = 1e307  # beyond, nothing but it counts


def press_scores(objective: Objective, l2s: Array) -> Array:
    """Scores of every row by the least-squares fit without it: (len(l2s), n, k), exactly.

    With the matrix M that takes y to the residuals of the ridge fit at the penalty of n - 1
    rows, the residual of a row left out is ``(M y)_i / M_ii``. One factorisation serves all l2.
    """
    source, k = equal_rows(objective), objective.shape[0]
    n, d = len(source.y), source.n_features
    mean = objective.moments.mean if objective.intercept else np.zeros(d)
    Y = targets(source.y, k)
    R = Y - Y.mean(axis=0) if objective.intercept else Y
    # A penalty that is lost in the rounding of X'X needs the rows themselves.
    around = objective.moments.deviation if objective.intercept else np.hypot(*objective.moments)
    lost = np.min(l2s) <= EPS * d * float(np.sum(around**2))
    with one_blas_thread(float(n) * d * min(n, d)):
        if n * d <= SVD_VALUES or lost:
            left = _by_singular_values(source, mean, R, l2s, objective.intercept)
        else:
            left = _by_eigenvectors(source, mean, R, l2s, objective.intercept)
    return Y - left


def _centred(source: InMemory, mean: Array, size: int) -> Iterator[tuple[slice, Array]]:
    """So many rows at a time, less the means."""
    for block in source.batches(size):
        yield block.at, to_dense(block.X) - mean


def _by_singular_values(
    source: InMemory, mean: Array, R: Array, l2s: Array, intercept: bool
) -> Array:
    """Residuals of the rows left out, (len(l2s), n, k), without squaring the condition.

    M is what the columns of U leave of the space, plus mu / (s^2 + mu) of each of them: no
    difference of nearly equal numbers, however small the penalty.
    """
    n = len(R)
    x = np.concatenate([rows for _, rows in _centred(source, mean, n)])
    U, s, _ = scipy.linalg.svd(x, full_matrices=False)
    kept = s > EPS * max(n, len(mean)) * s[0] if len(s) else np.zeros(0, bool)
    U, squares = U[:, kept], s[kept] ** 2
    within = U.T @ R
    outside = R - U @ within
    leverage = np.sum(U * U, axis=1) + (1.0 / n if intercept else 0.0)
    free = 1.0 - leverage
    if U.shape[1] + intercept >= n:  # U and the mean fill the space: nothing is left of it
        outside, free = np.zeros_like(outside), np.zeros(n)
    left = np.empty((len(l2s), *R.shape))
    with np.errstate(over="ignore"):
        stiffness = np.minimum((n - 1) * l2s, LARGEST_PENALTY)
    for j, mu in enumerate(stiffness):
        share = mu / (squares + mu)
        residual = outside + U @ (share[:, None] * within)
        left[j] = residual / (free + (U * U) @ share)[:, None]
    return left


def _by_eigenvectors(source: InMemory, mean: Array, R: Array, l2s: Array, intercept: bool) -> Array:
    """The same for many rows, from X'X, a few rows at a time."""
    n, d = len(source.y), source.n_features
    gram, product = np.zeros((d, d)), np.zeros((d, R.shape[1]))
    for at, x in _centred(source, mean, QR_ROWS):
        gram += x.T @ x
        product += x.T @ R[at]
    squares, V = scipy.linalg.eigh(gram)
    left = np.empty((len(l2s), *R.shape))
    for at, x in _centred(source, mean, QR_ROWS):
        z = x @ V
        for j, mu in enumerate((n - 1) * l2s):
            shrunk = 1.0 / (np.maximum(squares, 0.0) + mu)
            residual = R[at] - z @ (shrunk[:, None] * (V.T @ product))
            free = 1.0 - (1.0 / n if intercept else 0.0) - (z * z) @ shrunk
            left[j, at] = residual / free[:, None]
    return left


def equal_rows(objective: Objective) -> InMemory:
    """Rows in memory that weigh the same, or an error that says what to do."""
    source = objective.source
    if not isinstance(source, InMemory):
        raise TypeError("leave-one-out needs rows in memory; use cv=5")
    if source.weight is not None and np.ptp(source.weight) > 0.0:
        raise ValueError(
            "cv='loo' leaves out one row at a time and takes no weights: drop sample_weight and "
            "class_weight, or use cv=5"
        )
    return source
