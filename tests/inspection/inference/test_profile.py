"""Profile likelihood intervals: against constrained fits in long double, and published ones."""

from __future__ import annotations

import math
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from inspection.inference.cases import EXACT, close, table
from inspection.inference.profile_oracle import profile_ends
from scipy.optimize import brentq
from scipy.stats import chi2

from separatrix import LinearClassifier, inference, read
from separatrix.inspection.inference.profile import chords
from separatrix.inspection.inference.profile.likelihood import Likelihood
from separatrix.inspection.inference.profile.questions import Questions

FINE = 5e-9  # relative to the width of an interval


def budworms():
    """Moths killed by cypermethrin: D. Collett, Modelling Binary Data, 1991; in R's MASS."""
    dose, male = np.tile(np.arange(6.0), 2), np.repeat([1.0, 0.0], 6)
    dead = np.array([1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16])
    X = np.repeat(np.column_stack([male, dose]), 2, axis=0)
    return X, np.tile([1, 0], 12), np.column_stack([dead, 20 - dead]).ravel()


def agree(found, expected, tol=FINE):
    low, high = expected
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tol * (high - low))


def test_the_published_intervals_of_the_budworms():
    """W. N. Venables and B. D. Ripley, Modern Applied Statistics with S, 2002, section 7.2."""
    X, y, weight = budworms()
    clf = LinearClassifier(**EXACT).fit(X, y, sample_weight=weight)
    found = inference(clf, X, y, sample_weight=weight, intervals="profile")
    agree(found.intervals[1], (0.8228708, 1.339058), 5e-5)  # theirs interpolate a spline
    wald = inference(clf, X, y, sample_weight=weight)
    np.testing.assert_allclose(wald.intervals[1], (0.8073069, 1.321121), rtol=2e-7)
    for number in range(3):
        agree(found.intervals[number], profile_ends(X, y, number, weight))
    assert found.method == "profile"
    assert "Intervals: profile likelihood; z and p: Wald." in str(found)
    assert found.to_dict()["lower"] == found.intervals[:, 0].tolist()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(("seed", "level"), [(0, 0.9), (1, 0.95), (2, 0.99)])
def test_constrained_fits_in_long_double(seed, k, level):
    X, y = table(50 + seed, n=60, d=2, k=k)
    clf = LinearClassifier(**EXACT).fit(X, y)
    with pytest.warns(UserWarning, match="per row") if k == 3 else nullcontext():
        found = inference(clf, X, y, intervals="profile", level=level)
    for number in range(len(found.coef)):
        agree(found.intervals[number], profile_ends(X, y, number, level=level))


@pytest.mark.filterwarnings("ignore:there are .* parameters per row")
def test_hard_tables():
    """Nearly separable rows, and an outlier that has all the curvature at the estimate."""
    x = np.r_[np.arange(10.0), 4.2, 4.4]
    y = np.r_[np.arange(10) > 4, [1, 0]].astype(int)
    X, labels = table(59, n=60, d=1)
    far = np.vstack([X, [[X.mean() + 60.0 * X.std()]]])
    for rows, classes in (
        (x[:, None], y),
        (far, np.append(labels, 1)),
        (far, np.append(labels, 0)),
    ):
        clf = LinearClassifier(**EXACT).fit(rows, classes)
        found = inference(clf, rows, classes, intervals="profile")
        for number in range(2):
            agree(found.intervals[number], profile_ends(rows, classes, number), 1e-7)


@pytest.mark.parametrize("successes", [1, 7, 19])
def test_a_share_alone(successes):
    """One coefficient: the ends solve one equation."""
    X, y = np.ones((20, 1)), np.r_[np.ones(successes), np.zeros(20 - successes)].astype(int)
    clf = LinearClassifier(**EXACT, fit_intercept=False).fit(X, y)
    found, b = inference(clf, X, y, intervals="profile"), math.log(successes / (20 - successes))

    def fall(end):
        return 20 * math.log1p(math.exp(end)) - successes * end - rise

    rise = 20 * math.log1p(math.exp(b)) - successes * b + 0.5 * chi2.ppf(0.95, 1)
    ends = brentq(fall, b - 20, b, xtol=1e-13), brentq(fall, b, b + 20, xtol=1e-13)
    agree(found.intervals[0], ends)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("k", [2, 3])
def test_any_form_of_the_rows_gives_the_same_intervals(k):
    X, y = table(60, n=240, k=k)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.4, 0.0, X)
    given = {"intervals": "profile"}
    expected = inference(LinearClassifier(**EXACT).fit(X, y), X, y, **given).intervals
    strided = np.asfortranarray(np.repeat(X, 2, axis=1))[:, ::2]
    strided.setflags(write=False)
    for rows in (sp.csr_array(X), strided, X + 1e7):
        found = inference(LinearClassifier(**EXACT).fit(rows, y), rows, y, **given).intervals
        features = np.arange(len(found)) % 5 < 4
        close(found[features], expected[features], 1e-7)
    parts = read(lambda: ((X[i : i + 70], y[i : i + 70]) for i in range(0, len(y), 70)))
    found = inference(LinearClassifier(**EXACT).fit(parts), parts, **given)
    close(found.intervals, expected, 1e-7)
    weight = np.random.default_rng(2).integers(0, 3, len(y))
    whole = np.repeat(np.arange(len(y)), weight)
    expected = inference(LinearClassifier(**EXACT).fit(X[whole], y[whole]), X[whole], y[whole],
                         **given)  # fmt: skip
    X[weight == 0] = 1e300  # as if absent
    clf = LinearClassifier(**EXACT).fit(X, y, sample_weight=weight)
    found = inference(clf, X, y, sample_weight=weight, **given)
    close(found.intervals, expected.intervals, 1e-7)


