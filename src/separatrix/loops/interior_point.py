"""Steps of an interior point method for the hinge, one after another without Python."""

from __future__ import annotations

from typing import NamedTuple

from ..numeric.rows import RowArrays
from ..numeric.standardization import Standardization
from ..numeric.types import Array
from ._compiled import _loops


class HingePairs(NamedTuple):
    """Weights of two classes (d + 1,), and the complementary pairs of every row, (n,) each."""

    w: Array
    alpha: Array
    upper_slack: Array
    slack: Array
    xi: Array


def interior_points(
    rows: RowArrays,
    y: Array,
    share: Array,
    at: HingePairs,
    *,
    l2: float,
    intercept: bool,
    standardization: Standardization,
    enough: float,
) -> int:
    """Take steps from a point until the gap is about ``enough`` of J, and return their number.

    ``share`` is the share of every row in the total weight. Newton's systems are those of the
    standardised variables. All pairs must be positive. A step that would be very short, or is not
    finite, is not taken and is the last. Writes the point.
    """
    return _loops.interior_points(
        rows, y, share, l2, intercept, standardization.mean, standardization.scale, *at, enough
    )
