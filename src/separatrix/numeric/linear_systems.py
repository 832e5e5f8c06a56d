"""Linear equations with positive semidefinite matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from .dot import dot
from .threads import one_blas_thread
from .types import Array

CG_MAX_ITER = 250  # of conjugate gradients: by then rounding has spoiled the directions
FLAT = 1e-12  # of |p|^2: below, there is nothing to gain along p up to rounding
MIN_PIVOT = 1e-7  # on the diagonal of a Cholesky factor: below, the matrix is nearly singular
MIN_EIGENVALUE = 1e-13  # of the largest, per row: below is rounding
DAMPING, LEAST_DAMPING = 1e-10, 1e-13  # of a diagonal, added to a matrix: at first, and at least
NOTICEABLE = 1e-3  # of a solution's curvature: damping with a larger share is reduced


class NotFinite(ValueError):
    """A matrix that overflowed: LAPACK would not return from it."""


def solve(hessian: Array, right: Array) -> Array:
    """Solve with one or several positive semidefinite matrices.

    If a matrix is singular, return the shortest solution in the scaled variables.
    """
    scaled, scale = _scaled(hessian)
    n = right.shape[-1]
    pairs = zip(scaled.reshape(-1, n, n), (scale * right).reshape(-1, n), strict=True)
    with one_blas_thread(n**3):
        solutions = [_inverse(matrix)(column) for matrix, column in pairs]
    result: Array = scale * np.reshape(solutions, right.shape)
    return result


def damped_solve(hessian: Array, right: Array) -> Array:
    """Solve with a share of the diagonal added to the matrix, as small as suffices.

    If the matrix is singular the solution is long, so a caller that stops it at the first change of
    sign gets there. Less than the least share would be lost in the rounding of the matrix.
    """
    scaled, scale = _scaled(hessian)
    right, damped, diagonal = scale * right, scaled.copy(), scaled.diagonal()
    damping = DAMPING
    with one_blas_thread(float(len(scaled)) ** 3):
        while True:
            np.fill_diagonal(damped, diagonal + damping)
            solution = _inverse(damped)(right)
            added = damping * dot(solution, solution)
            noticed = added > NOTICEABLE * dot(solution, scaled @ solution)
            if not noticed or damping <= LEAST_DAMPING:
                return scale * solution
            damping *= 0.1


def cholesky_solver(hessian: Array, min_pivot: float = MIN_PIVOT) -> Callable[[Array], Array]:
    """Return a function that solves with a positive semidefinite matrix, by its Cholesky factor.

    A matrix whose factor has less than ``min_pivot`` on its diagonal counts as nearly singular.
    """
    scaled, scale = _scaled(hessian)
    inverse = _inverse(scaled, min_pivot)
    return lambda right: scale * inverse(scale * right)


def inverse(hessian: Array) -> Array:
    """Inverse of a positive semidefinite matrix; if it is nearly singular, column by column."""
    scaled, scale = _scaled(hessian)
    with one_blas_thread(float(len(scaled)) ** 3):
        factor, failed = lapack.dpotrf(scaled.T)
        if failed or factor.diagonal().min() < MIN_PIVOT:
            solve_scaled = _inverse(scaled)
            found = np.column_stack([solve_scaled(column) for column in np.eye(len(scaled))])
        else:
            upper = np.triu(lapack.dpotri(factor)[0])
            found = upper + np.triu(upper, 1).T
    found *= scale
    found *= scale[:, None]
    return found


def _scaled(hessian: Array) -> tuple[Array, Array]:
    """Matrices with a unit diagonal, and the factors of their rows and columns."""
    diagonal = np.einsum("...ii->...i", hessian)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = hessian * scale[..., None, :]
    scaled *= scale[..., None]
    return scaled, scale


def _inverse(matrix: Array, min_pivot: float = MIN_PIVOT) -> Callable[[Array], Array]:
    factor, failed = lapack.dpotrf(matrix.T)  # LAPACK stores by columns
    if not failed and factor.diagonal().min() >= min_pivot:
        return lambda right: lapack.dpotrs(factor, right)[0]
    if not np.all(np.isfinite(matrix)):
        raise NotFinite(
            "the second derivative of the objective is not finite in floating point: scale the "
            "features, e.g. with sklearn.preprocessing.StandardScaler, or use another l2"
        )
    values, vectors = scipy.linalg.eigh(matrix, check_finite=False)
    keep = values > MIN_EIGENVALUE * values[-1] * len(values)
    values, vectors = values[keep], vectors[:, keep]
    return lambda right: vectors @ (vectors.T @ right / values)


def conjugate_gradients(
    product: Callable[[Array], Array],
    right: Array,
    residual: float = 0.0,
    gain: float = 0.0,
    most: int = CG_MAX_ITER,
    most_gain: float = np.inf,
) -> tuple[Array, float]:
    """Solve with a matrix A given by its products: u, and ``right.u - u.A u / 2`` there.

    Stops at the share ``residual`` of the squared residual, if a product adds at most the share
    ``gain`` of the total gain, or once the gain exceeds ``most_gain`` (Hestenes and Stiefel,
    Methods of conjugate gradients for solving linear systems, 1952).
    """
    u, r, p = np.zeros_like(right), right, right
    size, gained = dot(r, r), 0.0
    enough = residual * size
    for _ in range(most):
        if size <= enough:
            break
        image = product(p)
        curvature = dot(p, image)
        if curvature <= FLAT * dot(p, p):
            break
        length = size / curvature
        u = u + length * p
        r = r - length * image
        added = 0.5 * length * size
        gained += added
        if added <= gain * gained or gained > most_gain:
            break
        size, before = dot(r, r), size
        p = r + size / before * p
    return u, gained
