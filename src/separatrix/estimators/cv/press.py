"""Leave-one-out scores of least squares, exactly and without n fits.

Problem: for every l2 and every row i, the score of row i by the minimum over the other rows of
``mean (x.w + b - y)^2 + l2 |w|^2``, the mean by their weights c. Input: an objective with rows in
memory, and the values of l2. Output: these scores, (len(l2s), n, k). Algorithm: with the matrix M
that maps sqrt(c) y to the residuals of the ridge fit to all rows, times sqrt(c), at the penalty of
the others, ``l2 (sum(c) - c_i)``, the residual of a held-out row is ``(M sqrt(c) y)_i / M_ii /
sqrt(c_i)``. One factorisation serves all l2: of the features or, if there are fewer rows than
features, of the products of rows.

Allen, The relationship between variable selection and data augmentation and a method for
prediction, 1974 (PRESS).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from ...data import ArraySource
from ...data.arrays import as_arrays
from ...numeric.threads import one_blas_thread
from ...numeric.tolerances import EPS
from ...numeric.types import Array
from ...objective import Objective
from ...solvers.least_squares_sums import QR_ROWS, signs, targets
from .row_space import center, products, products_suffice, triangle
from .thresholds import FEW_PENALTIES, SVD_VALUES

LARGEST_PENALTY = 1e307  # above, only the penalty matters


def press_scores(objective: Objective, l2s: Array) -> Array:
    """Scores of every row by the least-squares fit without it: (len(l2s), n, k), exactly.

    NaN for rows of weight 0, which are ignored.
    """
    source = as_arrays(objective.in_memory)
    scores = np.full((len(l2s), len(source.y), objective.shape[0]), np.nan)
    present = slice(None) if source.present is None else source.present
    if source.present is not None:
        source = as_arrays(source.take(source.present))
    problem = _Problem.of(objective, source, l2s)
    n, d = len(source.y), source.n_features
    with one_blas_thread(float(n) * d * min(n, d)):
        if n < d:
            smallest = float(problem.stiffness.min() / np.sum(problem.root**2))
            left = _by_rows(problem, products_suffice(objective, smallest))
        elif n * d <= SVD_VALUES or _lost(objective, l2s):
            left = _by_singular_values(problem)
        else:
            left = _by_eigenvectors(problem)
    scores[:, present] = signs(source.y, scores.shape[2]) - left / problem.root[:, None]
    return scores


def _lost(objective: Objective, l2s: Array) -> bool:
    """Whether a penalty is lost in the rounding of X'X, so that the rows themselves are needed."""
    around = _around(objective)
    return bool(np.min(l2s) <= EPS * len(around) * float(np.sum(around**2)))


def _around(objective: Objective) -> Array:
    """Root mean square of every feature around what the bias absorbs, its mean or 0."""
    mean, deviation = objective.moments
    return deviation if objective.intercept else np.hypot(deviation, mean)


@dataclass(frozen=True)
class _Problem:
    """Rows times the roots of their weights, minus their mean if there is a bias."""

    source: ArraySource
    mean: Array
    root: Array  # square root of each row's weight, relative to the largest
    bias: Array  # the direction that the bias absorbs: the roots as a unit vector, or zeros
    share: Array
    """The remaining share of each row: 1 - bias^2, without a difference of equal numbers."""
    right: Array  # the targets, also centred and times the roots
    stiffness: Array  # penalties without each row, (len(l2s), n)
    usual: float  # the mean eigenvalue of the products of rows

    @classmethod
    def of(cls, objective: Objective, source: ArraySource, l2s: Array) -> _Problem:
        weight = source.weights / source.weights.max()
        total, heaviest = float(weight.sum()), int(np.argmax(weight))
        rest = total - weight
        rest[heaviest] = np.delete(weight, heaviest).sum()
        root, Y = np.sqrt(weight), targets(source.block(), objective.shape[0])
        bias, share = np.zeros(len(root)), np.ones(len(root))
        if objective.intercept:
            bias, share = root / np.sqrt(total), rest / total
            Y = Y - weight @ Y / total
        with np.errstate(over="ignore"):
            stiffness = np.minimum(l2s[:, None] * rest, LARGEST_PENALTY)
        usual = total / len(weight) * float(np.sum(_around(objective) ** 2))
        right = root[:, None] * Y
        return cls(source, center(objective), root, bias, share, right, stiffness, usual)

    def rows(self, size: int) -> Iterator[tuple[slice, Array]]:
        """Yield slices of ``size`` rows."""
        for block in self.source.batches(size):
            yield block.at, (block.rows.to_dense() - self.mean) * self.root[block.at, None]


