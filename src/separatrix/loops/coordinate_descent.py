"""Coordinate descent on a quadratic plus absolute values."""

from __future__ import annotations

from typing import NamedTuple

from ..numeric.types import Array
from ._compiled import _loops


class DescentResult(NamedTuple):
    epochs: int  # number of epochs
    gain: float  # lower bound on the decrease in the last epoch


def coordinate_descent(
    hessian: Array, thresholds: Array, u: Array, slope: Array, *, max_epochs: int, enough: float
) -> DescentResult:
    """Minimise ``smooth(u) + sum of thresholds_j |u_j|`` over one u_j at a time.

    ``smooth`` is a quadratic with the given Hessian (m, m) and slope (m,) at u (m,). Updates u and
    slope. A u_j without curvature is left as it is. Ends after an epoch that gained no more than
    ``enough``.
    """
    found = _loops.coordinate_descent(hessian, thresholds, u, slope, max_epochs, enough)
    return DescentResult(*found)
