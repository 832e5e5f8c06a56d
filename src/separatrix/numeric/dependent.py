"""Which variables of a positive semidefinite matrix of products depend on others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from .types import Array, Ints

MIN_PIVOT = 1e-12  # squared, for a diagonal of 1: what remains of a dependent variable
PART = 1e-6  # of the largest coefficient of a combination: smaller ones are rounding


class Dependence(NamedTuple):
    """A variable that is a combination of others, or 0 if there are none."""

    variable: int
    others: Ints


def dependences(matrix: Array) -> list[Dependence]:
    """The dependent variables of sums of products.

    A pivoted Cholesky factor of the matrix, scaled to a diagonal of 1, leaves them out.
    """
    size = np.sqrt(np.diag(matrix))
    zero = size == 0.0
    scale = np.where(zero, 1.0, size)
    factor, order, rank, _ = lapack.dpstrf(matrix / scale[:, None] / scale, tol=MIN_PIVOT, lower=0)
    inner, outer = order[:rank] - 1, order[rank:] - 1
    if not len(outer):
        return []
    shares = solve_triangular(factor[:rank, :rank], factor[:rank, rank:]) / scale[inner][:, None]
    found = []
    for column, number in enumerate(outer):
        part = np.abs(shares[:, column] * scale[inner])
        needed = inner[part > PART * part.max(initial=0.0)] if not zero[number] else inner[:0]
        found.append(Dependence(int(number), np.sort(needed)))
    return found
