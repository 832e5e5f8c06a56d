"""Features so large that the penalty is lost in rounding: the minimum is reached, and proven."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize

from separatrix import LinearClassifier


def separable_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 4))
    s = X @ [1.0, -2.0, 0.5, 1.0] + 0.3
    keep = np.abs(s) > 0.2
    return X[keep], np.where(s[keep] > 0.0, 1.0, -1.0)


def largest_margin(X, y):
    """The shortest w with y (w.x + b) >= 1, by SciPy."""
    Z = y[:, None] * np.column_stack([X, np.ones(len(X))])
    found = scipy.optimize.minimize(
        lambda v: v[:-1] @ v[:-1], np.array([5.0, -10.0, 2.5, 5.0, 1.5]), method="SLSQP",
        jac=lambda v: np.append(2.0 * v[:-1], 0.0),
        constraints={"type": "ineq", "fun": lambda v: Z @ v - 1.0, "jac": lambda v: Z},
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    return found.x[:-1] @ found.x[:-1]


def exact_objective(clf, X, y, power):
    """In fractions, of the weights as they are."""
    W = [Fraction(w) for w in [*clf.coef_[0], clf.intercept_[0]]]
    total = Fraction(0)
    for x, sign in zip(X, y, strict=True):
        score = sum((w * Fraction(v) for w, v in zip(W, [*x, 1.0], strict=True)), Fraction(0))
        total += max(Fraction(0), 1 - int(sign) * score) ** power
    return float(total / len(X) + Fraction(clf.l2) * sum(w * w for w in W[:-1]))


@pytest.mark.parametrize("scale", [1e6, 1e9])
@pytest.mark.parametrize(("loss", "power"), [("hinge", 1), ("squared_hinge", 2)])
def test_features_that_are_all_huge(loss, power, scale):
    """Where rows are separable, J is the penalty of the widest margin, far below rounding of 1."""
    X, y = separable_rows()
    clf = LinearClassifier(loss, l2=1e-3).fit(X * scale, y)
    assert clf.stop_ == "optimal"
    J = exact_objective(clf, X * scale, y, power)
    assert clf.objective_ == pytest.approx(J, rel=1e-9)
    minimum = 1e-3 * largest_margin(X, y) / scale**2  # of both losses, but for 1e-9 of it
    assert abs(J - minimum) <= 1e-5 * minimum
    assert J - clf.gap_ <= minimum * (1.0 + 1e-7)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", [1e7, 1e12])
def test_units_do_not_matter_where_classes_overlap(scale, intercept):
    """Of a vanishing penalty the hinge is a linear program, which SciPy solves without one."""
    X, y = separable_rows()
    y[::10] *= -1.0
    Z = y[:, None] * np.column_stack([X, np.full(len(X), float(intercept))])
    n, d = Z.shape
    program = scipy.optimize.linprog(
        np.append(np.zeros(d), np.full(n, 1.0 / n)), A_ub=-np.column_stack([Z, np.eye(n)]),
        b_ub=-np.ones(n), bounds=[(None, None)] * d + [(0.0, None)] * n,
    )  # fmt: skip
    clf = LinearClassifier("hinge", l2=1e-3, fit_intercept=intercept).fit(X * scale, y)
    assert clf.stop_ == "optimal"
    assert clf.objective_ == pytest.approx(program.fun, rel=2e-6)
