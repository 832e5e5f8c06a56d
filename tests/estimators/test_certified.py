"""Certified predictions contain those of exact minima, computed in long double."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import quiet
from exact_minima import LD, column_minimum, softmax_minimum
from scipy.special import expit

import separatrix
from separatrix import GradientDescent, LinearClassifier, LinearClassifierCV, Stop

KINDS = ["logistic", "squared", "squared_hinge", "one_vs_rest_logistic", "softmax"]


def problem(seed, kind):
    """A random problem at its worst: ties, duplicates, constants, few rows, odd scales."""
    rng = np.random.default_rng(seed)
    k = 2 if kind in ("logistic", "squared_hinge", "squared") and seed % 3 else 3
    n, d = int(rng.integers(2 * k, 30)), int(rng.integers(1, 7))
    X = rng.standard_normal((n, d))
    if rng.random() < 0.3:
        X = np.round(X)  # ties
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0, 5.0])  # constant
    if d > 1 and rng.random() < 0.3:
        X[:, 0] = X[:, 1]
    if rng.random() < 0.2:
        X[n // 2 :] = X[: n - n // 2]  # duplicate rows, with other labels
    standardize = bool(rng.random() < 0.5)
    if standardize and rng.random() < 0.5:
        X *= 10.0 ** rng.integers(-100, 100, d)
    if rng.random() < 0.3:
        X += 10.0 ** rng.integers(0, 6) * np.abs(X).max(initial=1.0)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if rng.random() < 0.3 else np.ones(n)
    weight[:k] = 1.0
    l2 = float(10.0 ** rng.uniform(-4, 1))
    intercept = bool(rng.random() < 0.8)
    tol = float(10.0 ** rng.uniform(-8, -1))
    factors = 10.0 ** rng.uniform(-1, 1, d) if rng.random() < 0.2 and kind != "x" else None
    return X, y, k, weight, l2, intercept, standardize, tol, factors, rng


def scales(X, weight):
    """Weighted standard deviations, 1 for constant columns."""
    p = weight / weight.sum()
    away = X - p @ X
    return np.sqrt(p @ (away - p @ away) ** 2)


def fitted_and_exact(seed, kind):
    X, y, k, weight, l2, intercept, standardize, tol, factors, rng = problem(seed, kind)
    name = "logistic" if kind == "softmax" else kind
    clf = LinearClassifier(
        name, l2=l2, tol=tol, standardize=standardize, fit_intercept=intercept,
        penalty_weights=factors, certify_predictions=True,
    )  # fmt: skip
    given = sp.csr_array(X) if rng.random() < 0.3 else X
    clf.fit(given, y, weight)
    strength = l2 * (np.ones(X.shape[1]) if factors is None else factors).astype(LD)
    if standardize:
        strength = strength * clf.scale_.astype(LD) ** 2
    if kind == "logistic" and k == 3:
        kind = "softmax"
    if kind == "softmax":
        W, b = softmax_minimum(X, y, k, weight, strength, intercept)
    else:
        loss = kind.removeprefix("one_vs_rest_")
        columns = [1] if k == 2 else range(k)
        found = [
            column_minimum(loss, X, np.where(y == c, 1, -1), weight, strength, intercept)
            for c in columns
        ]
        W, b = np.array([w for w, _ in found]), np.array([c for _, c in found])
    rows = np.vstack([X, X.mean(axis=0) + (X - X.mean(axis=0)) * rng.standard_normal((len(X), 1))])
    return clf, rows, rows.astype(LD) @ W.T + b


def check(clf, rows, exact, given=None):
    """Bounds contain the exact scores and probabilities; labels are those of the exact scores."""
    found = clf.certified(rows if given is None else given)
    low, high = found.score_low.reshape(exact.shape), found.score_high.reshape(exact.shape)
    # Long double itself: 1e-17 of the terms of a score.
    error = 1e-15 * (np.abs(exact) + 1.0) + 1e-14 * np.ptp(exact, axis=0)
    size = np.abs(rows) @ np.abs(clf.coef_).T + np.abs(clf.intercept_)
    error = error + 1e-16 * size
    assert np.all(low <= exact + error) and np.all(exact - error <= high)
    k = exact.shape[1]
    right = (exact[:, 0] >= 0).astype(int) if k == 1 else exact.argmax(axis=1)
    near = np.abs(exact[:, 0]) < error[:, 0]
    if k > 1:
        top = np.sort(exact, axis=1)
        near = top[:, -1] - top[:, -2] < 2 * error.max(axis=1)
    sure = found.decided & ~near
    assert found.labels[sure].tolist() == clf.classes_[right[sure]].tolist()
    assert all(label == "undecided" for label in found.labels[~found.decided])
    if found.probability_low is not None:
        P = exact_probabilities(clf, exact)
        slack = 1e-14 + error.max(axis=1)[:, None]
        assert np.all(found.probability_low <= P + slack)
        assert np.all(P - slack <= found.probability_high)
    return found


def exact_probabilities(clf, exact):
    exact = np.asarray(exact, float)
    if exact.shape[1] == 1:
        return np.column_stack([expit(-exact[:, 0]), expit(exact[:, 0])])
    each = expit(exact) if clf.loss.startswith("one") else np.exp(exact - exact.max(axis=1)[:, None])
    total = each.sum(axis=1)[:, None]
    return np.where(total > 0, each / np.where(total > 0, total, 1.0), 0.5)


@quiet
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_contain_the_exact_minimum(kind):
    decided = [check(*fitted_and_exact(seed, kind)).decided.mean() for seed in range(8)]
    assert 0.2 < np.mean(decided)


@pytest.mark.slow
@quiet
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_contain_the_exact_minimum_in_many_problems(kind):
    for seed in range(8, 600):
        check(*fitted_and_exact(seed, kind))
