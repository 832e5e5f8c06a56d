"""Linear programs over the few signed rows of a working set, in well-scaled coordinates.

Problem: ``min |s + sum_i x_i z_i|_1`` over x >= 0, of sum 1 if s = 0; its dual is ``max s.w``
(or ``max min_i z_i.w``) over ``|w_j| <= 1`` with every ``z_i.w >= 0``.
Output: x with at most D + 1 non-zero entries, the w that proves it smallest, and the value.
Algorithm: the dual simplex method of HiGHS (Huangfu and Hall 2018), else its interior point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ..numeric.tolerances import EPS, SMALLEST_NORMAL
from ..numeric.types import Array
from . import thresholds
from .budget import spend
from .signed_rows import Matrix, dense

TURNS = 3  # large rows dominate small ones until both have length 1; repeated
RANK_TOLERANCE = 1e-11  # of the largest deviation: below is rounding, not to be scaled up
WAYS = (("highs-ds", 1e-10), ("highs-ds", 1e-8), ("highs-ipm", 1e-8))  # 1e-10: HiGHS's least
FAR_RANGES = 1 << 10  # distance from 0, relative to its range, from which a feature is centred


class Unsolved(RuntimeError):
    """A program that the solver could not solve."""


@dataclass(frozen=True)
class Coordinates:
    """(x, 1) as ``T (x - c, 1)``, in which sampled rows, each of length 1, are decorrelated.

    A separator of features that nearly repeat each other has huge weights, and margins that a
    linear program rounds to zero. The same separator in these coordinates has neither. Features far
    from 0 nearly repeat the 1: c is their middle. It is subtracted first, which loses almost no
    precision.
    """

    T: Array  # (width, width), or (width,) for a diagonal
    centre: Array | None = None  # (width,), the last 0

    @classmethod
    def of(cls, Z: Matrix, width: int, intercept: bool) -> Coordinates:
        """Fit to the (x, 1) of some signed rows."""
        if sp.issparse(Z):
            squares = np.asarray(Z.multiply(Z).mean(axis=0)).reshape(-1, width).mean(axis=0)
            return cls._scaled(squares)
        x = Z if Z.shape[1] == width else _own(Z, width)
        centre = _centre(x) if intercept else None
        x = x if centre is None else _moved(x, centre)
        if np.count_nonzero(x) <= thresholds.SPARSE_SHARE * x.size:
            return cls._scaled(np.mean(x**2, axis=0), centre)
        largest = np.abs(x).max(axis=0)
        scale = 1.0 / np.where(largest > 0.0, np.maximum(largest, SMALLEST_NORMAL), 1.0)
        x = x * scale
        if width > thresholds.DECORRELATED_WIDTH:
            spread = np.where(largest > 0.0, np.sqrt((x**2).mean(axis=0)), 1.0)
            return cls(scale / spread, centre)
        T = np.diag(scale)
        for _ in range(TURNS):
            try:
                _, deviation, axes = np.linalg.svd(np.linalg.qr(unit(x)[0], mode="r"))
            except np.linalg.LinAlgError:  # numbers of all sizes
                break
            deviation = np.append(deviation, np.zeros(width - len(deviation)))
            most = deviation[0] or 1.0
            gain = most / np.where(deviation > RANK_TOLERANCE * most, deviation, most)
            turn = gain[:, None] * axes
            x, T = x @ turn.T, turn @ T
        return cls(T, centre)

    @classmethod
    def _scaled(cls, squares: Array, centre: Array | None = None) -> Coordinates:
        """Coordinates that keep zeros, from the mean squares of (x, 1)."""
        return cls(1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0)), centre)

    def of_rows(self, Z: Matrix) -> Matrix:
        """Signed rows in these coordinates."""
        if self.centre is not None:
            Z = _moved(Z, self.centre)
        if self.T.ndim == 2:
            width = len(self.T)
            return (Z.reshape(-1, width) @ self.T.T).reshape(Z.shape)
        scale = np.tile(self.T, Z.shape[1] // len(self.T))
        return Z.multiply(scale).tocsr() if sp.issparse(Z) else Z * scale

    def rounding(self, Z: Array) -> Array:
        """Upper bound on the rounding of signed rows in these coordinates."""
        if self.centre is not None:
            Z = _moved(Z, self.centre)
        units = (len(self.T) + 4) * EPS
        return units * dense(Coordinates(np.abs(self.T)).of_rows(np.abs(Z)))

    def weights(self, w: Array) -> Array:
        """Convert a direction of these coordinates to weights (k, d + 1) of the features."""
        u = w.reshape(-1, len(self.T))
        result: Array = u @ self.T if self.T.ndim == 2 else u * self.T
        if self.centre is not None:
            result[:, -1] -= result @ self.centre
        return result

    def sizes(self, w: Array) -> Array:
        """The sizes of the terms whose sums are these weights.

        A program's errors are relative to the largest entry of w.
        """
        return self.of_sizes.weights(np.full_like(w, np.abs(w).max()))

    @property
    def of_sizes(self) -> Coordinates:
        """The same for bounds on sizes, where nothing cancels."""
        return Coordinates(np.abs(self.T), None if self.centre is None else -np.abs(self.centre))


def _centre(x: Array) -> Array | None:
    """The middle of features that are far from 0 relative to their range, and 0 for the others."""
    x = x * x[:, -1:]  # without their signs
    low, high = x.min(axis=0), x.max(axis=0)
    with np.errstate(over="ignore"):
        spread = high - low
        far = np.minimum(np.abs(low), np.abs(high)) > FAR_RANGES * spread
    far[-1] = False
    return np.where(far, low + 0.5 * np.where(far, spread, 0.0), 0.0) if far.any() else None


def _moved(Z: Array, centre: Array) -> Array:
    """Signed rows of (x - c, 1)."""
    x = Z.reshape(-1, len(centre))
    return (x - x[:, -1:] * centre).reshape(Z.shape)


def _own(Z: Array, width: int) -> Array:
    """The (x, 1) of Kesler's pairs; without an intercept x or -x, which have the same axes."""
    blocks = Z.reshape(len(Z), -1, width)
    either: Array = blocks[np.arange(len(Z)), np.argmax(np.any(blocks != 0.0, axis=2), axis=1)]
    return np.where(either[:, -1:] < 0.0, -either, either)


