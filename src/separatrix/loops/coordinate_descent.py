"""Coordinate descent on a quadratic with absolute values beside it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numeric.types import Array
from ._compiled import _loops
from .dispatch import Interrupted, stop_requested


class DescentResult(NamedTuple):
    """How it ended."""

    epochs: int
    """How often every u_j was looked at."""
    gain: float
    """By how much the last of them lowered the sum, at least."""


def coordinate_descent(
    hessian: Array, thresholds: Array, u: Array, slope: Array, *, max_epochs: int, enough: float
) -> DescentResult:
    """Lower ``smooth(u) + sum of thresholds_j |u_j|``, one u_j at a time to its best value.

    ``smooth`` is a quadratic with this Hessian (m, m) and this slope (m,) at u (m,); both follow. A
    u_j without curvature stays. Ends after an epoch that gained no more than ``enough``.
    """
    found = _loops.coordinate_descent(hessian, thresholds, u, slope, max_epochs, enough)
    return DescentResult(*found)


def coordinate_descent_twin(
    hessian: Array, thresholds: Array, u: Array, slope: Array, *, max_epochs: int, enough: float
) -> DescentResult:
    """``coordinate_descent`` in Python."""
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
