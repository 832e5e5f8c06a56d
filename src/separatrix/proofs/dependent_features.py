"""Features that are exactly a combination of others, such as all indicators of a category.

Problem: with such features the second derivative is singular, and rounding hides whether the
curvature along a direction is zero or just small. Output: features that span all, and whether they
do so exactly, for the rows as given; None if they do not, not even up to the rounding of their
values (weights of 1e15 could make use of differences of this size).
Algorithm: a pivoted Cholesky factor proposes the combinations. One read of the data computes them
for every row in twice the working precision. They are exact if whole numbers near the coefficients
(of repeated columns, of sums of indicators), or near small multiples of them, give exactly 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from ..data import Block, Sum
from ..numeric.standardization import Standardization
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array, Ints
from .units import GivenUnits

MIN_PIVOT = 1e-13  # squared, for a diagonal of 1: what remains of a dependent feature
ROUNDING = 32 * EPS  # relative to the terms of a combination of rounded values
WHOLE = 1e-4  # distance of a coefficient to the nearest integer
MULTIPLES = range(1, 13)  # of a combination whose coefficients may be integers


class Basis(NamedTuple):
    """Variables that span all others."""

    kept: AnyArray
    """Indices among the free features and the bias; the others are combinations of these."""
    exact: bool  # whether they are exact combinations


def independent(
    units: GivenUnits, hessian: Array, own: Standardization, free: Ints
) -> Basis | None:
    """Combinations of the free features and the bias, given their second derivative ``own``."""
    objective, diagonal = units.objective, np.diag(hessian)
    kept = np.ones(len(hessian), dtype=np.bool_)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = scale[:, None] * hessian * scale
    factor, order, rank, _ = lapack.dpstrf(scaled, tol=MIN_PIVOT, lower=0)
    if rank == len(hessian):
        return Basis(kept, True)
    inner, outer = order[:rank] - 1, order[rank:] - 1
    if len(hessian) - 1 in outer:  # the bias
        return None
    null = np.zeros((len(outer), len(hessian)))
    null[np.arange(len(outer)), outer] = 1.0
    null[:, inner] = -solve_triangular(factor[:rank, :rank], factor[:rank, rank:]).T
    V = np.zeros((len(outer), objective.source.n_features + 1))
    V[:, np.append(free, -1)] = own.to_weights(null * scale)
    if not objective.intercept:
        V[:, -1] = 0.0
    source, ones = objective.source, free[outer]
    if units.given is not None and units.features is not None:  # which were not rounded again
        source, V, kept_ones = units.given, units.weights(V), units.features.occupied
        ones = ones if kept_ones is None else kept_ones[ones]
    not_exact, not_rounding = source.without_offset.total(Violations(V, ones))
    if not_rounding:
        return None
    kept[outer] = False
    return Basis(kept, not_exact == 0)


@dataclass(frozen=True)
class Violations(Sum[tuple[int, int]]):
    """Number of rows where a combination is not 0: exactly, and up to rounding.

    Integer coefficients refer to the features as stored.
    """

    V: Array  # the combinations, (m, d + 1), up to a factor
    ones: Ints  # for each, a feature whose coefficient is 1

    def of(self, block: Block) -> tuple[int, int]:
        rows, V = block.rows.underlying(self.V)
        V, counts = V / V[np.arange(len(V)), self.ones][:, None], block.weights > 0.0
        scores, sizes = rows.scores(V), rows.absolute().scores(np.abs(V))
        inexact = counts & np.any(np.abs(scores) > ROUNDING * sizes, axis=1)
        whole = np.array([_whole(v) for v in V])
        if np.any(np.isnan(whole)):
            return int(np.count_nonzero(counts)), int(np.count_nonzero(inexact))
        high, low = rows.compensated_scores(whole)
        wrong = counts & np.any((high != 0.0) | (low != 0.0), axis=1)
        return int(np.count_nonzero(wrong)), int(np.count_nonzero(inexact))


def _whole(v: Array) -> Array:
    """The smallest multiple of a combination that has whole coefficients; NaN if there is none."""
    for multiple in MULTIPLES:
        whole: Array = np.round(multiple * v)
        if np.all(np.abs(multiple * v - whole) <= WHOLE):
            return whole
    return np.full_like(v, np.nan)
