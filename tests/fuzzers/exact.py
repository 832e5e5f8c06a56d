"""J and scores of any weights: fractions, with roots and exponentials in 50 decimal digits."""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .cases import Case

decimal.getcontext().prec = 50
decimal.getcontext().Emax = 10**9
decimal.getcontext().Emin = -(10**9)


def to_decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def exact_scores(case: Case, coef: Any, intercept: Any) -> list[list[Fraction]]:
    """Scores of all rows for weights that are floats or fractions."""
    W = [[Fraction(v) for v in row] for row in coef.tolist()]
    b = [Fraction(v) for v in intercept.tolist()]
    return [
        [
            sum((Fraction(v) * u for v, u in zip(x, w, strict=True)), c)
            for w, c in zip(W, b, strict=True)
        ]
        for x in case.X.tolist()
    ]


def softplus(gaps: list[Fraction]) -> Decimal:
    """log(1 + sum of e^gap)."""
    top = max(0, *gaps)
    total = sum((to_decimal(g - top).exp() for g in [Fraction(0), *gaps]), Decimal(0))
    if top == 0:  # a sum that is nearly 1: the series of the logarithm
        rest = sum((to_decimal(g).exp() for g in gaps), Decimal(0))
        if rest < Decimal("1e-20"):
            return rest - rest * rest / 2
    return to_decimal(Fraction(top)) + total.ln()


def margin_loss(name: str, margin: Fraction) -> Decimal:
    if name == "logistic":
        return softplus([-margin])
    if name == "tanh_squared":  # 1 - tanh m = 2 / (e^2m + 1)
        small = to_decimal(-2 * abs(margin)).exp()
        return (2 * (small if margin > 0 else 1) / (1 + small)) ** 2
    if name == "perceptron":
        return to_decimal(max(Fraction(0), -margin))
    short = 1 - margin if name == "squared" else max(Fraction(0), 1 - margin)
    return to_decimal(short if name == "hinge" else short * short)


def row_loss(case: Case, scores: list[Fraction], row: int) -> Decimal:
    if case.binary_losses:
        signs = case.signs[row].tolist()
        losses = (margin_loss(case.binary_name, t * s) for t, s in zip(signs, scores, strict=True))
        return sum(losses, Decimal(0))
    y = int(case.y[row])
    rivals = [s - scores[y] for c, s in enumerate(scores) if c != y]
    if case.loss == "logistic":
        return softplus(rivals)
    return to_decimal(max(Fraction(0), max(rivals) + (case.loss == "hinge")))


def length_blocks(case: Case) -> list[tuple[Decimal, list[tuple[int, int]]]]:
    """Blocks of weights, as (row, feature), whose length is penalised, each with its factor."""
    d = case.X.shape[1]
    if isinstance(case.groups, str):
        parts = [[(c, j) for c in range(case.columns)] for j in range(d)]
    else:
        numbers = np.arange(d) if case.groups is None else case.groups
        parts = [
            [(c, int(j)) for j in np.flatnonzero(numbers == g)]
            for c in range(case.columns)
            for g in np.unique(numbers)
        ]
    factors = [Decimal(case.l1) * Decimal(case.feature_weights[part[0][1]]) for part in parts]
    if not isinstance(case.groups, str):
        factors = [f * Decimal(len(part)).sqrt() for f, part in zip(factors, parts, strict=True)]
    return [(f, part) for f, part in zip(factors, parts, strict=True) if f]


def exact_penalty(case: Case, coef: Any) -> Decimal:
    p, s = case.feature_weights.tolist(), case.deviations.tolist()
    V = [[Fraction(a) * Fraction(v) for a, v in zip(s, row, strict=True)] for row in coef.tolist()]
    weighed = [Fraction(q) * v * v for row in V for q, v in zip(p, row, strict=True)]
    total = to_decimal(Fraction(case.l2) * sum(weighed, Fraction(0)))
    for factor, block in length_blocks(case):
        if len(block) == 1:
            ((c, j),) = block
            total += factor * to_decimal(abs(V[c][j]))
        else:
            square = sum((V[c][j] ** 2 for c, j in block), Fraction(0))
            total += factor * to_decimal(square).sqrt()
    return total


def exact_objective(case: Case, coef: Any, intercept: Any) -> Decimal:
    """J, to some 40 digits."""
    total, weight = Decimal(0), case.row_weights.tolist()
    for row, scores in enumerate(exact_scores(case, coef, intercept)):
        if weight[row]:
            total += to_decimal(Fraction(weight[row])) * row_loss(case, scores, row)
    mean = total / to_decimal(sum(map(Fraction, weight), Fraction(0)))
    return mean + exact_penalty(case, coef)
