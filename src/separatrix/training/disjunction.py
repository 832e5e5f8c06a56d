"""Features of which every row of one class has at least one, and no row of the other.

Such features are a disjunction that separates the classes, on which the mistakes of Winnow are
bounded: N. Littlestone, Learning quickly when irrelevant attributes abound, Machine Learning 2
(1988). The fewest such features are hard to find; the greedy choice takes at most 1 + log(rows)
times as many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Block, Source, Sum
from ..numeric.types import AnyArray, Array
from ..rows import host_rows_of


def disjunction_size(source: Source) -> int | None:
    """The number of features found; None if there are none, or rows are not 0 and 1 of weight 1."""
    d = source.n_features
    others, of_negative = source.total(NegativeRows())
    if others:
        return None
    allowed = of_negative == 0.0
    chosen, left = np.zeros(d, dtype=bool), np.inf
    while True:
        covers, uncovered = source.total(Uncovered(chosen))
        if uncovered == 0.0:
            return max(1, int(chosen.sum()))
        covers = np.where(allowed, covers, 0.0)
        if uncovered >= left or not d or not covers.any():
            return None
        left = uncovered
        chosen[int(np.argmax(covers))] = True


@dataclass(frozen=True)
class NegativeRows(Sum[tuple[float, Array]]):
    """Number of values that are not 0 or 1, and of weights that are not 1; how many negative rows
    have each feature."""

    def of(self, block: Block) -> tuple[float, Array]:
        values = host_rows_of(block.X).values
        others = np.count_nonzero((values != 0.0) & (values != 1.0))
        others += np.count_nonzero(block.weights != 1.0)
        return float(others), counted(block, block.y < 0.0)


@dataclass(frozen=True)
class Uncovered(Sum[tuple[Array, float]]):
    """How many positive rows without any chosen feature have each feature; and their number."""

    chosen: Array

    def of(self, block: Block) -> tuple[Array, float]:
        W = np.append(self.chosen, 0.0)[None]
        open_rows = (block.y > 0.0) & (block.rows.scores(W)[:, 0] == 0.0)
        return counted(block, open_rows), float(open_rows.sum())


def counted(block: Block, some: AnyArray) -> Array:
    """How many of some rows have each feature: (d,)."""
    out = np.zeros((1, block.rows.shape[1] + 1))
    block.rows.transpose_product(some.astype(np.float64)[:, None], out)
    counts: Array = out[0, :-1]
    return counts
