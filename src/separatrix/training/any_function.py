"""Gradient descent on any function of a number or an array, and how it ended.

Problem: a stationary point of f, given f and its gradient. Input: both as callables, a start, step
sizes. Output: the point, every point on the way with its value, and a word for the end. Algorithm:
x <- x - step * gradient(x), until it comes to rest, comes back or leaves all bounds.
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

# A point counts as met again if it is so near, as a share of how far the run went meanwhile, so
# many steps later at least; what moves less, in units of its rounding, stands still.
SAME_POINT, STEPS_TO_NEAR_CYCLE, STANDS_STILL = 1e-13, 64, 64.0
# Growth is told after so many steps; values that fall must have fallen so far, as the way down
# from a saddle grows at first like one without end.
STEPS_TO_GROWTH, FALLEN = 24, 1e32


@dataclass(frozen=True)
class Descent:
    """Where gradient descent went, and how it ended.

    See Also
    --------
    gradient_descent : returns it.
    DescentDisplay : draws it.

    Examples
    --------
    >>> from separatrix import gradient_descent
    >>> run = gradient_descent(lambda x: x**2, lambda x: 2 * x, -1, learning_rate=0.25)
    >>> run.stop, run.path[:3].tolist(), run.values[:3].tolist()
    ('converged', [-1.0, -0.5, -0.25], [1.0, 0.25, 0.0625])
    """

    x: Any
    """Where it ended."""
    stop: str
    """How: see :func:`gradient_descent`."""
    path: Array = field(repr=False)
    """Every point from the start on, one per row."""
    values: Array = field(repr=False)
    """The function at each of them."""


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

    ``stop`` says how it ended:

    - ``"converged"``: the largest entry of the gradient is at most ``tol`` times the largest ever
      met. The point is stationary, if not always a minimum, let alone the lowest: it is that of
      the basin the run started in; a start at which the gradient is 0 stays.
    - ``"oscillating"``: with a constant step the run is back where it was, to the last bits, any
      number of steps ago, having been elsewhere: it goes round for ever.
    - ``"diverging"``: the point or the function grew beyond floating point; or ``max_iter`` steps
      are over, and the function still rises (or falls, far below -1e32) while the steps grow by a
      factor that does not fall.
    - ``"undefined"``: the function or its gradient is not a number at a point.
    - ``"max_iter"``: none of these. So ends what falls for ever at an even pace, as a linear
      function does: no run can tell it from a long way to a minimum.

    Parameters
    ----------
    function, gradient : callables
        Of a number or an array: the function, and its derivative of the same shape.
    start : number or array
        The first point.
    learning_rate : number, schedule or callable
        Step size, or ``t -> step size``.
    tol : float
        Beside the largest gradient met, what counts as none.
    max_iter : int
        Most steps.

    See Also
    --------
    DescentDisplay : a picture of it, of one variable.
    GradientDescent : the same on rows and a loss.

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
    """A number if the start was one."""
    return float(x) if x.ndim == 0 else x


def _value(function: Callable[[Any], float], x: Array) -> float:
    try:
        value = np.asarray(function(_point(x.copy())), dtype=float)
    except OverflowError:  # Python's numbers raise where NumPy's become infinite
        return np.inf
    if value.size != 1:
        raise ValueError(
            f"function returned an array of shape {value.shape}, expected a single number"
        )
    return float(value.reshape(()))


def _gradient(gradient: Callable[[Any], Any], x: Array) -> Array:
    """At x; where x or the gradient is beyond floating point, infinite."""
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
    """What the point by itself says, with the size of its gradient, and what counts as small."""
    if not np.all(np.isfinite(x)) or np.isinf(value):
        return "diverging"
    if np.isnan(value) or np.isnan(size):
        return "undefined"
    return "converged" if size <= small else None


class _DriftingCycleFinder(CycleFinder):
    """Whether points come back, or nearly so.

    The same bits are proof. Rounding may let a cycle drift: so a point that is nearly the same
    counts too, but only long after, when a run that slowly draws nearer would show. Cycles as small
    as the rounding of their points are those of a run that has arrived, or cannot move.
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
    """Whether a run grows to its end, by a factor that does not fall.

    In its second half, and compared with two steps before, as every other step may be shorter.
    Where a function is quadratic the logarithm of its steps is convex, so that growth which slows
    down is that of another function, and may end.
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
