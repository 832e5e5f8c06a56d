"""Standard errors and tests, against statsmodels, exact tables and plain NumPy."""

from __future__ import annotations

import math
from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import LBFGS, LinearClassifier, inference, read

sm = pytest.importorskip("statsmodels.api")

EXACT = {"l2": 0.0, "tol": 1e-13}
NEWTON = {"disp": 0, "method": "newton", "tol": 1e-15, "maxiter": 100}


def table(seed, n=300, d=4, k=2):
    """Features of several scales and offsets, and labels that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d) + rng.normal(0, 3, d)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = Z @ rng.normal(0, 0.7, (d, k)) + rng.gumbel(size=(n, k))
    return X, scores.argmax(axis=1)


def with_ones(X):
    return np.column_stack([X, np.ones(len(X))])


def close(found, expected, tol=1e-8):
    found, expected = np.asarray(found), np.asarray(expected)
    assert np.max(np.abs(found - expected)) <= tol * np.max(np.abs(expected))


# ---- statsmodels ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(10))
def test_two_classes_as_statsmodels(seed):
    X, y = table(seed)
    clf, model = LinearClassifier(**EXACT).fit(X, y), sm.Logit(y, with_ones(X))
    theirs, found = model.fit(**NEWTON), inference(clf, X, y)
    close(found.coef, theirs.params)
    close(found.cov, theirs.cov_params())
    close(found.p_values, theirs.pvalues)
    close(found.intervals, theirs.conf_int())
    close(found.log_likelihood, theirs.llf)
    close(found.null_log_likelihood, theirs.llnull)
    close([found.aic, found.bic], [theirs.aic, theirs.bic])
    close(
        inference(clf, X, y, covariance="sandwich").cov,
        model.fit(**NEWTON, cov_type="HC0").cov_params(),
    )
    groups = np.random.default_rng(seed).integers(0, 25, len(y))
    for small in (False, True):
        given = {"groups": groups, "use_correction": small}
        close(
            inference(clf, X, y, covariance="cluster", groups=groups, small_sample=small).cov,
            model.fit(**NEWTON, cov_type="cluster", cov_kwds=given).cov_params(),
        )


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(10, 20))
def test_three_classes_as_statsmodels(seed):
    X, y = table(seed, k=3)
    clf, model = LinearClassifier(**EXACT).fit(X, y), sm.MNLogit(y, with_ones(X))
    theirs, found = model.fit(**NEWTON), inference(clf, X, y)
    assert found.classes == (1,) * 5 + (2,) * 5
    close(found.coef, theirs.params.T.ravel())
    close(found.cov, theirs.cov_params())
    close(found.log_likelihood, theirs.llf)
    close(
        inference(clf, X, y, covariance="sandwich").cov,
        model.fit(**NEWTON, cov_type="HC0").cov_params(),
    )


def test_least_squares_as_statsmodels():
    X, y = table(20)
    clf = LinearClassifier("squared", **EXACT).fit(X, y)
    model, found = sm.OLS(2 * y - 1, with_ones(X)), inference(clf, X, y)
    theirs = model.fit()
    close(found.cov, theirs.cov_params())
    close(found.p_values, theirs.pvalues)
    close(found.intervals, theirs.conf_int())
    close(
        inference(clf, X, y, covariance="sandwich", small_sample=True).cov,
        model.fit(cov_type="HC1").cov_params(),
    )


def test_probabilities_as_statsmodels():
    X, y = table(21)
    found = inference(LinearClassifier(**EXACT).fit(X, y), X, y, level=0.9)
    theirs = sm.Logit(y, with_ones(X)).fit(disp=0, tol=1e-14).get_prediction(with_ones(X))
    frame = theirs.summary_frame(alpha=0.1)
    low, high = found.predict_interval(X)
    close(low[:, 1], frame["ci_lower"], 1e-6)
    close(high[:, 1], frame["ci_upper"], 1e-6)
    close(low[:, 0], 1.0 - high[:, 1])


# ---- exact values --------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [(15, 5, 8, 12), (1, 1, 1, 1), (300, 2, 7, 41)])
def test_a_table_of_four_counts(counts):
    """The log odds ratio, whose variance is the sum of 1 / count."""
    a, b, c, d = counts
    x = np.repeat([0.0, 0.0, 1.0, 1.0], counts)[:, None]
    y = np.repeat([0, 1, 0, 1], counts)
    clf = LinearClassifier(**EXACT).fit(x, y)
    with pytest.warns(UserWarning, match="per row") if sum(counts) < 40 else nullcontext():
        found = inference(clf, x, y)
    close(found.coef, [math.log(a * d / (b * c)), math.log(b / a)], 1e-12)
    variance = [float(sum(Fraction(1, m) for m in counts)), float(Fraction(1, a) + Fraction(1, b))]
    close(np.diag(found.cov), variance, 1e-10)
    covariance = -float(Fraction(1, a) + Fraction(1, b))
    close(found.cov[0, 1], covariance, 1e-10)


@pytest.mark.parametrize("k", [2, 3])
def test_repeated_rows_in_clusters_change_nothing(k):
    X, y = table(22, n=250, k=k)
    clf = LinearClassifier(**EXACT).fit(X, y)
    rows = np.arange(len(y))
    once = inference(clf, X, y, covariance="cluster", groups=rows)
    close(once.cov, inference(clf, X, y, covariance="sandwich").cov)
    twice = np.r_[rows, rows]
    again = LinearClassifier(**EXACT).fit(X[twice], y[twice])
    close(inference(again, X[twice], y[twice], covariance="cluster", groups=twice).cov, once.cov)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("covariance", ["model", "sandwich"])
def test_frequency_weights_are_repetitions(k, covariance):
    X, y = table(23, n=200, k=k)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    whole = np.repeat(np.arange(len(y)), weight)
    weighted = LinearClassifier(**EXACT).fit(X, y, sample_weight=weight)
    repeated = LinearClassifier(**EXACT).fit(X[whole], y[whole])
    found = inference(weighted, X, y, sample_weight=weight, covariance=covariance)
    expected = inference(repeated, X[whole], y[whole], covariance=covariance)
    close(found.cov, expected.cov)
    assert found.n == expected.n
    close(found.log_likelihood, expected.log_likelihood)


def test_sampling_weights_by_hand():
    X, y = table(24)
    weight = np.random.default_rng(0).uniform(0.5, 4.0, len(y))
    clf = LinearClassifier(**EXACT).fit(X, y, sample_weight=weight)
    given = {"sample_weight": weight, "covariance": "sandwich", "weights": "probability"}
    found, Z = inference(clf, X, y, **given), with_ones(X)
    p = 1.0 / (1.0 + np.exp(-Z @ np.append(clf.coef_, clf.intercept_)))
    bread = np.linalg.inv((Z.T * (weight * p * (1 - p))) @ Z)
    g = Z * (weight * (p - y))[:, None]
    close(found.cov, bread @ (g.T @ g) @ bread)
    assert found.n == len(y)
    assert found.log_likelihood is None
    rescaled = LinearClassifier(**EXACT).fit(X, y, sample_weight=7 * weight)
    close(inference(rescaled, X, y, **given | {"sample_weight": 7 * weight}).cov, found.cov)


@pytest.mark.parametrize("standardize", [False, True])
def test_a_penalised_fit_by_hand(standardize):
    """H^-1 (H - P) H^-1, with the penalty in the units that the fit used."""
    X, y = table(25)
    clf = LinearClassifier(l2=1e-2, tol=1e-13, standardize=standardize).fit(X, y)
    found, Z = inference(clf, X, y), with_ones(X)
    scale = X.std(axis=0) if standardize else np.ones(X.shape[1])
    P = np.diag(np.append(2 * 1e-2 * len(y) * scale**2, 0.0))
    p = 1.0 / (1.0 + np.exp(-Z @ np.append(clf.coef_, clf.intercept_)))
    H = (Z.T * (p * (1 - p))) @ Z
    inverse = np.linalg.inv(H + P)
    close(found.cov, inverse @ H @ inverse)
    close(found.effective, np.trace(inverse @ H))
    assert "penalised" in found.kind
    with pytest.raises(ValueError, match="chi-square"):
        found.test("x0")


@pytest.mark.parametrize("reference", ["a", "b", "c"])
@pytest.mark.parametrize("l2", [0.0, 1e-2])
def test_contrasts_do_not_depend_on_the_order_of_the_classes(reference, l2):
    X, number = table(26, k=3)
    y = np.array(["a", "b", "c"])[number]
    clf = LinearClassifier(l2=l2, tol=1e-13).fit(X, y)
    first = inference(clf, X, y, covariance="sandwich")
    found = inference(clf, X, y, covariance="sandwich", reference=reference)
    assert found.reference == reference
    B = clf.coef_[:, 0] - clf.coef_[list("abc").index(reference), 0]
    close(found.coef[0::5], np.delete(B, list("abc").index(reference)))
    # The variance of b - c from the covariance against a.
    width = X.shape[1] + 1
    difference = np.zeros(2 * width)
    difference[0], difference[width] = 1.0, -1.0
    between = inference(clf, X, y, covariance="sandwich", reference="b")
    assert between.classes[width] == "c"
    close(between.cov[width, width], difference @ first.cov @ difference)


# ---- rows in any form ----------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("covariance", ["model", "sandwich", "cluster"])
def test_any_form_of_the_rows_gives_the_same(k, covariance):
    X, y = table(27, n=200, k=k)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.4, 0.0, X)
    given = {"covariance": covariance}
    if covariance == "cluster":
        given["groups"] = np.arange(len(y)) % 20
    expected = inference(LinearClassifier(**EXACT).fit(X, y), X, y, **given)
    strided = np.asfortranarray(np.repeat(X, 2, axis=1))[:, ::2]
    strided.setflags(write=False)
    for rows in (sp.csr_array(X), strided):
        found = inference(LinearClassifier(**EXACT).fit(rows, y), rows, y, **given)
        close(found.cov, expected.cov, 1e-7)
    parts = read(lambda: ((X[i : i + 70], y[i : i + 70]) for i in range(0, len(y), 70)))
    close(inference(LinearClassifier(**EXACT).fit(parts), parts, **given).cov, expected.cov, 1e-7)


def test_pipelines_and_offsets():
    X, y = table(28)
    expected = inference(LinearClassifier(**EXACT).fit(X, y), X, y)
    scaled = make_pipeline(StandardScaler(), LinearClassifier(**EXACT)).fit(X, y)
    found = inference(scaled, X, y)
    close(found.standard_errors[:-1] / X.std(axis=0), expected.standard_errors[:-1])
    close(found.predict_interval(X), expected.predict_interval(X))
    far = X + 1e7
    moved = inference(LinearClassifier(**EXACT).fit(far, y), far, y)
    close(moved.standard_errors[:-1], expected.standard_errors[:-1], 1e-6)
    close(moved.predict_interval(far), expected.predict_interval(X), 1e-6)


def test_without_an_intercept():
    X, y = table(29)
    clf = LinearClassifier(**EXACT, fit_intercept=False).fit(X, y)
    found, theirs = inference(clf, X, y), sm.Logit(y, X).fit(disp=0, tol=1e-14)
    close(found.cov, theirs.cov_params())
    assert found.names == ("x0", "x1", "x2", "x3")
    close(found.null_log_likelihood, -len(y) * math.log(2.0))


# ---- tests of features ---------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_ratios_of_likelihoods(k):
    X, y = table(30, k=k)
    found = inference(LinearClassifier(**EXACT).fit(X, y), X, y)
    model = sm.Logit if k == 2 else sm.MNLogit
    whole = model(y, with_ones(X)).fit(disp=0, tol=1e-14, method="newton").llf
    for features, left in (("x1", [0, 2, 3]), ([0, "x3"], [1, 2]), ([0, 1, 2, 3], [])):
        rest = model(y, with_ones(X[:, left])).fit(disp=0, tol=1e-14, method="newton").llf
        ratio = found.test(features)
        close(ratio.statistic, 2.0 * (whole - rest), 1e-6)
        assert ratio.degrees == (4 - len(left)) * (k - 1)


@pytest.mark.slow
def test_intervals_cover():
    """Of 2,000 simulated tables, within four standard deviations of the level."""
    rng, truth, times = np.random.default_rng(5), np.array([0.8, -0.5, 0.2]), 2000
    hits = np.zeros(3)
    for _ in range(times):
        X = rng.standard_normal((250, 2))
        y = (rng.random(250) < 1.0 / (1.0 + np.exp(-with_ones(X) @ truth))).astype(int)
        found = inference(LinearClassifier(l2=0.0, tol=1e-9).fit(X, y), X, y)
        hits += (found.intervals[:, 0] <= truth) & (truth <= found.intervals[:, 1])
    assert np.all(np.abs(hits / times - 0.95) <= 4.0 * math.sqrt(0.95 * 0.05 / times))


# ---- what it prints, and what it refuses ---------------------------------------------------


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
        with pytest.raises(ValueError, match="pass the X, y and sample_weight of the fit"):
            inference(clf, rows, labels)


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
