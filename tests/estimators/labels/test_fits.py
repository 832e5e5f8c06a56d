"""Indicator matrices of labels: every label's fit is that of its own two-class problem."""

import warnings

import numpy as np
import pytest
from label_columns import TIGHT, WEIGHT, X, Y, assert_as_columns, columns, table
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import separatrix
from separatrix import (
    LBFGS,
    CoordinateAscent,
    CoordinateDescent,
    GradientDescent,
    LeastSquares,
    LinearClassifier,
    Newton,
    ProximalNewton,
)


@pytest.mark.sampled
@pytest.mark.parametrize("q", [2, 3, 5])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"standardize": True}, {"fit_intercept": False}, {"penalty_weights": [0, 1, 1, 0, 1, 2]}],
    ids=lambda given: next(iter(given), "plain"),
)
def test_every_label_is_fitted_as_by_itself(q, parameters):
    X, Y = table(q=q)
    clf = LinearClassifier(l2=1e-2, tol=TIGHT, **parameters)
    fitted = assert_as_columns(clf, X, Y)
    assert fitted.stop_ == "optimal"
    assert fitted.gap_ <= TIGHT * fitted.objective_


@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge", "tanh_squared", "hinge"])
def test_every_loss(loss):
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    convex = loss != "tanh_squared"
    clf = LinearClassifier(loss, l2=0.05, tol=TIGHT if convex else 1e-13, random_state=0)
    fitted = assert_as_columns(clf, rows, Y, atol=1e-4)
    assert fitted.stop_ == ("optimal" if convex else "tol")


def test_the_names_of_one_against_the_rest_mean_the_same():
    for name in ("logistic", "hinge"):
        a = LinearClassifier(f"one_vs_rest_{name}", l2=0.1, random_state=0).fit(X, Y)
        b = LinearClassifier(name, l2=0.1, random_state=0).fit(X, Y)
        assert np.array_equal(a.coef_, b.coef_)


@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("logistic", LBFGS()),
        ("logistic", Newton()),
        ("logistic", GradientDescent()),
        ("logistic", ProximalNewton()),
        ("logistic", CoordinateDescent()),
        ("logistic", CoordinateAscent()),
        ("squared_hinge", CoordinateAscent()),
        ("squared", LeastSquares()),
        ("squared", LeastSquares(direct_size=0)),
    ],
    ids=repr,
)
def test_every_solver_of_a_sum_over_columns(loss, solver):
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    clf = LinearClassifier(loss, l2=0.05, solver=solver, tol=1e-9, random_state=0)
    fitted = clone(clf).fit(rows, Y)
    coef, intercept, _ = columns(clf.set_params(solver="auto"), rows, Y)
    assert fitted.stop_ == "optimal"
    assert np.allclose(fitted.coef_, coef, atol=1e-4)
    assert np.allclose(fitted.intercept_, intercept, atol=1e-3)


def test_rows_one_by_one():
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    solver = GradientDescent(batch_size=8, average=True)
    clf = LinearClassifier(l2=0.1, solver=solver, max_iter=20, tol=None, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        fitted = clf.fit(rows, Y)
    best = LinearClassifier(l2=0.1).fit(rows, Y)
    assert best.objective_ - best.gap_ <= fitted.objective_ <= 1.05 * best.objective_


def test_the_perceptron_loss_learns_every_label():
    rows = np.random.default_rng(0).standard_normal((60, 3))
    signs = (rows @ np.array([[1.0, -1.0], [0.5, 2.0], [0.0, 1.0]]) > 0.1).astype(int)
    clf = LinearClassifier("perceptron", l2=0.0, random_state=0, max_iter=500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(rows, signs)
    assert clf.stop_ == "no mistakes"
    assert clf.score(rows, signs) == 1.0


@pytest.mark.parametrize("groups", [None, "classes"])
def test_sparse_models(groups):
    l1 = 0.05 if groups is None else 0.2
    clf = LinearClassifier(l1=l1, l2=0.0, tol=1e-9, groups=groups, standardize=True)
    clf.fit(X, Y)
    assert clf.stop_ == "optimal"
    if groups is None:
        coef, _, _ = columns(clf, X, Y)
        assert np.allclose(clf.coef_, coef, atol=1e-5)
        assert np.array_equal(clf.selected_, coef != 0.0)
    else:  # a feature is selected for all labels or for none
        assert set(clf.selected_.sum(axis=0)) == {0, 4}
    assert not np.any(clf.selected_ & clf.zero_)
    assert clf.zero_.any()


def test_as_scikit_learn():
    l2 = 1e-2
    C = 1.0 / (2.0 * l2 * len(X))
    ours = LinearClassifier(l2=l2, tol=1e-12).fit(X, Y)
    theirs = OneVsRestClassifier(LogisticRegression(C=C, tol=1e-10, max_iter=10_000)).fit(X, Y)
    coef = np.vstack([each.coef_ for each in theirs.estimators_])
    assert np.allclose(ours.coef_, coef, atol=1e-5)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, Y) == theirs.score(X, Y)
    assert np.array_equal(ours.classes_, theirs.classes_)
    assert ours.multilabel_ == theirs.multilabel_ is True


def test_as_a_support_vector_machine_with_row_weights():
    rows, l2 = (X - X.mean(axis=0)) / X.std(axis=0), 0.02
    ours = LinearClassifier("squared_hinge", l2=l2, fit_intercept=False, tol=1e-12)
    ours.fit(rows, Y, sample_weight=WEIGHT)
    svm = LinearSVC(
        C=1.0 / (2.0 * l2 * WEIGHT.sum()), dual=False, tol=1e-12, fit_intercept=False,
        max_iter=100_000,
    )  # fmt: skip
    coef = np.vstack([svm.fit(rows, y, sample_weight=WEIGHT).coef_ for y in Y.T])
    assert np.allclose(ours.coef_, coef, atol=1e-5)


def test_weights_repeat_rows():
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    clf = LinearClassifier(l2=1e-2, tol=TIGHT)
    a = clone(clf).fit(X, Y, sample_weight=counts)
    b = clone(clf).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0))
    assert np.allclose(a.coef_, b.coef_, atol=1e-5)
    assert np.isclose(a.score(X, Y, counts), accuracy_score(Y, a.predict(X), sample_weight=counts))


def test_no_penalty():
    clf = LinearClassifier(l2=0.0, tol=1e-8)
    fitted = clone(clf).fit(X, Y)
    assert fitted.stop_ in ("tol", "optimal")
    coef, _, _ = columns(clf, X, Y)
    assert np.allclose(fitted.coef_, coef, atol=1e-2)
    separable = (X[:, :2] > np.median(X[:, :2], axis=0)).astype(int)
    with pytest.warns(separatrix.estimators.minimizer.ConvergenceWarning, match="no minimum"):
        clone(clf).fit(X, separable)
