"""Cross-validation over the penalty, against separate fits."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import overlapping, quiet
from fold_problems import fold_scores
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold

from separatrix import (
    LBFGS,
    GradientDescent,
    LinearClassifier,
    LinearClassifierCV,
    Newton,
)

# Some best scores are those of the smallest l2, which these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore:the best score is that of")

X, Y = overlapping(90, 5, seed=1)
L2S = np.logspace(0, -4, 6)


@pytest.mark.sampled
@pytest.mark.parametrize("cv", [4, StratifiedKFold(4), KFold(3, shuffle=True, random_state=0)])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_scores_are_those_of_separate_fits(cv, loss):
    clf = LinearClassifierCV(loss, l2s=L2S, cv=cv, tol=1e-10, scoring=None).fit(X, Y)
    splitter = StratifiedKFold(cv) if isinstance(cv, int) else cv
    expected = fold_scores(loss, X, Y, splitter.split(X, Y), L2S)
    got = np.array([clf.cv_results_[f"split{i}_test_score"] for i in range(len(expected))])
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_allclose(clf.cv_results_["mean_test_score"], expected.mean(axis=0))
    assert clf.l2_ == L2S[int(np.argmax(expected.mean(axis=0)))]
    whole = LinearClassifier(loss, l2=clf.l2_, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(clf.coef_, whole.coef_, rtol=1e-5, atol=1e-7)
    assert clf.objective_ == pytest.approx(whole.objective_, rel=1e-9)


def test_scores_are_those_of_scikit_learn():
    splits = list(StratifiedKFold(3).split(X, Y))
    n_train = 60
    assert all(len(train) == n_train for train, _ in splits)
    peer = LogisticRegressionCV(
        Cs=1 / (2 * n_train * L2S), cv=splits, tol=1e-10, max_iter=10_000, scoring="accuracy",
        use_legacy_attributes=False, l1_ratios=(0.0,),
    ).fit(X, Y)  # fmt: skip
    clf = LinearClassifierCV(l2s=L2S, cv=splits, tol=1e-10, scoring=None).fit(X, Y)
    got = np.array([clf.cv_results_[f"split{i}_test_score"] for i in range(3)])
    np.testing.assert_allclose(got, np.asarray(peer.scores_).reshape(3, -1), atol=1e-12)


def test_the_grid_is_found_from_the_data_and_weights_are_repetition():
    clf = LinearClassifierCV(l2s=7, scoring=None).fit(X, Y)
    assert len(clf.l2_path_) == 7
    assert np.all(np.diff(clf.l2_path_) < 0)
    largest = 0.25 * np.sum(X.var(axis=0))
    np.testing.assert_allclose(clf.l2_path_[[0, -1]], [largest, largest * 1e-8])
    times = np.where(np.arange(90) % 2, 2, 1)
    weighted = LinearClassifierCV(l2s=3, scoring=None).fit(X, Y, sample_weight=times).l2_path_
    repeated = (
        LinearClassifierCV(l2s=3, scoring=None)
        .fit(np.repeat(X, times, 0), np.repeat(Y, times))
        .l2_path_
    )
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


def test_weights_count_in_fits_and_scores():
    weight = np.random.default_rng(0).integers(1, 4, 90).astype(float)
    splits = list(KFold(3).split(X))
    clf = LinearClassifierCV(l2s=L2S, cv=splits, tol=1e-10, scoring=None).fit(
        X, Y, sample_weight=weight
    )
    expected = fold_scores("logistic", X, Y, splits, L2S, weight)
    np.testing.assert_allclose(clf.cv_results_["mean_test_score"], expected.mean(axis=0))


def test_one_standard_error_takes_the_larger_penalty():
    best = LinearClassifierCV(l2s=L2S, scoring=None).fit(X, Y)
    simple = LinearClassifierCV(l2s=L2S, rule="one_standard_error", scoring=None).fit(X, Y)
    table = best.cv_results_
    top = int(np.argmax(table["mean_test_score"]))
    bound = table["mean_test_score"][top] - table["standard_error"][top]
    assert simple.l2_ == L2S[table["mean_test_score"] >= bound].max() >= best.l2_


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scoring", ["loss", "roc_auc", "neg_log_loss"])
def test_other_scores(scoring):
    frame = pd.DataFrame(X)
    clf = LinearClassifierCV(l2s=L2S, cv=3, scoring=scoring, tol=1e-10).fit(frame, Y)
    if scoring != "roc_auc":
        other = "loss" if scoring == "neg_log_loss" else "neg_log_loss"
        again = LinearClassifierCV(l2s=L2S, cv=3, scoring=other, tol=1e-10).fit(X, Y)
        np.testing.assert_allclose(
            clf.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"], rtol=1e-9
        )


def test_many_classes_and_sparse_rows():
    rows, kinds = load_iris(return_X_y=True)
    dense = LinearClassifierCV(l2s=L2S, cv=3, scoring=None).fit(rows, kinds)
    sparse = LinearClassifierCV(l2s=L2S, cv=3, scoring=None).fit(sp.csr_array(rows), kinds)
    np.testing.assert_allclose(
        sparse.cv_results_["mean_test_score"], dense.cv_results_["mean_test_score"], atol=0.02
    )
    assert dense.score(rows, kinds) > 0.95
    np.testing.assert_allclose(dense.predict_proba(rows).sum(axis=1), 1.0)


@quiet
def test_what_cross_validation_passes_on():
    solver = GradientDescent(1, average=True)
    clf = LinearClassifierCV(
        l2s=[1e-3], solver=solver, max_iter=5, random_state=0, cv=3, scoring=None
    )
    alone = LinearClassifier(l2=1e-3, solver=solver, max_iter=5, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(clf.fit(X, Y).coef_, alone.coef_)
    kept = LinearClassifierCV("perceptron", l2s=[1e-3], max_iter=5, cv=3, scoring=None).fit(X, Y)
    assert kept.stop_ != "no mistakes"


def test_unfinished_folds_are_reported():
    settings = {"l2s": [1e3, 1e-9], "solver": LBFGS(), "cv": 3, "tol": 1e-12}

    def simplest(clf, X, y):
        return -np.linalg.norm(clf.coef_)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LinearClassifierCV(**settings, max_iter=5, scoring=simplest).fit(X, Y)
    reported = [str(w.message) for w in caught if "fits in cross-validation" in str(w.message)]
    assert len(reported) == 1
    assert reported[0].startswith("3 of 6 fits in cross-validation ended (max_iter=5) before")
    assert "at l2 = 1e-09: their scores" in reported[0]
    LinearClassifierCV(**settings, scoring=simplest).fit(X, Y)  # and not without a reason


def test_folds_of_every_kind():
    rows = np.arange(90)
    weight = np.where(rows < 60, 1.0, 0.0)
    clf = LinearClassifierCV(
        l2s=L2S, cv=[(rows < 60, rows >= 60), (rows >= 30, rows < 30)], scoring=None
    )
    clf.fit(X, Y, sample_weight=weight)  # the first fold tests on nothing
    assert np.isnan(clf.cv_results_["split0_test_score"]).all()
    assert np.isfinite(clf.cv_results_["mean_test_score"]).all()
    twice = [(np.r_[0:60, 0:30], np.arange(60, 90))]
    drawn = LinearClassifierCV(l2s=L2S, cv=twice, scoring="loss", tol=1e-12).fit(X, Y)
    heavier = LinearClassifierCV(l2s=L2S, cv=[(rows < 60, rows >= 60)], scoring="loss", tol=1e-12)
    heavier.fit(X, Y, sample_weight=np.where(rows < 30, 2.0, 1.0))
    np.testing.assert_allclose(
        drawn.cv_results_["mean_test_score"], heavier.cv_results_["mean_test_score"], rtol=1e-6
    )
    for form in (X.tolist(), sp.coo_array(X), pd.DataFrame(X)):
        LinearClassifierCV(l2s=2, cv=3, scoring="f1_macro").fit(form, Y)


def test_the_grid_without_intercept_sees_the_mean():
    clf = LinearClassifierCV(l2s=2, cv=2, fit_intercept=False, max_iter=100, scoring=None).fit(
        X + 100, Y
    )
    assert clf.l2_path_[0] == pytest.approx(0.25 * np.mean(np.sum((X + 100) ** 2, axis=1)))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"l2s": 0}, "l2s must be a whole number of 1 or more, or an array"),
        ({"l2s": 1e-3}, "l2s must be a whole number of 1 or more, or an array"),
        ({"l2s": [[1.0]]}, "array of positive values"),
        ({"l2s": "many"}, "array of positive values"),
        ({"cv": "loo", "loss": "tanh_squared"}, "smooth convex losses"),
        ({"l2s": [1.0, -1.0]}, "array of positive values"),
        ({"l2s": []}, "array of positive values"),
        ({"rule": "median"}, "rule must be one of 'best', 'one_standard_error'"),
        ({"cv": "jackknife"}, "cv must be a whole number, a splitter"),
        ({"cv": "loo", "scoring": "roc_auc"}, "scoring must be None or 'accuracy'"),
        ({"cv": "loo", "loss": "hinge"}, "use cv=5"),
        ({"cv": "loo", "class_weight": {1: 2.0}}, "needs rows of equal weight"),
        ({"cv": [(np.arange(5), np.arange(5, 90))]}, "trains on 1 of 2 classes"),
        ({"solver": "sag"}, "solver must be 'auto'"),
    ],
)
def test_bad_arguments(params, message):
    order = np.argsort(Y, kind="stable")
    clf = LinearClassifierCV(**{"scoring": None, **params})
    with pytest.raises((TypeError, ValueError), match=message):
        clf.fit(X[order], Y[order])
    assert not hasattr(clf, "coef_")


@pytest.mark.parametrize("solver", [LBFGS(), Newton()])
def test_a_solver_can_be_named(solver):
    clf = LinearClassifierCV(l2s=3, solver=solver, cv=3, scoring=None).fit(X, Y)
    assert type(clf.solver_) is type(solver)


def rare_targets():
    """Few positives, which only a small share of the rows' logarithmic odds gives away."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 5))
    odds = X @ [0.8, 0.5, -0.5, 0.0, 0.0] - 4.4
    return X, (rng.random(len(X)) < 1 / (1 + np.exp(-odds))).astype(int)


