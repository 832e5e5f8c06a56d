"""The working set: a few of the signed rows, in the coordinates of the programs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..numeric.tolerances import EPS
from ..numeric.types import Array, Ints
from . import thresholds
from .budget import ReadBudget
from .linear_program import Coordinates, unit
from .signed_rows import Matrix, SignedRows, dense, stacked

TIE = 1e-7  # a value of a program, with rows of length 1, that may be 0
ACTIVE = 1e-8  # a margin in a program that counts as 0
KEPT = 4  # rows per dimension that remain after a working set has grown
MAX_ROUNDS = 200  # of programs, each with rows that the previous one got wrong


class WorkingSet:
    """Some of the signed rows; grows by those that a direction gets wrong."""

    ids: Ints  # numbers of the rows
    Z: Matrix  # the rows themselves
    scaled: Matrix  # the rows in the coordinates of the programs, each of length 1
    norms: Array  # their lengths in these coordinates
    coordinates: Coordinates  # fitted to the first rows of the working set, then fixed

    def __init__(self, rows: SignedRows, budget: ReadBudget | None = None) -> None:
        D = rows.dimension
        self.rows, self.budget = rows, budget
        self.rounds = 0
        """Number of questions so far."""
        self.wide = D > thresholds.NEWTON_DIMENSION
        self.step = D if self.wide else max(100, 3 * D)
        """Maximum number of rows to add at once."""
        size = max(500, 16 * D) if D <= 100 else max(1600, 4 * D)
        if self.wide and not rows.sparse:
            size = 12 * D
        self.ids = np.unique(rows.all() if rows.count <= size else rows.sample(size))
        self.Z = rows.gather(self.ids)
        self.coordinates = Coordinates.of(self.Z, rows.width, rows.intercept)
        self.scaled, self.norms = unit(self.coordinates.of_rows(self.Z))

    @property
    def suits_newton(self) -> bool:
        """Whether Newton's method is faster than linear programs."""
        if not self.wide or self.rows.dimension > thresholds.SPARSE_PROGRAM_DIMENSION:
            return self.wide
        values = self.Z.nnz if sp.issparse(self.Z) else np.count_nonzero(self.Z)
        return bool(values > thresholds.SPARSE_SHARE * self.Z.shape[0] * self.rows.dimension)

    def add(self, ids: Ints) -> bool:
        new = np.setdiff1d(ids, self.ids)
        if len(new) == 0:
            return False
        Z = self.rows.gather(new)
        scaled, norms = unit(self.coordinates.of_rows(Z))
        self.ids, self.norms = np.append(self.ids, new), np.append(self.norms, norms)
        self.Z, self.scaled = stacked(self.Z, Z), stacked(self.scaled, scaled)
        return True

    def forget(self, direction: Array) -> None:
        """Remove the rows that are furthest on the correct side; if needed they are added again.

        The optimum does not depend on them, and decreases with every row that is added: no round
        repeats an earlier one.
        """
        few = KEPT * self.rows.dimension
        if len(self.ids) == self.rows.count or len(self.ids) <= 2 * few:
            return
        near = np.sort(np.argsort(self.scaled @ direction, kind="stable")[:few])
        self.ids, self.norms = self.ids[near], self.norms[near]
        self.Z, self.scaled = self.Z[near], self.scaled[near]

    def products(self, times: int) -> None:
        """Count products with all its rows in the budget, if there is one."""
        if self.budget is not None:
            self.budget.multiply(times * len(self.ids) / max(1, self.rows.shape[0] - 1))

    def scaled_sum(self, total: Array) -> Array:
        """A sum of signed rows in the coordinates of the programs."""
        scaled: Array = dense(self.coordinates.of_rows(total[None]))[0]
        return scaled

    def sum_error(self, total: Array) -> Array:
        """Upper bound on the rounding of the sum of all rows, in these coordinates."""
        count = float(self.rows.count)
        most = np.tile(self.rows.largest, (self.rows.encoding.stacked, 1)) * count
        of_terms = dense(self.coordinates.of_sizes.of_rows(count * EPS * most.reshape(1, -1)))
        error: Array = of_terms[0] + self.coordinates.rounding(total[None])[0]
        return error

    def row_error(self, at: Ints) -> Array:
        """Upper bound on the rounding of some of the rows, in these coordinates."""
        error: Array = self.coordinates.rounding(dense(self.Z[at])) / self.norms[at, None]
        return error

    def polished(self, direction: Array) -> Array:
        """Weights for a direction, without its small errors on the rows that it leaves at 0."""
        W = self.coordinates.weights(direction)
        at = np.flatnonzero(np.abs(self.scaled @ direction) <= ACTIVE)
        if len(at) == 0 or sp.issparse(self.scaled):
            return W
        Z, scaled, norms = self.Z[at], self.scaled[at], self.norms[at]
        for _ in range(3):  # each iteration adds as many digits as the first
            error = np.linalg.lstsq(scaled, Z @ W.ravel() / norms, rcond=1e-10)[0]
            W = W - self.coordinates.weights(error)
        return W
