"""Least squares without each row, against fits to the other rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import LeaveOneOut
from wide_rows import WAYS, columns, go, losses_of, wide

from separatrix import LinearClassifierCV
from separatrix.estimators.cv import press, row_space

# Some best scores are those of the smallest l2, which these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore:the best score is that of")

STORED = {
    "dense": np.asarray,
    "float32": lambda X: np.asarray(X, np.float32),
    "fortran": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
}


def residuals_left_out(X, Y, weight, l2, intercept):
    """Of every row, by lstsq on the others with the penalty as further rows: (n, k)."""
    n, d = X.shape
    found = np.full(Y.shape, np.nan)
    for i in range(n):
        rest = (np.arange(n) != i) & (weight > 0)
        if weight[i] == 0.0:
            continue
        c = weight[rest]
        mean, target = (c @ X[rest] / c.sum(), c @ Y[rest] / c.sum()) if intercept else (0, 0)
        A = np.vstack([(X[rest] - mean) * np.sqrt(c)[:, None], np.sqrt(c.sum() * l2) * np.eye(d)])
        B = np.vstack([(Y[rest] - target) * np.sqrt(c)[:, None], np.zeros((d, Y.shape[1]))])
        w = np.linalg.lstsq(A, B, rcond=None)[0]
        found[i] = Y[i] - (X[i] - mean) @ w - target
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("way", [*WAYS, "tall", "tall products"])
def test_least_squares_without_each_row_is_brute_force(way, k, intercept, weighted, monkeypatch):
    go(way, monkeypatch) if way in WAYS else None
    if way == "tall products":
        monkeypatch.setattr(press, "SVD_VALUES", 0)
    n, d = (12, 25) if way in WAYS else (25, 6)
    X, y = wide(n, d), np.arange(n) % k
    weight = np.random.default_rng(1).integers(0, 4, n) * 0.5 if weighted else np.ones(n)
    weight[:k] = 1.0
    l2s = [3.0, 1e-1, 1e-4]
    expected = np.array([residuals_left_out(X, columns(y, k), weight, l2, intercept) for l2 in l2s])
    for make in STORED.values():
        clf = LinearClassifierCV(
            "squared", l2s=l2s, cv="loo", scoring="loss", fit_intercept=intercept
        ).fit(make(X), y, sample_weight=weight if weighted else None)
        rtol = 1e-4 if make is STORED["float32"] else 1e-7
        np.testing.assert_allclose(losses_of(clf, n), np.sum(expected**2, axis=2).T, rtol=rtol)


@pytest.mark.parametrize("way", WAYS)
def test_weights_of_classes_count_as_those_of_rows_and_folds_of_one_row_agree(way, monkeypatch):
    go(way, monkeypatch)
    X, y = wide(14, 30), np.arange(14) % 2
    settings = {"loss": "squared", "l2s": [1.0, 1e-2], "scoring": "loss"}
    by_class = LinearClassifierCV(**settings, cv="loo", class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    by_row = LinearClassifierCV(**settings, cv="loo").fit(X, y, np.where(y == 1, 5.0, 1.0))
    folds = LinearClassifierCV(**settings, cv=LeaveOneOut(), class_weight={0: 1.0, 1: 5.0})
    folds.fit(X, y)
    for name in ("mean_test_score", "std_test_score", "standard_error"):
        np.testing.assert_allclose(by_class.cv_results_[name], by_row.cv_results_[name])
    np.testing.assert_allclose(losses_of(by_class, 14), losses_of(folds, 14), rtol=1e-7)


@pytest.mark.parametrize("scoring", [None, "loss"])
def test_mean_deviation_and_error_are_weighted_by_rows_where_one_is_left_out_at_a_time(scoring):
    X, y = wide(20, 5), np.arange(20) % 2
    weight = np.random.default_rng(2).exponential(size=20)
    weight[[3, 8]] = 0.0
    clf = LinearClassifierCV("squared", l2s=[1.0, 1e-2], cv="loo", scoring=scoring)
    clf.fit(X, y, weight)
    left = residuals_left_out(X, columns(y, 2), weight, 1e-2, True)[:, 0]
    sign = np.where(y == 1, 1.0, -1.0)
    each = -(left**2) if scoring == "loss" else ((sign - left >= 0) == (sign > 0)).astype(float)
    kept = weight > 0
    mean = np.average(each[kept], weights=weight[kept])
    spread = np.sqrt(np.average((each[kept] - mean) ** 2, weights=weight[kept]))
    folds = weight.sum() ** 2 / np.sum(weight**2)
    table = clf.cv_results_
    assert table["mean_test_score"][1] == pytest.approx(mean, rel=1e-9)
    assert table["std_test_score"][1] == pytest.approx(spread, rel=1e-9)
    assert table["standard_error"][1] == pytest.approx(spread / np.sqrt(folds - 1), rel=1e-9)


@pytest.mark.parametrize("weight", [None, np.ones(12), np.full(12, 3.7e-210), np.full(12, 1e200)])
def test_equal_weights_are_as_none(weight):
    X, y = wide(12, 30), np.arange(12) % 2
    clf = LinearClassifierCV("squared", l2s=[1.0, 1e-2], cv="loo", scoring="loss").fit(X, y, weight)
    each = losses_of(clf, 12)
    table = clf.cv_results_
    np.testing.assert_allclose(-table["mean_test_score"], each.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(table["std_test_score"], each.std(axis=0), rtol=1e-12)
    error = each.std(axis=0) / np.sqrt(11)
    np.testing.assert_allclose(table["standard_error"], error, rtol=1e-12)


@pytest.mark.parametrize("scoring", [None, "loss"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_folds_score_a_row_of_weight_2_as_the_row_twice(loss, scoring):
    X, y = wide(24, 4), np.arange(24) % 2
    times = np.random.default_rng(3).integers(0, 3, 24)
    fold = np.arange(24) // 2 % 3
    copies = np.repeat(np.arange(24), times)
    settings = {"loss": loss, "l2s": [1.0, 1e-1], "scoring": scoring, "tol": 1e-10}
    splits = [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(3)]
    weighted = LinearClassifierCV(cv=splits, **{"scoring": None, **settings}).fit(X, y, times)
    splits = [
        (np.flatnonzero(fold[copies] != i), np.flatnonzero(fold[copies] == i)) for i in range(3)
    ]
    repeated = LinearClassifierCV(cv=splits, **{"scoring": None, **settings}).fit(
        X[copies], y[copies]
    )
    for name in ("mean_test_score", "std_test_score", "standard_error", "split1_test_score"):
        found, expected = weighted.cv_results_[name], repeated.cv_results_[name]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-9)


def test_rows_of_weight_0_are_as_if_absent_and_all_weights_may_be_multiplied():
    X, y = wide(10, 30, empty=False), np.arange(10) % 2
    weight = np.array([1.0, 2.0, 0.0, 1.0, 0.5, 3.0, 1.0, 0.0, 1.0, 1.0])
    kept = weight > 0
    settings = {"loss": "squared", "l2s": [1.0, 1e-2], "cv": "loo", "scoring": "loss"}
    some = LinearClassifierCV(**{"scoring": None, **settings}).fit(X[kept], y[kept], weight[kept])
    for factor in (1.0, 1e-200, 1e200):
        every = LinearClassifierCV(**{"scoring": None, **settings}).fit(X, y, factor * weight)
        found = losses_of(every, 10)
        assert np.all(np.isnan(found[~kept]))
        np.testing.assert_allclose(found[kept], losses_of(some, kept.sum()), rtol=1e-9)
        assert every.l2_ == some.l2_


@pytest.mark.parametrize("ratio", [1e-6, 1e6])
def test_a_row_that_weighs_far_more_or_less_than_others(ratio):
    X, y = wide(9, 20), np.arange(9) % 2
    weight = np.ones(9)
    weight[3] = ratio
    clf = LinearClassifierCV("squared", l2s=[1e-1], cv="loo", scoring="loss").fit(X, y, weight)
    expected = residuals_left_out(X, columns(y, 2), weight, 1e-1, True)
    np.testing.assert_allclose(losses_of(clf, 9), expected**2, rtol=1e-6)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_the_fewest_rows(n, intercept, way, monkeypatch):
    go(way, monkeypatch)
    X, y = np.random.default_rng(n).standard_normal((n, 7)), np.arange(n) % 2
    clf = LinearClassifierCV(
        "squared", l2s=[1.0, 1e-3], cv="loo", scoring="loss", fit_intercept=intercept
    ).fit(X, y)
    for j, l2 in enumerate(clf.l2_path_):
        expected = residuals_left_out(X, columns(y, 2), np.ones(n), l2, intercept)
        np.testing.assert_allclose(losses_of(clf, n)[:, [j]], expected**2, rtol=1e-7)


@pytest.mark.parametrize("way", WAYS)
def test_repeated_rows_and_constant_features(way, monkeypatch):
    go(way, monkeypatch)
    X, y = np.repeat(wide(5, 30), 3, axis=0), np.arange(15) % 2
    clf = LinearClassifierCV("squared", l2s=[1e-2], cv="loo", scoring="loss").fit(X, y)
    expected = residuals_left_out(X, columns(y, 2), np.ones(15), 1e-2, True)
    np.testing.assert_allclose(losses_of(clf, 15), expected**2, rtol=1e-6)
    flat = LinearClassifierCV("squared", l2s=[1e-2], cv="loo", scoring="loss")
    flat.fit(np.full((15, 30), 0.1), y)
    signs = 2.0 * y - 1.0
    constant = (signs - (signs.sum() - signs) / 14) ** 2
    np.testing.assert_allclose(losses_of(flat, 15)[:, 0], constant, rtol=1e-9)


@pytest.mark.sampled
@pytest.mark.parametrize("scale", [2.0**-240, 2.0**240])
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "hinge"])
def test_no_scale_of_wide_rows_changes_the_scores(loss, scale):
    X, y = wide(14, 40), np.arange(14) % 2
    for cv in (3,) if loss == "hinge" else (3, "loo"):
        plain, scaled = (
            LinearClassifierCV(loss, l2s=4, cv=cv, scoring="loss").fit(X * s, y) for s in (1, scale)
        )
        np.testing.assert_allclose(
            scaled.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], rtol=1e-5
        )


def test_penalties_lost_in_the_products_of_rows_are_not_left_to_them(monkeypatch):
    monkeypatch.setattr(row_space, "SVD_VALUES", 0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 40)) * np.logspace(-3, 3, 40)
    X[1] = X[0] + 1e-6 * rng.standard_normal(40)
    y = np.arange(10) % 2
    for make in (np.asarray, sp.csr_array):
        for l2 in (1e-2, 1e-7, 1e-12):
            clf = LinearClassifierCV("squared", l2s=[l2], cv="loo", scoring="loss").fit(make(X), y)
            expected = residuals_left_out(X, columns(y, 2), np.ones(10), l2, True)
            np.testing.assert_allclose(losses_of(clf, 10), expected**2, rtol=1e-5)
