"""Gradient descent on a curve of one variable, with the curves of chapter 2 of the course."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import separatrix

from .methods import BadRequest

MOST_STEPS = 200  # of one run: more are not visible on the curve
POINTS = 241  # of the curve that is drawn
FAR = 1e9  # larger coordinates are not reported
NEAR = 1e-3  # distance that counts as at a minimum


class Curve(NamedTuple):
    """A function with its derivative, and the interval to draw."""

    text: str
    function: Callable[[Any], Any]
    gradient: Callable[[Any], Any]
    sides: tuple[float, float]
    minima: tuple[float, ...]


CURVES = {
    "square": Curve("x^2", lambda x: x**2, lambda x: 2.0 * x, (-2.0, 2.0), (0.0,)),
    "two minima": Curve(
        "x^4 - 2 x^2 + 0.5 x",
        lambda x: x**4 - 2.0 * x**2 + 0.5 * x,
        lambda x: 4.0 * x**3 - 4.0 * x + 0.5,
        (-1.7, 1.7),
        tuple(np.sort(np.roots([4.0, 0.0, -4.0, 0.5]).real)[[0, 2]].tolist()),
    ),
}
"""The second curve has its lower minimum left of 0, the other right of it."""


def descent(asked: dict[str, Any]) -> dict[str, Any]:
    """The path, the curve to draw it on, and how it ended."""
    name = asked.get("curve", "square")
    if not isinstance(name, str) or name not in CURVES:
        raise BadRequest(f"curve: expected one of {', '.join(CURVES)}")
    curve = CURVES[name]
    start = _number(asked, "start", curve.sides)
    size = _number(asked, "learning_rate", (1e-4, 10.0))
    found = separatrix.gradient_descent(
        curve.function, curve.gradient, start, learning_rate=size, max_iter=MOST_STEPS
    )
    x = np.linspace(*curve.sides, POINTS)
    near = np.logical_and.accumulate(np.abs(found.path) <= FAR)
    path = found.path[near].tolist()
    gradients = [float(curve.gradient(one)) for one in path]
    steps = zip(path[:-1], gradients[:-1], path[1:], strict=True)
    return {
        "text": curve.text, "x": x.tolist(), "f": curve.function(x).tolist(), "path": path,
        "values": found.values[near].tolist(), "gradients": gradients, "stop": found.stop,
        "arithmetic": [_arithmetic(*one, size) for one in steps],
        "sentence": _sentence(found, curve, size),
    }  # fmt: skip


def _number(asked: dict[str, Any], name: str, sides: tuple[float, float]) -> float:
    value: Any = asked.get(name)
    if type(value) not in (int, float) or not sides[0] <= value <= sides[1]:
        raise BadRequest(f"{name}: expected a number from {sides[0]:g} to {sides[1]:g}")
    return float(value)


def _arithmetic(x: float, gradient: float, after: float, size: float) -> str:
    sign = "-" if gradient >= 0.0 else "+"
    return f"x <- x - {size:g} f'(x): {x:.4g} {sign} {size:g}*{abs(gradient):.4g} = {after:.4g}"


def _sentence(found: Any, curve: Curve, size: float) -> str:
    steps, x = len(found.path) - 1, round(float(found.x), 4) + 0.0
    if found.stop == "diverging":
        return f"With a step of {size:g} the iterates grow ever faster: it diverges."
    if found.stop == "oscillating":
        return f"With a step of {size:g} it returns to an earlier point: it oscillates forever."
    if found.stop != "converged":
        return f"After {steps} steps it is at x = {x:g}, and still moving."
    rounded = "" if found.x == x else " (rounded)"
    at = f"After {steps} {'step' if steps == 1 else 'steps'} it is at x = {x:g}{rounded}"
    lowest = min(curve.minima, key=curve.function)
    if min(abs(found.x - one) for one in curve.minima) > NEAR:
        return f"{at}, where the slope is 0 but there is no minimum: a start there stays."
    if abs(found.x - lowest) > NEAR:
        return f"{at}, a minimum, but not the lowest: only the local slope guides it."
    return f"{at}, the minimum."
