"""Datasets for teaching: each is small, generated on demand, and has one known property.

=================== ======================================================================
name                known property
=================== ======================================================================
``logic``           AND and OR can be separated, XOR cannot
``separable``       the best separator and its margin, with a proof from a few rows
``overlapping``     no plane separates it, not even weakly: the logistic loss has a minimum
``ring``            without noise, no line separates it, and the radius does
``spirals``         without noise, the angle minus the radius times a constant separates it
``blobs``           k classes around centres that are 6 apart
``sorted_by_class`` all rows of one class come first: to show what happens without a shuffle
``badly_scaled``    equally good features, in scales too different for one step size
=================== ======================================================================

The rows are shuffled, except where their order is the point. ``random_state`` is an int, a numpy
Generator or RandomState, or None for different rows at every call.

>>> X, y = logic("xor")
>>> y
array([0, 1, 1, 0])
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..numeric import checks
from ..numeric.types import AnyArray, Array, Ints
from .draws import alternating, generator, polar, shuffled
from .known_margin import Separable, separable

__all__ = [
    "Separable", "badly_scaled", "blobs", "logic", "overlapping", "ring", "separable",
    "sorted_by_class", "spirals",
]  # fmt: skip

CORNERS = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))  # of the unit square
GATES = {"and": (0, 0, 0, 1), "or": (0, 1, 1, 1), "xor": (0, 1, 1, 0)}
APART = 6.0  # distance between neighbouring centres of blobs: at spread 1 the classes barely touch


def logic(name: str, labels: tuple[Any, Any] = (0, 1)) -> tuple[Array, AnyArray]:
    """Truth table of "and", "or" or "xor": the rows 00, 01, 10, 11 in this order.

    ``labels`` are the labels of false and true.

    Parameters
    ----------
    name : {"and", "or", "xor"}
        The gate.
    labels : pair
        The labels of false and true.

    Examples
    --------
    >>> logic("and", labels=(-1, 1))[1]
    array([-1, -1, -1,  1])
    """
    if not isinstance(name, str) or name not in GATES:
        raise ValueError(f"unknown gate {name!r}; choose one of {', '.join(GATES)}")
    pair: AnyArray = np.array(labels)
    if pair.shape != (2,) or pair[0] == pair[1]:
        raise ValueError(
            f"labels must be two different labels, for false and true, such as (0, 1) or "
            f"(-1, 1), got {labels!r}"
        )
    return np.array(CORNERS), pair[list(GATES[name])]


def overlapping(
    n: int = 200, d: int = 2, separation: float = 1.0, random_state: Any = None
) -> tuple[Array, Ints]:
    """Two Gaussian clouds of unit variance, their centres ``separation`` apart.

    They overlap for certain, however far apart: the origin and the d unit vectors are rows of both
    classes, and no plane can classify both rows at a point correctly. Only w = 0, b = 0 gives zero
    at all d + 1 points, so no plane is even weakly correct everywhere, and the logistic loss has
    its minimum at finite weights without any penalty.

    Parameters
    ----------
    n : int
        Number of rows.
    d : int
        Number of features.
    separation : float
        Distance between the centres.
    random_state : int, Generator, RandomState or None
        Seed.

    Examples
    --------
    >>> X, y = overlapping(n=50, d=3, random_state=0)
    >>> X.shape, np.bincount(y)
    ((50, 3), array([25, 25]))
    """
    d = checks.integer("d", d)
    n = checks.integer(
        "n", n, least=2 * (d + 1), why=f"for d={d}, two rows at each of d + 1 points"
    )
    separation = checks.number("separation", separation)
    rng = generator(random_state)
    y = alternating(n)
    X = rng.standard_normal((n, d)) + np.outer(y - 0.5, np.full(d, separation / math.sqrt(d)))
    X[: 2 * (d + 1)] = np.repeat(np.eye(d + 1, d), 2, axis=0)
    return shuffled(rng, X, y)


def ring(n: int = 200, noise: float = 0.1, random_state: Any = None) -> tuple[Array, Ints]:
    """A disc of radius 1/2 (class 0) inside a circle of radius 1 (class 1), plus noise.

    The points of the circle are evenly spaced. Without noise the disc therefore lies within
    their hull, and no line separates the two; the feature ``|x|^2`` does.

    Parameters
    ----------
    n : int
        Number of rows.
    noise : float
        Standard deviation of the noise.
    random_state : int, Generator, RandomState or None
        Seed.

    Examples
    --------
    >>> X, y = ring(n=20, noise=0, random_state=0)
    >>> bool(np.all((np.linalg.norm(X, axis=1) > 0.75) == y))
    True
    """
    n = checks.integer("n", n, least=6, why="three rows of each class")
    noise = checks.number("noise", noise)
    rng = generator(random_state)
    y = alternating(n)
    radius = np.where(y == 1, 1.0, 0.5 * np.sqrt(rng.random(n)))
    turn = rng.random(n)
    turn[y == 1] = (np.arange(n // 2) + rng.random()) / (n // 2)
    X = polar(radius, turn) + noise * rng.standard_normal((n, 2))
    return shuffled(rng, X, y)


def spirals(
    n: int = 200, turns: float = 1.5, noise: float = 0.05, random_state: Any = None
) -> tuple[Array, Ints]:
    """Two intertwined spirals, one the other rotated by half a turn.

    Without noise a row of class y at radius r, between 0.1 and 1, is at ``turns * r + y / 2``
    of a full circle.

    Parameters
    ----------
    n : int
        Number of rows.
    turns : float
        Number of turns of each spiral.
    noise : float
        Standard deviation of the noise.
    random_state : int, Generator, RandomState or None
        Seed.

    Examples
    --------
    >>> X, y = spirals(n=50, random_state=0)
    >>> X.shape, np.bincount(y)
    ((50, 2), array([25, 25]))
    """
    n = checks.integer("n", n, least=2, why="one row of each class")
    turns = checks.number("turns", turns, least=0.0, strict=True)
    noise = checks.number("noise", noise)
    rng = generator(random_state)
    y = alternating(n)
    radius = 0.1 + 0.9 * np.sqrt(rng.random(n))
    X = polar(radius, turns * radius + 0.5 * y) + noise * rng.standard_normal((n, 2))
    return shuffled(rng, X, y)


def blobs(
    k: int = 3, n: int = 300, d: int = 2, spread: float = 1.0, random_state: Any = None
) -> tuple[Array, Ints]:
    """k Gaussian clouds of standard deviation ``spread``, labelled 0 to k - 1.

    The centres are on a circle in the first two features (on a line for d = 1), each 6 from the
    next, so that ``spread`` alone determines the difficulty. Class sizes differ by at most one.

    Parameters
    ----------
    k : int
        Number of classes.
    n : int
        Number of rows.
    d : int
        Number of features.
    spread : float
        Standard deviation of each cloud.
    random_state : int, Generator, RandomState or None
        Seed.

    Examples
    --------
    >>> X, y = blobs(k=4, n=10, spread=0, random_state=0)
    >>> np.bincount(y), len(np.unique(X, axis=0))
    (array([3, 3, 2, 2]), 4)
    """
    k, d = checks.integer("k", k, least=2), checks.integer("d", d)
    n = checks.integer("n", n, least=k, why=f"one row of each of k={k} classes")
    spread = checks.number("spread", spread)
    rng = generator(random_state)
    centres = np.zeros((k, d))
    if d == 1:
        centres[:, 0] = APART * np.arange(k)
    else:
        radius = 0.5 * APART / math.sin(math.pi / k)
        centres[:, :2] = polar(np.full(k, radius), np.arange(k) / k)
    y = np.arange(n, dtype=np.int64) % k
    return shuffled(rng, centres[y] + spread * rng.standard_normal((n, d)), y)


def sorted_by_class(n: int = 200, d: int = 2, random_state: Any = None) -> tuple[Array, Ints]:
    """The clouds of ``overlapping`` at separation 2, all of class 0 before all of class 1.

    A method that processes rows one by one in this order forgets the first class while it sees only
    the second, and a test set cut from the end has one class: shuffle first.

    Parameters
    ----------
    n : int
        Number of rows.
    d : int
        Number of features.
    random_state : int, Generator, RandomState or None
        Seed.

    Examples
    --------
    >>> sorted_by_class(n=8, random_state=0)[1]
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    X, y = overlapping(n, d, 2.0, random_state)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def badly_scaled(
    n: int = 200, d: int = 5, decades: float = 6, random_state: Any = None
) -> tuple[Array, Ints]:
    """The clouds of ``overlapping`` at separation 2, with features in very different units.

    The scales range evenly from ``10 ** (-decades / 2)`` to ``10 ** (decades / 2)``. Each feature
    says as much about the class as any other, but no single step size suits them all.

    Parameters
    ----------
    n : int
        Number of rows.
    d : int
        Number of features.
    decades : float
        Ratio of the largest scale to the smallest, in powers of ten.
    random_state : int, Generator, RandomState or None
        Seed.

    Examples
    --------
    >>> X, y = badly_scaled(random_state=0)
    >>> np.log10(X.std(axis=0)[[0, -1]]).round(1)
    array([-3.,  3.])
    """
    d = checks.integer("d", d, least=2, why="one feature at each end of the scale")
    decades = checks.number("decades", decades, least=0.0, most=200.0)
    X, y = overlapping(n, d, 2.0, random_state)
    return X * 10.0 ** np.linspace(-decades / 2, decades / 2, d), y
