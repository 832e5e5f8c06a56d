"""Least squares: each way to the minimum, and where floating point leaves none."""

from __future__ import annotations

import numpy as np
import pytest
from problems import objective_of

from separatrix import LeastSquares, LinearClassifier
from separatrix.solvers import least_squares


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
    assert fit.stop_ == "closed form"
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
