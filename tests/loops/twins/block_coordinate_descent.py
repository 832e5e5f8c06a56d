"""Block coordinate descent in Python."""

from __future__ import annotations

import numpy as np

from separatrix.loops.coordinate_descent import DescentResult
from separatrix.loops.dispatch import Interrupted, stop_requested
from separatrix.numeric.types import Array, Ints

BISECTIONS = 100  # that leave no digit open


def block_coordinate_descent(
    hessian: Array,
    starts: Ints,
    thresholds: Array,
    u: Array,
    slope: Array,
    *,
    max_epochs: int,
    enough: float,
) -> DescentResult:
    epochs, gain = 0, 0.0
    while epochs < max_epochs:
        if stop_requested():
            raise Interrupted("the loop was asked to stop before its end")
        epochs, gain = epochs + 1, 0.0
        for begin, end, threshold in zip(starts[:-1], starts[1:], thresholds, strict=True):
            curvature = hessian.diagonal()[begin:end]
            if not curvature[0] > 0.0:
                continue
            best = _block_minimum(curvature, curvature * u[begin:end] - slope[begin:end], threshold)
            change = best - u[begin:end]
            u[begin:end] = best
            slope += change @ hessian[begin:end]
            gain += float(0.5 * curvature @ change**2)
        if gain <= enough:
            break
    return DescentResult(epochs, float(gain))


def _block_minimum(curvature: Array, pull: Array, threshold: float) -> Array:
    """The v with the least ``v' diag(curvature) v / 2 - pull . v + threshold |v|``."""
    size = np.linalg.norm(pull)
    if size <= threshold:
        return np.zeros_like(pull)
    low, high = 0.0, size / curvature.min()  # of its length
    for _ in range(BISECTIONS):
        r = 0.5 * (low + high)
        if np.linalg.norm(pull / (curvature * r + threshold)) > 1.0:
            low = r
        else:
            high = r
    best: Array = high * pull / (curvature * high + threshold)
    return best
