"""Sums of products of many standardised features; threads share the tiles of the sum."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import DTypeLike

from ..numeric.standardization import Standardization
from ..numeric.threads import ordered_sum
from ..numeric.types import AnyArray, Array
from ..rows import Rows
from .thresholds import GRAM_TILE


def gram_blocked(
    parts: Iterable[tuple[Rows, Array]],
    standardization: Standardization,
    dtype: DTypeLike,
    threads: int,
) -> AnyArray:
    """``Rows.gram`` over parts of rows and non-negative weights, for many features.

    The sum is stored once, in ``dtype``: threads share its tiles, not the rows.
    """
    d = len(standardization.scale)
    total = np.zeros((d, d), dtype)
    edges = np.linspace(0, d, -(-d // GRAM_TILE) + 1).astype(int)
    cuts = list(map(slice, edges[:-1], edges[1:]))
    tiles = [(a, b) for number, a in enumerate(cuts) for b in cuts[number:]]

    def add_part(rows: Rows, weight: Array) -> None:
        z = np.empty((len(weight), d), dtype)
        few = [slice(start, start + GRAM_TILE // 4) for start in range(0, len(z), GRAM_TILE // 4)]

        def fill(at: slice) -> tuple[()]:
            some = rows.part(at.start, min(at.stop, len(z)))
            z[at] = some.standardized(standardization, dtype)
            z[at] *= np.sqrt(weight[at, None]).astype(dtype)
            return ()

        def add(tile: tuple[slice, slice]) -> tuple[()]:
            a, b = tile
            total[tile] += z[:, a].T @ z[:, b]
            return ()

        ordered_sum(fill, few, threads)
        ordered_sum(add, tiles, threads)

    stored = np.zeros((0, 0))  # sum over rows that stay sparse
    for rows, weight in parts:
        if rows.sums_stored_alone(standardization):
            stored = stored if len(stored) else np.zeros((d, d))
            rows.add_gram(weight, standardization, stored)
        else:
            add_part(rows, weight)
    for a, b in tiles:
        total[b, a] = total[a, b].T
    return (total + stored).astype(dtype, copy=False) if len(stored) else total
