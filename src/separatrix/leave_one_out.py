"""Leave-one-out without n refits: exact for the squared loss, approximate for the logistic.

Both look at the fit to all n rows with the penalty that n - 1 rows would have, that is the sum
of the losses plus ``(n - 1) * l2 * |w|^2``, and remove the influence of one row at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from . import layout, loops
from .data import ArraySource
from .data.pool import one_blas_thread
from .losses import Joint, MarginLoss
from .objective import Objective
from .solvers.direct import ROWS, targets
from .solvers.newton import solve
from .typing import Array, Ints


def _source(objective: Objective) -> ArraySource:
    source = objective.source
    if not isinstance(source, ArraySource):
        raise TypeError("leave-one-out needs rows in memory; use cv=5")
    if source.weight is not None:
        raise ValueError(
            "cv='loo' leaves out one row at a time and takes no weights: drop sample_weight and "
            "class_weight, or use cv=5"
        )
    return source


def squared_scores(objective: Objective, l2s: Array) -> Array:
    """Scores of every row by the least-squares fit without it: (len(l2s), n, k), exactly.

    With the residuals e and the leverages h of the ridge fit at the penalty of n - 1 rows, the
    residual of a row left out is ``e / (1 - h)``. One symmetric eigenproblem, of the smaller
    side of the centred rows, serves every l2.
    """
    source, k = _source(objective), objective.shape[0]
    n, d = layout.shape(source.X)
    mean = objective.moments.mean if objective.intercept else np.zeros(d)
    (block,) = source.blocks()
    Y = targets(block, k)
    target = Y.mean(axis=0) if objective.intercept else np.zeros(k)
    with one_blas_thread(float(n) * d * min(n, d)):
        basis, squares, coordinates = _eigen(source, mean, Y - target)
        out = np.empty((len(l2s), n, k))
        share = 1.0 / n if objective.intercept else 0.0
        for start in range(0, n, ROWS):
            at = slice(start, min(start + ROWS, n))
            z = basis(at)
            for j, l2 in enumerate(l2s):
                shrunk = 1.0 / (squares + (n - 1) * l2)
                fitted = z @ (shrunk[:, None] * coordinates) + target
                leverage = share + (z * z) @ shrunk
                left = (Y[at] - fitted) / (1.0 - leverage)[:, None]
                out[j, at] = Y[at] - left
    return out


def _eigen(
    source: ArraySource, mean: Array, Y: Array
) -> tuple[Callable[[slice], Array], Array, Array]:
    """Rows in the basis of principal directions, the squared lengths, and Y there."""
    n, d = layout.shape(source.X)

    def centred(at: slice) -> Array:
        x: Array = layout.dense(layout.part(source.X, at.start, at.stop)) - mean
        return x

    pieces = [slice(start, min(start + ROWS, n)) for start in range(0, n, ROWS)]
    if d <= n:
        inner, product = np.zeros((d, d)), np.zeros((d, Y.shape[1]))
        for at in pieces:
            x = centred(at)
            inner += x.T @ x
            product += x.T @ Y[at]
        squares, V = scipy.linalg.eigh(inner)
        return (lambda at: centred(at) @ V), np.maximum(squares, 0.0), V.T @ product
    whole = centred(slice(0, n))  # n < d: the smaller side is the rows'
    squares, U = scipy.linalg.eigh(whole @ whole.T)
    squares = np.maximum(squares, 0.0)
    rows = U * np.sqrt(squares)
    return (lambda at: rows[at]), squares, rows.T @ Y


def logistic_scores(objective: Objective, W: Array) -> Array:
    """Approximate scores of every row by the fit without it, (n,), two classes.

    One Newton step from the minimum W of the objective (at the penalty of n - 1 rows) with the
    row removed: ``s - slope * y * h / (1 - curvature * h)``, h the row's leverage in the
    inverse second derivative (approximate leave-one-out).
    """
    source, loss = _source(objective), objective.loss
    if isinstance(loss, Joint) or not isinstance(loss, MarginLoss) or not loss.has_curvature:
        raise ValueError(
            f"cv='loo' knows the squared loss and, for two classes, smooth ones; {loss.name!r} "
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