def _by_singular_values(problem: _Problem) -> Array:
    """Residuals of the held-out rows, (len(l2s), n, k), without squaring the condition.

    M is the projection onto the complement of the columns of U, plus mu / (s^2 + mu) for each
    column: no difference of nearly equal numbers, however small the penalty.
    """
    R, n = problem.right, len(problem.right)
    x = np.concatenate([rows for _, rows in problem.rows(n)])
    U, s, _ = scipy.linalg.svd(x, full_matrices=False)
    kept = s > EPS * max(x.shape) * s[0] if len(s) else np.zeros(0, bool)
    U, squares = U[:, kept], s[kept] ** 2
    within = U.T @ R
    outside = R - U @ within
    free = problem.share - np.sum(U * U, axis=1)
    if U.shape[1] + problem.bias.any() >= n:  # they span the whole space
        outside, free = np.zeros_like(outside), np.zeros(n)
    left = np.empty((len(problem.stiffness), *R.shape))
    for j, mu in enumerate(problem.stiffness):
        share = mu[:, None] / (squares + mu[:, None])
        residual = outside + (U * share) @ within
        left[j] = residual / (free + np.sum(U * U * share, axis=1))[:, None]
    return left


def _by_eigenvectors(problem: _Problem) -> Array:
    """The same for many rows, from X'X, a few rows at a time."""
    R, d = problem.right, problem.source.n_features
    gram, product = np.zeros((d, d)), np.zeros((d, R.shape[1]))
    for at, x in problem.rows(QR_ROWS):
        gram += x.T @ x
        product += x.T @ R[at]
    squares, V = scipy.linalg.eigh(gram)
    squares, within = np.maximum(squares, 0.0), V.T @ product
    left = np.empty((len(problem.stiffness), *R.shape))
    for at, x in problem.rows(QR_ROWS):
        z = x @ V
        for j, mu in enumerate(problem.stiffness[:, at]):
            shrunk = z / (squares + mu[:, None])
            free = problem.share[at] - np.sum(z * shrunk, axis=1)
            left[j, at] = (R[at] - shrunk @ within) / free[:, None]
    return left


def _by_rows(problem: _Problem, products_will_do: bool) -> Array:
    """The same for fewer rows than features, from the products of the rows, K.

    M is ``mu (K + mu)^-1`` minus the direction of the bias. To separate that direction from others
    without a difference of nearly equal numbers, it gets an eigenvalue of the usual size in K.
    """
    source, mean, root, bias = problem.source, problem.mean, problem.root, problem.bias
    if not products_will_do:
        R = triangle(source, mean, root, np.sqrt(problem.usual) * bias)
        _, s, Vt = scipy.linalg.svd(R, overwrite_a=True, check_finite=False)
        s[s <= EPS * source.n_features * s[0]] = 0.0
        return _from_eigenvectors(problem, s**2, Vt.T)
    K = products(source, mean)
    K *= root
    K *= root[:, None]
    K += (problem.usual * bias)[:, None] * bias
    if len(np.unique(problem.stiffness)) <= FEW_PENALTIES:
        left = _from_inverses(problem, K)
        if left is not None:
            return left
    squares, V = scipy.linalg.eigh(K, overwrite_a=True, check_finite=False, driver="evd")
    return _from_eigenvectors(problem, np.maximum(squares, 0.0), V)


def _from_eigenvectors(problem: _Problem, squares: Array, V: Array) -> Array:
    """Residuals from all eigenvectors, some rows at a time, for any penalties."""
    within, usual = V.T @ problem.right, problem.usual
    left = np.empty((len(problem.stiffness), *problem.right.shape))
    for start in range(0, len(V), QR_ROWS):
        at = slice(start, start + QR_ROWS)
        v, of_bias = V[at], problem.bias[at] ** 2
        for j, mu in enumerate(problem.stiffness[:, at]):
            share = v * (mu[:, None] / (squares + mu[:, None]))
            free = np.einsum("ij,ij->i", share, v) - of_bias * (mu / (usual + mu))
            left[j, at] = share @ within / free[:, None]
    return left


def _from_inverses(problem: _Problem, K: Array) -> Array | None:
    """Residuals from one inverse per penalty, in units in which the bias has the eigenvalue 1.

    None if rounding leaves a matrix that is not positive definite.
    """
    left = np.empty((len(problem.stiffness), *problem.right.shape))
    for mu in np.unique(problem.stiffness):
        unit = problem.usual + mu
        system = np.multiply(K, 1.0 / unit, order="F")
        system.flat[:: len(K) + 1] += mu / unit
        factor, failed = lapack.dpotrf(system, lower=1, overwrite_a=1)
        if failed:
            return None
        inverse = lapack.dtrtri(factor, lower=1, overwrite_c=1)[0]
        free = np.einsum("ij,ij->j", inverse, inverse) - problem.bias**2
        found = inverse.T @ (inverse @ problem.right) / free[:, None]
        which, row = np.nonzero(problem.stiffness == mu)
        left[which, row] = found[row]
    return left
