"""Rows whose largest margin is known, with the proof."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..numeric import checks
from ..numeric.types import Array, Ints
from .draws import alternating, generator, unit


class Separable(NamedTuple):
    """Rows whose best separator is known, and the proof that it is the best.

    With ``s`` -1 for label 0 and +1 for label 1, the signed rows are ``z = s * (x, 1)``. Every
    one has ``z.v >= margin`` at the unit vector ``v = (coef, intercept)``, and the sum of
    ``weights * z[support]`` is ``margin * v``. No other unit vector can do better: its smallest
    ``z.v`` is at most the weighted mean over the support, which is at most the norm of that sum.

    Examples
    --------
    >>> data = separable(n=20, margin=0.25, random_state=0)
    >>> signed = (2 * data.y - 1) * (data.X @ data.coef + data.intercept)
    >>> round(float(signed.min()), 6), data.margin
    (0.25, 0.25)
    """

    X: Array
    """(n, d)."""
    y: Ints
    """(n,): 0 and 1."""
    coef: Array
    """(d,)."""
    intercept: float
    """Intercept of the best separator."""
    margin: float
    """Its margin."""
    support: Ints
    """Rows that touch the margin; all others are outside of it."""
    weights: Array
    """One per row of the support, above 0, with sum 1."""


def separable(n: int = 100, d: int = 2, margin: float = 0.1, random_state: Any = None) -> Separable:
    """Two classes with a known largest margin, in the sense of the perceptron's bound.

    The margin is the largest, over unit vectors (w, b) in d + 1 dimensions, of the smallest
    ``+-(w.x + b)``: from zeros, with a constant step, the online perceptron makes at most
    ``(R / margin)^2`` mistakes, where R is the largest ``|(x, 1)|``. The margin holds by
    construction, up to the rounding of the rows.

    The sum of the weighted support must be ``margin * (w, b)``. Its last entry, the weight of one
    class minus that of the other, determines the weights of the classes. Along w the sum is then
    correct because each row has the margin; across w, the support of a class is a mirrored pair, or
    for n < 4 or d = 1 a single row without any offset.

    Parameters
    ----------
    n : int
        Number of rows.
    d : int
        Number of features.
    margin : float
        The largest margin of a unit vector (w, b).
    random_state : int, Generator, RandomState or None
        Seed.

    Examples
    --------
    >>> data = separable(n=20, margin=0.25, random_state=0)
    >>> sign = np.where(data.y == 1, 1.0, -1.0)
    >>> round(float(min(sign * (data.X @ data.coef + data.intercept))), 12)
    0.25
    >>> X, y = data[:2]
    """
    n = checks.integer("n", n, least=2, why="one row of each class")
    d = checks.integer("d", d)
    # Outside these bounds rounding, not the construction, would determine the margin.
    margin = checks.number("margin", margin, least=1e-10, most=1e10)
    rng = generator(random_state)
    size = max(1.0, margin)
    intercept = float(rng.uniform(-0.5, 0.5)) / size  # small enough for both weights above 0
    norm = math.sqrt(1.0 - intercept**2)
    direction = unit(rng.standard_normal(d))

    touching = 4 if n >= 4 and d >= 2 else 2  # rows of the support: the first, before the shuffle
    signs = 2.0 * alternating(n) - 1.0
    distances = margin + size * rng.uniform(0.05, 2.0, n)
    distances[:touching] = margin
    across = size * rng.standard_normal((n, d))
    across -= np.outer(across @ direction, direction)
    if touching == 4:
        across[2:4] = -across[:2]
    else:
        across[:2] = 0.0
    X = across + np.outer((signs * distances - intercept) / norm, direction)

    order = rng.permutation(n)
    return Separable(
        X[order],
        (signs[order] > 0.0).astype(np.int64),
        norm * direction,
        intercept,
        margin,
        np.argsort(order)[:touching].astype(np.int64),
        (1.0 + signs[:touching] * margin * intercept) / touching,
    )
