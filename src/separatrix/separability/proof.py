"""What proves a verdict: weights and directions settled beyond rounding, or in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..typing import Array, Ints
from . import exact
from .exact import Fractions
from .rows import EPSILON, Matrix, SignedRows


class Weights(NamedTuple):
    """Positive weights of a few signed rows: floats, and as fractions where these were solved."""

    ids: Ints
    floats: Array
    fractions: Fractions | None


def stacked(a: Matrix, b: Matrix) -> Matrix:
    """Signed rows below others."""
    return sp.vstack([a, b], format="csr") if sp.issparse(a) else np.vstack([a, b])


def dense(Z: Matrix) -> Array:
    """Signed rows as a dense array."""
    result: Array = Z.toarray() if sp.issparse(Z) else Z
    return result


def certain(A: Array, b: Array, error: Array | float = 0.0) -> Array | None:
    """The solution of a square system if it is positive whatever the rounding, else None.

    ``error`` is that of b beyond the rounding of its entries, where b is a sum of many rows.
    """
    n = len(A)
    if A.shape[0] != A.shape[1]:
        return None
    try:
        inverse = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return None
    x = inverse @ b
    x = x - inverse @ (A @ x - b)
    # Entries of A and b were themselves rounded; the bound is Rump's, by an approximate inverse.
    unsure = 16.0 * n * EPSILON
    size = np.abs(inverse)
    spread = np.abs(inverse @ A - np.eye(n)).sum(axis=1).max()
    spread += unsure * (size @ np.maximum(np.abs(A), 1.0)).sum(axis=1).max()
    if not spread < 0.5:
        return None
    terms = np.abs(A) @ np.abs(x) + np.abs(x).sum() + np.abs(b)
    doubt = size @ (np.abs(A @ x - b) + unsure * terms + error) / (1.0 - spread)
    return x if np.all(x > 2.0 * doubt) else None


def solved_on(ids: Ints, Z: Array, right: exact.Exact | None, hint: Array) -> Weights | None:
    """Weights with ``Z' weights = right`` exactly and none negative, or None.

    Without a right-hand side the combination vanishes and the weights sum to 1. ``right`` is in
    whole numbers of 2**-1074.
    """
    if right is None:
        A = np.vstack([exact.whole(Z).numbers.T, np.ones((1, len(ids)), np.int64).astype(object)])
        b = np.zeros(len(A), object)
        b[-1] = 1
        x = exact.solve(A, b, hint)
    else:
        A, b, _ = equations(Z, right)
        x = exact.solve(A, b, hint)
    if x is None or np.any(x.numerators < 0):
        return None
    return positive(ids, x)


def equations(Z: Array, right: exact.Exact) -> tuple[exact.Exact, exact.Exact, Ints]:
    """``Z' weights = right`` in small whole numbers, and the powers of two that they lack.

    ``right`` is in whole numbers of 2**-1074.
    """
    numbers, exponents = exact.whole(Z)
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
    """Those of the weights that are not 0."""
    at = np.flatnonzero(x.numerators > 0)
    x = exact.Fractions(x.numerators[at], x.denominator)
    return Weights(ids[at], x.floats(), x)


def rounded(w: Fractions, shape: tuple[int, int]) -> Array:
    """The floats nearest to a direction, of which the largest is about 1."""
    most = max(abs(v) for v in w.numerators) or 1
    return np.array([float(Fraction(int(v), int(most))) for v in w.numerators]).reshape(shape)


def signs(rows: SignedRows, w: Fractions, ids: Ints) -> Ints:
    """-1, 0 or 1: the signs of some margins, computed in whole numbers."""
    found = []
    for _, Z in rows.chunks(ids):
        numbers, exponents = exact.whole(dense(Z))
        margins = numbers.dot(exact.shifted(w.numerators, exponents))
        found.append((margins > 0).astype(np.int64) - (margins < 0))
    return np.concatenate(found) if found else np.empty(0, np.int64)


def spanning(rows: SignedRows, ids: Ints) -> Array:
    """Some of the rows that span all of them."""
    basis = np.empty((0, rows.dimension))
    for _, Z in rows.chunks(ids):
        basis = np.vstack([basis, dense(Z)])
        basis = basis[exact.independent(basis)]
    return basis
