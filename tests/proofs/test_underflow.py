"""Bounds stay below the minimum where squares and products leave floating point."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from conftest import quiet

from separatrix import ElasticNet, LinearClassifier
from separatrix.penalties import L2

pytestmark = quiet
LOSSES = [
    ("logistic", 2), ("hinge", 2), ("squared_hinge", 2), ("squared", 2), ("logistic", 3),
    ("hinge", 3), ("one_vs_rest_hinge", 3), ("one_vs_rest_logistic", 3),
]  # fmt: skip
SCALES = 10.0 ** np.arange(-4.0, 4.5, 0.5)


def softplus(m):
    return m.exp() if m < -100 else (1 + m.exp()).ln()


def row_loss(loss, own, scores):
    """Of a row, from scores in decimals: one for two classes, else one for each."""
    margins = [s if own == c else -s for c, s in enumerate(scores)]
    if len(scores) == 1:
        margins = [scores[0] if own else -scores[0]]
    if loss == "squared":
        return sum((1 - m) ** 2 for m in margins)
    if loss == "squared_hinge":
        return sum(max(Decimal(0), 1 - m) ** 2 for m in margins)
    if loss == "hinge" and len(scores) > 1:
        return max(s - scores[own] + (c != own) for c, s in enumerate(scores))
    if loss.endswith("hinge"):
        return sum(max(Decimal(0), 1 - m) for m in margins)
    if loss == "logistic" and len(scores) > 1:
        rest = sum((s - scores[own]).exp() for c, s in enumerate(scores) if c != own)
        return rest if rest < Decimal("1e-35") else (1 + rest).ln()
    return sum(softplus(-m) for m in margins)


def objective(loss, X, y, coef, intercept, l2, scale=1.0):
    """J in decimals of 40 digits, and of any size, at weights times a number."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 40, -(10**6), 10**6
        scale, total = Decimal(scale), Decimal(0)
        W = [[scale * Decimal(v) for v in w] for w in coef.tolist()]
        biases = [scale * Decimal(b) for b in intercept.tolist()]
        for x, own in zip(X.tolist(), y.tolist(), strict=True):
            terms = [sum(Decimal(a) * v for a, v in zip(x, w, strict=True)) for w in W]
            scores = [s + b for s, b in zip(terms, biases, strict=True)]
            total += row_loss(loss, own, scores)
        return total / len(y) + Decimal(l2) * sum(v * v for w in W for v in w)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("l2", [1e-300, 1e-200])
@pytest.mark.parametrize("unit", [1e-160, 1.0, 1e4, 1e80])
@pytest.mark.parametrize(("loss", "k"), LOSSES)
def test_nothing_lies_below_a_bound_however_small_the_penalty(loss, k, unit, l2):
    rng = np.random.default_rng(-int(math.log10(l2)) + k)
    X, y = rng.integers(-4, 5, (5, 2)).astype(float), np.arange(5) % k
    if k == 2:
        y = (X[:, 0] >= np.median(X[:, 0])).astype(int)
    clf = LinearClassifier(loss, l2=l2, max_iter=40).fit(unit * X, y)
    one = LinearClassifier("hinge" if k == 2 else loss, l2=1e-9, max_iter=40).fit(X, y)
    given = loss, unit * X, y
    own = objective(*given, clf.coef_, clf.intercept_, l2)
    least = min(
        objective(*given, fit.coef_ / by, fit.intercept_, l2, scale)
        for fit, by in ((clf, 1.0), (one, unit)) for scale in SCALES
    )  # fmt: skip
    assert abs(Decimal(clf.objective_) - own) <= own * Decimal("1e-12") + Decimal("1e-320")
    assert clf.gap_ is None or Decimal(clf.objective_) - Decimal(clf.gap_) <= least
    assert clf.stop_ != "optimal" or own - least <= own * Decimal("1e-6")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("start", ["zeros", "sum"])
def test_a_loss_whose_gradient_has_no_square_is_not_called_optimal(start):
    X, y = np.array([[0, 16384.0], [1024.0, 0], [768.0, -32768.0]]), np.array([0, 1, 1])
    clf = LinearClassifier(l2=1e-300, start=start).fit(X, y)
    better = objective("logistic", X, y, np.array([[1.2e-2, -8.5e-2]]), np.array([691.0]), 1e-300)
    assert better < Decimal("9e-303")
    assert Decimal(clf.objective_) - Decimal(clf.gap_) <= better
    assert clf.stop_ != "optimal" or clf.objective_ <= float(better) * (1 + 1e-6)


def as_float(exact):
    return float(exact) if exact < Fraction(1e308) else np.inf


@pytest.mark.parametrize(("size", "l2"), [(1e-165, 1e-300), (1e170, 1e-300), (1e-170, 1e300)])
@pytest.mark.parametrize("p", [(1.0, 1.0), (0.5, 2.0)])
def test_penalties_and_conjugates_whose_squares_leave_floating_point(size, l2, p):
    V = size * np.array([[3.0, -4.0]])
    W, v, exact = np.append(V, [[size]], axis=1), list(map(Fraction, V[0])), list(map(Fraction, p))
    value = Fraction(l2) * sum(q * a * a for q, a in zip(exact, v, strict=True))
    conjugate = sum(a * a / q for q, a in zip(exact, v, strict=True)) / (4 * Fraction(l2))
    for penalty in [ElasticNet(0.0, l2, p)] + [L2(l2)] * (p == (1.0, 1.0)):
        with np.errstate(over="ignore"):
            assert penalty.value(W) == pytest.approx(as_float(value), rel=1e-14)
            assert penalty.conjugate(V) == pytest.approx(as_float(conjugate), rel=1e-14)
            gain = as_float(conjugate)
            if 0.0 < gain < np.inf:
                assert penalty.dual_scale(V, gain) == pytest.approx(0.5, rel=1e-13)
