"""Gradient descent on any function of a number or an array.

Problem: find a stationary point of f, given f and its gradient. Input: both as callables, a start,
step sizes. Output: the point, every point on the way with its value, and the reason for the end.
Algorithm: x <- x - step * gradient(x), until it converges, repeats or diverges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..numeric import checks
from ..numeric.tolerances import EPS
from ..numeric.types import Array
from ..schedules import Constant, LearningRate, as_schedule, step_sizes
from .cycles import CycleFinder

# A point counts as repeated if it is this close, relative to the distance covered meanwhile, at
# least this many steps later; what moves less, in units of its rounding, stands still.
SAME_POINT, STEPS_TO_NEAR_CYCLE, STANDS_STILL = 1e-13, 64, 64.0
# Growth is detected after this many steps; falling values must have fallen this far, because the
# descent from a saddle point at first looks like divergence.
STEPS_TO_GROWTH, FALLEN = 24, 1e32


@dataclass(frozen=True)
class Descent:
    """Path and end of a gradient descent.

    See Also
    --------
    gradient_descent : returns it.
    DescentDisplay : plots it.

    Examples
    --------
    >>> from separatrix import gradient_descent
    >>> run = gradient_descent(lambda x: x**2, lambda x: 2 * x, -1, learning_rate=0.25)
    >>> run.stop, run.path[:3].tolist(), run.values[:3].tolist()
    ('converged', [-1.0, -0.5, -0.25], [1.0, 0.25, 0.0625])
    """

    x: Any
    """The final point."""
    stop: str
    """Why it ended: see :func:`gradient_descent`."""
    path: Array = field(repr=False)
    """Every point from the start, one per row."""
    values: Array = field(repr=False)
    """The function at each point."""


def gradient_descent(
    function: Callable[[Any], float],
    gradient: Callable[[Any], Any],
    start: Any,
    *,
    learning_rate: LearningRate = 0.1,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Descent:
    """Follow ``x <- x - step * gradient(x)`` from ``start``, a number or an array.

    ``stop`` says why it ended:

    - ``"converged"``: the largest entry of the gradient is at most ``tol`` times the largest so
      far. The point is stationary, but not always a minimum, let alone the global one; a start
      with gradient 0 stays.
    - ``"oscillating"``: with a constant step the run has returned to an earlier point, to the last
      bits, after moving away from it: it repeats forever.
    - ``"diverging"``: the point or the function overflowed floating point; or, after ``max_iter``
      steps, the function still rises (or falls, far below -1e32) while the steps grow by a factor
      that does not fall.
    - ``"undefined"``: the function or its gradient is NaN at a point.
    - ``"max_iter"``: none of these. A function that falls forever at a constant rate, such as a
      linear one, also ends like this: it cannot be distinguished from a long way to a minimum.
      function does: no run can tell it from a long way to a minimum.

    Parameters
    ----------
    function, gradient : callables
        The function of a number or an array, and its derivative of the same shape.
    start : number or array
        The first point.
    learning_rate : number, schedule or callable
        Step size, or ``t -> step size``.
    tol : float
        Tolerance relative to the largest gradient so far.
    max_iter : int
        Maximum number of steps.

    See Also
    --------
    DescentDisplay : plots a descent in one variable.
    GradientDescent : gradient descent on data and a loss.

    Examples
    --------
    >>> def run(step):
    ...     return gradient_descent(lambda x: x**2, lambda x: 2 * x, -1, learning_rate=step)
    >>> run(1.0), run(0.4).stop, run(1.1).stop
    (Descent(x=-1.0, stop='oscillating'), 'converged', 'diverging')
    """
    if not checks.is_number(tol) or not tol >= 0.0:
        raise ValueError(f"tol must be a number and not negative, got {tol!r}")
    if not checks.is_integer(max_iter) or max_iter < 1:
        raise ValueError(f"max_iter must be a whole number of 1 or more, got {max_iter!r}")
    try:
        x = np.array(start, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"start must be a number or an array of numbers, got {start!r}") from None
    if not np.all(np.isfinite(x)):
        raise ValueError(f"start must be finite, got {start!r}")
    schedule = as_schedule(learning_rate)
    path, values = [x], [_value(function, x)]
    cycle = _DriftingCycleFinder(x) if isinstance(schedule, Constant) else None
    largest, t = 0.0, 1
    with np.errstate(over="ignore", invalid="ignore"):
        while True:
            g = _gradient(gradient, x)
            size = float(np.max(np.abs(g), initial=0.0))
            largest = max(largest, size)
            stop = _end(x, values[-1], size, tol * largest)
            if stop is None and cycle is not None and t > 1 and cycle.closes(x):
                stop = "oscillating"
            if stop is None and t > max_iter:
                stop = "diverging" if _grows(np.array(path), np.array(values)) else "max_iter"
            if stop is not None:
                return Descent(_point(x), stop, np.array(path), np.array(values))
            x = x - step_sizes(schedule, t, 1)[0] * g
            path.append(x)
            values.append(_value(function, x) if np.all(np.isfinite(x)) else np.inf)
            t += 1


def _point(x: Array) -> Any:
    """Return a number if the start was one."""
    return float(x) if x.ndim == 0 else x


def _value(function: Callable[[Any], float], x: Array) -> float:
    try:
        value = np.asarray(function(_point(x.copy())), dtype=float)
    except OverflowError:  # Python floats raise where NumPy returns infinity
        return np.inf
    if value.size != 1:
        raise ValueError(
            f"function returned an array of shape {value.shape}, expected a single number"
        )
    return float(value.reshape(()))


def _gradient(gradient: Callable[[Any], Any], x: Array) -> Array:
    """Gradient at x; infinite if x or the gradient overflows."""
    if not np.all(np.isfinite(x)):
        return np.full(x.shape, np.inf)
    try:
        g = np.asarray(gradient(_point(x.copy())), dtype=float)
    except OverflowError:
        return np.full(x.shape, np.inf)
    if g.shape != x.shape:
        raise ValueError(
            f"gradient returned an array of shape {g.shape}, expected {x.shape}, the shape of start"
        )
    return g


def _end(x: Array, value: float, size: float, small: float) -> str | None:
    """The end that follows from the point alone, its gradient norm, and what counts as small."""
    if not np.all(np.isfinite(x)) or np.isinf(value):
        return "diverging"
    if np.isnan(value) or np.isnan(size):
        return "undefined"
    return "converged" if size <= small else None


class _DriftingCycleFinder(CycleFinder):
    """Finds cycles, exact or drifting.

    Equal bits are proof. Rounding may let a cycle drift, so a point that is nearly the same also
    counts, but only after many steps, when slow convergence would show. Cycles as small as the
    rounding of their points belong to runs that have converged or cannot move.
    """

    def __init__(self, start: Array) -> None:
        super().__init__(start, first_renewal=2)
        self.extent = np.zeros(start.shape)

    def is_back(self, point: Array) -> bool:
        """Whether this is the landmark, up to the drift of a cycle."""
        if self.distance == 0:
            self.extent = np.zeros(point.shape)
        apart = np.abs(point - self.landmark)
        self.extent = np.maximum(self.extent, apart)
        if not np.any(self.extent > STANDS_STILL * EPS * np.abs(point)):
            return False
        near = SAME_POINT * self.extent if self.distance + 1 >= STEPS_TO_NEAR_CYCLE else 0.0
        return bool(np.all(apart <= near))


def _grows(path: Array, values: Array) -> bool:
    """Whether a run grows by a factor that does not fall until its end.

    Checks the second half, comparing with two steps before, as every other step may be shorter.
    For a quadratic function the logarithm of the steps is convex; growth that slows down belongs
    to another function and may end.
    """
    if len(path) <= STEPS_TO_GROWTH:
        return False
    half = len(path) // 2
    late = values[half:]
    change = late[2:] - late[:-2]
    falls = np.all(change < 0.0) and late[-1] < -FALLEN * max(1.0, abs(values[0]))
    moves = np.abs(np.diff(path[half:], axis=0)).reshape(len(late) - 1, -1).max(axis=1)
    if not (falls or np.all(change > 0.0)) or not np.all(moves[2:] > moves[:-2]):
        return False
    quarter = 2 * ((len(moves) - 1) // 4)
    first, middle, last = np.log(moves[[-1 - 2 * quarter, -1 - quarter, -1]])
    return bool(last - middle >= (middle - first) * (1.0 - 1e-6))
