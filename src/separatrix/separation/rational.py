"""Linear systems in whole numbers: every float is a whole number times a power of two.

A square system is solved modulo a prime and lifted to increasing powers of it (Dixon 1982), until
the fractions satisfy the system exactly. Every result is checked by exact substitution, so the
primes affect only the time, never the result.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, isqrt, lcm, nextafter
from typing import Any, NamedTuple

import numpy as np

from ..numeric.types import AnyArray, Array, Ints
from . import modular
from .budget import spend, spend_on_integers

LIMB = 24  # bits: with the 23 of a residue, 2^16 products summed fit int64

Exact = AnyArray  # of Python's own integers, which do not overflow


class Integers(NamedTuple):
    """Floats as ``numbers * 2**exponents``, one exponent for each column."""

    numbers: Exact
    exponents: Ints


def lowest_bits(Z: Array) -> tuple[Ints, Ints]:
    """Odd whole numbers, and the powers of two by which they make up a finite matrix."""
    fraction, power = np.frexp(np.asarray(Z, dtype=np.float64))
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    zeros = np.where(mantissa == 0, 0, np.frexp((mantissa & -mantissa).astype(np.float64))[1] - 1)
    power = np.where(mantissa == 0, np.iinfo(np.int64).max, power.astype(np.int64) - 53 + zeros)
    return mantissa >> zeros, power


def to_integers(Z: Array) -> Integers:
    """The columns of a finite matrix as whole numbers, exactly."""
    mantissa, power = lowest_bits(Z)
    least = power.min(axis=0, initial=np.iinfo(np.int64).max)
    least = np.where(least == np.iinfo(np.int64).max, 0, least)
    shift = np.where(mantissa == 0, 0, power - least)
    numbers = mantissa.astype(object) << shift.astype(object)
    return Integers(numbers, least)


def to_lattice(Z: Array) -> tuple[Exact, int]:
    """A finite matrix as whole numbers times one power of two, exactly."""
    numbers, exponents = to_integers(Z)
    least = int(exponents.min(initial=0))
    return numbers << (exponents - least).astype(object), least


def scale_by_powers_of_two(numbers: Exact, exponents: Ints) -> Exact:
    """``numbers * 2**exponents`` up to a common power of two, along the last axis."""
    result: Exact = numbers << (exponents - exponents.min(initial=0)).astype(object)
    return result


class Fractions(NamedTuple):
    """A vector of fractions over one denominator, which is positive."""

    numerators: Exact
    denominator: int

    def each(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(int(n), self.denominator) for n in self.numerators)

    def floats(self) -> Array:
        return np.array([nearest(f) for f in self.each()])


def nearest(fraction: Fraction) -> float:
    """The nearest float, infinity if it is too large."""
    try:
        return float(fraction)
    except OverflowError:
        return inf if fraction > 0 else -inf


def root_bounds(square: Fraction) -> tuple[float, float]:
    """Two floats, a few roundings apart, between which the root of a positive fraction lies."""
    above, below = square.numerator, square.denominator
    digits = 64 + max(0, below.bit_length() - above.bit_length()) // 2
    root = isqrt((above << 2 * digits) // below)
    lower, upper = (nearest(Fraction(root + more, 1 << digits)) for more in (0, 1))
    return nextafter(lower, 0.0), nextafter(upper, inf)


def common_denominator(fractions: Any) -> Fractions:
    """Fractions, whole numbers or floats over their common denominator."""
    each = [Fraction(f) for f in fractions]
    denominator = lcm(*(f.denominator for f in each)) if each else 1
    numerators = np.empty(len(each), object)
    numerators[:] = [f.numerator * (denominator // f.denominator) for f in each]
    return Fractions(numerators, denominator)


def solve(A: Exact, b: Exact, hint: Any = None) -> Fractions | None:
    """x with ``A x = b`` exactly, or None where none was found.

    Free unknowns take the values of the hint, or 0.
    """
    for prime in modular.PRIMES:
        found = modular.eliminated(modular.residues(A, prime), prime)
        rows = np.sort(found.rows[: len(found.columns)])
        x = _with_free(A, b, rows, np.sort(found.columns), prime, hint)
        if x is not None and np.array_equal(A.dot(x.numerators), b * x.denominator):
            return x
    return None


def eliminated(A: Exact, b: Exact) -> Fractions:
    """x with ``A x = b`` for a positive definite A, by Bareiss's elimination without fractions.

    Every intermediate entry is a minor of A and b, so each division has no remainder.
    """
    M = np.column_stack([A, b])
    last = 1
    for k in range(len(M)):
        pivot, row, column = M[k, k], M[k, k + 1 :].copy(), M[:, k].copy()
        M[:, k + 1 :] = (pivot * M[:, k + 1 :] - np.multiply.outer(column, row)) // last
        M[k, k + 1 :] = row
        last = pivot
    return Fractions(M[:, -1], int(last))


def dependent(A: Exact) -> bool:
    """Whether the columns are dependent modulo a prime."""
    prime = modular.PRIMES[0]
    rank = len(modular.eliminated(modular.residues(A, prime), prime).columns)
    return bool(rank < A.shape[1])


def _with_free(
    A: Exact, b: Exact, rows: Ints, columns: Ints, prime: int, hint: Any
) -> Fractions | None:
    n = A.shape[1]
    free = np.setdiff1d(np.arange(n), columns)
    given = common_denominator([0] * len(free) if hint is None else [hint[j] for j in free])
    right = b[rows] * given.denominator - A[rows][:, free].dot(given.numerators)
    if len(rows) == 0:
        inner: Fractions | None = Fractions(np.zeros(0, object), 1)
    else:
        inner = _lift(A[rows][:, columns], right, prime)
    if inner is None:
        return None
    numerators = np.zeros(n, object)
    numerators[columns] = inner.numerators
    numerators[free] = given.numerators * inner.denominator
    return Fractions(numerators, inner.denominator * given.denominator)


def _lift(B: Exact, b: Exact, prime: int) -> Fractions | None:
    """Solution of a square system that is not singular modulo the prime."""
    inverse = modular.inverse(modular.residues(B, prime), prime)
    limbs = _limbs(B)
    residual, solution, power = b.copy(), np.zeros(len(b), object), 1
    bits = sum(int(sum(v * v for v in row)).bit_length() / 2 + 1 for row in B)
    bits = 2 * (bits + max((int(abs(v)).bit_length() for v in b), default=0)) + 64
    steps, attempt = 0, 4
    while True:
        spend(10.0 * len(b) + len(limbs) * B.size / 500.0)
        digit = modular.product(inverse, modular.residues(residual, prime), prime)
        digit = digit.astype(np.int64)
        solution = solution + digit.astype(object) * power
        taken = np.zeros(len(b), object)
        for place, limb in enumerate(limbs):
            taken = taken + ((limb @ digit).astype(object) << (LIMB * place))
        residual = (residual - taken) // prime
        power *= prime
        steps += 1
        last = power.bit_length() > bits
        if steps >= attempt or last:
            attempt = 2 * steps
            x = _reconstruct(solution, power)
            if x is not None and np.array_equal(B.dot(x.numerators), b * x.denominator):
                return x
            if last:
                return None


def _limbs(B: Exact) -> list[Ints]:
    """B as a sum of int64 matrices times powers of 2**LIMB."""
    sign = np.where(B < 0, -1, 1).astype(np.int64)
    size: Exact = abs(B)
    limbs = []
    while True:
        limbs.append((size % (1 << LIMB)).astype(np.int64) * sign)
        size = size >> LIMB
        if not size.any():
            return limbs


def _reconstruct(residues: Exact, modulus: int) -> Fractions | None:
    """Fractions of small numerator and common denominator that have these residues."""
    bound = 1 << ((modulus.bit_length() - 2) // 2)
    denominator = 1
    for residue in residues:
        spend_on_integers(1, modulus.bit_length())
        value = int(residue) * denominator % modulus
        if min(value, modulus - value) < bound:
            continue
        remainder, previous, factor, older = value, modulus, 1, 0
        while remainder >= bound:
            quotient = previous // remainder
            previous, remainder = remainder, previous - quotient * remainder
            older, factor = factor, older - quotient * factor
        if factor == 0:
            return None
        denominator *= abs(factor)
        if denominator >= modulus // bound:
            return None
    numerators = residues * denominator % modulus
    numerators = np.where(numerators > modulus // 2, numerators - modulus, numerators)
    return Fractions(numerators, denominator)


def independent(Z: Array) -> Ints:
    """Rows of a matrix that span all of its rows, modulo a prime."""
    return modular.Span(Z.shape[1]).add(Z)
