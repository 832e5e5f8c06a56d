"""Losses of each class against the rest, as scikit-learn fits them one by one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC

from separatrix import (
    CoordinateAscent,
    DualAscent,
    GradientDescent,
    LinearClassifier,
    LinearClassifierCV,
    ProximalPoint,
    certify,
)
from separatrix.losses import Hinge, Logistic, MarginLoss, OneVsRest, SquaredHinge, get_loss

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 4))
THREE = (X[:, :3] + 0.7 * RNG.standard_normal((90, 3))).argmax(axis=1)
NAME, HINGE = "one_vs_rest_logistic", "one_vs_rest_hinge"


def theirs(X, y, l2, fit_intercept):
    model = LogisticRegression(C=0.5 / (l2 * len(y)), fit_intercept=fit_intercept, tol=1e-10)
    return OneVsRestClassifier(model).fit(X, y)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("solver", ["auto", CoordinateAscent()], ids=["auto", "rows"])
def test_weights_and_probabilities_are_scikit_learns(solver, form, intercept):
    clf = LinearClassifier(NAME, l2=0.01, solver=solver, fit_intercept=intercept, tol=1e-10)
    clf.fit(form(X), THREE)
    several = theirs(X, THREE, 0.01, intercept)
    assert clf.gap_ <= 1e-10 * clf.objective_
    coef = np.concatenate([model.coef_ for model in several.estimators_])
    assert np.allclose(clf.coef_, coef, atol=1e-4)
    assert np.allclose(clf.predict_proba(X), several.predict_proba(X), atol=1e-4)
    scores = clf.decision_function(X)
    sign = np.where(THREE[:, None] == np.arange(3), 1.0, -1.0)
    J = np.logaddexp(0.0, -sign * scores).sum() / 90 + 0.01 * np.sum(clf.coef_**2)
    assert clf.objective_ == pytest.approx(J, rel=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_hinge_of_each_class_is_proven_to_be_at_its_minimum(form, intercept):
    clf = LinearClassifier(HINGE, l2=0.01, fit_intercept=intercept, tol=1e-8).fit(form(X), THREE)
    assert isinstance(clf.solver_, DualAscent)
    assert clf.stop_ == "optimal"
    assert clf.gap_ <= 1e-8 * clf.objective_
    sign = np.where(THREE[:, None] == np.arange(3), 1.0, -1.0)
    own = SVC(kernel="linear", C=0.5 / (0.01 * 90), tol=1e-9)  # its bias is free, as ours is
    if not intercept:
        own = LinearSVC(
            loss="hinge", C=0.5 / (0.01 * 90), fit_intercept=False, tol=1e-9, max_iter=10**6
        )
    least = 0.0
    for column in sign.T:
        model = own.fit(X, column)
        losses = np.maximum(0.0, 1.0 - column * model.decision_function(X))
        least += losses.mean() + 0.01 * np.sum(model.coef_**2)
    assert clf.objective_ == pytest.approx(least, rel=1e-7)
    losses = np.maximum(0.0, 1.0 - sign * clf.decision_function(X))
    J = losses.sum() / 90 + 0.01 * np.sum(clf.coef_**2)
    assert clf.objective_ == pytest.approx(J, rel=1e-12)


def test_other_solvers_of_the_hinge_of_each_class_prove_their_gap():
    best = LinearClassifier(HINGE, l2=0.01, tol=1e-8).fit(X, THREE).objective_
    walk = GradientDescent(batch_size=1)
    clf = LinearClassifier(HINGE, l2=0.01, solver=walk, tol=1e-2, max_iter=3000, random_state=0)
    clf.fit(X, THREE)
    assert clf.stop_ == "optimal"
    assert clf.objective_ - clf.gap_ <= best <= clf.objective_ <= best + clf.gap_
    with pytest.raises(ValueError, match=r"use DualAscent\(\)"):
        LinearClassifier(HINGE, l2=0.01, solver=ProximalPoint()).fit(X, THREE)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_on_two_classes_it_is_the_loss_itself(loss):
    y = THREE == 0
    one, other = (
        LinearClassifier(name, l2=0.01).fit(X, y) for name in (f"one_vs_rest_{loss}", loss)
    )
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.decision_function(X), other.decision_function(X))


def test_probabilities_of_rows_far_from_every_class():
    clf = LinearClassifier(NAME, l2=0.01).fit(X, THREE)
    clf.coef_ *= 0.0
    clf.intercept_ = np.array([-1e3, -1e3 - 1.0, -2e3])  # every sigmoid is 0 in floating point
    share = clf.predict_proba(X[:1])[0]
    assert np.allclose(share, [expit(1.0), expit(-1.0), 0.0], rtol=1e-12)
    assert np.allclose(clf.predict_log_proba(X[:1])[0, 2], -1e3 + np.log(expit(1.0)), rtol=1e-12)


def test_partial_fit_cross_validation_and_certificate():
    stream = LinearClassifier(NAME, l2=0.01).partial_fit(X, THREE)
    assert stream.trace_.loss == OneVsRest(Logistic())
    found = LinearClassifierCV(NAME, l2s=[1.0, 0.01], cv=3, scoring=None).fit(X, THREE)
    assert found.l2_ == 0.01
    certificate = certify(LinearClassifier(NAME, l2=0.01).fit(X, THREE), X, THREE)
    assert certificate.proven
    assert certificate.relative_gap <= 1e-6
    assert "logistic loss" in certificate.formula
    assert "each against the rest" in certificate.formula


def test_classes_distinguished_but_not_each_from_the_rest_have_a_minimum_without_a_penalty():
    line, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 2])  # the middle one is between
    model = LinearClassifier("squared_hinge", l2=0.0).fit(line, y)
    certificate = certify(model, line, y)
    assert certificate.objective == pytest.approx(model.objective_, rel=1e-9)
    assert certificate.relative_gap <= 1e-6


def test_names_and_forms():
    loss = get_loss(NAME)
    assert loss == OneVsRest(Logistic())
    assert loss.name == NAME
    assert OneVsRest(SquaredHinge()).name == "squared_hinge"  # its own form
    assert loss.for_classes(2) == Logistic()
    assert loss.for_classes(3) is loss
    assert hasattr(loss, "probability")
    assert not hasattr(OneVsRest(Hinge()), "probability")
    with pytest.raises(ValueError, match="one_vs_rest_logistic"):
        get_loss("one_vs_rest_softmax")


class Certain(MarginLoss):
    """With a probability, and no logarithm of it."""

    def phi(self, m):
        return np.exp(-m)

    def slope(self, m):
        return -np.exp(-m)

    def probability(self, scores):
        return expit(2.0 * scores)


def test_a_loss_of_the_user_with_a_probability():
    clf = LinearClassifier(Certain(), l2=0.1).fit(X, THREE)
    each = expit(2.0 * clf.decision_function(X))
    assert np.allclose(clf.predict_proba(X), each / each.sum(axis=1, keepdims=True), rtol=1e-12)
