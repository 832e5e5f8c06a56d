"""Proofs of a verdict: weights and directions that are certain despite rounding, or exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..numeric.tolerances import EPS
from ..numeric.types import Array, Ints
from . import modular, rational
from .budget import spend_on_integers
from .exact_simplex import farkas
from .rational import Fractions
from .signed_rows import SignedRows, dense

SMALLEST_ENTRY = 1e-290  # of an entry of a direction, the largest being 1
CANCELLATION = 1e-9  # a floating-point sum that cancels, relative to the size of its terms


class Weights(NamedTuple):
    """Positive weights of a few signed rows: floats, and fractions if these were computed."""

    ids: Ints
    floats: Array
    fractions: Fractions | None


@dataclass
class Proven:
    """A verdict and its proof."""

    verdict: str
    direction: Array | None = None
    exact_direction: Fractions | None = None
    witness: Weights | None = None
    interior: Weights | None = None
    boundary: Ints | None = None
    exact: bool = False
    rounds: int = 0


def certain(A: Array, b: Array, of_A: Array, of_b: Array | float = 0.0) -> Array | None:
    """The solution of a square system if it is positive despite rounding, else None.

    ``of_A`` and ``of_b`` bound the errors in A and b beyond the rounding of their entries.
    """
    n = len(A)
    if n == 0 or A.shape[0] != A.shape[1]:
        return None
    try:
        inverse = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return None
    x = inverse @ b
    x = x - inverse @ (A @ x - b)
    # Entries of A and b were themselves rounded; the bound is Rump's, by an approximate inverse.
    unsure = 16.0 * n * EPS
    size = np.abs(inverse)
    spread = np.abs(inverse @ A - np.eye(n)).sum(axis=1).max()
    spread += (size @ (unsure * np.maximum(np.abs(A), 1.0) + of_A)).sum(axis=1).max()
    if not spread < 0.5:
        return None
    terms = np.abs(A) @ np.abs(x) + np.abs(x).sum() + np.abs(b)
    wrong = np.abs(A @ x - b) + unsure * terms + of_A @ np.abs(x) + of_b
    doubt = size @ wrong / (1.0 - spread)
    return x if np.all(x > 2.0 * doubt) else None


def close(weights: Array, Z: Array, total: Array | float = 0.0) -> bool:
    """Whether weighted rows sum to 0 in floating point, as accurately as ``verify`` requires."""
    size = weights @ np.abs(Z) + np.abs(total)
    return bool(np.all(np.abs(weights @ Z + total) <= 0.1 * CANCELLATION * size))


def solved_on(ids: Ints, Z: Array, right: rational.Exact | None) -> Weights | None:
    """Weights with ``Z' weights = right`` exactly and none negative, or None.

    Without a right-hand side the combination vanishes and the weights sum to 1. ``right`` is in
    whole numbers of 2**-1074. The rows of the weights are independent, so the solution is unique.
    """
    if right is None:
        A = np.vstack(
            [rational.to_integers(Z).numbers.T, np.ones((1, len(ids)), np.int64).astype(object)]
        )
        b = np.zeros(len(A), object)
        b[-1] = 1
    else:
        A, b, _ = equations(Z, right)
    x = farkas(A, b)[0] if rational.dependent(A) else rational.solve(A, b)
    if x is None or np.any(x.numerators < 0):
        return None
    return positive(ids, x)


def equations(Z: Array, right: rational.Exact) -> tuple[rational.Exact, rational.Exact, Ints]:
    """``Z' weights = right`` in small whole numbers, and the powers of two that were divided out.

    ``right`` is in whole numbers of 2**-1074.
    """
    numbers, exponents = rational.to_integers(Z)
    lefts, rights = numbers.T, right.copy()
    powers = np.zeros(len(right), np.int64)
    for j, exponent in enumerate(exponents):
        shift = int(exponent) + 1074
        own = _trailing(rights[j])
        powers[j] = shift if own is None else min(own, shift)
        rights[j] >>= int(powers[j])
        lefts[j] <<= shift - int(powers[j])
    return lefts, rights, -powers


def _trailing(number: int) -> int | None:
    return None if number == 0 else int(number & -number).bit_length() - 1


def positive(ids: Ints, x: Fractions) -> Weights:
    """The weights that are not 0."""
    at = np.flatnonzero(x.numerators > 0)
    x = rational.Fractions(x.numerators[at], x.denominator)
    return Weights(ids[at], x.floats(), x)


def rounded(w: Fractions, shape: tuple[int, int]) -> Array:
    """The floats nearest to a direction, scaled so that the largest is about 1."""
    most = max(abs(v) for v in w.numerators) or 1
    return np.array([float(Fraction(int(v), int(most))) for v in w.numerators]).reshape(shape)


def faithful(w: Fractions, W: Array) -> bool:
    """Whether floats represent every entry of a direction, none of them lost to underflow."""
    return bool(np.all((np.abs(W.ravel()) > SMALLEST_ENTRY) | (w.numerators == 0)))


def signs(rows: SignedRows, w: Fractions, ids: Ints) -> Ints:
    """-1, 0 or 1: the signs of some margins, computed in whole numbers."""
    found = []
    for _, Z in rows.chunks(ids):
        numbers, exponents = rational.to_integers(dense(Z))
        scaled = rational.scale_by_powers_of_two(w.numerators, exponents)
        spend_on_integers(numbers.size, max((int(v).bit_length() for v in scaled), default=0))
        margins = numbers.dot(scaled)
        found.append((margins > 0).astype(np.int64) - (margins < 0))
    return np.concatenate(found) if found else np.empty(0, np.int64)


def spanning(rows: SignedRows, ids: Ints) -> Array:
    """Some of the rows that span all of them."""
    return spanned(rows, ids)[0]


def spanned(rows: SignedRows, ids: Ints) -> tuple[Array, modular.Span]:
    """Some of the rows that span all of them, and their span."""
    basis, span = np.empty((0, rows.dimension)), modular.Span(rows.dimension)
    for _, Z in rows.chunks(ids):
        basis = np.vstack([basis, dense(Z[span.add(dense(Z))])])
    return basis, span
