"""Leaving out one row at a time, at every l2, against fits without it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import overlapping
from sklearn.datasets import load_iris
from sklearn.model_selection import LeaveOneOut

from separatrix import (
    L2,
    ArraySource,
    LinearClassifier,
    LinearClassifierCV,
    Objective,
    get_loss,
)
from separatrix.estimators.cv import leave_one_out, press

# Some best scores are those of the smallest l2, which these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore:the best score is that of")

X, Y = overlapping(90, 5, seed=1)
L2S = np.logspace(0, -4, 6)
RIGHT = 1e-4  # how far a score may be off

LOSSES = {
    "logistic": (
        lambda m: np.logaddexp(0.0, -m),
        lambda m: -0.5 * (1.0 - np.tanh(0.5 * m)),
        lambda m: 0.25 / np.cosh(0.5 * np.clip(m, -700.0, 700.0)) ** 2,
    ),
    "squared_hinge": (
        lambda m: np.maximum(0.0, 1.0 - m) ** 2,
        lambda m: -2.0 * np.maximum(0.0, 1.0 - m),
        lambda m: 2.0 * (m < 1.0),
    ),
}


def minimum(Z, y, loss, stiffness, u):
    """Newton's method, halved until J falls; the last step squares what is left."""
    phi, slope, bend = LOSSES[loss]

    def value(u):
        return phi(y * (Z @ u)).mean() + 0.5 * stiffness @ u**2

    for _ in range(200):
        m = y * (Z @ u)
        gradient = Z.T @ (slope(m) * y) / len(y) + stiffness * u
        hessian = (Z.T * bend(m)) @ Z / len(y) + np.diag(stiffness)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), 1e-300))
        step = -scale * np.linalg.lstsq(hessian * scale * scale[:, None], scale * gradient)[0]
        length, slant = 1.0, gradient @ step
        if -slant <= 1e-16 * value(u):
            return u + step
        while length > 1e-9 and value(u + length * step) > value(u) + 1e-4 * length * slant:
            length *= 0.5
        u = u + length * step
    return u


def losses_left_out(X, y, loss, l2, intercept):
    """Of every row, by the fit without it."""
    n, d = X.shape
    center = X.mean(axis=0) * intercept
    Z = np.column_stack([X - center, np.ones(n)])[:, : d + intercept]
    stiffness = np.append(np.full(d, 2.0 * l2), 0.0)[: d + intercept]
    u, found = np.zeros(d + intercept), []
    for i in range(n):
        rest = np.arange(n) != i
        u = minimum(Z[rest], y[rest], loss, stiffness, u)
        found.append(LOSSES[loss][0](y[i] * (Z[i] @ u)))
    return np.array(found)


def noise(n, d):
    return np.random.default_rng(0).standard_normal((n, d)), np.where(np.arange(n) % 2, 1.0, -1.0)


def flowers(first):
    X, y = load_iris(return_X_y=True)
    two = (y == first) | (y == first + 1)
    return X[two][1::2], np.where(y[two] == first, -1.0, 1.0)[1::2]


TABLES = {
    "more features than half the rows": noise(14, 8),
    "noise": noise(40, 6),
    "separable": flowers(0),
    "overlapping": flowers(1),
    "clouds": overlapping(40, 3, seed=1),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", TABLES)
def test_every_row_at_every_l2_is_scored_by_the_fit_without_it(name, loss):
    X, y = TABLES[name]
    l2s = [1.0, 1e-2, 1e-4, 1e-6]
    clf = LinearClassifierCV(loss, l2s=l2s, cv="loo", scoring="loss").fit(X, y)
    splits = np.array([clf.cv_results_[f"split{i}_test_score"] for i in range(len(y))])
    expected = np.array([losses_left_out(X, y, loss, l2, True) for l2 in l2s])
    # A score that is off by 1e-4 changes a loss by its slope times that.
    steep = 1.0 if loss == "logistic" else 2.0 * np.sqrt(expected.T) + 1e-4
    assert np.all(np.abs(-splits - expected.T) <= steep * RIGHT)
    np.testing.assert_allclose(-clf.cv_results_["mean_test_score"], expected.mean(axis=1), 1e-4)
    assert clf.l2_ == l2s[int(np.argmin(expected.mean(axis=1)))]
    assert clf.loo_check_.largest_error <= RIGHT


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_rows_are_left_out_without_a_bias_too(make):
    X, y = TABLES["noise"]
    settings = {"l2s": [1e-2, 1e-5], "cv": "loo", "scoring": "loss", "fit_intercept": False}
    clf = LinearClassifierCV(**{"scoring": None, **settings}).fit(make(X + 1.0), y)
    expected = [losses_left_out(X + 1.0, y, "logistic", l2, False).mean() for l2 in (1e-2, 1e-5)]
    np.testing.assert_allclose(-clf.cv_results_["mean_test_score"], expected, rtol=1e-4)


def test_many_rows_need_no_more_than_a_step(monkeypatch):
    rows = []
    steps = leave_one_out._Removal.by_steps
    monkeypatch.setattr(
        leave_one_out._Removal, "by_steps", lambda fit, some: rows.extend(some) or steps(fit, some)
    )
    X, y = overlapping(3000, 3, seed=1)
    clf = LinearClassifierCV(l2s=[1e-3], cv="loo", scoring="loss").fit(X, y)
    assert len(rows) < 300
    assert clf.loo_check_.largest_error <= RIGHT


def test_accuracy_by_its_name_is_the_default_score():
    X, y = TABLES["clouds"]
    for loss in ("squared", "logistic"):
        one, other = (
            LinearClassifierCV(loss, l2s=4, cv="loo", scoring=scoring).fit(X, y)
            for scoring in (None, "accuracy")
        )
        assert one.l2_ == other.l2_
        for name, values in one.cv_results_.items():
            np.testing.assert_array_equal(values, other.cv_results_[name])


def test_penalties_lost_in_the_rounding_of_products_are_not_left_to_them(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4)) * [1e-3, 1e-3, 1.0, 1e3]
    X[:, 1] = X[:, 0] + 1e-9 * rng.standard_normal(200)
    y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    l2s, expected = np.array([1e-2, 1e-20]), []
    for l2 in l2s:
        for i in range(200):
            rest = np.arange(200) != i
            mean, target = X[rest].mean(axis=0), y[rest].mean()
            rows = np.vstack([X[rest] - mean, np.sqrt(199 * l2) * np.eye(4)])
            right = np.append(y[rest] - target, np.zeros(4))
            scale = np.linalg.norm(rows, axis=0)
            w = np.linalg.lstsq(rows / scale, right, rcond=1e-15)[0] / scale
            expected.append((1.0 - y[i] * ((X[i] - mean) @ w + target)) ** 2)
    monkeypatch.setattr(press, "SVD_VALUES", 0)  # as if there were many more rows
    clf = LinearClassifierCV("squared", l2s=l2s, cv="loo", scoring="loss").fit(X, y)
    np.testing.assert_allclose(
        -clf.cv_results_["mean_test_score"], np.reshape(expected, (2, 200)).mean(axis=1), rtol=1e-5
    )


