"""Gradient descent on any function: the lecture's detour before the perceptron."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .schedules import LearningRate, as_schedule, step_sizes
from .typing import Array

# Steps in a row, each longer than the last, on which the function rose, or whichever way it went:
# it will not come back.
RISING, GROWING = 25, 200


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
    was two steps ago), ``"diverging"`` (its steps grow longer and longer while the function
    rises, or for very long, or the function is no longer finite) or ``"max_iter"``. What it
    converges to is a stationary point of the basin
    it started in, not always the lowest.

    >>> def run(step):
    ...     return gradient_descent(lambda x: x**2, lambda x: 2 * x, -1, learning_rate=step)
    >>> run(1.0), run(0.4).stop, run(1.1).stop
    (Descent(x=-1.0, stop='oscillating'), 'converged', 'diverging')
    """
    if isinstance(tol, bool) or not isinstance(tol, (int, float)) or not tol >= 0.0:
        raise ValueError(f"tol must be a number and not negative, got {tol!r}")
    if isinstance(max_iter, bool) or not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise ValueError(f"max_iter must be a whole number of 1 or more, got {max_iter!r}")
    try:
        x = np.array(start, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"start must be a number or an array of numbers, got {start!r}") from None
    if not np.all(np.isfinite(x)):
        raise ValueError(f"start must be finite, got {start!r}")
    schedule = as_schedule(learning_rate)
    path, values = [x], [_value(function, x)]
    rising = growing = 0
    stop = "max_iter"
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(1, int(max_iter) + 1):
            g = np.asarray(gradient(_point(x.copy())), dtype=float)
            if g.shape != x.shape:
                raise ValueError(
                    f"gradient returned an array of shape {g.shape}, expected {x.shape}, "
                    "the shape of start"
                )
            x = x - step_sizes(schedule, t, 1)[0] * g
            path.append(x)
            values.append(_value(function, x) if np.all(np.isfinite(x)) else np.inf)
            growing = growing + 1 if len(path) > 2 and _length(path) > _length(path, 1) else 0
            rising = rising + 1 if growing and values[-1] > values[-2] else 0
            if rising >= RISING or growing >= GROWING or not np.isfinite(values[-1]):
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
        value = np.asarray(function(_point(x.copy())), dtype=float)
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


def _oscillates(path: list[Array], tol: float) -> bool:
    """Back at the point of two steps ago, having been elsewhere."""
    if len(path) < 3:
        return False
    moved, back = _length(path), float(np.linalg.norm(path[-1] - path[-3]))
    return moved > 0.0 and back <= min(tol, 1e-8) * moved


def _settled(path: list[Array], values: list[float], tol: float) -> bool:
    """A small change of the function alone is no convergence: it must hardly move either.

    Nor while steps grow: near the start of a slow escape both are small.
    """
    if len(path) < 3 or _length(path) > _length(path, 1):
        return False
    flat = abs(values[-1] - values[-2]) <= tol * max(1.0, abs(values[-1]))
    return flat and _length(path) <= np.sqrt(tol) * max(1.0, float(np.linalg.norm(path[-1])))
