"""Data on which J has no minimum is reported as such, and no other."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import CORNERS, overlapping, warned
from scipy.optimize import linprog, minimize
from sklearn.exceptions import ConvergenceWarning

import separatrix.training.no_minimum
from separatrix import (
    LBFGS,
    GradientDescent,
    LinearClassifier,
    LinearProgram,
    Newton,
    read,
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
    every = {"x0", "x1", "the intercept"}
    for rows, y, word, growing in (
        (CORNERS, AND, "separable", every), (QUASI, QUASI_Y, "quasi-separable", every - {"x1"}),
    ):  # fmt: skip
        clf = LinearClassifier(loss, l2=0.0, solver=solver, max_iter=300, random_state=0)
        (text,) = warned(clf, rows, y)
        assert (clf.stop_, clf.converged_) == ("no minimum", False)
        assert f"the data is {word}" in text
        assert set(re.search(r"they diverge \(([^)]*)\)", text)[1].split(", ")) == growing
        assert "add a penalty" in text


@pytest.mark.parametrize("solver", ["auto", LBFGS(), Newton(), GradientDescent()])
@pytest.mark.parametrize("seed", range(8))
def test_overlapping_data_has_one(solver, seed):
    rows, y = overlapping(60, 3, seed=seed, scale=10.0 ** (seed - 3))
    clf = LinearClassifier(l2=0.0, solver=solver).fit(rows, y)  # a warning would be an error
    assert (clf.stop_, clf.converged_) == ("optimal", True)


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


@pytest.mark.sampled(1)
@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_one_class_against_the_rest_runs_off_in_blocks_as_in_memory(storage):
    """Class 2 is separable from the others, and the verdict reads blocks."""
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal((40, 2)), np.repeat([0, 1], 20)
    rows, y = np.vstack([rows, [[30.0, 0], [31, 0]]]), np.append(y, [2, 2])
    rows = rows if storage == "dense" else sp.csr_matrix(rows)
    source = read(lambda: ((rows[at : at + 7], y[at : at + 7]) for at in range(0, 42, 7)))
    here = LinearClassifier("one_vs_rest_logistic", l2=0.0)
    there = LinearClassifier("one_vs_rest_logistic", l2=0.0)
    assert warned(here, rows, y) == warned(there, source, None)
    assert here.stop_ == there.stop_ == "no minimum"
    overlap = read(lambda: iter([(rows[:40], np.arange(40) % 3)]))
    assert LinearClassifier("one_vs_rest_logistic", l2=0.0).fit(overlap).converged_


def test_without_an_intercept_the_planes_go_through_the_origin():
    rows, y = np.array([[1.0], [2.0], [3.0]]), [0, 1, 1]  # separable, but not through 0
    clf = LinearClassifier(l2=0.0, fit_intercept=False).fit(rows, y)
    assert clf.stop_ == "optimal"
    assert "separable" in warned(LinearClassifier(l2=0.0), rows, y)[0]


def test_the_coefficients_that_run_off_are_named():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"dose": rng.standard_normal(60), "rare": np.repeat([0.0, 1.0], [57, 3])})
    y = (rng.standard_normal(60) + frame["dose"] > 0) | (frame["rare"] > 0)
    (text,) = warned(LinearClassifier(l2=0.0), frame, y)
    assert "quasi-separable" in text
    assert "they diverge (rare)" in text
    assert "dose" not in text


def test_a_verdict_that_costs_too_much_is_given_up(monkeypatch):
    monkeypatch.setattr(separatrix.training.no_minimum, "TIMES", 0)
    monkeypatch.setattr(separatrix.training.no_minimum, "LEAST_READS", 0)
    clf = LinearClassifier(l2=0.0)
    (text,) = warned(clf, QUASI, QUASI_Y)
    assert not clf.converged_
    assert clf.stop_ == "no progress"
    assert "was not decided" in text


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_losses_that_take_their_least_value_have_a_minimum_without_penalty(loss):
    assert LinearClassifier(loss, l2=0.0).fit(CORNERS, AND).converged_


def runs_off(A, y, joint):
    """Whether some direction has no negative margin and a positive one, by linear programs."""
    classes = np.unique(y)
    if len(classes) == 2:
        columns = [np.where(y == classes[1], 1.0, -1.0)[:, None] * A]
    elif not joint:
        columns = [np.where(y == c, 1.0, -1.0)[:, None] * A for c in classes]
    else:
        unit = np.eye(len(classes))
        pairs = [(c, r) for c in range(len(classes)) for r in range(len(classes)) if r != c]
        columns = [np.vstack([np.kron(unit[c] - unit[r], A[y == classes[c]]) for c, r in pairs])]
    for Z in columns:
        bounds = np.r_[np.zeros(len(Z)), np.ones(len(Z))]
        found = linprog(-Z.sum(axis=0), np.vstack([-Z, Z]), bounds, bounds=(None, None))
        if -found.fun > 0.5:
            return True
    return False


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8, 1e12])
@pytest.mark.parametrize("solver", ["auto", LBFGS(), Newton()])
def test_two_rows_far_from_zero_have_no_minimum(solver, offset):
    rows = np.array([[0.0, 1.0], [1.0, 0.0]]) + offset
    clf = LinearClassifier(l2=0.0, fit_intercept=False, solver=solver)
    (text,) = warned(clf, rows, [0, 1])
    assert (clf.stop_, clf.converged_) == ("no minimum", False)
    assert "the data is separable" in text


@pytest.mark.sampled
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("offset", [1e6, 1e7, 1e8, 1e12])
def test_what_is_called_converged_without_an_intercept_is_near_the_minimum(loss, offset):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((50, 3)) + offset
        y = np.where(rows[:, 0] - offset + rng.standard_normal(50) > 0, 1.0, -1.0)
        clf = LinearClassifier(loss, l2=0.0, fit_intercept=False)
        warned(clf, rows, y)
        # The same scores from features that differ as much as the rows do.
        Z = y[:, None] * np.column_stack([rows[:, 0] / offset, np.diff(rows, axis=1)])

        def phi(m):
            return np.logaddexp(0, -m) if loss == "logistic" else np.maximum(0, 1 - m) ** 2

        least = minimize(lambda v, Z=Z: phi(Z @ v).mean(), np.zeros(3)).fun
        near = clf.objective_ <= (1 + 1e-3) * least
        assert near or (offset >= 1e7 and clf.stop_ == "no progress")
        assert clf.converged_ == (clf.stop_ in ("optimal", "tol"))
        assert clf.gap_ is None or clf.objective_ - clf.gap_ <= (1 + 1e-9) * least


@pytest.mark.sampled
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("solver", ["auto", LBFGS(), Newton(), GradientDescent()])
def test_three_classes_that_are_quasi_separable_have_no_minimum_whatever_the_solver(solver, tol):
    rng = np.random.default_rng(1)
    rows, y = rng.integers(-2, 3, (23, 2)).astype(float), rng.integers(0, 3, 23)
    rows[:, 0] = np.where(y == 0, np.abs(rows[:, 0]), -np.abs(rows[:, 0]) * rng.integers(0, 2, 23))
    assert runs_off(np.column_stack([rows, np.ones(23)]), y, joint=True)
    clf = LinearClassifier(l2=0.0, solver=solver, tol=tol)
    assert "quasi-separable" in warned(clf, rows, y)[0]
    assert clf.stop_ == "no minimum"


@pytest.mark.parametrize("seed", range(20))
def test_there_is_no_minimum_exactly_where_free_features_separate(seed):
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(5, 25), rng.integers(1, 5), rng.choice([2, 2, 3])
    rows, y = rng.integers(-2, 3, (n, d)).astype(float), rng.integers(0, k, n)
    y[:k] = np.arange(k)
    if seed % 2:
        planted = -np.abs(rows[:, 0]) * rng.integers(0, 2, n)
        rows[:, 0] = np.where(y == 0, np.abs(rows[:, 0]), planted)
    free = rng.random(d) < 0.6
    loss = "one_vs_rest_logistic" if seed % 3 == 0 and k == 3 else "logistic"
    penalty = [{"l2": 0.1}, {"l1": 0.05, "l2": 0.0}, {"l1": 0.01, "l2": 0.01}][seed % 3]
    if not free.all():
        penalty["penalty_weights"] = 1.0 - free
    else:
        penalty = {"l2": 0.0}
    clf = LinearClassifier(loss, tol=10.0 ** -rng.integers(2, 10), **penalty)
    given = sp.csr_array(rows) if seed % 5 == 0 else rows
    text = " ".join(warned(clf, given, y))
    expected = runs_off(np.column_stack([rows[:, free], np.ones(n)]), y, loss == "logistic")
    assert (clf.stop_ == "no minimum") == expected == ("there is no minimum" in text)
    assert clf.converged_ != expected
    if expected:
        assert clf.gap_ is None
        assert not clf.zero_.any()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("penalty", [{"l2": 0.1}, {"l1": 0.1, "l2": 0.0}, {"l1": 0.05, "l2": 0.05}])
@pytest.mark.parametrize("tol", [1e-6, pytest.param(1e-12, marks=pytest.mark.slow)])
def test_a_free_feature_that_separates(penalty, tol):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 3))
    y = (rows[:, 0] > 0).astype(int)
    clf = LinearClassifier(penalty_weights=[0.0, 1.0, 1.0], tol=tol, **penalty)
    text, *_ = warned(clf, rows, y)
    assert clf.stop_ == "no minimum"
    assert "they diverge (x0" in text
    assert "x1" not in text
    # The squared hinge attains 0.
    clf.set_params(loss="squared_hinge").fit(rows, y)
    assert (clf.stop_, clf.objective_, clf.gap_) == ("optimal", 0.0, 0.0)
    assert np.all(np.where(y == 1, 1, -1) * clf.decision_function(rows) >= 1.0)


def test_a_free_feature_that_separates_one_class_of_three_attains_its_squared_hinge():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], 10)
    rows = np.column_stack([np.cos(2.1 * y), np.sin(2.1 * y), rng.standard_normal(30)])
    rows[:, :2] *= 1.0 + rng.random((30, 1))
    clf = LinearClassifier("squared_hinge", l1=0.1, l2=0.0, penalty_weights=[0.0, 0.0, 1.0])
    clf.fit(rows, y)
    assert (clf.stop_, clf.objective_, clf.gap_) == ("optimal", 0.0, 0.0)


def test_indicators_of_a_category_and_an_intercept_do_not_hide_a_minimum():
    rng = np.random.default_rng(0)
    category = rng.integers(0, 4, 200)
    rows = np.column_stack([np.eye(4)[category], rng.standard_normal(200)])
    y = rows[:, 4] + 0.5 * category + rng.standard_normal(200) > 1.0
    for given in (rows, sp.csr_array(rows)):
        assert LinearClassifier(l2=0.0).fit(given, y).stop_ == "optimal"
        clf = LinearClassifier(l2=0.1, penalty_weights=[0, 0, 0, 0, 1], tol=1e-9).fit(given, y)
        assert clf.stop_ == "optimal"
        clf.set_params(standardize=True)
        if given is rows:
            assert clf.fit(given, y).stop_ == "optimal"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5, 1e6])
@pytest.mark.parametrize("solver", [LBFGS(), GradientDescent()])
def test_slopes_that_underflow_prove_no_minimum(solver, offset):
    """A random start far from zero may have every row so far on its side that J is exactly 0."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]]) + offset
    for seed in range(10):
        fit = LinearClassifier(l2=0.0, solver=solver, start="random", random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit.fit(X, [0, 0, 1, 1])
        assert not fit.converged_
        assert fit.stop_ == "no minimum" or fit.objective_ > 0.0


@pytest.mark.parametrize("y", [[0, 1, 2, 2, 1, 0], [0, 0, 1, 1, 2, 2]])
def test_a_plateau_of_a_loss_that_is_not_convex_is_no_minimum_of_separable_rows(y):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [-2.0, 0.1], [0.1, 2.0], [2.0, 0.1]])
    X = (
        X
        if y[1]
        else np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 0.0], [4.0, 0.0], [-5.0, -4.0], [-6.0, -4.0]])
    )
    for seed in range(5):
        start = 1e3 * np.random.default_rng(seed).standard_normal((3, 3))
        fit = LinearClassifier("tanh_squared", l2=0.0, start=start)
        warned(fit, X, np.array(y))
        assert fit.stop_ == "no minimum"


def test_overlapping_rows_end_at_rest_with_a_loss_that_is_not_convex():
    X, y = overlapping(60, 2)
    fit = LinearClassifier("tanh_squared", l2=0.0).fit(X, y)
    assert fit.stop_ == "tol"


@pytest.mark.parametrize("loss", ["hinge", "one_vs_rest_hinge"])
def test_separable_rows_far_from_zero_end_without_loss(loss):
    """The hinge attains 0 there; rounding of the scores left a loss of 1e-7 to 1e-6."""
    y = np.array([0, 0, 1, 1, 0, 1, 1, 0, 1, 1])
    X = 3e8 + np.where(y == 1, 1.0, -1.0)[:, None]
    fit = LinearClassifier(loss, l2=0.0, solver=LinearProgram()).fit(X, y)
    assert (fit.stop_, fit.objective_) == ("tol", 0.0)
    w, b = Fraction(fit.coef_[0, 0]), Fraction(fit.intercept_[0])
    for x, label in zip(X[:, 0], y, strict=True):
        assert (2 * int(label) - 1) * (Fraction(x) * w + b) >= 1
