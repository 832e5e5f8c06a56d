"""Coordinate descent on a quadratic with absolute values beside it."""

from __future__ import annotations

from typing import NamedTuple

from ..numeric.types import Array
from ._compiled import _loops


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
