"""Leave-one-out without n refits: exact for the squared loss, approximate for the logistic.

Both look at the fit to all n rows with the penalty that n - 1 rows would have, that is the sum
of the losses plus ``(n - 1) * l2 * |w|^2``, and remove the influence of one row at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from . import layout, loops
from .data import ArraySource
from .data.pool import one_blas_thread
from .losses import Joint, MarginLoss
from .objective import Objective
from .solvers.direct import ROWS, targets
from .systems import solve
from .typing import Array, Ints

WHOLE = 5_000_000  # values of all rows up to which they are factored in one piece


def _source(objective: Objective) -> ArraySource:
    source = objective.source
    if not isinstance(source, ArraySource):
        raise TypeError("leave-one-out needs rows in memory; use cv=5")
    if source.weight is not None and np.ptp(source.weight) > 0.0:
        raise ValueError(
            "cv='loo' leaves out one row at a time and takes no weights: drop sample_weight and "
            "class_weight, or use cv=5"
        )
    return source


def squared_scores(objective: Objective, l2s: Array) -> Array:
    """Scores of every row by the least-squares fit without it: (len(l2s), n, k), exactly.

    With the matrix M that takes y to the residuals of the ridge fit at the penalty of n - 1
    rows, the residual of a row left out is ``(M y)_i / M_ii``. One factorisation serves all l2.
    """
    source, k = _source(objective), objective.shape[0]
    n, d = layout.shape(source.X)
    mean = objective.moments.mean if objective.intercept else np.zeros(d)
    (block,) = source.blocks()
    Y = targets(block, k)
    R = Y - Y.mean(axis=0) if objective.intercept else Y
    with one_blas_thread(float(n) * d * min(n, d)):
        if n * d <= WHOLE:
            left = _by_singular_values(source, mean, R, l2s, objective.intercept)
        else:
            left = _by_products(source, mean, R, l2s, objective.intercept)
    return Y - left


def _centred(source: ArraySource, mean: Array, at: slice) -> Array:
    x: Array = layout.dense(layout.part(source.X, at.start, at.stop)) - mean
    return x


def _by_singular_values(
    source: ArraySource, mean: Array, R: Array, l2s: Array, intercept: bool
) -> Array:
    """Residuals of the rows left out, (len(l2s), n, k), without squaring the condition.

    M is what the columns of U leave of the space, plus mu / (s^2 + mu) of each of them: no
    difference of nearly equal numbers, however small the penalty.
    """
    n = len(R)
    U, s, _ = scipy.linalg.svd(_centred(source, mean, slice(0, n)), full_matrices=False)
    kept = s > np.finfo(float).eps * max(n, len(mean)) * s[0] if len(s) else np.zeros(0, bool)
    U, squares = U[:, kept], s[kept] ** 2
    within = U.T @ R
    outside = R - U @ within
    leverage = np.sum(U * U, axis=1) + (1.0 / n if intercept else 0.0)
    free = 1.0 - leverage
    if U.shape[1] + intercept >= n:  # U and the mean fill the space: nothing is left of it
        outside, free = np.zeros_like(outside), np.zeros(n)
    left = np.empty((len(l2s), *R.shape))
    for j, mu in enumerate((n - 1) * l2s):
        share = mu / (squares + mu)
        residual = outside + U @ (share[:, None] * within)
        left[j] = residual / (free + (U * U) @ share)[:, None]
    return left


def _by_products(source: ArraySource, mean: Array, R: Array, l2s: Array, intercept: bool) -> Array:
    """The same for many rows, from X'X, a few rows at a time."""
    n, d = layout.shape(source.X)
    pieces = [slice(start, min(start + ROWS, n)) for start in range(0, n, ROWS)]
    inner, product = np.zeros((d, d)), np.zeros((d, R.shape[1]))
    for at in pieces:
        x = _centred(source, mean, at)
        inner += x.T @ x
        product += x.T @ R[at]
    squares, V = scipy.linalg.eigh(inner)
    left = np.empty((len(l2s), *R.shape))
    for at in pieces:
        z = _centred(source, mean, at) @ V
        for j, mu in enumerate((n - 1) * l2s):
            shrunk = 1.0 / (np.maximum(squares, 0.0) + mu)
            residual = R[at] - z @ (shrunk[:, None] * (V.T @ product))
            free = 1.0 - (1.0 / n if intercept else 0.0) - (z * z) @ shrunk
            left[j, at] = residual / free[:, None]
    return left


def logistic_scores(objective: Objective, W: Array) -> Array:
    """Approximate scores of every row by the fit without it, (n,), two classes.

    One Newton step from the minimum W of the objective (at the penalty of n - 1 rows) with the
    row removed: ``s - slope * y * h / (1 - curvature * h)``, h the row's leverage in the
    inverse second derivative (approximate leave-one-out).
    """
    source, loss = _source(objective), objective.loss
    if (
        isinstance(loss, Joint)
        or not isinstance(loss, MarginLoss)
        or not loss.has_curvature
        or (not loss.convex)
    ):
        raise ValueError(
            f"cv='loo' knows the squared loss and, for two classes, smooth convex ones; "
            f"{loss.name!r} "
            f"with {len(source.classes)} classes is neither: use cv=5"
        )
    n, d = layout.shape(source.X)
    scores = loops.scores(source.X, W)[:, 0]
    slope, bend = loss.slope(source.y * scores) * source.y, loss.curvature(source.y * scores)
    frame = objective.frame
    hessian = n * objective.class_hessian(W, frame)
    inverse = np.column_stack([solve(hessian, column) for column in np.eye(d + 1)])
    out = np.empty(n)
    for start in range(0, n, ROWS):
        at = slice(start, min(start + ROWS, n))
        z = np.ones((at.stop - start, d + 1))
        z[:, :-1] = layout.dense(layout.part(source.X, start, at.stop)) - frame.mean
        z[:, -1] *= objective.intercept
        z /= frame.scale
        leverage = np.sum((z @ inverse) * z, axis=1)
        out[at] = scores[at] + slope[at] * leverage / (1.0 - bend[at] * leverage)
    return out


@dataclass(frozen=True)
class LeaveOneOutCheck:
    """Some rows left out in earnest, beside the approximation."""

    rows: Ints
    exact: Array
    approximate: Array

    @property
    def largest_error(self) -> float:
        """Largest difference of scores."""
        return float(np.max(np.abs(self.exact - self.approximate)))
