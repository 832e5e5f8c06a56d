"""The dual over some rows alone, whose alphas are inside their bounds: a quadratic.

Problem: with the weights ``w = w_0 + sum_i p_i y_i (alpha_i - alpha_0i) x_i / (2 l2)``, the highest
dual over the free alphas in [0, 1], the others held. Input: these rows, their alphas, shares p of
the weight and curvatures. Output: alphas, and what they gain. Algorithm: conjugate gradients over
all of them, then a projected line search (the second stage of More and Toraldo, On the solution of
large quadratic programming problems with bound constraints, SIAM J. Optimization 1, 1991).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...data import InMemory
from ...numeric.linear_systems import conjugate_gradients
from ...numeric.tolerances import SAFE_DIVISOR
from ...numeric.types import Array

LITTLE = 0.002  # of the gain so far: a product that adds less is the last
HALVINGS = 6


class FreeAlphas(NamedTuple):
    """Alphas, by how much the dual is higher there, and by how much it would be without bounds."""

    alpha: Array
    gain: float
    hoped: float


def solve_free_variables(
    rows: InMemory, alpha: Array, p: Array, W: Array, curvatures: Array, gives: Array, most: int
) -> FreeAlphas:
    """Conjugate gradients over all alphas of rows of shares p; then back into the bounds.

    In variables in which the dual has curvature 1 for each alone. A row counted once more moves the
    weights by ``gives`` times it, and its own margin by its entry of ``curvatures``. At most so
    many products.
    """
    y = rows.y
    scale = 1.0 / (p * np.sqrt(np.maximum(curvatures, SAFE_DIVISOR)))
    lack = 1.0 - y * rows.scores(W)[:, 0]

    def moved(change: Array) -> Array:
        out: Array = rows.transpose_product((p * y * change)[:, None]) * gives
        return out

    def product(u: Array) -> Array:
        out: Array = scale * p * y * rows.scores(moved(scale * u))[:, 0]
        return out

    u, hoped = conjugate_gradients(product, scale * p * lack, gain=LITTLE, most=most)
    length = 1.0
    for _ in range(HALVINGS):
        there = np.clip(alpha + length * scale * u, 0.0, 1.0)
        change = there - alpha
        # The dual falls by half of what the changes themselves do to the margins.
        gain = float((p * change) @ (lack - 0.5 * y * rows.scores(moved(change))[:, 0]))
        if gain >= 0.1 * length * hoped:
            break
        length *= 0.5
    return FreeAlphas(there, gain, hoped)
