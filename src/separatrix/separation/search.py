"""The verdict, by linear programs over working sets of signed rows.

Problem: is there w with ``z.w > 0`` for all signed rows, or one with ``z.w >= 0``, not all 0? By
the theorems of Gordan (1873) and Stiemke (1915) there is none exactly if rows cancel with some
weights >= 0, not all 0, or all of them with weights > 0.
Output: a verdict with a direction, or with weights, or with both.
Algorithm: constraint generation. A program over a few rows proposes a solution, which is checked on
all rows, or in whole numbers:

- a direction is accepted as a separator when a pass over all rows finds every margin above its own
  rounding error; rows within it are decided in whole numbers;
- weights count as a witness when the square system of their rows has a solution that stays
  positive under any error of rounding; otherwise that system is solved in whole numbers;
- where neither succeeds the simplex method in whole numbers decides on the few open rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from ..numeric.types import Array, Ints
from . import rational, thresholds
from .budget import ReadBudget
from .exact_simplex import farkas
from .exact_sums import exact_sum
from .linear_program import Unsolved, min_norm_combination
from .newton import SquaredHingeNewton
from .rational import Exact, Fractions
from .settled import (
    Proven,
    Weights,
    certain,
    close,
    equations,
    faithful,
    positive,
    rounded,
    signs,
    solved_on,
    spanning,
)
from .signed_rows import SignedRows, dense
from .working_set import ACTIVE, MAX_ROUNDS, TIE, WorkingSet

NEGLIGIBLE_WEIGHT = 1e-11  # of the largest: what a program leaves outside its basis
ON_BOUNDARY, WRONG = 1e3, -1e2  # margins of a weak separator in units of their rounding error


class WeakSeparator(NamedTuple):
    """Weights of a weak separator, and the sizes of the terms in their sums."""

    weights: Array
    sizes: Array


@dataclass
class SeparabilitySearch:
    """A working set of signed rows and the questions about it."""

    rows: SignedRows
    exact: bool = False
    budget: ReadBudget | None = None

    def __post_init__(self) -> None:
        self.working = WorkingSet(self.rows, self.budget)
        self.wide = SquaredHingeNewton(self.working)

    # ---- is there a separator? -----------------------------------------------------------

    def decide(self) -> Proven:
        """The verdict with its certificate.

        Overflowing floating-point results are discarded.
        """
        with np.errstate(all="ignore"):
            return self._decided()

    def _decided(self) -> Proven:
        found = (self._wide_separator() if self.working.suits_newton else None) or self._separator()
        return found if isinstance(found, Proven) else self._weak_separator(found)

    def _wide_separator(self) -> Proven | Weights | None:
        """By Newton's method; None if it does not decide the question."""
        W, weights = self.wide.separator()
        if W is not None:
            return self._separable(W)
        return None if weights is None else self._witness(weights)

    def _separator(self) -> Proven | Weights:
        working = self.working
        direction = np.zeros(self.rows.dimension)
        for _ in range(MAX_ROUNDS):
            working.rounds += 1
            try:
                weights, direction, value = min_norm_combination(working.scaled)
            except Unsolved:
                break
            if value <= TIE and (witness := self._witness(weights)) is not None:
                return witness
            W = working.coordinates.weights(direction)
            low = self.rows.within_rounding_error(W, 1.0, working.step)
            if low.found == 0 or (low.found <= working.step and self._positive(W, low.ids)):
                return self._separable(W)
            if value > TIE:
                working.forget(direction)
            if not working.add(low.ids):
                break
        return self._exact_separator(direction)

    def _separable(self, direction: Array, exact_direction: Fractions | None = None) -> Proven:
        return Proven(
            "separable", direction, exact_direction, exact=True, rounds=self.working.rounds
        )

    def _positive(self, W: Array, ids: Ints) -> bool:
        """Whether margins that rounding leaves open are positive."""
        return bool(np.all(signs(self.rows, rational.common_denominator(W.ravel()), ids) > 0))

    def _witness(self, weights: Array) -> Weights | None:
        """Weights of rows whose combination is proven to vanish, or None."""
        working = self.working
        at = np.flatnonzero(weights > NEGLIGIBLE_WEIGHT * weights.max())
        if len(at) > self.rows.rank_at_most + 1:
            return None
        Z, some = working.Z[at], self._coordinates(at)
        square = np.vstack([dense(working.scaled[at])[:, some].T, np.ones(len(at))])
        right = np.append(np.zeros(len(square) - 1), 1.0)
        error = np.vstack([working.row_error(at)[:, some].T, np.zeros(len(at))])
        if not self.exact and (sure := certain(square, right, error)) is not None:
            sure = sure / working.norms[at]
            if close(sure := sure / sure.sum(), dense(Z)):
                return Weights(working.ids[at], sure, None)
        return solved_on(working.ids[at], dense(Z), None)

    def _coordinates(self, at: Ints, total: Array | None = None) -> slice | Ints:
        """A sum of these rows, and the total, vanishes if it does in these coordinates."""
        return slice(None)

    def _exact_separator(self, direction: Array) -> Proven | Weights:
        """Decide the same question in whole numbers, on the rows closest to a tie."""
        margins = self.working.scaled @ direction
        D = self.rows.dimension
        ids = self.working.ids[np.argsort(margins, kind="stable")[: max(100, 4 * D)]]
        while True:
            self.working.rounds += 1
            numbers, exponents = rational.to_integers(dense(self.rows.gather(ids)))
            A = np.vstack([numbers.T, np.ones((1, len(ids)), np.int64).astype(object)])
            b = np.zeros(D + 1, object)
            b[-1] = 1
            x, u = farkas(A, b)
            if x is not None:
                return positive(ids, x)
            w = rational.Fractions(rational.scale_by_powers_of_two(-u[:-1], -exponents), 1)
            W, low = self._unsafe(w)
            wrong = low[signs(self.rows, w, low) <= 0]
            if len(wrong) == 0:
                return self._separable(W, w)
            ids = np.union1d(ids, wrong[: self.working.step])

    def _unsafe(self, w: Fractions) -> tuple[Array, Ints]:
        """The nearest floats, and the rows whose signs they do not determine."""
        W = rounded(w, self.rows.shape)
        return W, self.rows.within_rounding_error(W, 2.0).ids if faithful(w, W) else self.rows.all()

    # ---- if not, a weak separator? ---------------------------------------------

    def _weak_separator(self, witness: Weights) -> Proven:
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
            # The witness says that none cannot be left; and if no fewer are, the objective was only
            # the rounding of a sum that vanishes.
            if not 0 < count < left:
                return self._exact_weak_separator(witness)
            left = count
        if not total.any():
            return self._overlapping(witness, found)
        boundary = np.sort(self.rows.within_rounding_error(total, ON_BOUNDARY, None, sizes).ids)
        decision = self._quasi(witness, total, boundary, found)
        return decision or self._exact_weak_separator(witness)

    def _overlapping(self, witness: Weights, interior: Weights) -> Proven:
        exact = interior.fractions is not None and witness.fractions is not None
        rounds = self.working.rounds
        return Proven("overlapping", None, None, witness, interior, None, exact, rounds)

    def improve(
        self, objective: Array, prove: Callable[[Array, Array], Weights | None]
    ) -> WeakSeparator | Weights | None:
        """W with every margin >= 0 and ``objective.W > 0``; or weights that prove there is none.

        None if floating point cannot decide.
        """
        with np.errstate(all="ignore"):
            return self._improved(objective, prove)

    def _improved(
        self, objective: Array, prove: Callable[[Array, Array], Weights | None]
    ) -> WeakSeparator | Weights | None:
        working = self.working
        if (quick := self._by_newton(objective, prove)) is not None:
            return quick
        start, size = self._start(objective)
        for _ in range(MAX_ROUNDS):
            working.rounds += 1
            try:
                weights, direction, value = min_norm_combination(working.scaled, start)
            except Unsolved:
                return None
            if value <= TIE:
                proof = prove(weights * size, objective)
                if proof is not None:
                    return proof
                if value <= ACTIVE:
                    return None
            W, sizes = working.polished(direction), working.coordinates.sizes(direction)
            low = self.rows.within_rounding_error(W, WRONG, working.step, sizes)
            if low.found == 0:
                return WeakSeparator(W, sizes)
            if not working.add(low.ids):
                return None
        return None

    def _start(self, objective: Array) -> tuple[Array, float]:
        """A sum of signed rows in the coordinates of the programs: of length 1, and the length."""
        start = self.working.scaled_sum(objective)
        size = float(np.sqrt(start @ start)) or 1.0
        return start / size, size

    def _by_newton(
        self, objective: Array, prove: Callable[[Array, Array], Weights | None]
    ) -> Weights | None:
        start, size = self._start(objective)
        weights = self.wide.interior(start)
        return None if weights is None else prove(weights * size, objective)

    def solved(self, weights: Array, right: Exact) -> Weights | None:
        """Weights of the working set that a program found, solved exactly for a right-hand side."""
        working = self.working
        at = np.flatnonzero(weights > NEGLIGIBLE_WEIGHT * weights.max(initial=0.0))
        return solved_on(working.ids[at], dense(working.Z[at]), right)

    def _interior(
        self, weights: Array, objective: Array, among: tuple[Array, Array] | None
    ) -> Weights | None:
        """Weights that are proven to take the sum of all rows to 0, or None.

        With ``among``, the sum of the rows whose margins a weak separator leaves at 0.
        """
        working = self.working
        at = np.flatnonzero(weights > NEGLIGIBLE_WEIGHT * weights.max(initial=0.0))
        boundary = None
        if among is not None:
            boundary = self.rows.within_rounding_error(among[0], ON_BOUNDARY, None, among[1]).ids
            at = at[np.isin(working.ids[at], boundary)]
        if len(at) > self.rows.rank_at_most:
            return None
        if not self.exact and among is None:
            some = self._coordinates(at, objective)
            start, error = working.scaled_sum(objective)[some], working.sum_error(objective)[some]
            scaled, of_rows = dense(working.scaled[at])[:, some].T, working.row_error(at)[:, some].T
            sure = certain(scaled, -start, of_rows, error)
            if sure is not None:
                sure = sure / working.norms[at]
                if close(sure, dense(working.Z[at]), objective):
                    return Weights(working.ids[at], sure, None)
        right = -exact_sum(self.rows, boundary)
        return solved_on(working.ids[at], dense(working.Z[at]), right)

    def _quasi(
        self, witness: Weights, total: Array, boundary: Ints, proof: Weights
    ) -> Proven | None:
        """A weak separator with exactly this boundary, or None."""
        basis = spanning(self.rows, boundary)
        numbers, exponents = rational.to_integers(basis)
        fraction, power = np.frexp(total.ravel())
        hint = np.ldexp(np.round(np.ldexp(fraction, 24)), power - 24)  # shorter, so faster
        for values in (hint, total.ravel()):
            given = [Fraction(float(v)) for v in values]
            given = [v * Fraction(2) ** int(e) for v, e in zip(given, exponents, strict=True)]
            x = rational.solve(numbers, np.zeros(len(numbers), object), given)
            if x is None:
                return None
            w = rational.Fractions(rational.scale_by_powers_of_two(x.numerators, -exponents), 1)
            W, low = self._unsafe(w)
            few = len(boundary) * self.rows.width <= thresholds.EXACT_MARGIN_VALUES
            if self.exact or few:
                found = signs(self.rows, w, np.union1d(low, boundary))
                exactly = np.union1d(low, boundary)[found == 0]
                right = np.array_equal(exactly, boundary) and bool(np.all(found >= 0))
            else:
                right = np.array_equal(np.sort(low), boundary)
            if right:
                return Proven(
                    "quasi-separable", W, w, witness, proof, boundary,
                    self.exact or few, self.working.rounds,
                )  # fmt: skip
        return None

    def _exact_weak_separator(self, witness: Weights) -> Proven:
        """The same question in whole numbers."""
        total = np.zeros(self.rows.dimension, object)
        boundary = None
        while True:
            found = self.exactly_improved(-exact_sum(self.rows, boundary))
            if isinstance(found, Weights):
                break
            total = total + found
            _, low = self._unsafe(rational.Fractions(total, 1))
            boundary = np.sort(low[signs(self.rows, rational.Fractions(total, 1), low) == 0])
        if boundary is None:
            return Proven("overlapping", witness=witness, interior=found, exact=True,
                            rounds=self.working.rounds)  # fmt: skip
        w_total = rational.Fractions(total, 1)
        return Proven("quasi-separable", rounded(w_total, self.rows.shape), w_total, witness,
                        found, boundary, True, self.working.rounds)  # fmt: skip

    def exactly_improved(self, right: Exact) -> Weights | Exact:
        """Weights of rows that sum to the right-hand side, in whole numbers of 2**-1074.

        Or else w with every margin >= 0 and ``right.w < 0``.
        """
        ids = self.working.ids[: max(100, 4 * self.rows.dimension)]
        while True:
            self.working.rounds += 1
            A, b, powers = equations(dense(self.rows.gather(ids)), right)
            x, u = farkas(A, b)
            if x is not None:
                return positive(ids, x)
            w = rational.scale_by_powers_of_two(-u, powers)
            _, low = self._unsafe(rational.Fractions(w, 1))
            found = signs(self.rows, rational.Fractions(w, 1), low)
            if not np.any(found < 0):
                return w
            ids = np.union1d(ids, low[found < 0][: self.working.step])
