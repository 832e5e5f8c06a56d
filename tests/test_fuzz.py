"""The fuzzers of fits find nothing in a few cases, and find claims that do not hold."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from conftest import quiet
from fuzzers import claims, options, predictions
from fuzzers.cases import Case
from fuzzers.challengers import better
from fuzzers.exact import exact_objective
from fuzzers.expected import Claim
from fuzzers.fit_claims import check_fit, check_predictions, check_scale
from fuzzers.recession import runs_off

from separatrix import LinearClassifier

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, -1.0], [1.0, 3.0], [2.0, 0.0]])
Y = np.array([0, 1, 0, 1, 1, 0])


def fitted(**given):
    """A fit, and the case it is of."""
    clf = LinearClassifier(**given).fit(X, Y)
    l1, l2 = clf.l1, clf.l2
    return clf, Case(X, X, Y, 2, None, l2, clf.fit_intercept, clf.loss, l1, scale=clf.scale_)


@pytest.mark.parametrize("seed", [*range(7), 8, 9, 10])
def test_claims_hold(seed):
    assert claims.one(seed)


@pytest.mark.parametrize("seed", [0, 2, 4, 9, 12, 14, 15, 22, 29, 30, 44])
def test_claims_hold_whatever_the_options(seed):
    assert options.one(seed)


@pytest.mark.parametrize("seed", [1, 2, 3, 11])
def test_certified_predictions_hold(seed):
    assert predictions.one(seed)


@pytest.mark.parametrize("seed", [34, 101, 105])
def test_certificates_that_are_too_good_are_found(seed, monkeypatch):
    """Bounds for nine tenths of the gap."""
    monkeypatch.setattr("separatrix.proofs.training_scores.ROOT_ROUNDING", np.sqrt(0.9))
    with pytest.raises(Claim, match="of the minimum"):
        predictions.one(seed)


@pytest.mark.parametrize("seed", [6, 11, 23])
def test_certificates_from_the_gradient_that_are_too_good_are_found(seed, monkeypatch):
    """Bounds that are a few tenths too small."""
    monkeypatch.setattr("separatrix.proofs.gradient_ball.ROUNDED", 0.9)
    with pytest.raises(Claim, match="of the minimum"):
        predictions.one(seed)


def test_a_fit_that_tells_the_truth_passes():
    clf, case = fitted(l2=1e-2, standardize=True)
    assert check_fit(clf, case) == "optimal"
    check_predictions(clf, case)
    check_scale(clf, case)


@quiet
@pytest.mark.parametrize(
    ("lie", "text"),
    [
        ({"objective_": 0.5}, "J is"),
        ({"converged_": True}, "converged_"),
        ({"stop_": "optimal", "converged_": True}, "optimal with the gap"),
        ({"stop_": "no minimum"}, "but there is one"),
        ({"stop_": "tol", "converged_": True, "gap_": None}, "above zeros"),
        ({"gap_": 1e-12}, "is above"),
        ({"gap_": -1.0}, "gap -1"),
        ({"n_iter_": 7}, "7 of 1 passes"),
    ],
)
def test_a_fit_that_does_not_is_found(lie, text):
    clf, case = fitted(l2=1e-2, max_iter=1, start=[3.0, 1.0, -1.0])
    assert check_fit(clf, case) == "max_iter"
    vars(clf).update(lie)
    with pytest.raises(Claim, match=text):
        check_fit(clf, case)


@quiet
def test_rest_without_a_minimum_is_found():
    sides = (X[:, 0] > 1.0).astype(int)
    clf = LinearClassifier(l2=0.0).fit(X, sides)
    case = Case(X, X, sides, 2, None, 0.0, True, "logistic")
    assert check_fit(clf, case) == "no minimum"
    clf.stop_, clf.converged_ = "tol", True
    with pytest.raises(Claim, match="there is no minimum"):
        check_fit(clf, case)


def test_a_proven_zero_that_is_none_is_found():
    clf, case = fitted(loss="squared", l1=1e-3)
    assert not clf.zero_.any()
    clf._zero = np.array([[False, True]])
    with pytest.raises(Claim, match="a proven zero is not 0"):
        check_fit(clf, case)
    clf.coef_[0, 1] = 0.0
    clf.objective_ = float(exact_objective(case, clf.coef_, clf.intercept_))
    clf.stop_, clf.converged_, clf.gap_ = "no progress", False, clf.objective_
    with pytest.raises(Claim, match="zeros are proven"):
        check_fit(clf, case)


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge", "squared_hinge"])
@pytest.mark.parametrize("offset", [0.0, 1e12])
def test_challengers_reach_the_minimum(loss, offset):
    clf = LinearClassifier(loss, l2=1e-2, tol=1e-12).fit(X, Y)
    far = Case(X, X + offset, Y, 2, None, 1e-2, True, loss)
    low = better(far, np.zeros((1, 2)), np.zeros(1))
    assert abs(low - Decimal(clf.objective_)) <= Decimal("2e-12")


def test_separability_by_weights_that_are_free():
    case = Case(X, X, Y, 2, None, 0.0, True, "logistic")
    assert not runs_off(case)
    sides = (X[:, 0] > 1.0).astype(int)
    separable = replace(case, y=sides)
    assert runs_off(separable)
    assert runs_off(replace(separable, X=X + 1e12, intercept=True))
    assert not runs_off(replace(separable, l2=1.0))
    penalised = replace(separable, l1=1.0)
    assert runs_off(replace(penalised, penalty_weights=np.array([0.0, 1.0])))
    assert not runs_off(replace(penalised, penalty_weights=np.array([1.0, 0.0])))
