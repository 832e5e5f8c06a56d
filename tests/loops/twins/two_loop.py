"""The two-loop recursion of L-BFGS in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.loops.two_loop import CurvaturePair
from separatrix.numeric.types import Array


def two_loop(gradient: Array, pairs: Sequence[CurvaturePair]) -> tuple[Array, float]:
    q = -gradient
    alphas = []
    for s, y, sy, _ in reversed(pairs):
        alphas.append(float(np.sum(s * q)) / sy)
        q -= alphas[-1] * y
    if pairs:
        q *= pairs[-1].sy / pairs[-1].yy
    for (s, y, sy, _), alpha in zip(pairs, reversed(alphas), strict=True):
        q += (alpha - float(np.sum(y * q)) / sy) * s
    return q, float(np.sum(gradient * q))
