"""Proximal Newton against subgradients in long doubles and plain proximal gradients."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import quiet
from l1_oracles import Net
from sparse_problems import LOSSES, objective, problem, solved

from separatrix import (
    L2,
    CoordinateDescent,
    ElasticNet,
    GroupLasso,
    LinearClassifier,
    Newton,
    ProximalNewton,
    Stop,
    minimize,
)
from separatrix.solvers import choose, proximal_newton
from separatrix.solvers.proximal_newton import minimise_quadratic, newton_step, working_set
from separatrix.solvers.working_hessian import LossHessian
from separatrix.training.checkpoint_file import packed, unpacked


@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["tall", "wide", "odd", "weighted", "without bias", "sparse"])
def test_every_weight_stands_still(kind, loss, k, l2):
    X, y = problem(n=20, d=30, k=k) if kind == "wide" else problem(k=k, odd=kind == "odd")
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 4, len(X)).astype(float) if kind == "weighted" else None
    p = rng.uniform(0.3, 2.0, X.shape[1]) if kind == "weighted" else None
    if kind == "sparse":
        X = np.where(rng.random(X.shape) < 0.5, X, 0.0)
    l1 = 0.15
    penalty = ElasticNet(l1, l2, None if p is None else tuple(p))
    rows = sp.csr_array(X) if kind == "sparse" else X
    of = objective(rows, y, loss, penalty, weight, kind != "without bias")
    found = solved(of)
    net = Net(loss, X, y, l1, l2, weight, p, kind != "without bias")
    assert found.stop == "optimal"
    gap = found.proof.gap
    assert gap <= 1e-12 * found.objective
    assert found.objective == pytest.approx(net.value(found.weights), rel=1e-12)
    allowed = np.sqrt(2.0 * net.curvatures() * gap) + 1e-13 * (1.0 + np.abs(X).max())
    assert np.all(net.violation(found.weights) <= allowed)
    assert np.any(found.weights[:, :-1] == 0.0)
    assert np.any(found.weights[:, :-1] != 0.0)
    if kind == "without bias":
        assert not found.weights[:, -1].any()


@pytest.mark.parametrize("l2", [0.0, 1e-2])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_that_of_plain_proximal_gradients(loss, k, l2):
    X, y = problem(k=k, seed=3)
    found = solved(objective(X, y, loss, ElasticNet(0.03, l2)))
    net = Net(loss, X, y, 0.03, l2)
    least = net.value(net.minimum(steps=5000))
    assert found.objective == pytest.approx(least, rel=1e-9)
    assert found.objective - found.proof.gap <= least * (1.0 + 1e-14)


def test_the_lasso_of_one_feature_in_closed_form():
    x, y = np.array([1.0, -1.0, 2.0, -2.0]), np.array([1, 0, 1, 1])
    signs = np.array([1.0, -1.0, 1.0, 1.0])
    l1 = 0.1
    # mean (w x - y)^2 + l1 |w|:  w = (mean xy - l1 / 2) / mean x^2
    pull = np.mean(x * signs)
    w = np.sign(pull) * max(abs(pull) - l1 / 2.0, 0.0) / np.mean(x**2)
    of = objective(x[:, None], y, "squared", ElasticNet(l1, 0.0), intercept=False)
    assert solved(of).weights[0, 0] == pytest.approx(w, rel=1e-14)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("k", [2, 3])
def test_small_working_sets_lead_to_the_same_minimum(k):
    X, y = problem(n=80, d=30, k=k, seed=2)
    of = objective(X, y, "logistic", ElasticNet(0.01, 1e-3))
    assert solved(of, most_variables=12).objective == pytest.approx(solved(of).objective, rel=1e-11)
    W = np.zeros(of.shape)
    gradient = of.value_and_gradient(W).gradient
    assert len(working_set(of, W, gradient, 12)) == 12 // of.shape[0] - 1
    assert np.all(np.diff(working_set(of, W, gradient, 2000)) > 0)


def test_a_plain_square_is_taken_too():
    X, y = problem(k=3)
    of = objective(X, y, "logistic", L2(1e-3))
    newton = minimize(of, Newton(), stop=Stop(tol=1e-12)).objective
    assert solved(of).objective == pytest.approx(newton, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_singular_model_is_minimised_to_its_end(seed):
    """Shifts of three classes cost the smooth part nothing, and the absolute values something."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((4, 9))
    A -= A @ np.full((9, 9), 1.0 / 9.0)
    H, thresholds = A.T @ A, rng.uniform(0.05, 0.5, 9)
    first = A.T @ rng.standard_normal(4)
    u, slope = np.zeros(9), first.copy()
    minimise_quadratic(H, thresholds, u, slope)
    g = first + H @ u
    at_zero, away = np.maximum(np.abs(g) - thresholds, 0.0), np.abs(g + thresholds * np.sign(u))
    assert np.where(u == 0.0, at_zero, away).max() < 1e-9


def test_where_it_starts_does_not_matter():
    X, y = problem(k=3)
    of = objective(X, y, "logistic", ElasticNet(0.02, 1e-3))
    start = np.random.default_rng(0).standard_normal(of.shape)
    far = minimize(of, ProximalNewton(), stop=Stop(tol=1e-12), start=start)
    assert far.objective == pytest.approx(solved(of).objective, rel=1e-11)
    too_far = minimize(of, ProximalNewton(), stop=Stop(tol=1e-12), start=1e200 * start)
    assert too_far.stop == "optimal"


