"""Many features: second derivatives by tiles, factored when it pays; normal equations."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import L2, LBFGS, ArraySource, LeastSquares, LinearClassifier, Objective, get_loss
from separatrix.data.validation import check_rows
from separatrix.objective.standardization import Standardization, gram, gram_blocked
from separatrix.solvers import choose, least_squares
from separatrix.solvers.lbfgs import is_slow


def correlated(n, d, condition, seed=0):
    """Columns whose covariance has this condition number, all of which count for the label."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, d))
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    y = np.where(Z @ rng.standard_normal(d) * (3 / d**0.5) + rng.logistic(size=n) > 0, 1.0, -1.0)
    return Z * np.geomspace(1.0, condition**-0.5, d) @ turn + 3.0, y


def objective_of(X, y, loss="logistic", l2=1e-5, weight=None, intercept=True, n_jobs=None):
    classes = np.unique(y)
    y = y if len(classes) == 2 else y.astype(np.int64)
    rows = check_rows(X) if sp.issparse(X) else X
    source = ArraySource(rows, y, classes, weight, n_jobs)
    found = get_loss(loss) if len(classes) == 2 else get_loss(loss).multiclass()
    return Objective(found, L2(l2), source, intercept)


# ---- L-BFGS that factors once it is slow -----------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_correlated_columns_are_factored_once_steps_are_slow(dtype):
    X, y = correlated(2000, 300, 1e4)
    X = X.astype(dtype)
    fits = {}
    for jobs in (1, 2):
        fits[jobs] = LinearClassifier(l2=1e-6, n_jobs=jobs, max_iter=100).fit(X, y)
        assert fits[jobs].stop_ == "optimal"
        assert fits[jobs].gap_ <= 1e-6 * fits[jobs].objective_
    np.testing.assert_array_equal(fits[1].coef_, fits[2].coef_)
    stored = LinearClassifier(l2=1e-6, tol=1e-10, solver=LBFGS()).fit(sp.csr_array(X), y)
    exact = LinearClassifier(l2=1e-6, tol=1e-10, solver=LBFGS()).fit(X, y)
    np.testing.assert_allclose(stored.coef_, exact.coef_, rtol=0, atol=1e-5)
    assert fits[1].objective_ - exact.objective_ <= fits[1].gap_


def test_independent_columns_are_not_factored(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 600))
    y = X[:, :3].sum(axis=1) + rng.logistic(size=3000) > 0

    def refuse(*args):
        raise AssertionError("factored")

    monkeypatch.setattr(Objective, "class_hessian", refuse)
    assert LinearClassifier(l2=1e-2).fit(X, y).stop_ == "optimal"


def test_going_on_from_before_and_after_the_factor_gives_the_same_bits():
    problem = objective_of(*correlated(500, 300, 1e5))
    start, solver = np.zeros(problem.shape), LBFGS()
    whole = list(islice(solver.steps(problem, start, np.random.default_rng(0)), 30))
    anchored = [len(step.state["hessian_at"]) for step in whole]
    (change,) = (i for i, (a, b) in enumerate(pairwise(anchored)) if a != b)
    for at in (change - 2, change, change + 3):
        rest = solver.steps(problem, start, np.random.default_rng(0), whole[at].state)
        for expected, step in zip(whole[at + 1 :], rest, strict=False):
            np.testing.assert_array_equal(step.weights, expected.weights)


def test_slow_is_a_matter_of_what_a_factor_costs():
    trail = 10.0 ** -np.arange(7)  # a decimal place a step
    assert not is_slow(trail, 100.0)
    assert is_slow(trail, 5.0)
    assert is_slow(np.ones(7), 1e6)
    assert not is_slow(np.ones(7), np.inf)  # there is none to be had
    assert not is_slow(np.ones(3), 5.0)  # too early to tell
    assert not is_slow(np.zeros(7), 5.0)  # arrived


def test_fewer_rows_than_features_and_nearly_equal_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4)) @ rng.standard_normal((4, 700))
    X += 1e-3 * rng.standard_normal(X.shape)
    X[:, 0], X[:, 1] = 7.0, X[:, 2]
    y = X[:, 5] + rng.logistic(size=300) > 0
    for rows in (X, X.astype(np.float32), X * 1e-20, X * 1e20):
        scale = float(np.abs(rows[:, 2:]).mean() / np.abs(X[:, 2:]).mean())
        clf = LinearClassifier(l2=1e-4 * scale**2, solver=LBFGS(), tol=1e-6).fit(rows, y)
        assert clf.stop_ == "optimal"


# ---- sums ------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 255, 256, 700])
def test_products_in_tiles_are_the_products(d):
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((300, d)) + 5.0, rng.integers(0, 3, 300).astype(float)
    standardization = Standardization(X.mean(axis=0), rng.random(d + 1) + 0.5)
    expected = gram(X, weight, standardization)
    parts = [(X[at], weight[at]) for at in (slice(0, 90), slice(90, 300))]
    for dtype, near in ((np.float64, 1e-13), (np.float32, 1e-5)):
        one, two = (gram_blocked(parts, standardization, dtype, threads) for threads in (1, 2))
        assert one.dtype == dtype
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, one.T)
        np.testing.assert_allclose(one, expected, rtol=0, atol=near * np.abs(expected).max())


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_classes_and_the_gradient_at_zeros(store, classes, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 9)) * (rng.random((400, 9)) < 0.5) + 2.0
    number = rng.integers(0, classes, 400)
    number[:classes] = np.arange(classes)
    y = np.where(number > 0, 1.0, -1.0) if classes == 2 else number
    weight = rng.integers(0, 3, 400).astype(float) if weighted else None
    c = np.ones(400) if weight is None else weight
    own = c * (number == np.arange(classes)[:, None])
    for intercept in (True, False):
        for loss in ("logistic", "squared", "squared_hinge", "tanh_squared"):
            problem = objective_of(store(X), y, loss, 0.1, weight, intercept)
            expected = own @ np.column_stack([X, np.ones(400)])
            np.testing.assert_allclose(problem.class_sums, expected, rtol=1e-12)
            mean = c @ X / c.sum()
            np.testing.assert_allclose(problem.moments.mean, mean, rtol=1e-12)
            deviation = np.sqrt(c @ (X - mean) ** 2 / c.sum())
            np.testing.assert_allclose(problem.moments.deviation, deviation, rtol=1e-9)
            at, there = problem.at_zeros(), problem.value_and_gradient(np.zeros(problem.shape))
            assert at.value == pytest.approx(there.value, rel=1e-12)
            assert at.mistakes == there.mistakes
            np.testing.assert_allclose(at.gradient, there.gradient, rtol=1e-9, atol=1e-12)


# ---- least squares ---------------------------------------------------------------------------


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


def test_auto_takes_the_closed_form_where_products_are_cheap():
    def chosen(n, d, l2):
        rng = np.random.default_rng(0)
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        return type(choose(objective_of(rng.standard_normal((n, d)), y, "squared", l2)))

    assert chosen(30_000, 20, 1e-3) is LeastSquares
    assert chosen(1_000, 500, 1e-3) is LBFGS
    assert chosen(1_000, 500, 0.0) is LeastSquares
    assert chosen(300, 500, 1e-3) is LeastSquares
