"""The two-loop recursion of L-BFGS: a direction from the curvature along the last steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..numeric.types import Array
from ._compiled import _loops


class CurvaturePair(NamedTuple):
    """A step and the change of the gradient along it."""

    s: Array  # the step
    y: Array  # the change of the gradient
    sy: float  # their product, above 0
    yy: float  # the squared length of the change


def two_loop(gradient: Array, pairs: Sequence[CurvaturePair]) -> tuple[Array, float]:
    """``-B gradient`` for the inverse Hessian B estimated from the pairs, and the slope along it.

    The latest pair is the last.
    """
    direction = np.empty_like(gradient)
    curvature = np.array([pair.sy for pair in pairs])
    slope = _loops.two_loop(
        gradient, [pair.s for pair in pairs], [pair.y for pair in pairs], curvature,
        pairs[-1].sy / pairs[-1].yy if pairs else 1.0,
        direction,
    )  # fmt: skip
    return direction, slope
