"""Gradient descent on any function: the lecture's detour before the perceptron."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .schedules import LearningRate, as_schedule, step_sizes
from .typing import Array

RISING = 25  # steps on which the function rose and the step grew: it will not come back


@dataclass(frozen=True)
class Descent:
    """Where gradient descent went, and how it ended."""

    x: Any
    stop: str
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

    ``stop`` says how it ended: ``"converged"`` (the function changes by no more than
    ``tol * max(1, |f|)`` and the point barely moves), ``"oscillating"`` (it is back where it
    was two steps ago), ``"diverging"`` (the function rises with ever longer steps, or is no
    longer finite) or ``"max_iter"``. What it converges to is a stationary point of the basin
    it started in, not always the lowest.

    >>> def run(step):
    ...     return gradient_descent(lambda x: x**2, lambda x: 2 * x, -1, learning_rate=step)
    >>> run(1.0), run(0.4).stop, run(1.1).stop
    (Descent(x=-1.0, stop='oscillating'), 'converged', 'diverging')
    """
    if not tol >= 0.0:
        raise ValueError(f"tol must not be negative, got {tol!r}")
    if isinstance(max_iter, bool) or max_iter != int(max_iter) or max_iter < 1:
        raise ValueError(f"max_iter must be a whole number of 1 or more, got {max_iter!r}")
    x = np.array(start, dtype=float)
    if not np.all(np.isfinite(x)):
        raise ValueError(f"start must be finite, got {start!r}")
    schedule = as_schedule(learning_rate)
    path, values = [x], [_value(function, x)]
    rising, stop = 0, "max_iter"
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(1, int(max_iter) + 1):
            g = np.asarray(gradient(_point(x)), dtype=float)
            if g.shape != x.shape:
                raise ValueError(
                    f"gradient returned an array of shape {g.shape}, expected {x.shape}, "
                    "the shape of start"
                )
            x = x - step_sizes(schedule, t, 1)[0] * g
            path.append(x)
            values.append(_value(function, x) if np.all(np.isfinite(x)) else np.inf)
            rising = rising + 1 if _rises(path, values) else 0
            if rising >= RISING or not np.isfinite(values[-1]):
                stop = "diverging"
            elif _oscillates(path, tol):
                stop = "oscillating"
            elif _settled(path, values, tol):
                stop = "converged"
            else:
                continue
            break
    return Descent(_point(x), stop, np.array(path), np.array(values))


def _point(x: Array) -> Any:
    """A number if the start was one."""
    return float(x) if x.ndim == 0 else x


def _value(function: Callable[[Any], float], x: Array) -> float:
    try:
        value = np.asarray(function(_point(x)), dtype=float)
    except OverflowError:  # Python's numbers raise where NumPy's become infinite
        return np.inf
    if value.size != 1:
        raise ValueError(
            f"function returned an array of shape {value.shape}, expected a single number"
        )
    return float(value.reshape(()))


def _length(path: list[Array], steps_ago: int = 0) -> float:
    end = len(path) - steps_ago
    return float(np.linalg.norm(path[end - 1] - path[end - 2]))


def _rises(path: list[Array], values: list[float]) -> bool:
    return len(path) > 2 and values[-1] > values[-2] and _length(path) > _length(path, 1)


def _oscillates(path: list[Array], tol: float) -> bool:
    """Back at the point of two steps ago, and not because it hardly moves at all."""
    if len(path) < 3:
        return False
    moved, back = _length(path), float(np.linalg.norm(path[-1] - path[-3]))
    return back <= tol * moved and moved > np.sqrt(tol) * max(1.0, float(np.linalg.norm(path[-1])))


def _settled(path: list[Array], values: list[float], tol: float) -> bool:
    """A small change of the function alone is no convergence: it must hardly move either."""
    flat = abs(values[-1] - values[-2]) <= tol * max(1.0, abs(values[-1]))
    return flat and _length(path) <= np.sqrt(tol) * max(1.0, float(np.linalg.norm(path[-1])))
