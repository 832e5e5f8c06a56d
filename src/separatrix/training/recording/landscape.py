"""Weight space: the objective or the mistakes over two of the weights of a run."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ...numeric.types import AnyArray, Array
from .contours import contour

Evaluate = Callable[[Array], tuple[Array, Array]]
"""Mistakes and objective for several weights, (m, k, d + 1)."""
KINDS = ("mistakes", "objective")
MOST_LEVELS = 12  # number of contours, and of bands between them
FLAT = 1e-12  # relative difference of levels that may be rounding of a mean over rows
SAVED_SIZE = 40  # grid points per side on a saved page
SAVED_NAMES = 3
"""A saved page has a landscape for each pair of the first weights, up to this number."""
MOST_SAVED = 150  # most landscapes on a saved page: the objective and the mistakes take 10 kB each
MOST_ROWS_EVALUATED = 1 << 24  # time for computing them: a second or two
FAR = 1e6  # points further out are ignored


def values_on_grid(
    evaluate: Evaluate, W: Array, column: int, axes: Sequence[int], box: Sequence[float], size: int
) -> dict[str, Array]:
    """Mistakes and objective (size, size), rows upwards; all other weights as in W."""
    across, up = np.linspace(box[0], box[1], size), np.linspace(box[2], box[3], size)
    all_ = np.repeat(W[None], size * size, axis=0)
    pairs = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    all_[:, column, list(axes)] = pairs
    found = [np.asarray(one, float).reshape(size, size) for one in evaluate(all_)]
    for one in found:
        one[np.isnan(one)] = np.inf
    return dict(zip(KINDS, found, strict=True))


def banded(values: Array, smooth: bool) -> dict[str, Any]:
    """Levels, bands and contours of values on a grid.

    ``bands`` has a letter for each grid point, row by row upwards, "a" the lowest; ``levels`` are
    the smallest values of the bands, and ``lines`` the contours between them, unless the values
    are a step function.
    """
    quantiles = np.quantile(values, np.linspace(0.0, 1.0, MOST_LEVELS), method="lower")
    levels = _distinct(quantiles, smooth)
    bands = np.searchsorted(levels, values.ravel(), side="right") - 1
    lines = [contour(values, level) for level in levels[1:] if level < np.inf] if smooth else []
    letters = "".join(chr(ord("a") + band) for band in bands.tolist())
    return {"levels": levels.tolist(), "lines": lines, "bands": letters}


def _distinct(quantiles: Array, smooth: bool) -> Array:
    """Levels that differ by more than rounding; smooth ones are just below flat parts."""
    levels = np.unique(quantiles)
    rounding = FLAT * np.abs(np.where(np.isinf(levels), 0.0, levels))
    kept = np.append(True, np.diff(levels) > rounding[1:])
    if smooth:
        levels = np.append(levels[:1], levels[1:] - 2.0 * rounding[1:])
    found: Array = levels[kept]
    return found


def saved_landscapes(
    evaluate: Evaluate, weights: Array, steps: Sequence[int], n_rows: int, intercept: bool
) -> dict[str, Any]:
    """Landscapes at the start and at these steps, for each pair of the first weights per column.

    Steps with the same weights share a landscape. If that would be too many, evenly spaced steps
    have one, which also represents nearby steps: ``at`` has their indices among the steps.
    """
    states = weights[[0, *steps]]
    views = list(_views(states.shape, intercept))
    each = MOST_ROWS_EVALUATED // max(1, SAVED_SIZE**2 * n_rows * states.shape[1])
    most = max(1, min(MOST_SAVED, each) // max(1, len(views)))
    return {
        "size": SAVED_SIZE,
        "views": [_saved_view(evaluate, states, column, axes, most) for column, axes in views],
    }


def _views(shape: tuple[int, ...], intercept: bool) -> Iterator[tuple[int, tuple[int, int]]]:
    names = min(SAVED_NAMES, shape[2] if intercept else shape[2] - 1)
    for column in range(shape[1]):
        for axes in combinations(range(names), 2):
            yield column, axes


def _saved_view(
    evaluate: Evaluate, states: Array, column: int, axes: tuple[int, int], most: int
) -> dict[str, Any]:
    walk = states[:, column, list(axes)]
    box = [end for side in walk.T for end in _reach(side)]
    held = states.copy()
    held[:, column, list(axes)] = 0.0
    at, of = _representatives(held, most)
    lands = [values_on_grid(evaluate, held[step], column, axes, box, SAVED_SIZE) for step in at]
    layers = {kind: [_short(banded(land[kind], kind == "objective")) for land in lands]
            for kind in KINDS}  # fmt: skip
    return {"column": column, "axes": list(axes), "box": box, "at": at, "of": of, **layers}


def _reach(side: Array) -> tuple[float, float]:
    """The range of an axis that the path needs, with a margin."""
    seen = side[np.abs(side) < FAR]
    if not len(seen):
        return -1.0, 1.0
    low, high = float(seen.min()), float(seen.max())
    room = 0.25 * (high - low) or 1.0
    return low - room, high + room


def _representatives(held: Array, most: int) -> tuple[list[int], list[int]]:
    """Indices of distinct states, and for every state the index of its representative."""
    flat = held.reshape(len(held), -1)
    _, first, of = np.unique(flat, axis=0, return_index=True, return_inverse=True)
    if len(first) <= most:
        return first.tolist(), of.ravel().tolist()
    at = np.unique(np.linspace(0, len(held) - 1, most).round().astype(int))
    nearest = np.abs(np.arange(len(held))[:, None] - at[None]).argmin(axis=1)
    return at.tolist(), nearest.tolist()


def _short(land: dict[str, Any]) -> dict[str, Any]:
    """Encode the bands and lines as bytes."""
    pieces: AnyArray = np.array([piece for line in land["lines"] for piece in line], "<u2")
    return land | {"lines": base64.b64encode(pieces.tobytes()).decode()}
