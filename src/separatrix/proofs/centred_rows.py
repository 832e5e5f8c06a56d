"""Rows about a centre in units of the penalty: their scores and lengths, with bounds on rounding.

Problem: bounds on the scores of the exact minimum need the length of each row. Input: weights and
rows. Output: for a few rows at a time, in memory that is used again, so that they stay in the
cache: ``u.z`` for ``z_j = (x_j - c_j) / sqrt(l2_j)`` and ``u_j = w_j sqrt(l2_j)``, and upper bounds
on ``|z|``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..numeric.lazy import cached_property
from ..numeric.tolerances import EPS, SMALLEST_NORMAL, VANISHING
from ..numeric.types import AnyArray, Array
from .weight_ball import OPERATIONS, row_lengths

AT_A_TIME = 1 << 14  # values of dense rows: they stay in the cache, in memory that is used again
ROUNDED = 1.0 + 1e-6  # for sums of bounds, which have far smaller errors
FEW = 16 * EPS  # relative error of a slope and of sums of a few terms


@dataclass(frozen=True, eq=False)
class Point:
    """Weights, and scores of rows about a centre."""

    weights: Array  # (k, d)
    centre: Array  # (d,)
    reach: Array  # ``1 / sqrt(l2_j)``; 0 for a weight that is 0 here and at the minimum
    bias: Array  # of the centred rows, (k,)
    bias_rounding: Array

    @cached_property
    def scaled(self) -> Array:
        """The weights in units of the penalty."""
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled: Array = np.where(self.reach > 0.0, self.weights / self.reach, 0.0)
        return scaled

    @cached_property
    def length(self) -> Array:
        """Their length, for each column."""
        length: Array = np.sqrt(np.sum(self.scaled**2, axis=1))
        return length


class ScaledRows(NamedTuple):
    """Some rows about the centre, in units of the penalty."""

    values: Array  # scores without the bias, (n, k)
    lengths: Array  # bounds on the lengths of the rows, (n,)
    rounding: Array  # bounds on the rounding of the scores with the bias, (n, k)
    weighted: Callable[[Array], Array]  # sums of rows times each of some columns (n, c), (c, d)
    rows: Array | None  # of dense rows

    @classmethod
    def of(cls, at: Point, X: Any, room: Array) -> ScaledRows:
        """Of an array or a CSR matrix; dense rows are written to ``room``."""
        scaled, origin = at.scaled, at.centre * at.reach
        if sp.issparse(X):
            Z = sp.csr_array(X, dtype=np.float64)
            Z = sp.csr_array((Z.data * at.reach[Z.indices], Z.indices, Z.indptr), Z.shape)
            lengths = lengths_of(Z) + math.sqrt(float(origin @ origin))
            values = Z @ scaled.T - scaled @ origin

            def weighted(columns: Array) -> Array:
                found: Array = (Z.T @ columns).T - np.outer(columns.sum(axis=0), origin)
                return found

            return cls(values, *_rounded(at, values, lengths), weighted, None)
        D = room[: len(X)]
        np.subtract(X, at.centre, out=D)
        D *= at.reach
        values = D @ scaled.T
        return cls(values, *_rounded(at, values, row_lengths(D)), lambda columns: columns.T @ D, D)


def _rounded(at: Point, values: Array, lengths: Array) -> tuple[Array, Array]:
    """Bounds on lengths, and on the rounding of scores."""
    lengths = lengths * ROUNDED
    terms = OPERATIONS + len(at.centre)
    size = np.multiply.outer(lengths, terms * EPS * ROUNDED * at.length)
    size += FEW * np.abs(values)
    size += at.bias_rounding + FEW * np.abs(at.bias) + terms * SMALLEST_NORMAL
    return lengths, size


def parts(at: Point, X: Any) -> Iterator[tuple[slice, ScaledRows]]:
    """A few dense rows at a time, so that they stay in the cache; all sparse ones."""
    n, d = X.shape
    step = max(1, n if sp.issparse(X) else AT_A_TIME // (d + 1))
    room = np.empty((0 if sp.issparse(X) else min(n, step), d))
    for start in range(0, max(n, 1), step):
        here = slice(start, start + step)
        yield here, ScaledRows.of(at, X[here] if step < n else X, room)


def scores(at: Point, X: Any) -> Iterator[tuple[slice, Array, Array]]:
    """Scores without the bias and lengths of a few rows at a time."""
    if sp.issparse(X):
        for here, part in parts(at, X):
            yield here, part.values, part.lengths
        return
    start = 0
    for D, lengths in scaled_rows(X, at.centre, at.reach):
        yield slice(start, start + len(D)), D @ at.scaled.T, lengths
        start += len(D)


def scaled_rows(X: AnyArray, centre: Array, reach: Array) -> Iterator[tuple[Array, Array]]:
    """Dense rows about a centre in units of the penalty, and bounds on their lengths.

    A few rows at a time, in memory that is used again, so that they stay in the cache.
    """
    n, d = X.shape
    step = min(max(1, AT_A_TIME // (d + 1)), max(n, 1))
    room = np.empty((step, d))
    for start in range(0, n, step):
        part = X[start : start + step]
        D = np.subtract(part, centre, out=room[: len(part)])
        D *= reach
        yield D, row_lengths(D) * ROUNDED


def rounding_of(at: Point) -> tuple[float, float]:
    """Bounds on the rounding of ``scores`` with the bias, for each length of a row and besides."""
    terms = OPERATIONS + len(at.centre)
    of_bias = float(np.max(at.bias_rounding + FEW * np.abs(at.bias))) + terms * SMALLEST_NORMAL
    return (terms * EPS + FEW) * ROUNDED * float(np.max(at.length)), of_bias


def sparse_lengths(X: Any, reach: Array) -> Array:
    """Lengths of the rows of a CSR matrix in units of the penalty."""
    return lengths_of(sp.csr_array((X.data * reach[X.indices], X.indices, X.indptr), X.shape))


def lengths_of(Z: Any) -> Array:
    """Lengths of rows of a CSR matrix; infinite if squares underflow or overflow."""
    largest = float(np.max(np.abs(Z.data), initial=0.0))
    if largest != 0.0 and not VANISHING < largest < 1.0 / VANISHING:
        return np.full(Z.shape[0], np.inf)
    squares = np.square(Z.data)
    sums = np.bincount(np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr)), squares, Z.shape[0])
    # Squares that underflow are far smaller than the largest one.
    lengths: Array = np.sqrt(sums) + VANISHING * Z.shape[1]
    return lengths
