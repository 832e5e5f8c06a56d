"""Least squares where squares of the features leave floating point."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import LeastSquares, LinearClassifier


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
