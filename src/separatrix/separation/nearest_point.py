"""The point of the convex hull of signed rows that is nearest to 0, in whole numbers.

Problem: ``min |sum lambda z|`` over weights lambda >= 0 of sum 1, where floating point cannot
distinguish the rows' combinations from 0: far from the origin.
Algorithm: Wolfe (1976). A corral is a set of affinely independent rows whose affine hull is nearest
to 0 inside their convex hull. The row with the smallest ``z.p``, p the nearest point, is added; as
long as the nearest point of the new affine hull has a negative weight, the step towards it is cut
off where a weight becomes 0, and that row is dropped. Every step is exact, so ``|p|`` decreases
each time and no corral occurs twice. Each gives bounds: p is a direction and a combination.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from ..numeric.types import Array
from . import rational, thresholds
from .bounds import Direction
from .budget import spend, spend_on_integers
from .rational import Exact, Fractions

DIGITS = 128  # binary, of a length: more than those of two floats
ENOUGH = 23  # binary digits of the margin: rows that would change fewer are not added


@dataclass(frozen=True)
class ConvexCombination:
    """Rows of a matrix, by their positions, with shares >= 0 of sum 1."""

    places: list[int]
    share: list[Fraction]


@dataclass(frozen=True)
class Corral(ConvexCombination):
    """Affinely independent rows, every share above 0, and the combination nearest to 0.

    That point is ``numbers * 2**exponent / denominator``.
    """

    numbers: Exact
    exponent: int
    denominator: int

    def direction(self) -> Direction:
        numbers = [int(number) << DIGITS for number in self.numbers]
        length = isqrt(sum(number**2 for number in numbers))
        weights = [number / length for number in numbers]
        rest = [
            float(Fraction(number, length) - Fraction(weight))
            for number, weight in zip(numbers, weights, strict=True)
        ]
        return Direction(np.array(weights), np.array(rest), self.numbers)

    def distance(self) -> float:
        """An upper bound, as a float, on the distance of the nearest point from 0."""
        square = Fraction(int(self.numbers.dot(self.numbers)), self.denominator**2)
        return rational.root_bounds(square * Fraction(4) ** self.exponent)[1]

    def extended(self, rows: Exact) -> ConvexCombination | None:
        """With the most violated row at share 0; None if that brings the point no closer."""
        bits = max(int(abs(v)).bit_length() for v in self.numbers)
        spend(rows.size * (0.3 + bits / 5000.0))  # numbers of the rows are short
        products, square = rows.dot(self.numbers), int(self.numbers.dot(self.numbers))
        place = int(np.argmin(products))
        if int(products[place]) * self.denominator >= square - (square >> ENOUGH):
            return None
        return ConvexCombination([*self.places, place], [*self.share, Fraction(0)])


def started(Z: Array, share: Array) -> ConvexCombination:
    """The shares that floating point found, of rows that are affinely independent."""
    at = np.flatnonzero(share)
    kept = at[rational.independent(np.column_stack([Z[at], np.ones(len(at))]))]
    each = [Fraction(float(v)) for v in share[kept]]
    return ConvexCombination(kept.tolist(), [v / sum(each) for v in each])


def minimised(rows: Exact, exponent: int, start: ConvexCombination) -> Corral:
    """The point closest to 0 in the hull of a combination's rows, starting from the combination.

    The rows are ``rows * 2**exponent``.
    """
    places, share = start.places, start.share
    while True:
        numbers = rows[places]
        found = _affine_minimum(numbers)
        aims = list(found.each())
        if min(aims) > 0:
            point = found.numerators.dot(numbers)
            return Corral(places, aims, point, exponent, found.denominator)
        step = min(s / (s - aim) for s, aim in zip(share, aims, strict=True) if aim <= 0)
        moved = [s + step * (aim - s) for s, aim in zip(share, aims, strict=True)]
        places = [place for place, s in zip(places, moved, strict=True) if s > 0]
        share = [s for s in moved if s > 0]


def _affine_minimum(numbers: Exact) -> Fractions:
    """Weights of sum 1, of any sign, for which the sum of the rows is the shortest vector.

    It is orthogonal to the differences of the rows, which are independent.
    """
    apart = numbers[1:] - numbers[0]
    bits = max(int(abs(v)).bit_length() for v in numbers.flat)
    spend_on_integers(len(numbers) * numbers.size, 2 * bits)
    A, b = apart.dot(apart.T), -apart.dot(numbers[0])
    if len(A) <= thresholds.ELIMINATED_UNKNOWNS:
        spend_on_integers(len(A) ** 3 // 2, bits * len(A))
        found = rational.eliminated(A, b)
    else:
        solved = rational.solve(A, b)
        if solved is None:
            raise ArithmeticError("rows of a corral are affinely independent")
        found = solved
    first = found.denominator - sum(found.numerators.tolist())
    return Fractions(np.append(np.array([first], object), found.numerators), found.denominator)
