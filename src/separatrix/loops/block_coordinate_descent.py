"""Block coordinate descent on a quadratic plus norms of blocks."""

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
    """Minimise ``smooth(u) + sum of thresholds_b |u_b|`` over one block at a time.

    ``smooth`` is a quadratic with the given Hessian (m, m), diagonal within every block, and slope
    (m,) at u (m,); u and slope are updated. Blocks lie between the ``starts`` (blocks + 1,). Blocks
    of several variables need positive thresholds and curvatures; a single u_j without curvature is
    left unchanged. Ends after an epoch that gained no more than ``enough``.
    """
    found = _loops.block_coordinate_descent(
        hessian, starts, thresholds, u, slope, max_epochs, enough
    )
    return DescentResult(*found)
