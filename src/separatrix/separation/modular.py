"""Elimination modulo a prime, in blocks of columns.

Residues lie between -p/2 and p/2 and are stored as floats, so that whole blocks are multiplied by
BLAS: a sum of up to ``TERMS`` products is below 2^53, and so exact. A rank modulo a prime never
exceeds the true one, and falls short of it only if the prime divides certain minors. Whatever is
derived here is therefore checked exactly, or tried again with another prime.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numeric.types import AnyArray, Array, Ints
from .budget import spend

PRIMES = (8388593, 8388587, 8388581)  # below 2^23
TERMS = 256  # most products of two residues in one sum
PANEL = 64  # columns that are eliminated together
LEAST_POWER = -1074  # of two: every float is a multiple of it


class Echelon(NamedTuple):
    """A matrix after elimination: its first rows are 1 at their own column, 0 at the others'."""

    M: Array
    rows: Ints  # which row of the given matrix stands at each place
    columns: Ints  # the column of each of the first rows


def reduced(M: Array, prime: int) -> Array:
    """Residues of whole numbers below 2^53, in place."""
    quotient = M * (1.0 / prime)
    np.rint(quotient, out=quotient)
    quotient *= prime
    M -= quotient
    return M


def residues(A: AnyArray, prime: int) -> Array:
    """Residues of Python's integers."""
    return reduced((A % prime).astype(np.float64), prime)


def product(A: Array, B: Array, prime: int) -> Array:
    total = np.zeros((A.shape[0], *B.shape[1:]))
    for start in range(0, A.shape[1], TERMS):
        some = slice(start, start + TERMS)
        total = reduced(total + A[:, some] @ B[some], prime)
    return total


def residues_of_floats(Z: Array, prime: int) -> Array:
    """Residues of ``Z * 2**1074``, of which every float is a whole number."""
    fraction, power = np.frexp(Z)
    mantissa = reduced(np.ldexp(fraction, 53), prime)
    power = np.where(Z == 0.0, 0, np.maximum(power - 53 - LEAST_POWER, 0))
    if np.any((fraction != 0.0) & (np.frexp(Z)[1] - 53 < LEAST_POWER)):  # subnormal numbers
        mantissa = reduced(np.ldexp(fraction, np.minimum(53, np.frexp(Z)[1] - LEAST_POWER)), prime)
    return reduced(mantissa * _powers_of_two(prime)[power], prime)


def _powers_of_two(prime: int) -> Array:
    powers, value = np.empty(1024 + 1074), 1
    for k in range(len(powers)):
        powers[k] = value
        value = 2 * value % prime
    return reduced(powers, prime)


def eliminated(M: Array, prime: int, among: int | None = None) -> Echelon:
    """Gauss-Jordan elimination of residues, with pivots in the first ``among`` columns."""
    M = M.copy()
    m, n = M.shape
    n = n if among is None else among
    spend(m * M.shape[1] * min(m, n) / 2000.0)
    place = np.arange(m)
    columns: list[int] = []
    for start in range(0, n, PANEL):
        rank = len(columns)
        if rank == m:
            break
        rows, found = _panel(M[rank:, start : start + PANEL].copy(), prime)
        count = len(rows)
        if count == 0:
            continue
        order = np.concatenate([rows, np.setdiff1d(np.arange(m - rank), rows)]) + rank
        moved = order[: max(count, int(rows.max()) + 1)]  # the rows behind these stay
        M[rank : rank + len(moved)], place[rank : rank + len(moved)] = M[moved], place[moved]
        at, own = found + start, slice(rank, rank + count)
        T = product(_inverse(M[own][:, at], prime), M[own], prime)
        factors = M[:, at].copy()
        factors[own] = 0.0
        some = np.flatnonzero(factors.any(axis=1))
        M[some] = reduced(M[some] - factors[some] @ T, prime)
        M[own] = T
        columns.extend(at.tolist())
    return Echelon(M, place, np.array(columns, np.int64))


