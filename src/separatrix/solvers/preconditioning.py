"""Variables in which a second derivative, factored, is the identity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..numeric.threads import one_blas_thread
from ..numeric.types import AnyArray, Array
from ..objective.standardization import Standardization

MOST_LIFTS = 8


@dataclass(frozen=True)
class Factored:
    """Variables ``R u`` in place of standardised u, with R'R the second derivative somewhere.

    More than two classes share one R, from the mean of theirs, or have one each.
    """

    standardization: Standardization
    R: tuple[AnyArray, ...]

    @classmethod
    def of(cls, standardization: Standardization, *hessians: AnyArray) -> Factored:
        """From positive semidefinite matrices in standardised variables, made definite."""
        return cls(standardization, tuple(map(_factor, hessians)))

    def gradient(self, gradient: Array) -> Array:
        """A derivative by the weights as one by the variables."""
        return self._solve(self.standardization.gradient(gradient), trans=1)

    def to_weights(self, direction: Array) -> Array:
        """A direction in the variables as one of the weights."""
        return self.standardization.to_weights(self._solve(direction))

    def _solve(self, right: Array, trans: int = 0) -> Array:
        # One class after another: BLAS wakes its threads for several right sides at once, which
        # costs small problems more than the solution does.
        of_class = self.R if len(self.R) > 1 else self.R * len(right)
        return np.array([
            scipy.linalg.solve_triangular(R, each, trans=trans, check_finite=False)
            for R, each in zip(of_class, right.astype(of_class[0].dtype), strict=True)
        ], dtype=np.float64)  # fmt: skip


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