def unit(Z: Matrix) -> tuple[Matrix, Array]:
    """Scale rows to length 1; also return their lengths. A zero row stays unchanged."""
    if sp.issparse(Z):
        norms = np.sqrt(np.asarray(Z.multiply(Z).sum(axis=1)).ravel())
        norms = np.where(norms > 0.0, norms, 1.0)
        return sp.diags_array(1.0 / norms) @ Z, norms
    norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    norms = np.where(norms > 0.0, norms, 1.0)
    return Z / norms[:, None], norms


class SmallestCombination(NamedTuple):
    """The smallest combination of rows that a program found, and what proves it smallest."""

    weights: Array
    direction: Array
    value: float


def min_norm_combination(Z: Matrix, start: Array | None = None) -> SmallestCombination:
    """Weights >= 0 for which ``|start + sum of weights * rows|``, in the 1-norm, is smallest.

    Without a start the weights sum to 1. The direction w, ``|w_j| <= 1``, solves the dual
    program: it maximises t subject to ``z.w >= t`` for all rows; with a start, ``start.w``
    subject to ``z.w >= 0``. Either maximum is the value. A program over m rows of length D has a
    basis of D or D + 1 of them: that many weights are not zero.
    """
    m, D = Z.shape
    one = sp.eye_array(D, format="csc")
    columns = sp.hstack([sp.csc_array(Z.T), -one, one], format="csc")
    right = np.zeros(D) if start is None else -start
    if start is None:
        ones = np.append(np.ones(m), np.zeros(2 * D))
        columns = sp.vstack([columns, sp.csc_array(ones[None])], format="csc")
        right = np.append(right, 1.0)
    costs = np.append(np.zeros(m), np.ones(2 * D))
    result = _solved(costs, columns, right)
    direction: Array = -np.asarray(result.eqlin.marginals)[:D]
    return SmallestCombination(np.asarray(result.x)[:m], direction, float(result.fun))


def _solved(costs: Array, columns: Any, right: Array) -> Any:
    if not (np.all(np.isfinite(columns.data)) and np.all(np.isfinite(right))):
        raise Unsolved("the numbers of a linear program overflow")
    for method, tolerance in WAYS:
        spend(columns.nnz)
        result = linprog(
            costs, A_eq=columns, b_eq=right, method=method,
            options={
                "primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance
            },
        )  # fmt: skip
        if result.status == 0:
            return result
    raise Unsolved(f"the linear program of a working set was not solved: {result.message}")
