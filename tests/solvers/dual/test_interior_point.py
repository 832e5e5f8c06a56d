"""Alphas between their bounds, against Newton's steps and against the conditions of a minimum."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar

from separatrix import L2, DualAscent, LinearClassifier, Objective
from separatrix.data import ArraySource
from separatrix.losses import Hinge, SquaredHinge
from separatrix.proofs.binary_dual import dual_loss_of
from separatrix.rows import CsrRows
from separatrix.solvers import choose
from separatrix.solvers.dual.interior_point import InteriorPointRun
from separatrix.solvers.dual.proximal_point import ProximalPointRun

LOSSES = [Hinge(), SquaredHinge()]


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Small problems too."""
    monkeypatch.setattr("separatrix.solvers.thresholds.MANY_FEATURES", 1)
    monkeypatch.setattr("separatrix.solvers.thresholds.FEW_ROWS_PER_FEATURE", 1000)


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.geomspace(1.0, 0.03, d)
    y = np.where(X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def problem(X, y, loss, l2, intercept=True, weight=None, csr=False, n_jobs=None):
    if csr:
        S = sp.csr_array(X)
        X = CsrRows(S.data, S.indices, S.indptr, S.shape[1])
    source = ArraySource(X, y, np.array([-1.0, 1.0]), weight, n_jobs)
    return Objective(loss, L2(l2), source, intercept)


def climbed(objective, gap, most=60):
    """Until the bound is so near to J, relative, and how many steps that took."""
    at = InteriorPointRun(objective)
    highest = at.bound
    for number in range(1, most + 1):
        at.step()
        highest = max(highest, at.bound)
        if at.ended or at.objective_value - highest <= gap * at.objective_value:
            return at, number
    raise AssertionError((at.objective_value - highest) / at.objective_value)


@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(60, 8), (40, 40), (12, 30)])
@pytest.mark.parametrize("loss", LOSSES)
def test_it_meets_newtons_steps(loss, shape, intercept, csr):
    X, y = rows(*shape)
    X[np.abs(X) < 0.02] = 0.0
    X[5] = 0.0
    objective = problem(X, y, loss, 1e-3, intercept, csr=csr)
    at, _ = climbed(objective, 1e-8)
    value, mistakes = objective.value(at.W)
    assert at.objective_value == pytest.approx(value, rel=1e-12)
    assert at.mistakes == mistakes
    if not intercept:
        assert at.W[0, -1] == 0.0
    other = ProximalPointRun(
        objective, dual_loss_of(objective), np.zeros(at.W.shape), np.zeros((len(y), 1))
    )
    for _ in range(200):
        other.step()
        if other.at.objective - other.at.bound <= 1e-9 * other.at.objective:
            break
    assert at.objective_value == pytest.approx(other.at.objective, rel=2e-8)


@pytest.mark.parametrize("shape", [(60, 8), (12, 30)])
@pytest.mark.parametrize("loss", LOSSES)
def test_what_holds_at_every_step(loss, shape):
    """Every number positive, s what the loss is above 1 - m, and the mean product the gap."""
    X, y = rows(*shape)
    objective = problem(X, y, loss, 1e-4)
    at = InteriorPointRun(objective)
    least = climbed(objective, 1e-9)[0].objective_value
    for _ in range(12):
        at.step()
        margins = y * (X @ at.W[0, :-1] + at.W[0, -1])
        np.testing.assert_allclose(at.at.slack, at.at.xi - (1.0 - margins), atol=1e-9)
        assert min(at.at.alpha.min(), at.at.slack.min()) > 0.0
        if loss == Hinge():
            np.testing.assert_allclose(at.at.upper_slack, 1.0 - at.at.alpha, atol=1e-12)
            assert min(at.at.upper_slack.min(), at.at.xi.min()) > 0.0
        else:
            np.testing.assert_allclose(at.at.xi, 0.5 * at.at.alpha, atol=1e-12)
        assert at.bound <= least * (1.0 + 1e-9)
        assert at.objective_value >= least * (1.0 - 1e-9)


def test_alpha_is_the_multiplier_of_the_slack_and_one_less_alpha_that_of_the_loss():
    """By finite differences of the minimum: for one feature and no bias that is a scalar's.

    A multiplier is by how much the minimum grows with the bound of its condition.
    """
    x, y = np.array([0.3, 1.0, 2.0, -0.5, -3.0]), np.array([1.0, 1.0, 1.0, 1.0, -1.0])
    p, l2, step = np.full(5, 0.2), 0.2, 1e-4

    def least(slack, loss):
        """The minimum with ``xi - (1 - m) >= slack`` and ``xi >= loss``."""

        def objective(w):
            return p @ np.maximum(loss, 1.0 - y * x * w + slack) + l2 * w * w

        return minimize_scalar(objective, bounds=(-5.0, 5.0), options={"xatol": 1e-12}).fun

    at, _ = climbed(problem(x[:, None], y, Hinge(), l2, intercept=False), 1e-9)
    none, steps = np.zeros(5), step * np.eye(5)
    assert at.objective_value == pytest.approx(least(none, none), rel=1e-8)
    of_slack = [(least(by, none) - least(none, none)) / step for by in steps]
    of_loss = [(least(none, by) - least(none, none)) / step for by in steps]
    np.testing.assert_allclose(of_slack, p * at.at.alpha, atol=1e-3)
    np.testing.assert_allclose(of_loss, p * at.at.upper_slack, atol=1e-3)
    assert at.at.alpha.min() < 0.01
    assert at.at.alpha.max() > 0.99
    assert (np.abs(at.at.alpha - 0.5) < 0.45).any()  # one at the kink, where both conditions bind
    assert max((at.at.alpha * at.at.slack).max(), (at.at.upper_slack * at.at.xi).max()) < 1e-6


