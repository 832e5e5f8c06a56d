"""Sums of products of standardised variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

import numpy as np
from numpy.typing import DTypeLike

from .. import loops
from ..numeric.rows import CsrRows, Rows, shape_of, slice_rows, to_dense
from ..numeric.standardization import Standardization
from ..numeric.threads import ordered_sum
from ..numeric.types import AnyArray, Array
from .moments import VANISHING
from .thresholds import FEW_VALUES, GRAM_ROWS, GRAM_TILE, OWN_GRAM_FEATURES

FAR_FROM_0 = 1e4  # a mean in units of the scale: centred after the sum, 8 of 16 digits would stay


def stays_sparse(rows: Rows, standardization: Standardization) -> TypeGuard[CsrRows]:
    """Whether rows store so few values that these are multiplied alone, and centred afterwards."""
    if not isinstance(rows, CsrRows):
        return False
    n, d = shape_of(rows)
    squares = float(np.sum(np.diff(rows.indptr).astype(np.float64) ** 2))
    scale = standardization.scale[:-1]
    near = np.abs(standardization.mean) <= FAR_FROM_0 * scale
    squared = (scale > VANISHING) & (scale < 1.0 / VANISHING)  # and still a number
    return squares <= FEW_VALUES * n * d**2 and bool(np.all(near & squared))


def gram(
    rows: Rows, weight: Array, standardization: Standardization, dtype: DTypeLike = np.float64
) -> Array:
    """Z.T diag(weight) Z for the rows Z = (x - mean, 1) / scale, a few at a time in a precision.

    Their sum is in float64, as are all of them where features are few.
    """
    n, d = shape_of(rows)
    total, mean, factor = (
        np.zeros((d + 1, d + 1)),
        standardization.mean,
        1.0 / standardization.scale,
    )
    own = d <= OWN_GRAM_FEATURES
    if stays_sparse(rows, standardization) or (own and not isinstance(rows, CsrRows)):
        loops.gram(rows, weight, mean, factor, total)
        return total
    symmetric = n == 0 or weight.min() >= 0.0  # then BLAS computes half of it
    for start in range(0, n, GRAM_ROWS):
        some, c = (
            slice_rows(rows, start, min(start + GRAM_ROWS, n)),
            weight[start : start + GRAM_ROWS],
        )
        if own:
            loops.gram(to_dense(some), c, mean, factor, total)
            continue
        z = standardization.rows(some, dtype)
        if symmetric:
            z *= np.sqrt(c[:, None]).astype(dtype)
            total += z.T @ z
        else:
            total += (c[:, None] * z).T @ z
    return total


def gram_blocked(
    parts: Iterable[tuple[Rows, Array]],
    standardization: Standardization,
    dtype: DTypeLike,
    threads: int,
) -> AnyArray:
    """The same over parts of rows and weights, none negative, for many features.

    The sum is held once, in a precision of its own: threads share its tiles, not the rows.
    """
    d = len(standardization.scale)
    total = np.zeros((d, d), dtype)
    edges = np.linspace(0, d, -(-d // GRAM_TILE) + 1).astype(int)
    cuts = list(map(slice, edges[:-1], edges[1:]))
    tiles = [(a, b) for number, a in enumerate(cuts) for b in cuts[number:]]

    def add_part(rows: Rows, weight: Array) -> None:
        z = np.empty((len(weight), d), dtype)
        some = [slice(start, start + GRAM_TILE // 4) for start in range(0, len(z), GRAM_TILE // 4)]

        def fill(at: slice) -> tuple[()]:
            z[at] = standardization.rows(slice_rows(rows, at.start, min(at.stop, len(z))), dtype)
            z[at] *= np.sqrt(weight[at, None]).astype(dtype)
            return ()

        def add(tile: tuple[slice, slice]) -> tuple[()]:
            a, b = tile
            total[tile] += z[:, a].T @ z[:, b]
            return ()

        ordered_sum(fill, some, threads)
        ordered_sum(add, tiles, threads)

    stored = np.zeros((0, 0))  # of rows that stay sparse
    for rows, weight in parts:
        if stays_sparse(rows, standardization):
            stored = stored if len(stored) else np.zeros((d, d))
            loops.gram(rows, weight, standardization.mean, 1.0 / standardization.scale, stored)
        else:
            add_part(rows, weight)
    for a, b in tiles:
        total[b, a] = total[a, b].T
    return (total + stored).astype(dtype, copy=False) if len(stored) else total
