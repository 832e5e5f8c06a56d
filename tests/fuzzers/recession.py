"""Whether J falls for ever along a direction: a linear program in whole numbers.

A loss that falls strictly with every margin has no minimum if some direction of the weights
without a penalty lowers no margin and raises one. By Stiemke's theorem there is no such direction
exactly if some strictly positive combination of the signed rows is 0. The first phase of the
simplex method, with Bland's rule and without rounding, looks for that combination.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from .cases import Case


def runs_off(case: Case) -> bool:
    """Whether weights without a penalty can lower no margin and raise one."""
    return any(not balances(signed) for signed in signed_rows(case))


def signed_rows(case: Case) -> list[list[list[int]]]:
    """For every independent problem, what a direction adds to each margin, in whole numbers.

    Several classes with a joint loss have a margin for each rival. Only differences of their
    weights matter, so those of the first class stay 0.
    """
    present = np.flatnonzero(case.row_weights > 0.0)
    rows = whole_columns(case.X[present][:, case.free].tolist())
    rows = [[*row, 1] for row in rows] if case.intercept else rows
    if not rows or not rows[0]:
        return []
    if case.binary_losses:
        signs = case.signs[present].T.tolist()
        return [[[t * v for v in x] for t, x in zip(sign, rows, strict=True)] for sign in signs]
    pairs = []
    for x, y in zip(rows, case.y[present].tolist(), strict=True):
        for rival in range(case.k):
            if rival != y:
                shares = [(c == y) - (c == rival) for c in range(1, case.k)]
                pairs.append([share * v for share in shares for v in x])
    return [pairs]


def whole_columns(rows: list[list[float]]) -> list[list[int]]:
    """The rows with every column multiplied so that it has whole numbers, as small as can be."""
    columns = []
    for column in zip(*rows, strict=True):
        values = [Fraction(v) for v in column]
        common = math.lcm(*(v.denominator for v in values))
        whole = [int(v * common) for v in values]
        divisor = math.gcd(*whole) or 1
        columns.append([v // divisor for v in whole])
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in rows]


def balances(rows: list[list[int]]) -> bool:
    """Whether some combination of all rows with positive factors is 0.

    The factors are 1 + x, x >= 0. Every column of the rows is an equation for x.
    """
    table = []
    for number, column in enumerate(zip(*rows, strict=True)):
        right = -sum(column)
        sign = -1 if right < 0 else 1
        unit = [int(other == number) for other in range(len(rows[0]))]
        table.append([sign * v for v in column] + unit + [sign * right])
    return least_artificial_sum(table, len(rows)) == 0


def least_artificial_sum(table: list[list[int]], n: int) -> int:
    """The least sum of the artificial variables, n.. on, times a positive number.

    Entries stay whole: each pivot multiplies by itself and divides by the one before (Bareiss).
    """
    basis = [n + i for i in range(len(table))]
    cost = [-sum(column) for column in zip(*table, strict=True)]
    cost[n:-1] = [0] * len(table)
    table, before = [*table, cost], 1
    while True:
        entering = next((j for j in range(n) if table[-1][j] < 0), None)
        if entering is None:
            return -table[-1][-1]
        rows = [i for i in range(len(basis)) if table[i][entering] > 0]
        leaving = min(rows, key=lambda i: (Fraction(table[i][-1], table[i][entering]), basis[i]))
        pivot = table[leaving]
        for i, row in enumerate(table):
            if i != leaving:
                factor = row[entering]
                table[i] = [
                    (v * pivot[entering] - factor * p) // before
                    for v, p in zip(row, pivot, strict=True)
                ]
        basis[leaving], before = entering, pivot[entering]
