"""Block coordinate descent on a quadratic with lengths of blocks beside it."""

from __future__ import annotations

from ..numeric.types import Array, Ints
from ._compiled import _loops
from .coordinate_descent import DescentResult


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
    """Lower ``smooth(u) + sum of thresholds_b |u_b|``, one block at a time to its best value.

    ``smooth`` is a quadratic with this Hessian (m, m), diagonal within every block, and this slope
    (m,) at u (m,); both follow. Blocks lie between the ``starts`` (blocks + 1,). Those of several
    have thresholds and curvatures above 0; a single u_j without curvature stays. Ends after an
    epoch that gained no more than ``enough``.
    """
    found = _loops.block_coordinate_descent(
        hessian, starts, thresholds, u, slope, max_epochs, enough
    )
    return DescentResult(*found)