@pytest.mark.parametrize("k", [2, 3])
def test_all_features_tested_together_as_one_by_one(k):
    X, y = table(61, k=k)
    found = inference(LinearClassifier(**EXACT).fit(X, y), X, y)
    for feature, ratio in enumerate(found.test_each()):
        expected = found.test(feature)
        assert ratio.features == expected.features
        assert ratio.degrees == expected.degrees == k - 1
        close([ratio.statistic, ratio.p_value], [expected.statistic, expected.p_value], 1e-6)


def test_an_end_is_where_the_test_begins_to_reject():
    X, y = table(62)
    clf = LinearClassifier(**EXACT).fit(X, y)
    found = inference(clf, X, y, intervals="profile", features="x2")
    p = inference(clf, X, y).test("x2").p_value
    for level, inside in ((1.0 - p * 0.999, True), (1.0 - p * 1.001, False)):
        low, high = inference(clf, X, y, intervals="profile", level=level).intervals[2]
        assert (low <= 0.0 <= high) == inside
    assert found.names == ("x2",)


def test_the_bound_of_the_error_holds(monkeypatch):
    """Answers that are only roughly right say so: no error is larger than its bound."""
    X, y = table(63, n=60, d=3)
    with pytest.warns(UserWarning, match="per row"):
        found = inference(LinearClassifier(**EXACT).fit(X, y), X, y)
    likelihood = Likelihood(found._likelihood)
    minimum = chords.minimum(likelihood)
    rows = likelihood.coefficients
    asked = Questions(np.concatenate([rows, rows])[:, None], 2.0, np.repeat([-1.0, 1.0], len(rows)))
    exact = chords.answers(likelihood, minimum, asked)
    assert np.all(exact.error < 1e-8)
    largest = 0.0
    for accuracy in (1e-1, 1e-2, 1e-4):
        monkeypatch.setattr(chords, "ACCURACY", accuracy)
        rough = chords.answers(likelihood, minimum, asked)
        ends, best = (np.einsum("mp,mp->m", asked.A[:, 0], a.theta) for a in (rough, exact))
        half = np.abs(best - asked.A[:, 0] @ minimum.theta[0])
        off = np.abs(ends - best) / half
        assert np.all(off <= rough.error / (1.0 - rough.error))
        largest = max(largest, off.max())
    assert largest > 1e-4


def test_an_end_without_a_proof_is_missing(monkeypatch):
    x = np.r_[np.arange(10.0), 4.2, 4.4][:, None]
    y = np.r_[np.arange(10) > 4, [1, 0]].astype(int)
    clf = LinearClassifier(**EXACT, fit_intercept=False).fit(x - 4.3, y)
    monkeypatch.setattr(chords, "MOST_CHORDS", 1)
    monkeypatch.setattr(chords, "MOST_STEPS", 1)
    with (
        pytest.warns(UserWarning, match="parameters per row"),
        pytest.warns(UserWarning, match="rounding hides an end of the profile interval of 'x0'"),
    ):
        found = inference(clf, x - 4.3, y, intervals="profile")
    assert np.isnan(found.intervals).any()


def test_the_squared_loss_has_the_intervals_of_student():
    X, y = table(64)
    clf = LinearClassifier("squared", **EXACT).fit(X, y)
    found = inference(clf, X, y, intervals="profile")
    np.testing.assert_array_equal(found.intervals, inference(clf, X, y).intervals)


@pytest.mark.parametrize("k", [2, 3])
def test_some_features(k):
    X, y = table(65, k=k)
    clf = LinearClassifier(**EXACT).fit(X, y)
    for given in ({}, {"intervals": "profile"}):
        whole = inference(clf, X, y, **given)
        found = inference(clf, X, y, features=["x3", "(intercept)", 1], **given)
        at = np.flatnonzero(np.isin(np.arange(len(whole.coef)) % 5, [1, 3, 4]))
        assert found.names == ("x1", "x3", "(intercept)") * (k - 1)
        assert found.classes == tuple(whole.classes[i] for i in at if k > 2)
        np.testing.assert_array_equal(found.cov, whole.cov[np.ix_(at, at)])
        close(found.intervals, whole.intervals[at], 1e-9)
        assert (found.aic, found.effective) == (whole.aic, whole.effective)
        np.testing.assert_array_equal(found.predict_interval(X), whole.predict_interval(X))
        assert found.test("x0") == whole.test("x0")
        assert [ratio.features for ratio in found.test_each()] == [("x1",), ("x3",)]
        assert "x2" not in str(found)


@pytest.mark.parametrize(
    ("options", "given", "text"),
    [
        ({}, {"intervals": "bootstrap"}, "intervals must be one of 'wald', 'profile', got"),
        ({}, {"intervals": True}, "intervals must be one of"),
        ({}, {"intervals": "profile", "covariance": "sandwich"}, "covariance='model'"),
        ({"l2": 1e-2}, {"intervals": "profile"}, "no chi-square distribution"),
        ({"loss": "squared"}, {"intervals": "profile", "covariance": "sandwich"}, "squared loss"),
        ({}, {"features": "x9"}, "unknown feature 'x9'"),
        ({}, {"features": []}, "name at least one feature"),
    ],
)
def test_what_has_no_profile_is_refused(options, given, text):
    X, y = table(66)
    clf = LinearClassifier(**{"l2": 0.0} | options).fit(X, y)
    with pytest.raises(ValueError, match=text):
        inference(clf, X, y, **given)
