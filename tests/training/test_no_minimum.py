"""Data on which J has no minimum is told as such, and no other."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import CORNERS, overlapping, warned

import separatrix.training.no_minimum
from separatrix import (
    LBFGS,
    GradientDescent,
    LinearClassifier,
    Newton,
)

X, Y = overlapping(100, 3, seed=0)
AND = np.array([0, 0, 0, 1])
QUASI, QUASI_Y = np.array([[0.0], [1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])


SOLVERS = ["auto", LBFGS(), Newton(), GradientDescent(), GradientDescent(batch_size=1)]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", ["logistic", "tanh_squared"])
def test_separable_data_without_a_penalty_has_no_minimum(loss, solver):
    if loss == "tanh_squared" and isinstance(solver, Newton):
        solver = LBFGS()
    for rows, y, word in ((CORNERS, AND, "separable"), (QUASI, QUASI_Y, "quasi-separable")):
        clf = LinearClassifier(loss, l2=0.0, solver=solver, max_iter=300, random_state=0)
        (text,) = warned(clf, rows, y)
        assert (clf.stop_, clf.converged_) == ("no minimum", False)
        assert f"the data is {word}" in text
        assert "run off: x0" in text
        assert "give a penalty" in text


@pytest.mark.parametrize("solver", ["auto", LBFGS(), Newton(), GradientDescent()])
@pytest.mark.parametrize("seed", range(8))
def test_overlapping_data_has_one(solver, seed):
    rows, y = overlapping(60, 3, seed=seed, scale=10.0 ** (seed - 3))
    clf = LinearClassifier(l2=0.0, solver=solver).fit(rows, y)  # a warning would be an error
    assert (clf.stop_, clf.converged_) == ("tol", True)


@pytest.mark.parametrize("solver", ["auto", LBFGS(), Newton()])
def test_softmax_that_runs_off(solver):
    rows = np.array([[0.0, 1], [1, 0], [5, 5], [6, 5], [-5, -6], [-4, -6]])
    clf = LinearClassifier(l2=0.0, solver=solver)
    assert "separable" in warned(clf, rows, [0, 0, 1, 1, 2, 2])[0]
    assert clf.stop_ == "no minimum"
    # One class apart, the others overlapping: the joint problem is quasi-separable.
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal((40, 2)), np.repeat([0, 1], 20)
    rows, y = np.vstack([rows, [[30.0, 0], [31, 0]]]), np.append(y, [2, 2])
    assert "quasi-separable" in warned(clf, rows, y)[0]
    assert clf.stop_ == "no minimum"


def test_one_class_against_the_rest_is_enough_to_run_off():
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal((40, 2)), np.repeat([0, 1], 20)
    rows, y = np.vstack([rows, [[30.0, 0], [31, 0]]]), np.append(y, [2, 2])
    clf = LinearClassifier("tanh_squared", l2=0.0)
    warned(clf, rows, y)
    assert not clf.converged_


def test_without_an_intercept_the_planes_go_through_the_origin():
    rows, y = np.array([[1.0], [2.0], [3.0]]), [0, 1, 1]  # separable, but not through 0
    clf = LinearClassifier(l2=0.0, fit_intercept=False).fit(rows, y)
    assert clf.stop_ == "tol"
    assert "separable" in warned(LinearClassifier(l2=0.0), rows, y)[0]


def test_the_coefficients_that_run_off_are_named():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"dose": rng.standard_normal(60), "rare": np.repeat([0.0, 1.0], [57, 3])})
    y = (rng.standard_normal(60) + frame["dose"] > 0) | (frame["rare"] > 0)
    (text,) = warned(LinearClassifier(l2=0.0), frame, y)
    assert "quasi-separable" in text
    assert "run off: rare" in text
    assert "dose" not in text


def test_a_verdict_that_costs_too_much_is_given_up(monkeypatch):
    monkeypatch.setattr(separatrix.training.no_minimum, "TIMES", 0)
    clf = LinearClassifier(l2=0.0)
    (text,) = warned(clf, QUASI, QUASI_Y)
    assert not clf.converged_
    assert clf.stop_ == "no progress"
    assert "was not settled" in text


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_losses_that_take_their_least_value_have_a_minimum_without_penalty(loss):
    assert LinearClassifier(loss, l2=0.0).fit(CORNERS, AND).converged_