def test_the_default_chooses_by_the_loss_and_warns_once_of_it():
    X, y = rare_targets()
    assert y.mean() < 0.03
    with pytest.warns(FutureWarning, match="scoring='loss' to keep this choice") as found:
        default = LinearClassifierCV(l2s=9).fit(X, y)
    assert [(w.category, w.filename) for w in found] == [(FutureWarning, __file__)]
    loss = LinearClassifierCV(l2s=9, scoring="loss").fit(X, y)  # warnings are errors
    accuracy = LinearClassifierCV(l2s=9, scoring=None).fit(X, y)
    assert default.l2_ == loss.l2_ < accuracy.l2_
    np.testing.assert_array_equal(default.coef_, loss.coef_)
    assert log_loss(y, loss.predict_proba(X)) < 0.97 * log_loss(y, accuracy.predict_proba(X))
    assert default.get_params()["scoring"] == clone(default).scoring == "warn"


@pytest.mark.slow
def test_the_default_of_the_perceptron_loss_is_still_accuracy():
    # Its loss is least at zero weights, so that the largest penalty would always be chosen.
    settings = {"loss": "perceptron", "l2s": [1e3, 1e-3], "cv": 3, "random_state": 0}
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        default = LinearClassifierCV(**settings).fit(X[::3], Y[::3])  # without a FutureWarning
        accuracy = LinearClassifierCV(**settings, scoring=None).fit(X[::3], Y[::3])
    table = default.cv_results_
    np.testing.assert_array_equal(table["mean_test_score"], accuracy.cv_results_["mean_test_score"])
    assert np.all((table["mean_test_score"] >= 0.0) & (table["mean_test_score"] <= 1.0))


