"""Certificates for several labels per row: own models, and scikit-learn's OneVsRestClassifier."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from separatrix import LinearClassifier, certify

X, Y = make_multilabel_classification(120, 5, n_classes=4, random_state=2)
X = (X - X.mean(axis=0)) / X.std(axis=0)


def logistic_objective(estimator, y, C):
    margins = (2.0 * y - 1.0) * (X @ estimator.coef_[0] + estimator.intercept_[0])
    return C * np.logaddexp(0.0, -margins).sum() + 0.5 * np.sum(estimator.coef_**2)


def test_the_objective_is_the_sum_over_the_labels():
    model = OneVsRestClassifier(LogisticRegression(C=0.3, max_iter=4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    found = certify(model, X, Y)
    pairs = list(zip(model.estimators_, Y.T, strict=True))
    assert np.isclose(found.objective, sum(logistic_objective(m, y, 0.3) for m, y in pairs))
    best = [LogisticRegression(C=0.3, tol=1e-10, max_iter=10_000).fit(X, y) for y in Y.T]
    least = sum(logistic_objective(m, y, 0.3) for m, y in zip(best, Y.T, strict=True))
    assert found.bound <= least * (1 + 1e-9)
    assert np.isclose(found.bound, least, rtol=1e-5)
    assert found.objective - found.gap <= least * (1 + 1e-9)
    at_best = np.column_stack([m.predict(X) for m in best])
    assert found.flips == np.sum(np.any(at_best != model.predict(X), axis=1))
    assert found.mistakes == np.sum(np.any(model.predict(X) != Y, axis=1))
    assert "summed over the labels" in str(found)


def test_the_remedy_reaches_the_minimum():
    import separatrix

    model = OneVsRestClassifier(LogisticRegression(max_iter=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    found = certify(model, X, Y)
    assert found.remedy.startswith("clf = separatrix.LinearClassifier('logistic', l2=")
    names = {"separatrix": separatrix, "clf": model, "X": X, "y": Y}
    exec(found.remedy, names)
    again = certify(names["clf"], X, Y)
    assert again.remedy is None
    assert again.flips == 0


@pytest.mark.sampled
@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(tol=1e-8, max_iter=100_000),
        LinearSVC(tol=1e-8, dual=False, fit_intercept=False),
        LogisticRegression(class_weight="balanced", tol=1e-8),
        RidgeClassifier(),
        LinearClassifier(l2=1e-2),
        LinearClassifier("hinge", l2=1e-2, standardize=True, random_state=0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("constant", [False, True])
def test_good_fits_of_many_kinds_need_no_remedy(estimator, constant):
    given = Y.copy()
    if constant:
        given[:, 1], given[:, 2] = 1, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OneVsRestClassifier(estimator).fit(X, given)
    found = certify(model, X, given)
    assert found.proven
    assert found.relative_gap < 1e-4
    assert found.remedy is None
    assert found.mistakes == np.sum(np.any(given != model.predict(X), axis=1))


def test_pipelines_sparse_rows_and_a_poor_fit():
    model = make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression(tol=1e-9)))
    assert certify(model.fit(X, Y), X, Y).relative_gap < 1e-6
    model = OneVsRestClassifier(LogisticRegression(tol=1e-9)).fit(sp.csr_array(X), Y)
    assert certify(model, sp.csr_array(X), sp.csr_array(Y)).relative_gap < 1e-6
    poor = OneVsRestClassifier(SGDClassifier(random_state=0)).fit(X, Y)
    assert certify(poor, X, Y).relative_gap > 1e-2
    balanced = OneVsRestClassifier(LogisticRegression(class_weight="balanced", max_iter=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        balanced.fit(X, Y)
    remedy = certify(balanced, X, Y).remedy
    assert remedy == "clf.set_params(estimator__tol=1e-08, estimator__max_iter=100).fit(X, y)"


def test_the_perceptron_is_judged_by_its_mistakes():
    model = OneVsRestClassifier(Perceptron(random_state=0)).fit(X, Y)
    found = certify(model, X, Y)
    assert found.infimum_is_zero
    assert found.verdict in ("overlapping", "quasi-separable", "separable")
    own = LinearClassifier("perceptron", l2=0.0, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own.fit(X, Y)
    assert certify(own, X, Y).verdict == found.verdict


@pytest.mark.parametrize("parameters", [{}, {"standardize": True}, {"l1": 0.02}, {"max_iter": 1}])
@pytest.mark.parametrize("constant", [False, True])
def test_own_models(parameters, constant):
    given = Y.copy()
    if constant:
        given[:, 0] = 0
    clf = LinearClassifier(l2=1e-2, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, given)
    found = certify(clf, X, given)
    assert np.isclose(found.objective, clf.objective_, rtol=1e-9)
    assert found.proven
    if "max_iter" in parameters:
        assert found.remedy is not None
    else:
        assert found.relative_gap < 2e-6
        assert found.flips == 0
    margins = (2.0 * given - 1.0) * clf.decision_function(X)
    if not parameters:
        J = np.logaddexp(0.0, -margins).mean(axis=0).sum() + 1e-2 * np.sum(clf.coef_**2)
        assert np.isclose(found.objective, J)
    assert np.allclose(expit(clf.decision_function(X)), clf.predict_proba(X))


def test_other_rows_and_models_are_refused():
    model = OneVsRestClassifier(LogisticRegression()).fit(X, Y)
    with pytest.raises(ValueError, match="4 labels"):
        certify(model, X, Y[:, :3])
    flat = Y.copy()
    flat[:, 0] = 1
    with pytest.raises(ValueError, match="constant"):
        certify(model, X, flat)
    with pytest.raises(ValueError, match="features"):
        certify(model, X[:, :3], Y)
    classes = OneVsRestClassifier(LogisticRegression()).fit(X, Y[:, 0] + Y[:, 1])
    with pytest.raises(ValueError, match="fitted to an indicator matrix"):
        certify(classes, X, Y[:, 0] + Y[:, 1])
    piped = OneVsRestClassifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, Y)
    with pytest.raises(ValueError, match="put the other steps before it"):
        certify(piped, X, Y)
    own = LinearClassifier(l2=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="other labels"):
        certify(own, X, Y[:, :2])
