"""Inference with Firth's penalty, against direct maximisation in long double."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from firth_oracles import design, maximum, penalised
from scipy.stats import chi2

from separatrix import LinearClassifier, inference
from separatrix.inspection.inference import firth, firth_chords
from separatrix.inspection.inference.profile.questions import Questions
from separatrix.numeric import pairs


def table(n=40, seed=0, separated=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) * [1.0, 8.0] + [0.0, 30.0]
    noise = 0.0 if separated else 1.0
    return X, (X[:, 0] + noise * rng.logistic(size=n) > 0.0).astype(int)


def fitted(X, y, weight=None, **options):
    clf = LinearClassifier(bias_reduction="firth", tol=1e-10, **options)
    return clf.fit(X, y, sample_weight=weight)


@pytest.mark.sampled
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


@pytest.mark.sampled(1)
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
    """The largest penalised log-likelihood with coefficient j held at a value.

    There may be several local maxima, so the search begins at several points.
    """
    from scipy.optimize import minimize

    Z, free = design(X), np.arange(X.shape[1] + 1) != j

    def negative(some):
        v = np.full(Z.shape[1], value, dtype=np.longdouble)
        v[free] = some
        return float(-penalised(v, Z, y))

    draws = np.random.default_rng(0).normal(0.0, 5.0, (6, np.count_nonzero(free)))
    runs = [
        minimize(negative, start, method="Nelder-Mead",
                 options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000})
        for start in (0.0 * draws[0], *draws)
    ]  # fmt: skip
    return -min(run.fun for run in runs)


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


def chords(X, y, weight=None, **options):
    clf = fitted(X, y, weight, **options)
    return inference(clf, X, y, sample_weight=weight)._firth


@pytest.mark.parametrize("kind", ["plain", "few bytes", "no curvature", "many columns"])
def test_questions_answered_together_as_one_by_one(kind, monkeypatch):
    X, y = table(60, seed=4)
    X = np.column_stack([X, np.random.default_rng(1).standard_normal((60, 2))])
    if kind == "few bytes":
        monkeypatch.setattr(firth_chords, "MOST_BYTES", 3 * 8 * 25)
    elif kind == "no curvature":
        monkeypatch.setattr(firth_chords, "WORTH", 0)
    elif kind == "many columns":
        monkeypatch.setattr(pairs, "MOST_PAIRED", 0)
    profile, every = chords(X, y), np.arange(5)
    found = profile.intervals(every, 0.95)
    ratios = profile.ratios(every[:-1])
    drop = 0.5 * chi2.ppf(0.95, 1)
    for j in every:
        ends = [profile._end(j, side, drop) for side in (-1.0, 1.0)]
        np.testing.assert_allclose(found[j], ends, rtol=0.0, atol=2e-8 * (ends[1] - ends[0]))
    alone = [profile.ratio(every[j : j + 1]) for j in every[:-1]]
    np.testing.assert_allclose(ratios, alone, rtol=1e-8, atol=1e-8)


def test_questions_left_open_are_answered_one_by_one(monkeypatch):
    X, y = table(30, seed=5, separated=True)
    usual = chords(X, y).intervals(np.arange(3), 0.95)
    monkeypatch.setattr(firth_chords, "MOST_MODELS", 0)
    profile = chords(X, y)
    asked = Questions(profile._rows(np.arange(2)), 1.0)
    assert not profile.chords.answers(asked).found.any()
    np.testing.assert_allclose(profile.intervals(np.arange(3), 0.95), usual, rtol=1e-7)
    assert profile.ratios(np.arange(1))[0] == profile.ratio(np.arange(1))


def test_an_end_that_is_not_found_is_nan_with_a_warning(monkeypatch):
    X, y = table(30, seed=5)
    clf = fitted(X, y)
    monkeypatch.setattr(firth_chords, "MOST_MODELS", 0)  # none together
    monkeypatch.setattr(firth, "MOST_TRIALS", 0)  # and none one by one
    with pytest.warns(UserWarning, match="rounding hides an end of the profile interval of 'x0'"):
        found = inference(clf, X, y, intervals="profile", features=["x0"])
    assert np.isnan(found.intervals).all()
    assert np.isfinite(found.standard_errors).all()


def test_sparse_rows_blocks_weights_and_offsets_together():
    X, y = table(80, seed=6)
    offset = np.random.default_rng(2).standard_normal(80)
    weight = np.random.default_rng(3).integers(0, 3, 80).astype(float)
    options = {"sample_weight": weight, "offset": offset}
    found = []
    for rows in (X, sp.csr_array(X), np.asfortranarray(X)):
        clf = LinearClassifier(bias_reduction="firth", tol=1e-10).fit(rows, y, **options)
        found.append(inference(clf, rows, y, intervals="profile", **options))
    at = np.repeat(np.arange(80), weight.astype(int))
    clf = LinearClassifier(bias_reduction="firth", tol=1e-10)
    clf.fit(X[at], y[at], offset=offset[at])
    found.append(inference(clf, X[at], y[at], offset=offset[at], intervals="profile"))
    for one in found[1:]:
        np.testing.assert_allclose(one.intervals, found[0].intervals, rtol=1e-7)
        ratios = [[ratio.statistic for ratio in each.test_each()] for each in (one, found[0])]
        np.testing.assert_allclose(ratios[0], ratios[1], rtol=1e-7)


@pytest.mark.parametrize("separated", [False, True])
def test_the_interval_of_the_intercept_of_features_far_from_zero(separated, monkeypatch):
    """It is that of centred features, moved: for one feature the intercept there is b + w c."""
    X, y = table(30, seed=7, separated=separated)
    x, c = X[:, :1], 500.0
    for most in (12, 0):  # together, and one by one
        monkeypatch.setattr(firth_chords, "MOST_MODELS", most)
        far = inference(fitted(x + c, y), x + c, y, intervals="profile")
        near = inference(fitted(x, y), x, y, intervals="profile")
        np.testing.assert_allclose(far.intervals[0], near.intervals[0], rtol=1e-6)
        best = far.log_likelihood
        for end in far.intervals[1]:
            fall = 2.0 * (best - held_intercept(x, y, end, c))
            np.testing.assert_allclose(fall, chi2.ppf(0.95, 1), rtol=1e-5)


def held_intercept(x, y, value, c):
    """The largest penalised log-likelihood with intercept ``value`` of the feature x + c."""
    from scipy.optimize import minimize_scalar

    def negative(slope):
        return float(-penalised(np.array([slope, value + slope * c], np.longdouble), design(x), y))

    middle = -value / c  # the scores are near 0
    found = minimize_scalar(negative, (middle - 0.01, middle + 0.01), method="brent",
                            options={"xtol": 1e-12})  # fmt: skip
    return -found.fun
