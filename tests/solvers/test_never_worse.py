"""Solvers that choose their own steps never end above where they began, whatever the scales."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from separatrix import LBFGS, DualAscent, LeastSquares, LinearClassifier, LinearProgram, Newton

SOLVERS = [
    (DualAscent(), "hinge"),
    (DualAscent(), "squared_hinge"),
    (DualAscent(), "logistic"),
    (LBFGS(), "logistic"),
    (LBFGS(), "squared_hinge"),
    (Newton(), "logistic"),
    (Newton(), "squared_hinge"),
    (LeastSquares(), "squared"),
    (LinearProgram(), "hinge"),
]


def phi(loss, m):
    if loss == "hinge":
        return np.maximum(0, 1 - m)
    if loss == "logistic":
        return np.logaddexp(0, -m)
    return np.maximum(0, 1 - m) ** 2 if loss == "squared_hinge" else (1 - m) ** 2


def value(X, y, W, loss, l2):
    """J in long doubles."""
    X, W = X.astype(np.longdouble), W.astype(np.longdouble)
    S, k, each = X @ W[:, :-1].T + W[:, -1], len(W), np.arange(len(y))
    with np.errstate(all="ignore"):
        if k == 1:
            losses = phi(loss, np.where(y == 1, 1, -1) * S[:, 0])
        elif loss == "hinge":
            above = S + 1 - S[each, y][:, None]
            above[each, y] = 0
            losses = above.max(axis=1)
        elif loss == "logistic":
            losses = np.logaddexp.reduce(S - S[each, y][:, None], axis=1)
        else:
            losses = phi(loss, np.where(y[:, None] == np.arange(k), 1, -1) * S).sum(axis=1)
        return float(losses.mean() + np.longdouble(l2) * (W[:, :-1] ** 2).sum())


def starts(X, y, k, intercept, seed):
    """Every kind of start, and the weights it stands for."""
    shape = 1 if k == 2 else k, X.shape[1] + 1
    rng = np.random.default_rng(seed)
    given = rng.standard_normal(shape) * 10.0 ** rng.integers(-50, 50)
    drawn = np.random.default_rng((seed, 2**32)).standard_normal(shape)
    Z = np.column_stack([X, np.full(len(y), float(intercept))])
    if k == 2:
        total = np.where(y == 1, 1.0, -1.0)[None] @ Z
    else:
        total = np.array([(k - 1) * Z[y == c].sum(0) - Z[y != c].sum(0) for c in range(k)])
    for W in (given, drawn):
        W[:, -1] *= intercept
    array = given[0] if k == 2 else given
    kinds = (("zeros", np.zeros(shape)), ("sum", total), ("random", drawn), (array, given))
    return kinds[seed % 4]


def fitted(X, y, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearClassifier(max_iter=50, **given).fit(X, y)


@pytest.mark.sampled(20)
@pytest.mark.parametrize(("solver", "loss"), SOLVERS)
@pytest.mark.parametrize("seed", range(12))
def test_no_fit_ends_above_its_start(solver, loss, seed):
    rng = np.random.default_rng(seed)
    k = 3 if seed % 3 == 0 and (loss == "hinge" or not isinstance(solver, DualAscent)) else 2
    n, d = rng.integers(6, 30), 110 if seed % 5 == 4 else rng.integers(1, 8)
    most = (3, 20, 80, 150)[seed % 4]
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-most, most + 1, d)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    l2 = 10.0 ** rng.choice([-300, -30, -8, -4, 0, 10])
    l2 = 0.0 if isinstance(solver, LinearProgram) else l2
    intercept = bool(rng.random() < 0.7)
    start, W = starts(X, y, k, intercept, seed)
    try:
        fit = fitted(X, y, loss=loss, l2=l2, solver=solver, fit_intercept=intercept,
                     start=start, random_state=seed)  # fmt: skip
    except ValueError as error:  # no claim: features so large that a remedy is named
        if "scale" in str(error):
            return
        raise
    assert np.isfinite(fit.objective_)
    before = value(X, y, W, loss, l2)
    assert fit.objective_ <= before * (1 + 1e-9) or not np.isfinite(before)


def test_columns_of_very_different_scales_stay_below_zeros():
    rng = np.random.default_rng(0)
    for seed in range(10):
        X = rng.standard_normal((30, 6)) * 10.0 ** rng.integers(-12, 13, 6)
        y = rng.integers(0, 2, 30)
        y[:2] = 0, 1
        for start in ("zeros", "sum", "random"):
            fit = fitted(X, y, loss="hinge", l2=1e-4, solver=DualAscent(), start=start,
                         random_state=seed)  # fmt: skip
            assert fit.objective_ <= 1.0 + 1e-12


@pytest.mark.parametrize("k", [2, 3])
def test_a_penalty_that_is_nearly_none_leaves_a_finite_objective(k):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((40, 4))
    y = np.append(np.arange(k), rng.integers(0, k, 40 - k))
    fit = fitted(X, y, loss="hinge", l2=1e-300, solver=DualAscent(), start="sum")
    assert np.isfinite(fit.objective_)
    assert fit.objective_ <= 1.0 + 1e-12
    assert fit.stop_ != "optimal" or fit.gap_ <= 1e-6 * fit.objective_


def test_changes_of_the_gradient_whose_squares_underflow_are_no_curvature():
    """Separable rows, and a penalty that hardly keeps J from 0: L-BFGS divided by such a square."""
    X = np.array([[2, -4], [-4, 1], [6, -1], [-6, 4], [6, 4]]) * [2.0**34, 2.0**-26]
    y, weight = np.array([0, 1, 2, 0, 2]), np.array([2.0, 2.0, 2.0, 1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = LinearClassifier(
            l2=1e-300, solver=LBFGS(), tol=0.0, max_iter=200, start="random", random_state=0
        ).fit(X, y, sample_weight=weight)
    assert 0.0 < clf.objective_ < 1e-200
