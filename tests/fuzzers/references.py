"""What a fit should come to: fractions, decimals of 50 digits, long doubles, a linear program."""

from __future__ import annotations

import decimal
import warnings
from fractions import Fraction

import numpy as np
import scipy.optimize

from .cases import Case

LONG = np.longdouble
decimal.getcontext().prec = 50
decimal.getcontext().Emax = 10**9
decimal.getcontext().Emin = -(10**9)


def exact_scores(case: Case, coef: np.ndarray, intercept: np.ndarray) -> list[list[Fraction]]:
    W = [[Fraction(v) for v in row] for row in coef.tolist()]
    b = [Fraction(v) for v in intercept.tolist()]
    return [
        [
            sum((Fraction(v) * u for v, u in zip(x, w, strict=True)), c)
            for w, c in zip(W, b, strict=True)
        ]
        for x in case.X.tolist()
    ]


def to_decimal(value: Fraction) -> decimal.Decimal:
    return decimal.Decimal(value.numerator) / decimal.Decimal(value.denominator)


def softplus(gaps: list[Fraction]) -> decimal.Decimal:
    """log(1 + sum of e^gap)."""
    top = max(0, *gaps)
    total = sum((to_decimal(g - top).exp() for g in [Fraction(0), *gaps]), decimal.Decimal(0))
    if top == 0:  # a sum that is nearly 1: the series of the logarithm
        rest = sum((to_decimal(g).exp() for g in gaps), decimal.Decimal(0))
        if rest < decimal.Decimal("1e-20"):
            return rest - rest * rest / 2
    return to_decimal(Fraction(top)) + total.ln()


def loss_of(name: str, scores: list[Fraction], y: int) -> decimal.Decimal:
    if len(scores) == 1:
        margin = scores[0] if y == 1 else -scores[0]
        if name == "logistic":
            return softplus([-margin])
        short = 1 - margin if name == "squared" else max(Fraction(0), 1 - margin)
        return to_decimal(short if name == "hinge" else short * short)
    rivals = [s - scores[y] for c, s in enumerate(scores) if c != y]
    if name == "logistic":
        return softplus(rivals)
    if name == "hinge":
        return to_decimal(max(Fraction(0), 1 + max(rivals)))
    columns = [1 - s if c == y else 1 + s for c, s in enumerate(scores)]
    if name == "squared_hinge":
        columns = [max(Fraction(0), c) for c in columns]
    return to_decimal(sum(c * c for c in columns))


def exact_objective(case: Case, coef: np.ndarray, intercept: np.ndarray) -> decimal.Decimal:
    """J, to some 40 digits."""
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    total = decimal.Decimal(0)
    for scores, y, c in zip(
        exact_scores(case, coef, intercept), case.y, weight.tolist(), strict=True
    ):
        if c:
            total += to_decimal(Fraction(c)) * loss_of(case.loss, scores, int(y))
    mean = total / to_decimal(sum(map(Fraction, weight.tolist()), Fraction(0)))
    square = sum((Fraction(w) ** 2 for w in coef.ravel().tolist()), Fraction(0))
    return mean + to_decimal(Fraction(case.l2) * square)


def long_value(case: Case, Z: np.ndarray, cost: np.ndarray, W: np.ndarray) -> LONG:
    """J in long doubles, in variables of columns Z with their own penalties."""
    c = np.ones(len(case.y), LONG) if case.weight is None else (case.weight / case.weight.max())
    c = np.asarray(c, LONG) / np.sum(c, dtype=LONG)
    s = Z @ W.T
    rows = np.arange(len(case.y))
    if case.k == 2:
        signs = np.where(case.y == 1, 1, -1)[:, None]
    elif case.loss in ("logistic", "hinge"):
        rivals = s - s[rows, case.y][:, None]
        if case.loss == "hinge":
            rivals = rivals + 1
            rivals[rows, case.y] = 0
            return c @ rivals.max(axis=1) + np.sum(cost * W**2)
        top = rivals.max(axis=1)
        return c @ (top + np.log(np.exp(rivals - top[:, None]).sum(axis=1))) + np.sum(cost * W**2)
    else:
        signs = np.where(case.y[:, None] == np.arange(case.k), 1, -1)
    m = signs * s
    if case.loss == "logistic":
        values = np.logaddexp(LONG(0), -m)
    else:
        short = 1 - m if case.loss == "squared" else np.maximum(0, 1 - m)
        values = short if case.loss == "hinge" else short**2
    return c @ values.sum(axis=1) + np.sum(cost * W**2)


def better(case: Case, coef: np.ndarray, intercept: np.ndarray) -> decimal.Decimal:
    """The lowest J that Powell's method finds, from the fit and from zeros, evaluated exactly.

    In columns that are centred and of one scale, as far as exact powers of two allow.
    """
    scale = np.array([2.0 ** np.ceil(np.log2(max(np.ptp(x), np.abs(x).max() * 1e-300, 5e-324)))
                      for x in case.X.T])  # fmt: skip
    middle = case.X.mean(axis=0) if case.intercept else np.zeros(len(scale))
    Z = np.column_stack([(case.X - middle) / scale, np.ones(len(case.X))]).astype(LONG)
    with np.errstate(over="ignore"):
        cost = np.append(
            np.minimum(LONG(case.l2) / LONG(1) / scale.astype(LONG) ** 2, LONG(1e300)), 0
        )
    start = np.column_stack([coef * scale, intercept + coef @ middle])
    if not case.intercept:
        Z, cost, start = Z[:, :-1], cost[:-1], start[:, :-1]
    found = exact_objective(case, coef, intercept)
    for first in (start, np.zeros_like(start)):
        if not np.all(np.isfinite(first)):
            continue
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = scipy.optimize.minimize(
                lambda u: float(long_value(case, Z, cost, u.reshape(start.shape).astype(LONG))),
                first.ravel(), method="Powell",
                options={"maxiter": 60, "xtol": 1e-9, "ftol": 1e-14},
            )  # fmt: skip
            W = result.x.reshape(start.shape)
            w = W[:, : len(scale)] / scale
            b = W[:, -1] - w @ middle if case.intercept else np.zeros(len(W))
        if np.all(np.isfinite(w)) and np.all(np.isfinite(b)):
            found = min(found, exact_objective(case, w, b))
    return found


def runs_off(case: Case) -> bool:
    """Whether some weights give no row of whole numbers a negative margin, and one a positive."""
    present = np.ones(len(case.y), bool) if case.weight is None else case.weight > 0
    around = case.base - case.base[0] if case.intercept else case.base
    x = np.column_stack([around, np.ones(len(case.y))])[present]
    x, y = (x if case.intercept else x[:, :-1]), case.y[present]
    if case.k == 2:
        Z = np.where(y == 1, 1, -1)[:, None] * x
    else:
        Z = np.array([
            np.concatenate([x[i] * ((c == y[i]) - (c == r) * 1.0) for c in range(case.k)])
            for i in range(len(y)) for r in range(case.k) if r != y[i]
        ])  # fmt: skip
    size = np.abs(Z).max()
    bounded = scipy.optimize.linprog(
        -Z.sum(axis=0) / size, A_ub=-Z / size, b_ub=np.zeros(len(Z)), bounds=(-1, 1), method="highs"
    )
    return bool(-bounded.fun > 1e-7)
