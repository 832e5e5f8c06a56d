"""Line searches.

Problem     J along the ray ``W + t * direction``, t >= 0, whose slope at t = 0 is negative.
Input       J, its gradient and the slope at W.
Output      W + t * direction and J there; W itself if no t is suitable.
Algorithm   ``strong_wolfe``: lengthen until a bracket is found, then interpolate inside it.
            ``backtrack``: the whole step, halved until J falls enough (Armijo's condition).
Paper       Nocedal and Wright, Numerical Optimization (2006), algorithms 3.1, 3.5 and 3.6;
            Hager and Zhang, SIAM Journal on Optimization 16 (2005), for what counts as a fall
            below the rounding of J.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from ..numeric.dot import dot
from ..numeric.tolerances import OBJECTIVE_ROUNDING
from ..numeric.types import Array
from ..objective import Evaluation, Objective

SUFFICIENT_DECREASE, CURVATURE = 1e-4, 0.9  # c1 and c2 of the Wolfe conditions
MOST_TRIALS, MOST_HALVINGS = 40, 50  # 2^-50 of a step is below rounding
HIDDEN = 1e-13  # of J: a decrease that its rounding may hide


class Evaluated(Protocol):
    """An evaluated point: J, and other values computed with it."""

    @property
    def value(self) -> float:
        """J."""


E = TypeVar("E", bound=Evaluated)


def strong_wolfe(
    objective: Objective,
    W: Array,
    at: Evaluation,
    direction: Array,
    slope: float,
    rounding: float = OBJECTIVE_ROUNDING,
    trials: int = MOST_TRIALS,
) -> tuple[float, Array, Evaluation]:
    """A length along the direction that meets the strong Wolfe conditions.

    Near the minimum rounding hides the decrease of J long before the gradient vanishes: there, a
    slope that does not overshoot is enough. If none is found, the length is 0 and the weights
    stay. Differences of J within its rounding are ignored.
    """
    low, high = 0.0, np.inf
    best = (0.0, W, at)
    low_value, low_slope = at.value, slope
    length = 1.0
    rounding *= abs(at.value)
    for _ in range(trials):
        there = W + length * direction
        then = objective.value_and_gradient(there)
        steep = dot(then.gradient, direction)
        falls = then.value <= at.value + SUFFICIENT_DECREASE * length * slope or (
            then.value <= at.value + rounding and steep <= (2.0 * SUFFICIENT_DECREASE - 1.0) * slope
        )
        if not np.isfinite(then.value) or not falls or then.value > low_value + rounding:
            high = length
        elif abs(steep) <= -CURVATURE * slope:
            return length, there, then
        else:
            best = (length, there, then)
            if steep > 0.0:
                high, low, low_value, low_slope = low, length, then.value, steep
            else:
                low, low_value, low_slope = length, then.value, steep
        length = _next_length(low, low_value, low_slope, high, length, then.value)
        if not length > 0.0 or length in (low, high):
            break
    return best


def _next_length(
    low: float, low_value: float, low_slope: float, high: float, tried: float, value: float
) -> float:
    """Extrapolate from a step that was too short; interpolate after one that was too long."""
    if np.isinf(high):
        return 2.0 * tried
    width = high - low
    # Minimum of the parabola through low (value and slope) and the last trial, kept inside.
    gap = tried - low
    curvature = value - low_value - low_slope * gap if tried != low and np.isfinite(value) else 0.0
    share = -low_slope * gap * gap / (2.0 * curvature) / width if curvature > 0.0 else 0.5
    return low + width * min(max(share, 0.1), 0.9)


def backtrack(
    evaluate: Callable[[Array], E],
    W: Array,
    at: E,
    direction: Array,
    slope: float,
    along: Callable[[float], Array] | None = None,
) -> tuple[float, Array, E]:
    """The whole step, or the part of it that decreases J: its length, 0 if nothing does.

    Near the minimum the decrease is below the rounding of J: the whole step is then accepted
    unless J clearly rises. ``along`` returns the weights at a length if rounding of the sum ``W +
    length * direction`` matters.
    """
    length = 1.0
    for _ in range(MOST_HALVINGS):
        there = W + length * direction if along is None else along(length)
        then = evaluate(there)
        if then.value <= at.value + SUFFICIENT_DECREASE * length * slope:
            return length, there, then
        if -slope < HIDDEN * abs(at.value):
            if slope < 0.0 and then.value <= at.value + OBJECTIVE_ROUNDING * abs(at.value):
                return length, there, then
            break
        length *= 0.5
    return 0.0, W, at
