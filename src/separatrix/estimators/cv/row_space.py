"""Fewer rows than features: the same fits with as many coordinates as rows.

Problem: n rows of d > n features, to be fitted many times with a penalty on |w|^2. Input: an
objective with rows in memory. Output: at most n coordinates z of every row, such that ``z.z' = (x -
m).(x' - m)`` for any two rows; m is their mean if there is a bias to absorb it, else 0. The minimum
of J lies in the span of the rows (the representer theorem), where scores and |w|^2 depend only on
these products: so J has the same minimum in the coordinates, with the same scores. Algorithm: an
orthogonal factorisation of the features, some at a time; or the Cholesky factor of the products, if
the penalty is above their rounding. Sparse rows stay sparse, and no d x d matrix is ever formed.

Kimeldorf and Wahba, A correspondence between Bayesian estimation on stochastic processes and
smoothing by splines, 1970. Hastie and Tibshirani, Efficient quadratic regularization for expression
arrays, 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from ...data import ArraySource
from ...data.arrays import as_arrays
from ...numeric.threads import one_blas_thread
from ...numeric.tolerances import EPS
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Objective
from ...rows import DenseRows, host_rows_of, with_offset
from .thresholds import FACTORED_BYTES, FACTORED_COPIES, FEWER_VALUES, SVD_VALUES

PRODUCTS_SUFFICE = 1e-9  # an l2 above this share of the mean |x|^2 is far above rounding


def center(objective: Objective) -> Array:
    """The vector subtracted from the rows: their mean if a bias can absorb it, else 0."""
    mean = objective.moments.mean
    return mean if objective.intercept else np.zeros_like(mean)


def is_wide(objective: Objective) -> bool:
    """Whether there are fewer rows than features."""
    return len(objective.in_memory.y) < objective.source.n_features


def check_room(objective: Objective) -> None:
    """Refuse to leave out one row at a time if the matrices for it do not fit in memory."""
    n, d = len(objective.in_memory.y), objective.source.n_features
    if room(min(n, d)) > FACTORED_BYTES:
        size = min(n, d)
        raise ValueError(
            f"cv='loo' on {n} rows of {d} features needs about {FACTORED_COPIES} matrices of "
            f"{size} x {size} numbers, {room(size) / 1e9:.1f} GB, and takes up to "
            f"{FACTORED_BYTES / 1e9:.1f} GB: use cv=5 or cv=10, or leave out rows of a sample of "
            "them"
        )


def room(size: int) -> int:
    """Bytes that factoring a matrix of this size may take, at most."""
    return FACTORED_COPIES * 8 * size * size


def products_suffice(objective: Objective, smallest_l2: float) -> bool:
    """Whether the products of rows, despite their rounding, are as good as the rows.

    For small data the rows themselves cost little. Products of sparse rows are centred after they
    are rounded.
    """
    source, (mean, deviation) = objective.in_memory, objective.moments
    if len(source.y) * source.n_features <= SVD_VALUES:
        return False
    filled = objective.intercept and source.storage == "dense"
    square = float(np.sum((deviation if filled else np.hypot(deviation, mean)) ** 2))
    return smallest_l2 > PRODUCTS_SUFFICE * square


def products(source: ArraySource, mean: Array) -> Array:
    """``(x - mean).(x' - mean)`` for any two rows: (n, n)."""
    n, d = len(source.y), source.n_features
    if source.storage == "csr":
        out = source.gram()
        along = source.without_offset.scores(np.append(mean, 0.0)[None])
        out -= along
        out -= along.T
        out += mean @ mean
        return out
    out = np.zeros((n, n))
    for at in _feature_slices(n, d):
        z = host_rows_of(source.X).dense_features(at.start, at.stop)
        z -= mean[at]
        out += z @ z.T
    return out


def triangle(source: ArraySource, mean: Array, root: Array, extra: Array) -> Array:
    """R with ``R'R = Z Z' + extra extra'``, Z the rows ``root * (x - mean)``: (at most n, n)."""
    n, d = len(source.y), source.n_features
    R = extra[None]
    for at in _feature_slices(n, d):
        z = host_rows_of(source.X).dense_features(at.start, at.stop)
        z -= mean[at]
        z *= root[:, None]
        stacked = np.empty((len(R) + z.shape[1], n), order="F")
        stacked[: len(R)], stacked[len(R) :] = R, z.T
        del z
        R = scipy.linalg.qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0][:n]
    return R


