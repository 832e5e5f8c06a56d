"""The simplex method in whole numbers, for the few rows that floating point cannot decide.

Problem: x >= 0 with ``A x = b``, or else u with ``u.A <= 0`` and ``u.b > 0``; by the lemma of
Farkas (1902) exactly one of them exists.
Input: A (m, n) and b (m,) of Python's integers. Output: x as fractions, or u.
Algorithm: phase 1 of the simplex method with artificial variables, in a table without fractions
(Bareiss 1968): whole numbers over one denominator, the last pivot. Columns enter by Dantzig's
rule and, after many pivots, by Bland's (1977), with which the method ends on every problem.
"""

from __future__ import annotations

import numpy as np

from . import thresholds
from .budget import spend_on_integers
from .rational import Exact, Fractions


def farkas(A: Exact, b: Exact) -> tuple[Fractions | None, Exact]:
    """x >= 0 with ``A x = b``, or else u with ``u.A <= 0`` and ``u.b > 0``."""
    m, n = A.shape
    flip = np.where(b < 0, -1, 1).astype(object)
    table = np.zeros((m + 1, n + m + 1), object)
    table[:m, :n] = A * flip[:, None]
    table[:m, n : n + m] = np.eye(m, dtype=np.int64).astype(object)
    table[:m, -1] = b * flip
    table[m] = -table[:m].sum(axis=0)
    table[m, n : n + m] = 0
    basis = np.arange(n, n + m)
    denominator, pivots = 1, 0
    while True:
        costs = table[m, :n]
        improving = np.flatnonzero(costs < 0)
        if len(improving) == 0:
            break
        dantzig = pivots < thresholds.DANTZIG_PIVOTS * m
        enter = int(np.argmin(costs)) if dantzig else int(improving[0])
        leave = _leaving(table, basis, enter)
        denominator = _pivot(table, leave, enter, denominator)
        basis[leave] = enter
        pivots += 1
    if table[m, -1] == 0:
        x = np.zeros(n, object)
        for row, column in enumerate(basis):
            if column < n:
                x[column] = table[row, -1]
        return Fractions(x, denominator), np.zeros(m, object)
    return None, (denominator - table[m, n : n + m]) * flip


def _leaving(table: Exact, basis: Exact, enter: int) -> int:
    best = -1
    for i in range(len(basis)):
        if table[i, enter] <= 0:
            continue
        if best >= 0:
            ours = table[i, -1] * table[best, enter]
            theirs = table[best, -1] * table[i, enter]
            if ours > theirs or (ours == theirs and basis[i] > basis[best]):
                continue
        best = i
    return best


def _pivot(table: Exact, leave: int, enter: int, denominator: int) -> int:
    pivot = table[leave, enter]
    spend_on_integers(table.size, int(pivot).bit_length())
    row, column = table[leave].copy(), table[:, enter].copy()
    column[leave] = 0
    table[:] = (table * pivot - column[:, None] * row[None, :]) // denominator
    table[leave] = row
    return int(pivot)
