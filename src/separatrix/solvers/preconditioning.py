"""Variables in which a second derivative, factored, is the identity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..numeric.threads import one_blas_thread
from ..numeric.types import AnyArray, Array
from ..objective.standardization import Frame

MOST_LIFTS = 8


@dataclass(frozen=True)
class Factored:
    """Variables ``R u`` in place of a frame's u, with R'R the second derivative somewhere.

    More than two classes share one R, from the mean of theirs, or have one each.
    """

    frame: Frame
    R: tuple[AnyArray, ...]

    @classmethod
    def of(cls, frame: Frame, *hessians: AnyArray) -> Factored:
        """From positive semidefinite matrices in the frame, made definite where they are not."""
        return cls(frame, tuple(map(_factor, hessians)))

    def gradient(self, gradient: Array) -> Array:
        """A derivative by the weights as one by the variables."""
        return self._solve(self.frame.gradient(gradient), trans=1)

    def direction(self, direction: Array) -> Array:
        """A direction in the variables as one of the weights."""
        return self.frame.direction(self._solve(direction))

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
