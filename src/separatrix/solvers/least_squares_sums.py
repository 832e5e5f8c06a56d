"""Sums over the rows that least squares are made of: triangles, and products with weights.

The centred problem has a row ``root * (x - mean)`` for every row x, root the square root of its
share of all weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..data import Block, Sum
from ..numeric.standardization import Standardization
from ..numeric.types import AnyArray, Array

QR_ROWS = 1024  # converted to float64 at a time


def targets(block: Block, k: int) -> Array:
    """What ``w.x + b`` should be: -1 and +1 less the offset, with a column for each class: (n, k).

    For two classes there is one column.
    """
    found, offset = signs(block.y, k), block.rows.offset
    return found if offset is None else found - offset


def signs(y: AnyArray, k: int) -> Array:
    """-1 and +1, one column for two classes, else one per class: (n, k)."""
    if k == 1:
        return np.asarray(y)[:, None]
    if y.ndim == 2:
        return y.astype(np.float64)
    return np.where(y[:, None] == np.arange(k), 1.0, -1.0)


@dataclass
class Triangle:
    """A matrix R with few rows, of which only R'R counts: the sum of two has that of both."""

    rows: Array

    def __add__(self, other: Triangle) -> Triangle:
        rows = np.concatenate([self.rows, other.rows])
        width = rows.shape[1]
        if len(rows) > 2 * width:
            rows = scipy.linalg.qr(rows, mode="r", overwrite_a=True, check_finite=False)[0][:width]
        return Triangle(rows)


@dataclass(frozen=True)
class TriangleSum(Sum[tuple[Triangle]]):
    """The centred rows and targets, times the roots of their shares of the weight."""

    mean: Array
    target: Array
    weight_sum: float

    def of(self, block: Block) -> tuple[Triangle]:
        """A few rows at a time."""
        d, k = len(self.mean), len(self.target)
        n, rows, y = len(block.y), block.rows, targets(block, k)
        root = np.sqrt(block.weights / self.weight_sum)
        about = Standardization(self.mean, np.ones(d + 1))
        triangle = Triangle(np.empty((0, d + k)))
        for start in range(0, n, QR_ROWS):
            at = slice(start, min(start + QR_ROWS, n))
            x = np.empty((at.stop - start, d + k))
            x[:, :d] = rows.part(start, at.stop).standardized(about)[:, :-1]
            x[:, d:] = y[at] - self.target
            triangle += Triangle(x * root[at, None])
        return (triangle,)


@dataclass(frozen=True)
class RootScores(Sum[tuple[list[Array]]]):
    """``w.x + b`` of all rows by one row of weights, times the roots of the rows' shares."""

    W: Array
    weight_sum: float

    def of(self, block: Block) -> tuple[list[Array]]:
        """A list of one, (n,)."""
        return ([block.rows.without_offset.scores(self.W)[:, 0] * _root(block, self.weight_sum)],)


@dataclass(frozen=True)
class RootTargets(Sum[tuple[list[Array]]]):
    """Targets less their means, times the roots of the rows' shares."""

    target: Array
    weight_sum: float

    def of(self, block: Block) -> tuple[list[Array]]:
        """A list of one, (n, k)."""
        y = targets(block, len(self.target)) - self.target
        return ([_root(block, self.weight_sum)[:, None] * y],)


@dataclass(frozen=True)
class RootProduct(Sum[tuple[Array]]):
    """The sum of all rows times numbers (n,) and the roots of their shares."""

    z: Array
    weight_sum: float

    def of(self, block: Block) -> tuple[Array]:
        """(1, d + 1)."""
        rows = block.rows
        out = np.zeros((1, rows.shape[1] + 1))
        z = self.z[block.at] * _root(block, self.weight_sum)
        rows.transpose_product(z[:, None], out)
        return (out,)


def _root(block: Block, weight_sum: float) -> Array:
    return np.sqrt(block.weights / weight_sum)
