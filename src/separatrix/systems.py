"""Linear equations with positive semidefinite matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from .data.pool import one_blas_thread
from .typing import Array

MOST_PRODUCTS = 250


def solve(hessian: Array, right: Array) -> Array:
    """Solve with a positive semidefinite matrix.

    Where it is singular, the shortest solution in the scaled variables.
    """
    with one_blas_thread(len(right) ** 3):
        return factored(hessian)(right)


def factored(hessian: Array, noise: float = 1e-7) -> Callable[[Array], Array]:
    """What solves with a positive semidefinite matrix, scaled to a unit diagonal first.

    Nearly singular is one whose factor has less than ``noise`` on its diagonal.
    """
    diagonal = np.diag(hessian)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = hessian * scale * scale[:, None]
    factor, failed = lapack.dpotrf(scaled)
    if not failed and np.diag(factor).min() >= noise:
        return lambda right: scale * lapack.dpotrs(factor, scale * right)[0]
    values, vectors = scipy.linalg.eigh(scaled, check_finite=False)
    keep = values > 1e-13 * values[-1] * len(values)
    values, vectors = values[keep], vectors[:, keep]
    return lambda right: scale * (vectors @ (vectors.T @ (scale * right) / values))


def conjugate_gradients(product: Callable[[Array], Array], right: Array, share: float) -> Array:
    """Solve with a matrix known by its products, down to a share of the squared residual."""
    u, r, p = np.zeros_like(right), right, right
    size = float(np.vdot(r, r))
    enough = share * size
    for _ in range(MOST_PRODUCTS):
        if size <= enough:
            break
        image = product(p)
        bend = float(np.vdot(p, image))
        if bend <= 1e-12 * float(np.vdot(p, p)):  # flat up to rounding: nothing to gain there
            break
        u = u + size / bend * p
        r = r - size / bend * image
        size, before = float(np.vdot(r, r)), size
        p = r + size / before * p
    return u
