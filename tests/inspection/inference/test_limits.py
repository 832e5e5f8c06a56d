"""Quasi-separable rows: infinite coefficients, and the limiting model of the others."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from inspection.inference.cases import EXACT, close, table, with_ones
from inspection.inference.profile_oracle import LONG, least
from scipy.optimize import brentq, minimize
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning

from separatrix import LinearClassifier, inference, read

NOTED = "ignore:(the rows are quasi-separable|there are .* parameters per row)"
pytestmark = pytest.mark.filterwarnings(NOTED)
PROFILE = {"intervals": "profile"}


def fit(X, y=None, weight=None, **options):
    with pytest.warns(ConvergenceWarning, match="no minimum"):
        return LinearClassifier(**EXACT | options).fit(X, y, sample_weight=weight)


def with_rare(seed, rows=120, categories=(1,)):
    """Two features, and rare categories: all rows of one have the same label."""
    X, y = table(seed, n=rows, d=2)
    members = np.random.default_rng(seed).permutation(rows)
    rare = np.zeros((rows, len(categories)))
    for number, label in enumerate(categories):
        own = members[6 * number : 6 * number + 6]
        rare[own, number], y[own] = 1.0, label
    return np.column_stack([X, rare]), y, rare.any(axis=1)


def end_of(X, y, number, floor, side, span=60.0):
    """Where the least losses with this coefficient fixed are the quantile above ``floor``."""
    Z, Y = with_ones(X).astype(LONG), (y[:, None] == np.arange(2)).astype(LONG)
    others = np.delete(np.arange(Z.shape[1]), number)

    def excess(value):
        theta = np.zeros(Z.shape[1], LONG)
        theta[number] = value
        found = least(theta, Z, Y, np.ones(len(Z), LONG), others)[1]
        return float(found - floor) - 0.5 * chi2.ppf(0.95, 1)

    return brentq(excess, *sorted([-side * span / 10, side * span]), xtol=1e-11)


@pytest.mark.parametrize("covariance", ["model", "sandwich", "cluster"])
def test_finite_coefficients_are_those_of_the_rows_on_the_boundary(covariance):
    X, y, rare = with_rare(80, 160, (1, 0))
    given = {"covariance": covariance}
    groups = np.arange(len(y)) % 40
    own = {"groups": groups} if covariance == "cluster" else {}
    with pytest.warns(UserWarning, match="at infinity in x2, x3; the other coefficients"):
        found = inference(fit(X, y), X, y, **given, **own)
    some = ~rare
    own = {"groups": groups[some]} if covariance == "cluster" else {}
    clf = LinearClassifier(**EXACT).fit(X[some, :2], y[some])
    expected = inference(clf, X[some, :2], y[some], **given, **own)
    finite = [0, 1, 4]
    assert found.coef[[2, 3]].tolist() == [math.inf, -math.inf]
    close(found.coef[finite], expected.coef)
    close(found.cov[np.ix_(finite, finite)], expected.cov)
    close(found.p_values[finite], expected.p_values)
    assert np.isnan(found.standard_errors[[2, 3]]).all()
    assert found.n == len(y)
    if covariance == "model":
        close(found.log_likelihood, expected.log_likelihood)
        share = y.mean()
        close(found.null_log_likelihood, len(y) * (share * math.log(share)
              + (1 - share) * math.log(1 - share)))  # fmt: skip
    assert "inf" in str(found)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("categories", [(1,), (0,), (1, 0), (1, 1)])
def test_infinite_ends(categories):
    """The finite end of an infinite coefficient; other categories diverge if it is fixed."""
    X, y, rare = with_rare(81, 100, categories)
    found = inference(fit(X, y), X, y, **PROFILE)
    some = ~rare
    clf = LinearClassifier(**EXACT).fit(X[some, :2], y[some])
    expected = inference(clf, X[some, :2], y[some], **PROFILE)
    finite = [0, 1, len(found.coef) - 1]
    close(found.intervals[finite], expected.intervals, 1e-7)
    floor = -expected.log_likelihood
    for number, label in enumerate(categories):
        kept = some | (X[:, 2 + number] == 1.0)
        columns = X[kept][:, [0, 1, 2 + number]]
        scaled = (columns - columns.mean(axis=0) * [1, 1, 0]) / np.append(columns[:, :2].std(0), 1)
        end = end_of(scaled, y[kept], 2, floor, 1 if label else -1)
        low, high = found.intervals[2 + number]
        np.testing.assert_allclose(low if label else high, end, rtol=1e-7)
        assert (high if label else low) == (math.inf if label else -math.inf)


def test_a_table_with_an_empty_cell():
    """Exact: the intercept is a log odds, and with a fixed slope the likelihood is a formula."""
    a, b, c = 30, 10, 15  # (x, y) = (0, 0), (0, 1), (1, 1), and none of (1, 0)
    x = np.repeat([0.0, 0.0, 1.0], [a, b, c])[:, None]
    y = np.repeat([0, 1, 1], [a, b, c])
    found = inference(fit(x, y), x, y, **PROFILE)
    assert found.coef[0] == math.inf
    close(found.coef[1], math.log(b / a), 1e-10)
    close(found.standard_errors[1], math.sqrt(1 / a + 1 / b), 1e-10)

    def losses(slope):
        def of(bias):
            both = a * math.log1p(math.exp(bias)) + b * math.log1p(math.exp(-bias))
            return both + c * math.log1p(math.exp(-bias - slope))

        def turn(bias):
            p, q = 1 / (1 + math.exp(-bias)), 1 / (1 + math.exp(-bias - slope))
            return a * p - b * (1 - p) - c * (1 - q)

        return of(brentq(turn, -20, 20, xtol=1e-14))

    floor = -(a * math.log(a / (a + b)) + b * math.log(b / (a + b)))
    end = brentq(lambda s: losses(s) - floor - 0.5 * chi2.ppf(0.95, 1), -10, 20, xtol=1e-12)
    np.testing.assert_allclose(found.intervals[0], [end, math.inf], rtol=1e-8)


@pytest.mark.slow
def test_any_form_of_the_rows_has_the_same_limits():
    X, y, _ = with_rare(82, 120)
    X[:, :2] = np.where(np.random.default_rng(1).random((120, 2)) < 0.3, 0.0, X[:, :2])
    expected = inference(fit(X, y), X, y, **PROFILE)
    for rows in (sp.csr_array(X), np.asfortranarray(X)):
        found = inference(fit(rows, y), rows, y, **PROFILE)
        close(found.intervals[[0, 1, 3]], expected.intervals[[0, 1, 3]], 1e-7)
        close(found.intervals[2, 0], expected.intervals[2, 0], 1e-7)
    parts = read(lambda: ((X[i : i + 50], y[i : i + 50]) for i in range(0, len(y), 50)))
    found = inference(fit(parts), parts, **PROFILE)
    close(found.intervals[[0, 1, 3]], expected.intervals[[0, 1, 3]], 1e-7)
    close(found.intervals[2, 0], expected.intervals[2, 0], 1e-7)
    weight = np.random.default_rng(2).integers(0, 3, len(y))
    whole = np.repeat(np.arange(len(y)), weight)
    expected = inference(fit(X[whole], y[whole]), X[whole], y[whole], **PROFILE)
    found = inference(fit(X, y, weight), X, y, sample_weight=weight, **PROFILE)
    close(found.intervals[[0, 1, 3]], expected.intervals[[0, 1, 3]], 1e-7)
    close(found.intervals[2, 0], expected.intervals[2, 0], 1e-7)


def test_without_an_intercept():
    X, y, rare = with_rare(83)
    X = X - [*X[:, :2].mean(axis=0), 0.0]
    found = inference(fit(X, y, fit_intercept=False), X, y, **PROFILE)
    some = ~rare
    clf = LinearClassifier(**EXACT, fit_intercept=False).fit(X[some, :2], y[some])
    expected = inference(clf, X[some, :2], y[some], **PROFILE)
    assert found.coef[2] == math.inf
    close(found.coef[:2], expected.coef)
    close(found.cov[:2, :2], expected.cov)
    close(found.intervals[:2], expected.intervals, 1e-7)
    assert np.isfinite(found.intervals[2, 0])
    assert found.intervals[2, 1] == math.inf


def test_what_a_limit_does_not_have():
    X, y, _ = with_rare(84)
    found = inference(fit(X, y), X, y, features=["x0", "x2"])
    for ask in (lambda: found.test("x0"), found.test_each):
        with pytest.raises(ValueError, match="no maximum"):
            ask()
    with pytest.raises(ValueError, match="coefficients are infinite"):
        found.predict_interval(X)
    assert found.to_dict()["coef"][1] == math.inf


def test_no_finite_coefficient_is_refused():
    X, y = table(85)
    leak = np.column_stack([X, np.where(y == 1, 5.0, -5.0)])  # separable
    with pytest.raises(ValueError, match="at infinity in x4"):
        inference(fit(leak, y), leak, y)
    same = with_rare(86)[0]
    y = with_rare(86)[1]
    same = np.column_stack([same, same[:, 0] + 1.0])
    with pytest.raises(ValueError, match="not determined"):
        inference(fit(same, y), same, y)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_do_not_matter(scale):
    X, y, _ = with_rare(88)
    expected = inference(fit(X, y), X, y)
    found = inference(fit(X * scale, y), X * scale, y)
    close(found.coef[:2] * scale, expected.coef[:2])
    close(found.standard_errors[:2] * scale, expected.standard_errors[:2])
    assert found.coef[2] == math.inf


def test_an_offset_belongs_to_the_limiting_model_and_to_infinite_ends():
    X, y, rare = with_rare(7)
    X, offset = X[:, [0, 2]], np.random.default_rng(7).standard_normal(len(y))
    with pytest.warns(ConvergenceWarning, match="no minimum"):
        clf = LinearClassifier(**EXACT).fit(X, y, offset=offset)
    found = inference(clf, X, y, offset=offset, **PROFILE)
    own = LinearClassifier(**EXACT).fit(X[~rare, :1], y[~rare], offset=offset[~rare])
    expected = inference(own, X[~rare, :1], y[~rare], offset=offset[~rare], **PROFILE)
    assert found.intervals[[0, 2]] == pytest.approx(expected.intervals, rel=1e-8)

    def profile(value):  # of the infinite coefficient
        def losses(u):
            return np.sum(np.logaddexp(0.0, -(2 * y - 1) * (X @ [u[0], value] + u[1] + offset)))

        return minimize(losses, np.zeros(2), tol=1e-12).fun

    low = brentq(lambda v: 2 * (profile(v) - profile(60.0)) - chi2.ppf(0.95, 1), -10.0, 20.0)
    assert found.intervals[1] == pytest.approx([low, np.inf], rel=1e-5)