def test_steps_never_lead_upwards_and_go_on_from_their_state():
    X, y = problem(n=200, d=20, k=3)
    of = objective(X, y, "squared_hinge", ElasticNet(0.01, 0.0))
    rng = np.random.default_rng(0)
    steps = ProximalNewton().steps(of, np.zeros(of.shape), rng)
    whole = [next(steps) for _ in range(6)]
    values = [step.objective for step in whole]
    assert values == sorted(values, reverse=True)
    again = ProximalNewton().steps(of, np.zeros(of.shape), rng, whole[2].state)
    for step in whole[3:]:
        assert np.array_equal(next(again).weights, step.weights)


@pytest.mark.parametrize("groups", [None, "classes", (0, 1, 2, 3) * 5])
def test_a_second_derivative_that_serves_again_is_taken_again_or_handed_on(groups):
    """In a run of its own the state says where it was taken; along a path it has it."""
    X, y = problem(n=200, d=20, k=3)
    loose, tight = (
        ElasticNet(l1) if groups is None else GroupLasso(l1, groups=groups) for l1 in (0.05, 0.04)
    )
    solver, of = ProximalNewton(), objective(X, y, "logistic", loose)
    begin, state, served = np.zeros(of.shape), None, 0
    for own in (of, of.with_penalty(tight), of.with_penalty(loose)):
        steps = solver.steps(own, begin, np.random.default_rng(0), state)
        whole = [next(steps) for _ in range(7)]
        for number, step in enumerate(whole[:-1]):
            assert ("hessian" in step.state) == (state is not None)
            raw = b"".join(map(bytes, packed(step.state)))
            kept = unpacked(BytesIO(raw), len(raw))
            again = solver.steps(own, begin, np.random.default_rng(1), kept)
            for expected in whole[number + 1 :]:
                assert np.array_equal(next(again).weights, expected.weights)
            served += step.state["trusted"]
        state, begin = solver.handed_on(whole[-1].state), whole[-1].weights
    assert served > 3


def test_auto_takes_it_and_others_refuse_by_name():
    X, y = problem()
    of = objective(X, y, "logistic", ElasticNet(0.02))
    many = objective(np.tile(X, (10, 1)), np.tile(y, 10), "logistic", ElasticNet(0.02))
    assert isinstance(choose(many), ProximalNewton)
    assert isinstance(
        choose(objective(*problem(k=3), "logistic", ElasticNet(0.02))), ProximalNewton
    )
    assert not isinstance(choose(objective(X, y, "logistic", L2(0.02))), ProximalNewton)
    with pytest.raises(ValueError, match=r"Newton takes l2 alone.*ProximalNewton\(\)"):
        minimize(of, Newton())
    for loss in ("hinge", "perceptron"):
        with pytest.raises(ValueError, match=f"cannot minimise '{loss}'.*squared_hinge"):
            minimize(objective(X, y, loss, ElasticNet(0.02)), ProximalNewton())
    with pytest.raises(ValueError, match="most_variables=1 is too few"):
        minimize(of, ProximalNewton(most_variables=1))


def test_a_step_that_nothing_may_move_in_gains_nothing():
    slope = np.array([0.1, -0.2])
    assert newton_step(np.eye(2), np.ones(2), np.zeros(2), slope) == 0.0


@pytest.mark.parametrize("k", [2, 3])
def test_a_rough_second_derivative_leads_to_the_same_minimum(k, monkeypatch):
    X, y = problem(n=3000, d=8, k=k)
    of = objective(X, y, "logistic", ElasticNet(0.01))
    taken = []
    at = LossHessian.at

    def noted(rows, *rest):
        taken.append(rows.source.n_rows)
        return at(rows, *rest)

    monkeypatch.setattr(proximal_newton.LossHessian, "at", noted)
    steps = ProximalNewton().steps(of, np.zeros(of.shape), np.random.default_rng(0))
    visited = [next(steps) for _ in range(12)]
    assert taken[0] < 1500
    assert taken[-1] == 3000
    monkeypatch.setattr(proximal_newton, "FEW_OF_ROWS", 0.0)
    assert visited[-1].objective == pytest.approx(solved(of).objective, rel=1e-12)
    monkeypatch.undo()
    for number, step in enumerate(
        visited[:-1]
    ):  # and a run that goes on from any step, to the same
        again = ProximalNewton().steps(of, step.weights, np.random.default_rng(0), step.state)
        np.testing.assert_array_equal(next(again).weights, visited[number + 1].weights)


@pytest.mark.sampled
@quiet
@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge"])
@pytest.mark.parametrize("offset", [1e6, 1e8, 1e12])
@pytest.mark.parametrize("solver", [ProximalNewton(), CoordinateDescent()], ids=repr)
def test_features_far_from_zero_without_a_bias_take_few_newton_steps(
    solver, offset, loss, monkeypatch
):
    """Their Hessian is flatter than its rounding: steps that crawl are not repeated for ever."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 3))
    y = np.where(Z[:, 0] + 0.3 * rng.normal(size=60) > 0, 1, 0)
    steps = []
    counted = proximal_newton.newton_step
    monkeypatch.setattr(
        proximal_newton, "newton_step", lambda *args: steps.append(1) or counted(*args)
    )
    clf = LinearClassifier(loss, l1=0.01, fit_intercept=False, standardize=True, solver=solver)
    clf.fit(Z + offset, y)
    assert clf.stop_ in ("optimal", "no progress")
    assert clf.n_iter_ <= 300
    assert len(steps) <= 1000
