"""Coordinate descent on a quadratic in Python."""

from __future__ import annotations

import numpy as np

from separatrix.loops.coordinate_descent import DescentResult
from separatrix.loops.dispatch import Interrupted, stop_requested
from separatrix.numeric.types import Array


def coordinate_descent(
    hessian: Array, thresholds: Array, u: Array, slope: Array, *, max_epochs: int, enough: float
) -> DescentResult:
    epochs, gain = 0, 0.0
    while epochs < max_epochs:
        if stop_requested():
            raise Interrupted("the loop was asked to stop before its end")
        epochs, gain = epochs + 1, 0.0
        for j, curvature in enumerate(hessian.diagonal()):
            if not curvature > 0.0:
                continue
            pull = curvature * u[j] - slope[j]
            best = np.sign(pull) * max(abs(pull) - thresholds[j], 0.0) / curvature
            change = best - u[j]
            u[j] = best
            slope += change * hessian[j]
            gain += 0.5 * curvature * change**2
        if gain <= enough:
            break
    return DescentResult(epochs, float(gain))