def inverse(M: Array, prime: int) -> Array:
    """The inverse of a matrix that is not singular modulo the prime."""
    n = len(M)
    found = eliminated(np.hstack([M, np.eye(n)]), prime, among=n)
    back = np.empty((n, n))
    back[found.columns] = found.M[:, n:]
    return back


def _panel(P: Array, prime: int) -> tuple[Ints, Ints]:
    """Rows and columns of a largest square part of a few columns that is not singular."""
    rows, columns = [], []
    free = np.ones(len(P), bool)
    for j in range(P.shape[1]):
        nonzero = np.flatnonzero((P[:, j] != 0.0) & free)
        if len(nonzero) == 0:
            continue
        i = int(nonzero[0])
        free[i] = False
        own = reduced(P[i, j:] * _reciprocal(P[i, j], prime), prime)
        some = nonzero[1:]
        P[some, j:] = reduced(P[some, j:] - P[some, j, None] * own, prime)
        rows.append(i)
        columns.append(j)
    return np.array(rows, np.int64), np.array(columns, np.int64)


def _inverse(B: Array, prime: int) -> Array:
    """The inverse of a small matrix, row by row."""
    n = len(B)
    M = np.hstack([B, np.eye(n)])
    for j in range(n):
        i = j + int(np.flatnonzero(M[j:, j])[0])
        M[[j, i]] = M[[i, j]]
        M[j] = reduced(M[j] * _reciprocal(M[j, j], prime), prime)
        factor = M[:, j].copy()
        factor[j] = 0.0
        M = reduced(M - factor[:, None] * M[j], prime)
    return M[:, n:]


def _reciprocal(value: float, prime: int) -> float:
    found = pow(int(value) % prime, -1, prime)
    return float(found if 2 * found < prime else found - prime)


class Span:
    """The span of rows that are added a few at a time, as a reduced echelon form."""

    def __init__(self, width: int, prime: int = PRIMES[0]) -> None:
        self.prime = prime
        self.M, self.columns = np.zeros((0, width)), np.zeros(0, np.int64)

    def add(self, Z: Array) -> Ints:
        """Add rows; return which of them, independent of each other, were not in the span."""
        if len(self.columns) == Z.shape[1]:
            return np.zeros(0, np.int64)
        spend(Z.size * max(1, len(self.columns)) / 2000.0)
        rest = residues_of_floats(Z, self.prime)
        rest = reduced(rest - product(rest[:, self.columns], self.M, self.prime), self.prime)
        outside = np.flatnonzero(rest.any(axis=1))
        if len(outside) == 0:
            return outside
        found = eliminated(rest[outside], self.prime)
        new = found.M[: len(found.columns)]
        kept = product(self.M[:, found.columns], new, self.prime)
        self.M = np.vstack([reduced(self.M - kept, self.prime), new])
        self.columns = np.append(self.columns, found.columns)
        return np.sort(outside[found.rows[: len(found.columns)]])

    def lines_modulo(self, Z: Array) -> list[bytes]:
        """The line that each row spans, modulo this span: equal bytes for multiples of each other.

        Empty bytes for rows inside the span.
        """
        spend(Z.size * max(1, len(self.columns)) / 2000.0)
        rest = residues_of_floats(Z, self.prime)
        rest = reduced(rest - product(rest[:, self.columns], self.M, self.prime), self.prime)
        found = []
        for line in rest:
            first = np.flatnonzero(line)[:1]
            if len(first):
                line = reduced(line * _reciprocal(line[first[0]], self.prime), self.prime) + 0.0
            found.append(line.tobytes() if len(first) else b"")
        return found

    def axes(self) -> AnyArray:
        """Which coordinate vectors are in the span: a lone entry of the form is one."""
        spanned = np.zeros(self.M.shape[1], bool)
        spanned[self.columns[np.count_nonzero(self.M, axis=1) == 1]] = True
        return spanned