@pytest.mark.parametrize("shape", [(60, 8), (20, 30)])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_is_a_repetition_and_none_is_absence(loss, shape):
    X, y = rows(*shape)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    weight[:2] = 2
    again = np.repeat(np.arange(len(y)), weight)
    huge = np.where(weight[:, None] == 0, 1e5, X)
    weighted, _ = climbed(problem(huge, y, loss, 1e-3, weight=weight.astype(float)), 1e-10)
    repeated, _ = climbed(problem(X[again], y[again], loss, 1e-3), 1e-10)
    assert weighted.objective_value == pytest.approx(repeated.objective_value, rel=1e-9)
    np.testing.assert_allclose(weighted.W, repeated.W, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("loss", LOSSES)
def test_edges(loss, scale):
    """Doubled rows, a constant feature, one that is 0, and scales far apart."""
    X, y = rows(50, 6)
    X = np.vstack([X, X[:20]]) * scale
    X[:, 2] = scale
    X[:, 3] = 0.0
    X[:, 4] *= 1e4
    objective = problem(X, np.append(y, y[:20]), loss, 1e-3 * scale**2)
    at, steps = climbed(objective, 1e-8)
    assert steps < 40
    assert np.all(np.isfinite(at.W))


def test_one_row_per_class_is_solved_by_hand():
    objective = problem(np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), Hinge(), 1e-3)
    at, _ = climbed(objective, 1e-10)
    np.testing.assert_allclose(at.W, [[2.0, -1.0]], rtol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(40, 10), (40, 40), (400, 200)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_newtons_steps_take_over_where_rounding_ends_it(loss, shape, intercept):
    X, y = rows(*shape)
    states = []
    model = LinearClassifier(
        loss, l2=1e-5, tol=1e-12, solver=DualAscent(), fit_intercept=intercept,
        callbacks=[lambda step, info: states.append(step.state["phase"])],
    ).fit(X, y)  # fmt: skip
    assert model.converged_
    assert states[0] == "interior point"
    assert len(states) < 40


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("shape", [(400, 200), (200, 200)])
def test_weak_penalties_on_few_rows_take_few_steps(loss, shape):
    """About 15. Newton's are 70 or more, or get nowhere: which rows sit at a bound changes
    with each. Without the corrector it would be 20 or more."""
    X, y = rows(*shape)
    model = LinearClassifier(loss, l2=1e-8, solver=DualAscent(), max_iter=18).fit(X, y)
    assert model.converged_
    assert model.gap_ <= 1e-6 * model.objective_


def test_auto_takes_it_for_the_squared_hinge():
    X, y = rows(900, 400)
    weak = LinearClassifier("squared_hinge", l2=1e-6, tol=1e-3).fit(X, y)
    assert isinstance(weak.solver_, DualAscent)
    strong = LinearClassifier("squared_hinge", l2=1.0).fit(X, y)
    assert not isinstance(strong.solver_, DualAscent)
    assert weak.converged_
    assert strong.converged_


def test_auto_leaves_it_to_gradients_where_features_are_alike():
    rng = np.random.default_rng(0)
    apart = rng.standard_normal((700, 350))
    alike = apart + 3.0 * rng.standard_normal((700, 5)) @ rng.standard_normal((5, 350))
    alike *= np.sqrt(apart.var() / alike.var())
    y = np.where(apart[:, 0] > 0.0, 1.0, -1.0)

    def taken(X):
        return isinstance(choose(problem(X, y, SquaredHinge(), 2e-4)), DualAscent)

    assert taken(apart)
    assert not taken(alike)
    few = alike[:300]  # no more than features: all are at the kink, alike or not
    assert isinstance(choose(problem(few, y[:300], SquaredHinge(), 2e-4)), DualAscent)
    shifted = np.column_stack([apart[:, :-1] + 1e3, np.zeros(700)])  # a constant one too
    assert taken(shifted)


@pytest.mark.parametrize("stop", [1, 4])
@pytest.mark.parametrize("loss", LOSSES)
def test_going_on_from_a_state_gives_the_same_bits(loss, stop):
    objective = problem(*rows(50, 8), loss, 1e-4)
    start, rng = np.zeros(objective.shape), np.random.default_rng(0)
    whole = list(islice(DualAscent().steps(objective, start, rng), 8))
    assert whole[0].state["phase"] == "interior point"
    rest = islice(DualAscent().steps(objective, start, rng, whole[stop - 1].state), 8 - stop)
    for expected, step in zip(whole[stop:], rest, strict=True):
        np.testing.assert_array_equal(step.weights, expected.weights)
        assert (step.objective, step.lower_bound) == (expected.objective, expected.lower_bound)


@pytest.mark.parametrize("shape", [(400, 70), (60, 70)])
def test_threads_do_not_change_the_bits(shape, monkeypatch):
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_BYTES", 1000)
    monkeypatch.setattr("separatrix.solvers.dual.interior_point.ROWS", 64)
    X, y = rows(*shape)
    runs = [climbed(problem(X, y, Hinge(), 1e-4, n_jobs=jobs), 1e-6)[0] for jobs in (1, 3)]
    np.testing.assert_array_equal(runs[0].W, runs[1].W)
