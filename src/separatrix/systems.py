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
    """Solve with a positive semidefinite matrix, scaled to a unit diagonal first.

    Where it is singular, the shortest solution in the scaled variables.
    """
    diagonal = np.diag(hessian)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = hessian * scale * scale[:, None]
    with one_blas_thread(len(right) ** 3):
        factor, solution, failed = lapack.dposv(scaled, scale * right)
        if failed or np.diag(factor).min() < 1e-7:  # of a nearly singular matrix it is noise
            values, vectors = scipy.linalg.eigh(scaled, check_finite=False)
            keep = values > 1e-13 * values[-1] * len(values)
            inner = vectors[:, keep].T @ (scale * right) / values[keep]
            solution = vectors[:, keep] @ inner
    result: Array = scale * solution
    return result


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