def _feature_slices(n: int, d: int) -> list[slice]:
    """Half as many features as rows at a time, or all if there are few values."""
    size = max(n // 2, SVD_VALUES // n)
    return [slice(start, min(start + size, d)) for start in range(0, d, size)]


@dataclass(frozen=True)
class RowSpace:
    """An objective in which each row has as many coordinates as the rows have dimensions."""

    objective: Objective
    given: ArraySource
    mean: Array  # the vector subtracted from the given rows
    pivots: Ints  # rows whose span contains all rows
    triangle: Array  # the coordinates of these rows

    @classmethod
    def of(cls, objective: Objective, smallest_l2: float) -> RowSpace:
        """Create for an objective whose penalty may get as small as this."""
        source, mean = as_arrays(objective.in_memory), center(objective)
        n, d = len(source.y), source.n_features
        with one_blas_thread(float(n) * n * d):
            if products_suffice(objective, smallest_l2):
                L, pivots = _pivoted_cholesky(products(source, mean))
            else:
                L, pivots = _pivoted_triangle(triangle(source, mean, np.ones(n), np.zeros(n)))
        rows = source.with_rows(with_offset(DenseRows(L), source.stored.offset).X)
        basis = L[pivots, : len(pivots)]
        return cls(replace(objective, source=rows), source, mean, pivots, basis)

    def weights(self, U: Array) -> Array:
        """The weights of the features, (k, d + 1), from the weights of the coordinates."""
        if not len(self.pivots):  # all rows are equal
            return np.column_stack([np.zeros((len(U), len(self.mean))), U[:, -1]])
        u = U[:, : len(self.pivots)].T
        alpha = scipy.linalg.solve_triangular(self.triangle, u, trans="T", lower=True)
        W = self.given.take(self.pivots).transpose_product(np.ascontiguousarray(alpha))
        W[:, :-1] -= W[:, -1:] * self.mean
        W[:, -1] = U[:, -1] - W[:, :-1] @ self.mean
        return W


def suits_folds(objective: Objective) -> bool:
    """Whether the coordinates of all rows are far fewer than their stored values."""
    source = as_arrays(objective.in_memory)
    n, stored = len(source.y), host_rows_of(source.X).values.size
    return n * n <= FEWER_VALUES * stored and room(n) <= FACTORED_BYTES


def _pivoted_cholesky(gram: Array) -> tuple[Array, Ints]:
    """L with ``L L' = gram``, (n, rank), and the rows of its triangle.

    Higham, Analysis of the Cholesky decomposition of a semi-definite matrix, 1990.
    """
    largest = float(gram.diagonal().max())
    factor, order, rank, _ = lapack.dpstrf(gram.T, tol=EPS * largest, lower=1, overwrite_a=1)
    return _in_order(np.tril(factor[:, :rank]), order - 1, rank)


def _pivoted_triangle(R: Array) -> tuple[Array, Ints]:
    """The same from R with ``R'R = gram``, without squaring its condition."""
    R, order = scipy.linalg.qr(R, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
    size = np.abs(R.diagonal())
    rank = int(np.count_nonzero(size > EPS * R.shape[1] * size[0]))
    return _in_order(R[:rank].T, order, rank)


def _in_order(factor: Array, order: AnyArray, rank: int) -> tuple[Array, Ints]:
    """Coordinates in the order of the rows; at least one, if all of them are 0."""
    L = np.zeros((len(order), max(rank, 1)))
    L[order, :rank] = factor[:, :rank]
    return L, order[:rank].astype(np.int64)
