"""Variables in which the Hessian of J, estimated on a sample of the rows, is about the identity.

Problem     R with R'R = H_S(V), the Hessian of J at weights V on a random sample S of the rows.
Input       J, a place V, and whether every class has an R of its own.
Output      u -> R^-1 u and g -> R^-T g, between weights and the variables R w.
Algorithm   S as large as one evaluation of all rows allows; then a Cholesky factorisation.
Paper       Byrd, Chin, Neveitt and Nocedal, On the Use of Stochastic Hessian Information, SIAM
            Journal on Optimization 21 (2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..numeric.standardization import Standardization
from ..numeric.threads import one_blas_thread
from ..numeric.types import AnyArray, Array
from ..objective import Objective
from ..rows import HOST, VectorSpace
from .thresholds import CLASSES_PER_READ, PRODUCTS_PER_READ, STEP_BYTES

MOST_LIFTS = 8  # of the diagonal, each a hundred times the last


@dataclass(frozen=True)
class CholeskyPreconditioner:
    """Variables ``R u`` instead of standardised u, with R'R the second derivative at some weights.

    With more than two classes, all share one R, from their mean, or each has its own.
    """

    standardization: Standardization
    R: tuple[AnyArray, ...]
    vectors: VectorSpace = HOST  # where the factors and their solutions live

    @classmethod
    def of(
        cls, standardization: Standardization, *hessians: AnyArray, vectors: VectorSpace = HOST
    ) -> CholeskyPreconditioner:
        """From positive semidefinite matrices in standardised variables, made definite."""
        factors = (vectors.asarray(_factor(hessian)) for hessian in hessians)
        return cls(standardization.in_space(vectors.asarray), tuple(factors), vectors)

    def gradient(self, gradient: Array) -> Array:
        """Convert a derivative with respect to the weights to one with respect to the variables."""
        return self._solve(self.standardization.gradient(gradient), trans=1)

    def to_weights(self, direction: Array) -> Array:
        """Convert a direction in the variables to one of the weights."""
        return self.standardization.to_weights(self._solve(direction))

    def _solve(self, right: Array, trans: int = 0) -> Array:
        found: Array = self.vectors.solve_triangular(self.R, right, trans)
        return found


def _factor(hessian: AnyArray) -> AnyArray:
    noise = np.sqrt(len(hessian)) * float(np.finfo(hessian.dtype).eps)
    lift = max(1e-10, noise) * max(1.0, float(np.diag(hessian).max()))
    with one_blas_thread(len(hessian) ** 3):
        for _ in range(MOST_LIFTS):
            np.einsum("ii->i", hessian)[:] += lift
            try:
                factor: AnyArray = scipy.linalg.cholesky(hessian, check_finite=False)
                return factor
            except np.linalg.LinAlgError:
                lift *= 100.0
    raise ValueError(
        "the second derivative of the objective is not finite: scale the features, e.g. with "
        "sklearn.preprocessing.StandardScaler"
    )


def hessian_cost(
    objective: Objective, rows: Objective | None, values: float | None = None
) -> float:
    """The number of evaluations that cost as much as factoring the second derivative of these rows.

    ``values`` of each row are multiplied; by default all.
    """
    if rows is None:
        return np.inf
    k, d = objective.shape
    source = objective.source
    products = (d**3 + (values or d) ** 2 * rows.source.n_rows) * source.dtype.itemsize
    reading = STEP_BYTES + source.n_rows * source.row_bytes * max(1.0, k / CLASSES_PER_READ)
    return products / (PRODUCTS_PER_READ * reading)


def preconditioner(
    standardization: Standardization,
    sample: Objective | None,
    hessian_at: Array,
    per_class: bool,
    vectors: VectorSpace = HOST,
) -> Standardization | CholeskyPreconditioner:
    """The variables of the sample's Hessian, or the standardisation if there is none to use."""
    if sample is None or not len(hessian_at):
        return standardization.in_space(vectors.asarray)
    which = range(len(hessian_at)) if per_class else (None,)
    dtype = sample.source.dtype
    hessians = (sample.class_hessian(hessian_at, standardization, dtype, c) for c in which)
    return CholeskyPreconditioner.of(standardization, *hessians, vectors=vectors)
