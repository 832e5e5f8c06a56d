"""L-BFGS that factors a second derivative once it is slow without."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from problems import correlated, objective_of
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from separatrix import LBFGS, LinearClassifier, Objective
from separatrix.solvers import lbfgs_run
from separatrix.solvers.lbfgs_run import LBFGSRun, is_slow


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_correlated_columns_are_factored_once_steps_are_slow(dtype):
    X, y = correlated(2000, 300, 1e4)
    X = X.astype(dtype)
    fits = {}
    for jobs in (1, 2):
        fits[jobs] = LinearClassifier(l2=1e-6, n_jobs=jobs, max_iter=100).fit(X, y)
        assert fits[jobs].stop_ == "optimal"
        assert fits[jobs].gap_ <= 1e-6 * fits[jobs].objective_
    np.testing.assert_array_equal(fits[1].coef_, fits[2].coef_)
    stored = LinearClassifier(l2=1e-6, tol=1e-10, solver=LBFGS()).fit(sp.csr_array(X), y)
    exact = LinearClassifier(l2=1e-6, tol=1e-10, solver=LBFGS()).fit(X, y)
    np.testing.assert_allclose(stored.coef_, exact.coef_, rtol=0, atol=1e-5)
    assert fits[1].objective_ - exact.objective_ <= fits[1].gap_


def test_independent_columns_are_not_factored(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 600))
    y = X[:, :3].sum(axis=1) + rng.logistic(size=3000) > 0

    def refuse(*args):
        raise AssertionError("factored")

    monkeypatch.setattr(Objective, "class_hessian", refuse)
    assert LinearClassifier(l2=1e-2).fit(X, y).stop_ == "optimal"


def test_going_on_from_before_and_after_the_factor_gives_the_same_bits():
    problem = objective_of(*correlated(500, 300, 1e5))
    start, solver = np.zeros(problem.shape), LBFGS()
    whole = list(islice(solver.steps(problem, start, np.random.default_rng(0)), 30))
    anchored = [len(step.state["hessian_at"]) for step in whole]
    (change,) = (i for i, (a, b) in enumerate(pairwise(anchored)) if a != b)
    for at in (change - 2, change, change + 3):
        rest = solver.steps(problem, start, np.random.default_rng(0), whole[at].state)
        for expected, step in zip(whole[at + 1 :], rest, strict=False):
            np.testing.assert_array_equal(step.weights, expected.weights)


def with_rare_features():
    """Many times the rows of a sample, and features that few of them have."""
    rng = np.random.default_rng(0)
    often = np.repeat([0.3, 2e-4], [20, 20])
    X = (rng.random((40_000, 40)) < often).astype(float)
    y = np.sign(X @ (3.0 * rng.standard_normal(40)) + rng.logistic(size=40_000))
    return X, y


@pytest.mark.sampled(1)
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_of_all_rows_where_a_sample_leads_slowly(stored, monkeypatch):
    X, y = with_rare_features()
    clf = LinearClassifier("squared_hinge", l2=1e-8, solver=LBFGS(), tol=1e-8, max_iter=100)
    fit = clone(clf).fit(stored(X), y)
    assert fit.stop_ == "optimal"
    monkeypatch.setattr(LBFGSRun, "cost_of_all", np.inf)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
        by_samples = clone(clf).fit(stored(X), y)
    assert fit.objective_ < by_samples.objective_


def test_going_on_with_a_hessian_of_all_rows_gives_the_same_bits():
    problem = objective_of(*with_rare_features(), loss="squared_hinge", l2=1e-8)
    start, solver = np.zeros(problem.shape), LBFGS()
    whole = list(islice(solver.steps(problem, start, np.random.default_rng(0)), 40))
    changes = [
        i for i, (a, b) in enumerate(pairwise(whole)) if a.state["of_all"] < b.state["of_all"]
    ]
    assert changes
    for at in (changes[0], changes[0] + 2):
        rest = solver.steps(problem, start, np.random.default_rng(0), whole[at].state)
        for expected, step in zip(whole[at + 1 :], rest, strict=False):
            np.testing.assert_array_equal(step.weights, expected.weights)


def test_slow_is_a_matter_of_what_a_factor_costs():
    trail = 10.0 ** -np.arange(7)  # a decimal place a step
    assert not is_slow(trail, 100.0)
    assert is_slow(trail, 5.0)
    assert is_slow(np.ones(7), 1e6)
    assert not is_slow(np.ones(7), np.inf)  # there is none to be had
    assert not is_slow(np.ones(3), 5.0)  # too early to tell
    assert not is_slow(np.zeros(7), 5.0)  # arrived
    faster = np.array([1.0, 0.9, 0.8, 0.7, 0.6, 0.06, 0.006])  # only of late a place a step
    assert not is_slow(faster, 10.0)
    assert is_slow(faster, 5.0)


def test_fewer_rows_than_features_and_nearly_equal_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4)) @ rng.standard_normal((4, 700))
    X += 1e-3 * rng.standard_normal(X.shape)
    X[:, 0], X[:, 1] = 7.0, X[:, 2]
    y = X[:, 5] + rng.logistic(size=300) > 0
    for rows in (X, X.astype(np.float32), X * 1e-20, X * 1e20):
        scale = float(np.abs(rows[:, 2:]).mean() / np.abs(X[:, 2:]).mean())
        clf = LinearClassifier(l2=1e-4 * scale**2, solver=LBFGS(), tol=1e-6).fit(rows, y)
        assert clf.stop_ == "optimal"


def test_a_dear_factor_waits_for_more_than_a_few_slow_steps(monkeypatch):
    def refuse(*args):
        raise AssertionError("factored")

    monkeypatch.setattr(Objective, "class_hessian", refuse)
    monkeypatch.setattr(lbfgs_run, "is_slow", lambda recent_decrements, cost: True)
    rng = np.random.default_rng(0)
    X = sp.random_array((2000, 1500), density=0.01, rng=rng, format="csr", dtype=np.float64)
    y = np.where(X @ rng.standard_normal(1500) > 0.0, 1, -1)
    assert LinearClassifier(l2=1e-5, solver=LBFGS()).fit(X, y).stop_ == "optimal"
