"""The directions in which all of some signed rows have margin 0, in whole numbers.

Problem: independent v with ``z.v = 0`` for every one of some rows, and the columns that are then
combinations of the others.
Algorithm: elimination modulo a prime, of a few rows at first. What it finds is checked on all rows
exactly: sums of small whole numbers, which floats represent. Rows that contradict it are added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..numeric.types import AnyArray, Array, Ints
from . import modular
from .signed_rows import Matrix, dense

LARGEST_ENTRY = 1 << 11  # of a vector; larger residues are those of fractions
DENOMINATORS = range(1, 33)  # of the fractions that are tried
EXACT_SUM = 2.0**53  # floats represent all smaller whole numbers


class NullSpace(NamedTuple):
    """Vectors of small whole numbers that are orthogonal to some rows, exactly."""

    vectors: sp.csc_array  # (D, k); independent
    dependent: Ints  # the column of each vector in which it alone is not 0
    complete: bool  # whether these are all: their number is that of the columns less the rank


def null_space(Z: Matrix) -> NullSpace:
    """All such vectors for these rows, except those with large entries or columns of fractions."""
    Z = sp.csr_array(Z)
    D = Z.shape[1]
    span = modular.Span(D)
    some = np.random.default_rng(0).permutation(Z.shape[0])[: D + D // 8]
    while True:
        grown = len(span.add(dense(Z[some])))
        free = np.setdiff1d(np.arange(D), span.columns)
        vectors, columns = _vectors(span, free)
        products = margins(Z, vectors)
        if products is None:  # of fractions or large numbers
            at = [j for j in range(len(columns)) if margins(Z, vectors[:, [j]]) is not None]
            vectors, columns = vectors[:, at], columns[at]
            products = margins(Z, vectors)
            assert products is not None, "each vector has exact products"
        wrong = np.flatnonzero(np.diff(products.indptr))
        if len(wrong) == 0 or grown == 0:
            break
        some = wrong[:D]
    right = np.flatnonzero(np.diff(products.tocsc().indptr) == 0)
    # The rank is at least that modulo a prime, so that there are no more vectors than free columns.
    return NullSpace(vectors[:, right], columns[right], len(right) == len(free))


def _vectors(span: modular.Span, free: Ints) -> tuple[sp.csc_array, Ints]:
    """A vector for every free column, if its fractions are small, and their columns."""
    residues = -span.M[:, free]
    scale = np.zeros(len(free))
    for denominator in DENOMINATORS:
        left = np.flatnonzero(scale == 0.0)
        if len(left) == 0:
            break
        numbers = modular.reduced(denominator * residues[:, left], span.prime)
        small = np.abs(numbers).max(axis=0, initial=0.0) <= LARGEST_ENTRY
        residues[:, left[small]] = numbers[:, small]
        scale[left[small]] = denominator
    found = np.flatnonzero(scale)
    V = np.zeros((span.M.shape[1], len(found)))
    V[span.columns] = residues[:, found]
    V[free[found], np.arange(len(found))] = scale[found]
    return sp.csc_array(V), free[found]


def margins(Z: Matrix, vectors: AnyArray) -> sp.csr_array | None:
    """``Z V`` for a V of whole numbers, without zeros, if all of it is exact in floating point."""
    Z, V = sp.csr_array(Z), sp.csc_array(vectors)
    used = np.zeros(Z.shape[1], bool)
    used[V.indices] = True
    values: Array = Z.data[used[Z.indices]]
    if np.any(values != np.rint(values)):
        return None
    most = abs(Z) @ np.asarray(abs(V).sum(axis=1)).ravel()
    if not np.all(most < EXACT_SUM):
        return None
    products = sp.csr_array(Z @ V)
    products.eliminate_zeros()
    return products
