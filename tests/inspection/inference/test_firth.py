"""Inference with Firth's penalty, against direct maximisation in long double."""

from __future__ import annotations

import numpy as np
import pytest
from firth_oracles import design, maximum, penalised
from scipy.stats import chi2

from separatrix import LinearClassifier, inference


def table(n=40, seed=0, separated=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) * [1.0, 8.0] + [0.0, 30.0]
    noise = 0.0 if separated else 1.0
    return X, (X[:, 0] + noise * rng.logistic(size=n) > 0.0).astype(int)


def fitted(X, y, weight=None, **options):
    clf = LinearClassifier(bias_reduction="firth", tol=1e-10, **options)
    return clf.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("separated", [False, True])
def test_errors_likelihood_and_ratios(separated, weighted):
    X, y = table(separated=separated)
    w = np.random.default_rng(3).integers(0, 3, len(y)).astype(float) if weighted else None
    found = inference(fitted(X, y, w), X, y, sample_weight=w)
    v, best = maximum(X, y, w)
    np.testing.assert_allclose(found.coef, v, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.log_likelihood, best, rtol=1e-10)
    Z = design(X).astype(float)
    p = 1.0 / (1.0 + np.exp(-(Z @ v)))
    information = (Z * (p * (1.0 - p) * (1.0 if w is None else w))[:, None]).T @ Z
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose(found.standard_errors, errors, rtol=1e-6)
    assert (found.aic, found.bic, found.null_log_likelihood) == (None, None, None)
    assert "Firth's penalty" in str(found)
    each = found.test_each()
    for j in (0, 1):
        rest = maximum(X, y, w, fixed=(j,))[1]
        np.testing.assert_allclose(found.test(j).statistic, 2.0 * (best - rest), rtol=1e-7)
        np.testing.assert_allclose(each[j].p_value, chi2.sf(2.0 * (best - rest), 1), rtol=1e-6)
    both = found.test([0, 1])
    rest = maximum(X, y, w, fixed=(0, 1))[1]
    np.testing.assert_allclose(both.statistic, 2.0 * (best - rest), rtol=1e-7)
    assert both.degrees == 2


@pytest.mark.parametrize("separated", [False, True])
def test_the_ends_of_profile_intervals(separated):
    """With a coefficient held at an end, the best likelihood is lower by chi-square / 2."""
    X, y = table(25, seed=1, separated=separated)
    X = X - [0.0, 30.0]
    found = inference(fitted(X, y), X, y, intervals="profile", level=0.9)
    best = found.log_likelihood
    for j, ends in enumerate(found.intervals):
        assert ends[0] < found.coef[j] < ends[1]
        for end in ends:
            np.testing.assert_allclose(
                2.0 * (best - held(X, y, j, end)), chi2.ppf(0.9, 1), rtol=1e-6
            )


def held(X, y, j, value):
    """The largest penalised log-likelihood with coefficient j held at a value."""
    from scipy.optimize import minimize

    Z, free = design(X), np.arange(X.shape[1] + 1) != j

    def negative(some):
        v = np.full(Z.shape[1], value, dtype=np.longdouble)
        v[free] = some
        return float(-penalised(v, Z, y))

    start = np.zeros(np.count_nonzero(free))
    found = minimize(negative, start, method="Nelder-Mead",
                     options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000})  # fmt: skip
    return -found.fun


def test_six_rows_that_separate():
    """Exact: groups of 3, log odds of -+ ln 7, variance 1 / (3 * 7 / 64) each."""
    x = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])
    y = x[:, 0].astype(int)
    found = inference(fitted(x, y), x, y)
    one = 64.0 / 21.0
    np.testing.assert_allclose(found.cov, [[2.0 * one, -one], [-one, one]], rtol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
def test_one_feature(intercept):
    X, y = table()
    found = inference(
        fitted(X[:, :1], y, fit_intercept=intercept), X[:, :1], y, intervals="profile"
    )
    assert found.intervals[0, 0] < found.coef[0] < found.intervals[0, 1]
    rest = maximum(X[:, :1], y, intercept=intercept, fixed=(0,))[1]
    best = maximum(X[:, :1], y, intercept=intercept)[1]
    np.testing.assert_allclose(found.test(0).statistic, 2.0 * (best - rest), rtol=1e-7)


def test_offsets_and_units():
    X, y = table()
    X = np.round(8.0 * X) / 8.0
    plain = inference(fitted(X, y), X, y, intervals="profile")
    far = X * [2.0**20, 1.0] + [0.0, 1e6]
    other = inference(fitted(far, y), far, y, intervals="profile", features=[0, 1])
    np.testing.assert_allclose(
        other.intervals[:2] * [[2.0**20], [1.0]], plain.intervals[:2], rtol=1e-5
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"covariance": "sandwich"}, "only the covariance of the model"),
        ({"covariance": "cluster", "groups": np.arange(40) // 4}, "only the covariance of the"),
        ({"sample_weight": np.full(40, 2.0)}, "the objective on these rows"),
    ],
)
def test_what_is_refused(options, words):
    X, y = table()
    clf = fitted(X, y)
    with pytest.raises(ValueError, match=words):
        inference(clf, X, y, **options)
    with pytest.raises(ValueError, match="intercept of their own"):
        inference(clf, X, y).predict_interval(X)
