"""Fits of a cross-validation are at their minima: kinked and smooth losses, along the grid."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conftest import overlapping
from fold_problems import fold_scores
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from separatrix import (
    LBFGS,
    GradientDescent,
    LinearClassifier,
    LinearClassifierCV,
    Newton,
)

# Some best scores are those of the smallest l2, which these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore:the best score is that of")


KINKED = {
    "two classes": overlapping(90, 5, seed=1),
    "two flowers": tuple(part[50:] for part in load_iris(return_X_y=True)),
    "three flowers": load_iris(return_X_y=True),
    "three wines": load_wine(return_X_y=True),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", KINKED)
def test_kinked_losses_are_scored_at_their_minimum(name):
    rows, labels = KINKED[name]
    splits = list(StratifiedKFold(3).split(rows, labels))
    clf = LinearClassifierCV("hinge", l2s=np.logspace(1, -4, 8), cv=splits, scoring=None).fit(
        rows, labels
    )
    expected = fold_scores("hinge", rows, labels, splits, clf.l2_path_, tol=1e-8)
    # A row on the boundary, up to tol, may fall on either side of it.
    got = np.array([clf.cv_results_[f"split{i}_test_score"] for i in range(3)])
    assert np.all(np.abs(got - expected) <= 1.01 * 3 / len(labels))
    assert np.mean(got == expected) >= 0.9
    assert clf.l2_ == clf.l2_path_[int(np.argmax(expected.mean(axis=0)))]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", KINKED)
def test_kinked_fits_along_a_path_are_as_low_as_those_of_liblinear(name):
    rows, labels = KINKED[name]
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)  # LIBLINEAR asks for it
    train, test = next(StratifiedKFold(3).split(rows, labels))
    classes, number = np.unique(labels[train], return_inverse=True)

    def objective(w, l2):
        s = rows[train] @ w.T
        if len(w) == 1:
            losses = np.maximum(0.0, 1.0 - np.where(number == 1, 1.0, -1.0) * s[:, 0])
        else:
            each = np.arange(len(number))
            mine = s[each, number].copy()
            s = s + 1.0
            s[each, number] = mine
            losses = s.max(axis=1) - mine
        return losses.mean() + l2 * np.sum(w**2)

    weights = []

    def scoring(fit, X, y):
        weights.append(fit.coef_.copy())
        return 0.0

    l2s = np.logspace(0, -4, 5)
    LinearClassifierCV(
        "hinge", l2s=l2s, cv=[(train, test)], scoring=scoring, fit_intercept=False
    ).fit(rows, labels)
    for l2, w in zip(l2s, weights, strict=True):
        peer = LinearSVC(
            loss="hinge", C=1 / (2 * l2 * len(train)), fit_intercept=False, tol=1e-9,
            max_iter=1_000_000, random_state=0,
            multi_class="ovr" if len(classes) == 2 else "crammer_singer",
        ).fit(rows[train], labels[train])  # fmt: skip
        lowest = objective(peer.coef_, l2)
        assert objective(w, l2) <= (1 + 1.01e-6) * lowest
        assert lowest <= (1 + 1e-4) * objective(w, l2)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("solver", ["auto", LBFGS(), GradientDescent(), GradientDescent(1)])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_smooth_fits_along_a_path_are_near_their_minimum_or_counted(solver, loss):
    rows, labels = load_wine(return_X_y=True)
    rows, labels = rows[:130], labels[:130]
    train, test = next(StratifiedKFold(3).split(rows, labels))
    weights = []

    def scoring(fit, X, y):
        weights.append((fit.coef_.copy(), fit.intercept_.copy()))
        return 0.0

    l2s = np.logspace(2, -3, 6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LinearClassifierCV(
            loss, l2s=l2s, cv=[(train, test)], scoring=scoring, solver=solver, max_iter=200
        ).fit(rows, labels)
    y = np.where(labels[train] == 1, 1.0, -1.0)
    above = 0
    for l2, (w, b) in zip(l2s, weights, strict=True):
        m = y * (rows[train] @ w[0] + b[0])
        losses = np.logaddexp(0, -m) if loss == "logistic" else np.maximum(0, 1 - m) ** 2
        least = LinearClassifier(loss, l2=l2, solver=Newton(), tol=1e-10).fit(
            rows[train], labels[train]
        )
        above += losses.mean() + l2 * np.sum(w**2) > (1 + 1.01e-6) * least.objective_
    reported = [str(w.message) for w in caught if "fits in cross-validation" in str(w.message)]
    assert above <= (int(reported[0].split()[0]) if reported else 0)
