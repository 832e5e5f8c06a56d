"""Least squares: each way to the minimum, and where floating point leaves none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from problems import objective_of

from separatrix import LeastSquares, LinearClassifier
from separatrix.solvers import choose, least_squares


@pytest.mark.parametrize("l2", [0.0, 1e-300])
def test_columns_of_different_sizes_that_are_nearly_constant_are_not_taken_for_dependent(l2):
    # No intercept, so the second column looks like a multiple of the first to 12 digits.
    small = np.array([0, 3, 4, -3]) * 2.0**-25
    X = np.column_stack([small - 98304.0, np.array([-6, -2, 0, -2]) * 2.0**-13 - 2.0**29])
    y = np.array([1.0, -1.0, -1.0, 1.0])
    (a, b), (_, c) = [[sum(map(Fraction, u * v)) for v in exact(X)] for u in exact(X)]
    p, q = (sum(Fraction(t) * v for t, v in zip(y, u, strict=True)) for u in exact(X))
    w = (p * c - q * b) / (a * c - b * b), (q * a - p * b) / (a * c - b * b)
    left = [Fraction(t) - w[0] * u - w[1] * v for t, u, v in zip(y, *exact(X), strict=True)]
    least = float(sum(r * r for r in left) / 4)
    fit = LinearClassifier("squared", l2=l2, fit_intercept=False, solver=LeastSquares()).fit(X, y)
    assert fit.stop_ == "closed form"
    assert fit.objective_ == pytest.approx(least, rel=1e-5)


def test_a_column_that_dwarfs_the_others_does_not_hide_them():
    fit = LinearClassifier("squared", l2=0.0)
    fit.fit([[1, 1.3e16, 1], [2, -3e15, 1], [0, 2e16, 5]], [0, 1, 1])  # as many weights as rows
    assert (fit.stop_, fit.objective_) == ("closed form", pytest.approx(0.0, abs=1e-20))


def exact(X):
    """The columns as arrays of fractions."""
    return [np.array([Fraction(v) for v in column], dtype=object) for column in X.T]


def test_a_wide_table_under_a_penalty_is_factored_once(monkeypatch):
    def stacked(*_):
        raise AssertionError("rows and penalty were factored together, in time d^3")

    monkeypatch.setattr(least_squares, "_with_equal_scales", stacked)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 60)), np.arange(20) % 2
    clf = LinearClassifier("squared", l2=1e-4).fit(X, y)  # centred: rank 19 of 20
    centred, target = X - X.mean(axis=0), 2.0 * y - 1.0
    dual = np.linalg.solve(centred @ centred.T + 20 * 1e-4 * np.eye(20), target - target.mean())
    np.testing.assert_allclose(clf.coef_[0], centred.T @ dual, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-155, 1e-160, 1e-162, 1e-170, 1e-200, 1e-300])
@pytest.mark.parametrize("shape", [(40, 3), (6, 9)])
@pytest.mark.parametrize("intercept", [True, False])
def test_features_whose_squares_underflow(scale, shape, intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    y = np.where(np.arange(len(X)) % 2 == 0, 1.0, -1.0)
    A = np.column_stack([X, np.full(len(X), float(intercept))])
    w = np.linalg.lstsq(A, y)[0]
    least = np.mean((y - A @ w) ** 2)
    fit = LinearClassifier("squared", l2=0.0, solver=LeastSquares(), fit_intercept=intercept)
    fit.fit(scale * X, y)  # warnings are errors
    assert fit.stop_ in ("closed form", "optimal")
    assert fit.gap_ is None or fit.objective_ - fit.gap_ <= least * (1.0 + 1e-12)
    assert fit.objective_ == pytest.approx(least, rel=1e-9, abs=1e-15)
    if len(X) > X.shape[1]:
        np.testing.assert_allclose(scale * fit.coef_[0], w[:-1], rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_products_and_rows_give_the_same_least_squares(classes, l2):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((500, 12)) + 3.0) * np.geomspace(0.1, 10.0, 12)
    number = rng.integers(0, classes, 500)
    y = np.where(number > 0, 1.0, -1.0) if classes == 2 else number
    for weight in (None, rng.integers(0, 3, 500).astype(float)):
        for intercept in (True, False):
            problem = objective_of(X, y, "squared", l2, weight, intercept)
            W, at = least_squares.normal_equations(problem)
            rows = least_squares.qr_svd(problem)
            scale = X.std(axis=0) if intercept else np.hypot(X.std(axis=0), X.mean(axis=0))
            np.testing.assert_allclose(
                W[:, :-1] * scale,
                rows[:, :-1] * scale,
                rtol=0,
                atol=1e-11 * np.abs(at.value) ** 0.5,
            )
            assert at.value == pytest.approx(problem.value(rows)[0], rel=1e-13)


def test_where_products_leave_an_error_rows_are_factored():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = np.where(rng.random(300) < 0.5, 1.0, -1.0)
    X[:, 4] = X[:, 3] + 1e-9 * X[:, 4]
    same, constant = X.copy(), X.copy()
    same[:, 4], constant[:, 4] = X[:, 3], 2.0
    for rows in (X, same, constant):
        problem = objective_of(rows, y, "squared", 0.0)
        assert least_squares.normal_equations(problem) is None
        clf = LinearClassifier("squared", l2=0.0).fit(rows, y)
        centred = rows - rows.mean(axis=0)
        fitted = np.linalg.lstsq(centred, y - y.mean(), rcond=1e-15)[0]
        value = np.mean((y - y.mean() - centred @ fitted) ** 2)
        assert clf.objective_ == pytest.approx(value, rel=1e-9)


def oracle(X, y, l2, weight, intercept):
    """J at the minimum, and the weights (k, d + 1): normal equations of rows with a column of 1."""
    number = np.unique(y, return_inverse=True)[1]
    k = number.max() + 1
    T = np.where(number[:, None] == np.arange(k), 1.0, -1.0)
    T = T[:, 1:] if k == 2 else T
    share = (np.ones(len(X)) if weight is None else weight) / np.sum(
        len(X) if weight is None else weight
    )
    A = np.column_stack([X, np.full(len(X), float(intercept))])
    H = (share[:, None] * A).T @ A + l2 * np.diag(np.arange(A.shape[1]) < X.shape[1])
    H[-1, -1] += not intercept
    W = np.linalg.solve(H, A.T @ (share[:, None] * T)).T
    J = float(share @ np.sum((T - A @ W.T) ** 2, axis=1)) + l2 * np.sum(W[:, :-1] ** 2)
    return J, W


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("shape", [(60, 90), (400, 30)])
@pytest.mark.parametrize("intercept", [True, False])
def test_conjugate_gradients_find_the_minimum(classes, shape, intercept):
    rng = np.random.default_rng(0)
    X = sp.random(*shape, density=0.1, format="csr", random_state=1, data_rvs=rng.standard_normal)
    y = rng.integers(0, classes, shape[0])
    for l2 in (1e-1, 1e-4):
        J, W = oracle(X.toarray(), y, l2, None, intercept)
        for rows in (X, X.toarray()):
            settings = {"l2": l2, "tol": 1e-12, "fit_intercept": intercept}
            clf = LinearClassifier("squared", solver=LeastSquares(direct_size=0), **settings)
            clf.fit(rows, y)
            assert clf.stop_ == "optimal"
            assert clf.objective_ == pytest.approx(J, rel=1e-12)
            np.testing.assert_allclose(clf.coef_, W[:, :-1], atol=1e-5)
            assert clf.objective_ - clf.gap_ <= J * (1.0 + 1e-14)


def test_conjugate_gradients_know_weights_as_repetitions_and_go_on_from_where_they_are():
    rng = np.random.default_rng(0)
    X = 5.0 + rng.standard_normal((50, 80))
    y = rng.integers(0, 3, 50)
    weight = rng.integers(0, 3, 50)
    solver, l2 = LeastSquares(direct_size=0), 1e-2
    repeated = np.repeat(np.arange(50), weight)
    J, W = oracle(X[repeated], y[repeated], l2, None, True)
    clf = LinearClassifier("squared", l2=l2, tol=1e-12, solver=solver, warm_start=True)
    clf.fit(X, y, sample_weight=weight)
    assert clf.objective_ == pytest.approx(J, rel=1e-12)
    np.testing.assert_allclose(clf.coef_, W[:, :-1], atol=1e-6)
    np.testing.assert_allclose(clf.intercept_, W[:, -1], atol=1e-5)
    clf.fit(X, y, sample_weight=weight)
    assert clf.n_iter_ == 1
    clf.coef_ = np.full_like(clf.coef_, 1e200)  # too far away: from zeros
    assert clf.fit(X, y, sample_weight=weight).objective_ == pytest.approx(J, rel=1e-12)


@pytest.mark.slow
def test_conjugate_gradients_have_the_same_bits_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    X = sp.random(30_000, 400, density=0.05, format="csr", random_state=1)
    y = rng.integers(0, 4, X.shape[0])
    solver = LeastSquares(direct_size=0)
    fits = [
        LinearClassifier("squared", l2=1e-4, solver=solver, n_jobs=jobs).fit(X, y)
        for jobs in (1, 2, 3)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.coef_, fits[0].coef_)
        np.testing.assert_array_equal(other.intercept_, fits[0].intercept_)


def test_auto_takes_conjugate_gradients_where_rows_are_wide_or_store_few_features():
    def chosen(n, d, share, l2=1e-3):
        X = sp.random(n, d, density=share, format="csr", random_state=1)
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        solver = choose(objective_of(X if share < 1.0 else X.toarray(), y, "squared", l2))
        return type(solver).__name__, getattr(solver, "direct_size", None)

    assert chosen(600, 2_000, 0.01) == ("LeastSquares", 0)
    assert chosen(3_000, 300, 0.01) == ("LeastSquares", 0)
    assert chosen(600, 800, 1.0) == ("LeastSquares", 0)
    assert chosen(3_000, 300, 0.5)[0] == chosen(900, 800, 1.0)[0] == "LBFGS"
    assert chosen(600, 2_000, 0.01, l2=0.0) == ("LeastSquares", 3000)