@pytest.mark.sampled
@pytest.mark.parametrize("shape", [(30, 4), (12, 20)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_squared_leave_one_out_is_brute_force(shape, intercept, k, make):
    rows, _ = overlapping(*shape)
    labels = np.arange(shape[0]) % k
    clf = LinearClassifierCV(
        "squared", l2s=L2S, cv="loo", scoring="loss", fit_intercept=intercept
    ).fit(make(rows), labels)
    brute = LinearClassifierCV(
        "squared", l2s=L2S, cv=LeaveOneOut(), scoring="loss", fit_intercept=intercept
    ).fit(rows, labels)
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(clf.cv_results_[name], brute.cv_results_[name], rtol=1e-8)
    assert clf.l2_ == brute.l2_
    assert not hasattr(clf, "loo_check_")


@pytest.mark.parametrize("shape", [(20, 50), (40, 6), (12, 11)])
@pytest.mark.parametrize("intercept", [True, False])
def test_squared_leave_one_out_is_exact_for_tiny_penalties(shape, intercept, monkeypatch):
    rng = np.random.default_rng(0)
    n, d = shape
    rows = rng.standard_normal(shape) * np.logspace(-2, 2, d)
    labels = np.where(np.arange(n) % 2, 1.0, -1.0)
    source = ArraySource(rows, labels, np.array([0, 1]))
    problem = Objective(get_loss("squared"), L2(0.0), source, intercept)
    for l2, rtol in ((1e-2, 1e-9), (1e-6, 1e-7), (1e-9, 1e-5)):
        expected = []
        for i in range(n):
            rest = np.arange(n) != i
            mean = rows[rest].mean(axis=0) * intercept
            target = labels[rest].mean() * intercept
            A = np.vstack([rows[rest] - mean, np.sqrt((n - 1) * l2) * np.eye(d)])
            r = np.append(labels[rest] - target, np.zeros(d))
            expected.append((rows[i] - mean) @ np.linalg.lstsq(A, r, rcond=None)[0] + target)
        got = press.press_scores(problem, np.array([l2]))[0, :, 0]
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)
        if n > d + 1:
            monkeypatch.setattr(press, "SVD_VALUES", 0)
            again = press.press_scores(problem, np.array([l2]))[0, :, 0]
            monkeypatch.undo()
            np.testing.assert_allclose(again, got, rtol=1e-4, atol=1e-4)


def test_a_check_belongs_to_its_fit():
    clf = LinearClassifierCV(l2s=[0.1], cv="loo", scoring=None).fit(X, Y)
    assert hasattr(clf, "loo_check_")
    assert not hasattr(clf.set_params(cv=3).fit(X, Y), "loo_check_")
    assert not hasattr(
        LinearClassifierCV(l2s=[0.1], cv="loo", scoring=None).set_params(cv=3), "loo_check_"
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("intercept", [True, False])
def test_logistic_leave_one_out_is_near_brute_force(intercept):
    rows, labels = overlapping(60, 3, seed=1)
    l2s = np.logspace(0, -2, 4)
    settings = {"l2s": l2s, "scoring": "loss", "fit_intercept": intercept, "tol": 1e-12}
    clf = LinearClassifierCV(cv="loo", **{"scoring": None, **settings}).fit(rows, labels)
    brute = LinearClassifierCV(cv=LeaveOneOut(), **{"scoring": None, **settings}).fit(rows, labels)
    np.testing.assert_allclose(
        clf.cv_results_["mean_test_score"], brute.cv_results_["mean_test_score"], rtol=0.02
    )
    check = clf.loo_check_
    assert len(check.rows) == 10
    l2 = clf.l2_
    for i, score in zip(check.rows, check.exact, strict=True):
        rest = np.arange(60) != i
        fit = LinearClassifier(l2=l2, fit_intercept=intercept, tol=1e-12).fit(
            rows[rest], labels[rest]
        )
        assert fit.decision_function(rows[[i]])[0] == pytest.approx(score, rel=1e-4, abs=1e-6)
    assert check.largest_error == np.max(np.abs(check.exact - check.approximate)) < 0.1
