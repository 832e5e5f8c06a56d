"""Verification of proofs, from the data alone, by other means than those that found them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..data import Source
from ..data.validation import array_source, check_rows
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array, Ints
from . import rational
from .exact_sums import exact_sum
from .scales import rescaled
from .settled import CANCELLATION, faithful, rounded
from .signed_rows import SignedRows, dense
from .witness import PairWitness, Proof, Witness


def verified(found: Proof, X: Any, y: Any, exactly: bool) -> bool:
    """Whether the certificate proves the verdict on these data."""
    rows = found.signed if X is None and y is None else _other(found, X, y)
    if rows is None:
        return False
    if found.verdict == "separable":
        return _separates(found, rows, exactly, None)
    if found.witness is None or found.interior is None:
        return False
    if not _cancels(found, rows, found.witness, None, exactly):
        return False
    if found.verdict == "overlapping":
        return found.boundary is None and _cancels(found, rows, found.interior, rows.all(), exactly)
    if found.verdict != "quasi-separable" or found.boundary is None:
        return False
    boundary = _flat(found, found.boundary)
    return _separates(found, rows, exactly, boundary) and _cancels(
        found, rows, found.interior, boundary, exactly
    )


def _other(found: Proof, X: Any, y: Any) -> SignedRows | None:
    if isinstance(X, Source) and y is None:
        source = X
    elif y is None:
        raise ValueError("y is missing: pass verify(X, y), a Source, or nothing.")
    else:
        if not np.all(np.isin(np.asarray(y), found.classes)):
            return None  # another classification
        source = array_source(check_rows(X), y, classes=found.classes)
    if not np.array_equal(source.classes, found.classes):
        return None
    if source.n_features != len(found.feature_names):
        return None
    return SignedRows(source, intercept=found.signed.intercept)


def _flat(found: Proof, boundary: AnyArray) -> Ints:
    """Rows, or pairs of a row and a class number, as the numbers of signed rows."""
    flat = np.asarray(boundary, np.int64)
    return np.sort(flat[:, 0] * len(found.classes) + flat[:, 1] if flat.ndim == 2 else flat)


def _direction(found: Proof, rows: SignedRows) -> list[Fraction] | None:
    """The exact direction for these rows; None if there is none, or two that disagree."""
    W, fractions = found.direction, found.exact_direction
    if W is None or W.shape != (rows.shape[0], rows.source.n_features + 1):
        return None
    if not np.all(np.isfinite(W)) or (not rows.intercept and np.any(W[:, -1] != 0.0)):
        return None
    if fractions is None:
        return [Fraction(float(v)) for v in rows.own(W).ravel()]
    size = max(map(abs, fractions)) or 1
    if not np.allclose(W.ravel(), [float(f / size) for f in fractions], rtol=1e-12, atol=0.0):
        return None
    each = np.array(fractions, object).reshape(W.shape)
    if not rows.intercept and np.any(each[:, -1] != 0):
        return None
    return list(rows.own(each).ravel())


def _separates(found: Proof, rows: SignedRows, exactly: bool, boundary: Ints | None) -> bool:
    """Whether every margin is > 0, except exactly 0 on the boundary."""
    given = _direction(found, rows)
    if given is None or (boundary is not None and not len(boundary) < rows.count):
        return False
    rows, powers = rescaled(rows)
    times = np.tile(np.append(powers, 0)[: rows.width], rows.shape[0]).tolist()
    fractions = tuple(f * Fraction(2) ** p for f, p in zip(given, times, strict=True))
    w = rational.common_denominator(fractions)
    W = rounded(w, rows.shape)
    # Rows that floating point cannot decide; the others are positive despite any rounding.
    unsure = rows.within_rounding_error(W, 4.0).ids if faithful(w, W) else rows.all()
    if boundary is not None:
        unsure = np.union1d(unsure, boundary)
    on = np.zeros(len(unsure), bool) if boundary is None else np.isin(unsure, boundary)
    for start in range(0, len(unsure), 1024):
        some = slice(start, start + 1024)
        Z = dense(rows.gather(unsure[some]))
        if exactly or boundary is None:
            if not _places(Z, fractions, on[some]):
                return False
        else:
            margins = Z @ W.ravel()
            error = 4.0 * (Z.shape[1] + 4) * EPS * (np.abs(Z) @ np.abs(W.ravel()))
            if np.any(np.abs(margins[on[some]]) > 1e3 * error[on[some]]):
                return False
            if np.any(margins[~on[some]] < -error[~on[some]]):
                return False
    return True


def _places(Z: Array, w: tuple[Fraction, ...], on: AnyArray) -> bool:
    """Whether margins are exactly 0 on the boundary and exactly positive off it."""
    numerators, _ = rational.common_denominator(w)
    numbers, exponents = rational.to_integers(Z)
    lowest = int(exponents.min(initial=0))
    weights = [int(v) << (int(e) - lowest) for v, e in zip(numerators, exponents, strict=True)]
    for row, zero in zip(numbers.tolist(), on.tolist(), strict=True):
        margin = sum(a * b for a, b in zip(row, weights, strict=True) if a)
        if (margin != 0) if zero else (margin <= 0):
            return False
    return True


def _cancels(
    found: Proof, rows: SignedRows, given: Witness | PairWitness, added: Ints | None,
    exactly: bool,
) -> bool:  # fmt: skip
    """Whether weighted rows, with all of some others added once, sum to 0.

    Nothing is added to a witness, whose weights sum to 1.
    """
    ids = found.numbers_of(given)
    weights = given.weights
    most = rows.rank_at_most + (1 if added is None else 0)
    if len(ids) != len(weights) or len(np.unique(ids)) != len(ids) or len(ids) > most:
        return False
    if not all(0 < w < np.inf for w in weights):
        return False
    if len(ids) and not np.all(np.isin(ids, rows.all())):
        return False
    Z = dense(rows.gather(ids)) if len(ids) else np.zeros((0, rows.dimension))
    if len(ids) and all(isinstance(w, Fraction) for w in weights):  # floats may not represent them
        return _cancels_exactly(rows, Z, weights, added)
    weights = np.array([float(v) for v in weights])
    if added is None and not abs(weights.sum() - 1.0) <= CANCELLATION:
        return False
    powers = np.tile(np.frexp(rows.largest)[1], rows.shape[0])
    x = np.ldexp(Z, -powers)  # whatever the scale of a feature, sums must not overflow
    total, size = weights @ x, weights @ np.abs(x)
    if added is not None:
        for _, some in rows.chunks(added):
            x = np.ldexp(dense(some), -powers)
            total, size = total + x.sum(axis=0), size + np.abs(x).sum(axis=0)
    if not np.all(np.abs(total) <= CANCELLATION * size):
        return False
    return not exactly or _cancels_exactly(rows, Z, given.weights, added)


def _cancels_exactly(rows: SignedRows, Z: Array, weights: Any, added: Ints | None) -> bool:
    """The same in whole numbers: fractions as they are, floats solved again on the rows."""
    lattice = np.array([[int(v) for v in row] for row in _lattice(Z)], object).reshape(Z.shape)
    right = np.zeros(Z.shape[1], object)
    if added is not None:
        right = -exact_sum(rows, added)
    if all(isinstance(w, Fraction) for w in weights):
        numerators, denominator = rational.common_denominator(weights)
        if added is None and sum(numerators) != denominator:
            return False
        return np.array_equal(numerators.dot(lattice), right * denominator) if len(Z) else (
            not right.any())  # fmt: skip
    A = lattice.T
    if added is None:
        one = 1 << 1074
        A = np.vstack([A, np.full((1, len(Z)), one, object)])
        right = np.append(right, one)
    divisors = [int(v & -v) for v in (*A.ravel(), *right) if v]
    A, right = A // min(divisors, default=1), right // min(divisors, default=1)
    x = rational.solve(A, right, weights)
    return x is not None and all(v > 0 for v in x.numerators)


def _lattice(Z: Array) -> AnyArray:
    """Floats in whole numbers of 2**-1074, of which every float is a multiple."""
    numbers, exponents = rational.to_integers(Z)
    result: AnyArray = numbers << (exponents + 1074).astype(object)
    return result