def test_a_warning_says_that_the_best_value_is_the_smallest():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 2)) * [0.1, 1e3]  # the second sets the grid
    labels = (rows[:, 0] * 10 + 0.3 * rng.standard_normal(300) > 0).astype(int)
    with pytest.warns(UserWarning, match=r"the smallest of the grid.*standardize=True"):
        clf = LinearClassifierCV(l2s=5, scoring="loss").fit(rows, labels)
    assert clf.l2_ == clf.l2_path_[-1]
    with pytest.warns(UserWarning, match=r"the smallest of the given values.*smaller values too"):
        LinearClassifierCV(l2s=clf.l2_path_, scoring="loss").fit(rows, labels)
    with warnings.catch_warnings(action="error"):
        scaled = LinearClassifierCV(l2s=5, scoring="loss", standardize=True).fit(rows, labels)
        assert scaled.l2_path_[-1] < scaled.l2_
        # One of two given values is the best; and a plateau has no end to be warned of.
        LinearClassifierCV(l2s=clf.l2_path_[-2:], scoring="loss").fit(rows, labels)
        flat = scaled.l2_path_[-1] * np.array([1e-3, 1e-2, 1e-1])
        LinearClassifierCV(l2s=flat, scoring="loss", standardize=True).fit(rows, labels)


@pytest.mark.slow
def test_a_warning_says_that_the_best_value_is_the_largest():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((200, 80)), rng.random(200) > 0.5  # noise
    with pytest.warns(UserWarning, match=r"largest of the grid, where the penalty outweighs"):
        clf = LinearClassifierCV(cv=3, scoring="loss").fit(X[:, :20], y)
    assert clf.l2_ == clf.l2_path_[0]
    with pytest.warns(UserWarning, match=r"l2 = 0.01, the largest of the given values.*larger"):
        LinearClassifierCV(l2s=[1e-2, 1e-4, 1e-5], scoring="loss").fit(X, y)
    with pytest.warns(UserWarning, match=r"strength = 0.001, the largest of the given"):
        LinearClassifierCV(l1_ratio=1.0, strengths=[1e-3, 1e-5, 1e-6], cv=3, scoring="loss").fit(
            X, y
        )
