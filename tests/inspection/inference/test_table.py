"""What is printed, noted and refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from inspection.inference.cases import EXACT, close, table, with_ones
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from separatrix import LBFGS, LinearClassifier, inference


def test_the_table_and_plain_data():
    X, number = table(31, k=3)
    y = np.array(["red", "green", "blue"])[number]
    found = inference(LinearClassifier(**EXACT).fit(X, y), X, y)
    text = str(found)
    assert "class 'green' against 'blue'" in text
    assert "log-likelihood" in text
    assert max(map(len, text.splitlines())) <= 100
    data = found.to_dict()
    assert data["classes"] == ["green"] * 5 + ["red"] * 5
    assert data["reference"] == "blue"
    close(data["lower"], found.coef - norm.ppf(0.975) * found.standard_errors)
    pd = pytest.importorskip("pandas")
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.loc[("red", "x1"), "coef"] == found.coef[6]
    close(found.odds_ratios, np.exp(found.coef))


def test_what_is_noted():
    X, y = table(32, n=60)
    with pytest.warns(UserWarning, match="parameters per row"):
        found = inference(LinearClassifier(**EXACT).fit(X, y), X, y)
    assert "Note: " in str(found)
    X, y = table(33)
    with pytest.warns(ConvergenceWarning):
        loose = LinearClassifier(l2=0.0, solver=LBFGS(), max_iter=3).fit(X, y)
    with pytest.warns(UserWarning, match="fit with a smaller tol"):
        inference(loose, X, y)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"level": 1.0}, "between 0 and 1"),
        ({"level": 0.0}, "level must be"),
        ({"covariance": "hc3"}, "covariance must be one of 'model', 'sandwich', 'cluster'"),
        ({"weights": "analytic"}, "weights must be one of"),
        ({"weights": "probability"}, "use covariance='sandwich'"),
        ({"small_sample": True}, "small_sample is for"),
        ({"covariance": "cluster"}, "groups names the cluster"),
        ({"groups": [0] * 300}, "groups names the cluster"),
        ({"covariance": "cluster", "groups": [0] * 299}, "expected \\(300,\\)"),
        ({"covariance": "cluster", "groups": [0] * 300}, "a single cluster"),
        ({"covariance": "cluster", "groups": [np.nan] * 300}, "missing values"),
    ],
)
def test_bad_arguments_are_named(given, text):
    X, y = table(34)
    clf = LinearClassifier(l2=0.0).fit(X, y)
    with pytest.raises(ValueError, match=text):
        inference(clf, X, y, **given)


def test_models_without_standard_errors_are_refused():
    X, y = table(35)
    for options, text in (
        ({"loss": "hinge"}, "no(ne|) .*likelihood|need a likelihood"),
        ({"l1": 1e-2}, "selection by l1"),
        ({"class_weight": "balanced", "l2": 0.0}, "class_weight changes the likelihood"),
        ({"bias_reduction": "mdypl"}, "use bias_reduction='firth', which has them"),
        ({"l1": 1e-2, "groups": [0, 0, 1, 1]}, "selection by l1"),
    ):
        with pytest.raises(ValueError, match=text):
            inference(LinearClassifier(**options).fit(X, y), X, y)
    with pytest.raises(TypeError, match="inference takes a fitted LinearClassifier"):
        inference(StandardScaler(), X, y)
    with pytest.raises(ValueError, match="not fitted"):
        inference(LinearClassifier(), X, y)
    three = table(35, k=3)
    clf = LinearClassifier("one_vs_rest_logistic", l2=0.0).fit(*three)
    with pytest.raises(ValueError, match="'logistic' \\(softmax"):
        inference(clf, *three)


def test_other_rows_are_refused():
    X, y = table(36)
    clf = LinearClassifier(l2=0.0).fit(X, y)
    for rows, labels in ((X[:-1], y[:-1]), (X + 1.0, y), (X, y[::-1])):
        with pytest.raises(ValueError, match="pass the X, y, sample_weight and offset of the fit"):
            inference(clf, rows, labels)


def test_other_rows_on_request():
    """The covariance of these rows at the coefficients of the fit, without tests."""
    X, y = table(36, n=400)
    clf = LinearClassifier(**EXACT).fit(X[:300], y[:300])
    rest, labels = X[100:], y[100:]
    with pytest.warns(UserWarning, match="not the rows of the fit"):
        found = inference(clf, rest, labels, other_rows=True)
    Z = with_ones(rest)
    p = 1.0 / (1.0 + np.exp(-Z @ np.append(clf.coef_, clf.intercept_)))
    close(found.cov, np.linalg.inv((Z.T * (p * (1 - p))) @ Z))
    assert not any("smaller tol" in note for note in found.notes)
    for ask in (lambda: found.test(0), found.test_each):
        with pytest.raises(ValueError, match="pass the rows of the fit"):
            ask()
    with pytest.raises(ValueError, match="pass the rows of the fit"):
        inference(clf, rest, labels, other_rows=True, intervals="profile")
    same = inference(clf, X[:300], y[:300], other_rows=True)  # these are the rows of the fit
    assert same.notes == ()
    assert same.test(0).degrees == 1
    weight = np.full(300, 2.0)
    with pytest.raises(ValueError, match="or other_rows=True"):
        inference(clf, X[:300], y[:300], sample_weight=weight)
    with pytest.warns(UserWarning, match="not the rows of the fit"):
        inference(clf, X[:300], y[:300], sample_weight=weight, other_rows=True)
    with pytest.raises(TypeError, match="other_rows must be True or False"):
        inference(clf, rest, labels, other_rows="yes")


def test_other_rows_of_a_fit_without_a_minimum_are_refused():
    X, y = table(37)
    with pytest.warns(match="no minimum"):
        clf = LinearClassifier(l2=0.0).fit(X, X[:, 0] > X[:, 0].mean())
    with pytest.raises(ValueError, match="without a minimum other rows say nothing"):
        inference(clf, X[:200], (y[:200] > 0), other_rows=True)


def test_infinite_and_undetermined_coefficients_are_named():
    X, y = table(37)
    leak = np.column_stack([X, np.where(y == 1, 5.0, -5.0)])
    with pytest.warns(match="no minimum"):
        clf = LinearClassifier(l2=0.0).fit(leak, y)
    with pytest.raises(ValueError, match="at infinity in x4"):
        inference(clf, leak, y)
    same = np.column_stack([X, X[:, 0] - 2.0 * X[:, 2], np.ones(len(y))])
    clf = LinearClassifier(l2=0.0).fit(same[:, :5], y)
    with pytest.raises(ValueError, match="not determined: the feature is a combination of 'x"):
        inference(clf, same[:, :5], y)
    clf = LinearClassifier(l2=0.0).fit(same[:, [0, 1, 5]], y)
    with pytest.raises(ValueError, match="coefficient of 'x2' is not determined"):
        inference(clf, same[:, [0, 1, 5]], y)
    assert np.all(np.isfinite(inference(clf.set_params(l2=1e-3).fit(same, y), same, y).cov))


def test_class_weights_have_a_sandwich():
    """Class weights multiply the gradients; equal ones change nothing at all."""
    X, y = table(38)
    plain = inference(LinearClassifier(**EXACT).fit(X, y), X, y, covariance="sandwich")
    for weights in ("frequency", "probability"):
        clf = LinearClassifier(**EXACT, class_weight={0: 2.0, 1: 2.0}).fit(X, y)
        found = inference(clf, X, y, covariance="sandwich", weights=weights)
        close(found.cov, plain.cov)
        assert found.n == len(y)
        assert found.log_likelihood is None
    factor = np.where(y == 1, 3.0, 1.0)
    clf = LinearClassifier(**EXACT, class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    found, Z = inference(clf, X, y, covariance="sandwich"), with_ones(X)
    p = 1.0 / (1.0 + np.exp(-Z @ np.append(clf.coef_, clf.intercept_)))
    bread = np.linalg.inv((Z.T * (factor * p * (1 - p))) @ Z)
    g = Z * (factor * (p - y))[:, None]
    close(found.cov, bread @ (g.T @ g) @ bread)


@pytest.mark.filterwarnings("ignore:there are 0.25 parameters per row")
def test_an_estimated_variance_of_1_is_a_variance():
    x = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0])[:, None]
    y = np.array([1, 1, 1, 0, 0, 0, 0, 1])
    found = inference(LinearClassifier("squared", l2=0.0).fit(x, y), x, y)
    close(found.standard_errors, [math.sqrt(1.0 / 8.0)] * 2, 1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_weights_of_features_in_the_penalty(k):
    X, y = table(41, k=k)
    q = np.array([0.0, 1.0, 2.0, 0.5])
    clf = LinearClassifier(l2=1e-2, penalty_weights=q, tol=1e-13).fit(X, y)
    found = inference(clf, X, y)
    assert np.all(np.isfinite(found.standard_errors))
    if k == 2:
        Z, P = with_ones(X), np.diag(np.append(2 * 1e-2 * len(y) * q, 0.0))
        p = 1.0 / (1.0 + np.exp(-Z @ np.append(clf.coef_, clf.intercept_)))
        H = (Z.T * (p * (1 - p))) @ Z
        inverse = np.linalg.inv(H + P)
        close(found.cov, inverse @ H @ inverse, 1e-6)


def test_rows_of_weight_0_have_no_cluster():
    X, y = table(42)
    weight, groups = np.tile([1.0, 0.0, 2.0], 100), np.arange(300) // 6
    clf = LinearClassifier(**EXACT).fit(X, y, sample_weight=weight)
    given = {"covariance": "cluster"}
    found = inference(clf, X, y, sample_weight=weight, groups=groups, **given)
    some = weight > 0
    expected = inference(
        clf, X[some], y[some], sample_weight=weight[some], groups=groups[some], **given
    )
    close(found.cov, expected.cov, 1e-12)


@pytest.mark.parametrize("missing", [None, math.nan, np.datetime64("NaT")])
def test_missing_clusters_are_refused(missing):
    X, y = table(43)
    clf = LinearClassifier(l2=0.0).fit(X, y)
    dated = isinstance(missing, np.datetime64)
    day = np.datetime64("2020-01-01")
    groups = np.array([day, day + 1] * 150) if dated else np.array(["a", "b"] * 150, dtype=object)
    groups[7] = missing
    with pytest.raises(ValueError, match="missing values"):
        inference(clf, X, y, covariance="cluster", groups=groups)


def test_few_clusters_are_noted():
    X, y = table(44)
    clf = LinearClassifier(l2=0.0).fit(X, y)
    with pytest.warns(UserWarning, match="2 clusters for 5 parameters"):
        inference(clf, X, y, covariance="cluster", groups=np.arange(300) % 2)


@pytest.mark.parametrize("features", ["x9", 7, [], ["x0", 0], [1.5], 3.5, None])
def test_unknown_features_are_named(features):
    X, y = table(39)
    found = inference(LinearClassifier(**EXACT).fit(X, y), X, y)
    with pytest.raises((ValueError, TypeError), match="feature"):
        found.test(features)


@pytest.mark.parametrize("k", [2, 3])
def test_limits_of_huge_values(k):
    """They are those of a ray that goes to infinity, between 0 and 1, and never NaN."""
    X, y = table(90, k=k)
    found = inference(LinearClassifier(**EXACT).fit(X, y), X, y)
    for row in np.vstack([np.eye(4), -np.eye(4), np.ones((1, 4))]):
        expected = found.predict_interval(1e8 * row[None])
        for size in (1e50, 1e160, 1e300, 1.7e308):
            limits = found.predict_interval(size * row[None])
            np.testing.assert_array_equal(np.round(expected, 12), np.round(limits, 12))
            assert np.isin(limits, [0.0, 1.0]).all()
    low, high = found.predict_interval(1e3 * X)
    assert np.all((low >= 0.0) & (low <= high) & (high <= 1.0))


@pytest.mark.parametrize("covariance", ["model", "sandwich"])
def test_weights_times_a_constant_are_other_weights(covariance):
    """Their minimum is the same, and their standard errors are not."""
    X, y = table(91)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    clf = LinearClassifier(**EXACT).fit(X, y, sample_weight=weight)
    assert inference(clf, X, y, sample_weight=weight, covariance=covariance).n == weight.sum()
    with pytest.raises(ValueError, match="pass the sample_weight of the fit"):
        inference(clf, X, y, sample_weight=2.0 * weight, covariance=covariance)
