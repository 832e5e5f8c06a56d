"""The verdict, by linear programs over working sets of signed rows.

A program over a few rows proposes; all rows, or whole numbers, dispose:

- a direction counts as a separator when a pass over all rows finds every margin above its own
  rounding error; rows within it are decided in whole numbers;
- weights count as a witness when the square system of their rows has a solution that stays
  positive under any error of rounding; otherwise that system is solved in whole numbers;
- where neither succeeds the simplex method in whole numbers decides on the few rows at stake.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsmr

from ..typing import Array, Ints
from . import exact
from .exact import Exact, Fractions
from .program import Coordinates, smallest, unit
from .proof import (
    Weights,
    certain,
    dense,
    equations,
    positive,
    rounded,
    signs,
    solved_on,
    spanning,
    stacked,
)
from .rows import EPSILON, Matrix, SignedRows
from .simplex import combination_or_direction
from .totals import exact_total
from .wide import fewer, least_squared_hinge

TIE = 1e-7  # a value of a program, its rows of length 1, that may as well be 0
ACTIVE = 1e-8  # a margin in a program that is taken for 0
ON_BOUNDARY, WRONG = 1e3, -1e2  # margins of a weak separator in units of their rounding error
KEPT = 4  # rows per dimension that stay in a working set that has grown
MOST_ROUNDS = 200
WIDE = 600  # signed rows longer than this are not left to linear programs
EXACT_ENTRIES = 2e7  # boundary rows times width up to which their margins are computed exactly


class Found(NamedTuple):
    """Weights of a weak separator, and the sizes of the terms of which they are sums."""

    weights: Array
    sizes: Array


@dataclass
class Decision:
    """A verdict and what proves it."""

    verdict: str
    direction: Array | None = None
    exact_direction: Fractions | None = None
    witness: Weights | None = None
    interior: Weights | None = None
    boundary: Ints | None = None
    exact: bool = False
    rounds: int = 0


@dataclass
class Search:
    """A working set of signed rows and the questions put to it."""

    rows: SignedRows
    exact: bool = False
    rounds: int = 0
    ids: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        D = self.rows.dimension
        self.step = max(100, 3 * D) if D <= WIDE else D
        self.slopes: Array | None = None
        size = max(500, 16 * D) if D <= 100 else max(1600, 4 * D) if D <= WIDE else 12 * D
        self.add(self.rows.all() if self.rows.count <= size else self.rows.sample(size))

    @property
    def coordinates(self) -> Coordinates:
        """Fitted to the first rows of the working set, and kept."""
        if not hasattr(self, "_coordinates"):
            self._coordinates = Coordinates.of(self.Z, self.rows.width)
        return self._coordinates

    def add(self, ids: Ints) -> bool:
        """Put rows into the working set; whether any of them is new."""
        new = np.setdiff1d(ids, self.ids)
        if len(new) == 0:
            return False
        Z = self.rows.gather(new)
        first = len(self.ids) == 0
        self.ids = np.append(self.ids, new)
        self.Z: Matrix = Z if first else stacked(self.Z, Z)
        scaled, norms = unit(self.coordinates.of_rows(Z))
        self.scaled: Matrix = scaled if first else stacked(self.scaled, scaled)
        self.norms: Array = norms if first else np.append(self.norms, norms)
        return True

    # ---- is there a separator? -----------------------------------------------------------

    def decide(self) -> Decision:
        """The verdict with its certificate."""
        wide = self.rows.dimension > WIDE
        found = (self._wide_separator() if wide else None) or self._separator()
        if isinstance(found, Decision):
            return found
        return self._weak_separator(found)

    def _separator(self) -> Decision | Weights:
        for _ in range(MOST_ROUNDS):
            self.rounds += 1
            weights, direction, value = smallest(self.scaled)
            if value <= TIE and (witness := self._witness(weights)) is not None:
                return witness
            W = self.coordinates.weights(direction)
            low = self.rows.doubtful(W, 1.0, self.step)
            if low.found == 0 or (low.found <= self.step and self._positive(W, low.ids)):
                return self._separable(direction=W)
            if value > TIE:
                self._forget(direction)
            if not self.add(low.ids):
                break
        return self._exact_separator(direction)

    def _forget(self, direction: Array) -> None:
        """Let go of the rows that are furthest on the right side; should they matter, they return.

        The optimum does not depend on them, and falls with every row that is added: no round
        repeats an earlier one.
        """
        few = KEPT * self.rows.dimension
        if len(self.ids) == self.rows.count or len(self.ids) <= 2 * few:
            return
        near = np.sort(np.argsort(self.scaled @ direction, kind="stable")[:few])
        self.ids, self.norms = self.ids[near], self.norms[near]
        self.Z, self.scaled = self.Z[near], self.scaled[near]

    def _wide_separator(self) -> Decision | Weights | None:
        """By Newton's method; None where it does not settle the question."""
        w = np.zeros(self.rows.dimension)
        for _ in range(MOST_ROUNDS):
            self.rounds += 1
            w, slopes = least_squared_hinge(self.scaled, w)
            if self._cancel(slopes):
                slopes = self._from_fewer(w, slopes)
                break
            W = self.coordinates.weights(w)
            low = self.rows.doubtful(W, 1.0, self.step)
            if low.found == 0:
                return self._separable(direction=W)
            if not self.add(low.ids):
                break
        if len(slopes) < len(self.ids) or not self._cancel(slopes):
            return None
        self.slopes = slopes
        columns = stacked(self.scaled.T, np.ones((1, len(slopes))))
        at, values = fewer(columns, slopes / slopes.sum())
        weights = np.zeros(len(slopes))
        weights[at] = values
        return self._witness(weights)

    def _cancel(self, slopes: Array) -> bool:
        """Whether these weights take the rows of the working set to 0, not all of them 0."""
        size = slopes @ abs(self.scaled)
        return bool(slopes.any() and np.all(np.abs(slopes @ self.scaled) <= TIE * size))

    def _from_fewer(self, w: Array, slopes: Array) -> Array:
        """Weights with which fewer rows cancel, where a part of the working set is enough."""
        order = np.random.default_rng(0).permutation(len(slopes))
        for share in (4, 7):
            some = np.sort(order[: share * self.rows.dimension])
            if len(some) == len(slopes):
                break
            part = np.zeros(len(slopes))
            part[some] = least_squared_hinge(self.scaled[some], w)[1]
            if self._cancel(part):
                return part
        return slopes

    def _wide_interior(self, start: Array) -> Array | None:
        """Weights >= 0 of few rows that take a sum to 0, from those with which rows cancel."""
        slopes = self.slopes
        if slopes is None or len(slopes) != len(self.ids):
            return None
        at = np.flatnonzero(slopes > 1e-9 * slopes.max())
        columns = self.scaled[at].T
        shift = lsmr(columns, -start, atol=1e-15, btol=1e-15, maxiter=4 * len(start) + 200)[0]
        enough = max(0.0, float(np.max(-shift / slopes[at])))
        kept, values = fewer(columns, shift + 1.5 * enough * slopes[at])
        weights = np.zeros(len(slopes))
        weights[at[kept]] = values
        size = np.abs(start) + weights @ abs(self.scaled)
        near = np.all(np.abs(start + weights @ self.scaled) <= TIE * size)
        return weights if near else None

    def _separable(self, direction: Array, exact_direction: Fractions | None = None) -> Decision:
        return Decision("separable", direction, exact_direction, exact=True, rounds=self.rounds)

    def _positive(self, W: Array, ids: Ints) -> bool:
        """Whether margins that rounding leaves open are positive."""
        return bool(np.all(signs(self.rows, exact.common(W.ravel()), ids) > 0))

    def _witness(self, weights: Array) -> Weights | None:
        """Weights of rows whose combination vanishes, proven, or None."""
        at = np.flatnonzero(weights > 1e-11 * weights.max())
        if len(at) > self.rows.rank_at_most + 1:
            return None
        Z, scaled = self.Z[at], dense(self.scaled[at])
        square = np.vstack([scaled.T, np.ones(len(at))])
        floats = weights[at] / self.norms[at]
        right = np.append(np.zeros(len(square) - 1), 1.0)
        if not self.exact and (sure := certain(square, right)) is not None:
            floats = sure / self.norms[at]
            return Weights(self.ids[at], floats / floats.sum(), None)
        return solved_on(self.ids[at], dense(Z), None, floats / floats.sum())

    def _exact_separator(self, direction: Array) -> Decision | Weights:
        """The same question in whole numbers, on the rows nearest to a tie."""
        margins = self.scaled @ direction
        D = self.rows.dimension
        ids = self.ids[np.argsort(margins, kind="stable")[: max(100, 4 * D)]]
        while True:
            self.rounds += 1
            numbers, exponents = exact.whole(dense(self.rows.gather(ids)))
            A = np.vstack([numbers.T, np.ones((1, len(ids)), np.int64).astype(object)])
            b = np.zeros(D + 1, object)
            b[-1] = 1
            x, u = combination_or_direction(A, b)
            if x is not None:
                return positive(ids, x)
            w = exact.Fractions(exact.shifted(-u[:-1], -exponents), 1)
            W, low = self._unsafe(w)
            wrong = low[signs(self.rows, w, low) <= 0]
            if len(wrong) == 0:
                return self._separable(W, w)
            ids = np.union1d(ids, wrong[: self.step])

    def _unsafe(self, w: Fractions) -> tuple[Array, Ints]:
        """The nearest floats, and the rows whose sign they do not settle."""
        W = rounded(w, self.rows.shape)
        return W, self.rows.doubtful(W, 2.0).ids

    # ---- and if not, one that is never wrong? ---------------------------------------------

    def _weak_separator(self, witness: Weights) -> Decision:
        total, sizes = np.zeros(self.rows.shape), np.zeros(self.rows.shape)
        objective, left = self.rows.total()
        while True:
            among = (total, sizes) if total.any() else None
            found = self.improve(objective, partial(self._interior, among=among))
            if found is None:
                return self._exact_weak_separator(witness)
            if isinstance(found, Weights):
                break
            length = (np.abs(found.weights) @ self.rows.largest).max()
            total, sizes = total + found.weights / length, sizes + found.sizes / length
            objective, count = self.rows.total(total, ON_BOUNDARY, sizes)
            # The witness says that none cannot be left; and if no fewer are, the objective was
            # the rounding of a sum that vanishes.
            if not 0 < count < left:
                return self._exact_weak_separator(witness)
            left = count
        if not total.any():
            return Decision(
                "overlapping", witness=witness, interior=found,
                exact=found.fractions is not None and witness.fractions is not None,
                rounds=self.rounds,
            )  # fmt: skip
        boundary = np.sort(self.rows.doubtful(total, ON_BOUNDARY, None, sizes).ids)
        decision = self._quasi(witness, total, boundary, found)
        return decision or self._exact_weak_separator(witness)

    def improve(
        self, objective: Array, prove: Callable[[Array, Array], Weights | None]
    ) -> Found | Weights | None:
        """W with every margin >= 0 and ``objective.W > 0``; or weights that prove there is none.

        None where floating point cannot tell.
        """
        start = self._scaled_sum(objective)
        size = float(np.sqrt(start @ start)) or 1.0
        quick = self._wide_interior(start / size)
        if quick is not None and (proof := prove(quick * size, objective)) is not None:
            return proof
        for _ in range(MOST_ROUNDS):
            self.rounds += 1
            weights, direction, value = smallest(self.scaled, start / size)
            if value <= TIE:
                proof = prove(weights * size, objective)
                if proof is not None:
                    return proof
                if value <= ACTIVE:
                    return None
            W, sizes = self._polished(direction), self.coordinates.sizes(direction)
            low = self.rows.doubtful(W, WRONG, self.step, sizes)
            if low.found == 0:
                return Found(W, sizes)
            if not self.add(low.ids):
                return None
        return None

    def solved(self, weights: Array, right: Exact) -> Weights | None:
        """Weights of the working set that a program found, solved exactly for a right-hand side."""
        at = np.flatnonzero(weights > 1e-11 * weights.max(initial=0.0))
        floats = weights[at] / self.norms[at]
        return solved_on(self.ids[at], dense(self.Z[at]), right, floats)

    def _scaled_sum(self, total: Array) -> Array:
        """A sum of signed rows in the coordinates of the programs."""
        scaled: Array = dense(self.coordinates.of_rows(total[None]))[0]
        return scaled

    def _sum_error(self) -> Array:
        """What rounding can have done to the sum of all rows, in these coordinates."""
        count = float(self.rows.count)
        most = np.tile(self.rows.largest, (self.rows.kind.stacked, 1)) * count
        of_terms = Coordinates(np.abs(self.coordinates.T))
        error: Array = dense(of_terms.of_rows(count * EPSILON * most.reshape(1, -1)))[0]
        return error

    def _polished(self, direction: Array) -> Array:
        """Weights for a direction, without its small errors on the rows that it leaves at 0."""
        W = self.coordinates.weights(direction)
        at = np.flatnonzero(np.abs(self.scaled @ direction) <= ACTIVE)
        if len(at) == 0 or sp.issparse(self.scaled):
            return W
        Z, scaled, norms = self.Z[at], self.scaled[at], self.norms[at]
        for _ in range(3):  # each time as much more accurate as the first is accurate
            error = np.linalg.lstsq(scaled, Z @ W.ravel() / norms, rcond=1e-10)[0]
            W = W - self.coordinates.weights(error)
        return W

    def _interior(
        self, weights: Array, objective: Array, among: tuple[Array, Array] | None
    ) -> Weights | None:
        """Weights that take the sum of all rows to 0, proven, or None.

        Or the sum of those among whose margins a weak separator leaves at 0.
        """
        at = np.flatnonzero(weights > 1e-11 * weights.max(initial=0.0))
        boundary = None
        if among is not None:
            boundary = self.rows.doubtful(among[0], ON_BOUNDARY, None, among[1]).ids
            at = at[np.isin(self.ids[at], boundary)]
        if len(at) > self.rows.rank_at_most:
            return None
        floats = weights[at] / self.norms[at]
        scaled = dense(self.scaled[at]).T
        start, error = self._scaled_sum(objective), self._sum_error()
        sure = certain(scaled, -start, error) if not self.exact and among is None else None
        if sure is not None:
            return Weights(self.ids[at], sure / self.norms[at], None)
        right = -exact_total(self.rows, boundary)
        return solved_on(self.ids[at], dense(self.Z[at]), right, floats)

    def _quasi(
        self, witness: Weights, total: Array, boundary: Ints, proof: Weights
    ) -> Decision | None:
        """A weak separator whose boundary is exactly this, or None."""
        basis = spanning(self.rows, boundary)
        numbers, exponents = exact.whole(basis)
        fraction, power = np.frexp(total.ravel())
        hint = np.ldexp(np.round(np.ldexp(fraction, 24)), power - 24)  # shorter, so faster
        for values in (hint, total.ravel()):
            given = [Fraction(float(v)) for v in values]
            given = [v * Fraction(2) ** int(e) for v, e in zip(given, exponents, strict=True)]
            x = exact.solve(numbers, np.zeros(len(numbers), object), given)
            if x is None:
                return None
            w = exact.Fractions(exact.shifted(x.numerators, -exponents), 1)
            W, low = self._unsafe(w)
            few = len(boundary) * self.rows.width <= EXACT_ENTRIES
            if self.exact or few:
                found = signs(self.rows, w, np.union1d(low, boundary))
                exactly = np.union1d(low, boundary)[found == 0]
                right = np.array_equal(exactly, boundary) and bool(np.all(found >= 0))
            else:
                right = np.array_equal(np.sort(low), boundary)
            if right:
                return Decision(
                    "quasi-separable", W, w, witness, proof, boundary,
                    self.exact or few, self.rounds,
                )  # fmt: skip
        return None

    def _exact_weak_separator(self, witness: Weights) -> Decision:
        """The same question in whole numbers."""
        D = self.rows.dimension
        total = np.zeros(D, object)
        ids, boundary = self._nearest(), None
        while True:
            self.rounds += 1
            right = -exact_total(self.rows, boundary)
            A, b, powers = equations(dense(self.rows.gather(ids)), right)
            x, u = combination_or_direction(A, b)
            if x is not None:
                interior = positive(ids, x)
                break
            w = exact.shifted(-u, powers)
            _, low = self._unsafe(exact.Fractions(w, 1))
            found = signs(self.rows, exact.Fractions(w, 1), low)
            if np.any(found < 0):
                ids = np.union1d(ids, low[found < 0][: self.step])
                continue
            total = total + w
            _, low = self._unsafe(exact.Fractions(total, 1))
            boundary = np.sort(low[signs(self.rows, exact.Fractions(total, 1), low) == 0])
        if boundary is None:
            return Decision("overlapping", witness=witness, interior=interior, exact=True,
                            rounds=self.rounds)  # fmt: skip
        w_total = exact.Fractions(total, 1)
        return Decision("quasi-separable", rounded(w_total, self.rows.shape), w_total, witness,
                        interior, boundary, True, self.rounds)  # fmt: skip

    def _nearest(self) -> Ints:
        """Rows of the working set to begin with in whole numbers."""
        return self.ids[: max(100, 4 * self.rows.dimension)]
