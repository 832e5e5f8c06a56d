"""The quadratic dual over some rows of many classes whose alphas are inside their bounds.

Problem: with the weights ``W = W_0 + sum_i p_i u_i x_i' / (2 l2)``, u the changes of minus the
slopes, maximise the dual over the free alphas, the others fixed. Input: these rows, their alphas
and which of them are free. Output: alphas, and the gain. Algorithm: conjugate gradients over all
of them in the space in which shares keep their sum, then a projected line search (the second stage
of More and Toraldo, On the solution of large quadratic programming problems with bound constraints,
SIAM J. Optimization 1, 1991; on simplices instead of intervals).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data import InMemory
from ...numeric.linear_systems import conjugate_gradients
from ...numeric.tolerances import SAFE_DIVISOR
from ...numeric.types import AnyArray, Array
from .epochs import HALVINGS, LITTLE, FreeAlphas
from .multiclass_dual import CrammerSingerDual


@dataclass
class FreeVariables:
    """Rows, their alphas (m, k), and the effect of changing these."""

    dual: CrammerSingerDual
    rows: InMemory
    alpha: Array
    free: AnyArray  # which alphas may move, (m, k)
    p: Array  # shares of the rows in the total weight, (m, 1)
    curvatures: Array  # effect of one more count of a row on its own score, (m,)
    gives: Array  # effect of one more count of a row on the weights, relative to the row: (d + 1,)

    def solve(self, W: Array, most: int) -> FreeAlphas:
        """Conjugate gradients with a limited number of products, then projection onto the bounds.

        The variables are scaled so that the dual has curvature 1 along each.
        """
        scale = 1.0 / (self.p * np.sqrt(np.maximum(self.curvatures[:, None], SAFE_DIVISOR)))
        slopes = self.dual.slopes(self.rows.y, self.rows.scores(W))

        def product(flat: Array) -> Array:
            change = scale * flat.reshape(self.alpha.shape)
            return self._tangent(scale * self.p * self._falls(change)).ravel()

        right = self._tangent(scale * self.p * slopes)
        flat, hoped = conjugate_gradients(product, right.ravel(), gain=LITTLE, most=most)
        step, length = scale * flat.reshape(self.alpha.shape), 1.0
        for _ in range(HALVINGS):
            there = self.dual.feasible(self.alpha + length * step)
            change = there - self.alpha
            # The dual decreases by half the effect of the changes on the slopes.
            gain = float(np.sum(self.p * change * (slopes - 0.5 * self._falls(change))))
            if gain >= 0.1 * length * hoped:
                break
            length *= 0.5
        return FreeAlphas(there, gain, hoped)

    def _falls(self, change: Array) -> Array:
        """Decrease of the slopes of the dual when shares change, (m, k)."""
        rows = self.rows.without_offset
        return rows.scores(rows.transpose_product(self.p * change) * self.gives)

    def _tangent(self, v: Array) -> Array:
        """Project onto changes of free alphas that the dual allows."""
        return self.dual.tangent(np.where(self.free, v, 0.0), self.free)
