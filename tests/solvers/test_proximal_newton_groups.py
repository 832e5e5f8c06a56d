"""Proximal Newton with groups against subgradients in long doubles and plain proximal gradients."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from group_oracles import GroupNet
from sparse_problems import LOSSES, objective, problem, solved

from separatrix import (
    ElasticNet,
    GradientDescent,
    GroupLasso,
    Newton,
    ProximalNewton,
    Stop,
    minimize,
)
from separatrix.solvers import choose
from separatrix.solvers.block_model import minimise_with_groups
from separatrix.solvers.proximal_newton import working_set


def groups_of(d, by=3):
    """Of uneven sizes, and not in order."""
    numbers = np.arange(d) * 7 % d // by
    return np.unique(numbers, return_inverse=True)[1]


@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["tall", "wide", "odd", "weighted", "without bias", "sparse"])
@pytest.mark.parametrize("grouped", ["features", "classes"])
def test_every_group_stands_still(grouped, kind, loss, k, l2):
    X, y = problem(n=20, d=30, k=k) if kind == "wide" else problem(k=k, odd=kind == "odd")
    rng = np.random.default_rng(1)
    groups = "classes" if grouped == "classes" else tuple(groups_of(X.shape[1]).tolist())
    weight = rng.integers(0, 4, len(X)).astype(float) if kind == "weighted" else None
    p = None
    if kind == "weighted":
        p = rng.uniform(0.3, 2.0, X.shape[1])
        p = p if grouped == "classes" else p[np.array(groups)]
    if kind == "sparse":
        X = np.where(rng.random(X.shape) < 0.5, X, 0.0)
    l1, bias = 0.12, kind != "without bias"
    penalty = GroupLasso(l1, l2, None if p is None else tuple(p), groups)
    of = objective(sp.csr_array(X) if kind == "sparse" else X, y, loss, penalty, weight, bias)
    found = solved(of)
    net = GroupNet(loss, X, y, l1, l2, groups, c=weight, p=p, intercept=bias)
    assert found.stop == "optimal"
    gap = found.proof.gap
    assert gap <= 1e-12 * found.objective
    assert found.objective == pytest.approx(net.value(found.weights), rel=1e-12)
    steepest = max(net.curvatures()[:-1].sum(), net.curvatures()[-1])  # of a group: its trace
    allowed = np.sqrt(2.0 * steepest * gap) + 1e-13 * (1.0 + np.abs(X).max())
    assert net.violation(found.weights).max() <= allowed
    w = found.weights[:, :-1]
    for at, _ in net.blocks():
        assert w[at].all() or not w[at].any() or kind == "odd"
    assert w.any()
    if not bias:
        assert not found.weights[:, -1].any()


@pytest.mark.sampled
@pytest.mark.parametrize("l2", [0.0, 1e-2])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("grouped", ["features", "classes", "one"])
def test_the_objective_is_that_of_plain_proximal_gradients(grouped, loss, k, l2):
    X, y = problem(k=k, seed=3)
    groups = {"features": (0, 1, 1, 0, 2, 2, 2, 0), "classes": "classes", "one": (0,) * 8}[grouped]
    found = solved(objective(X, y, loss, GroupLasso(0.03, l2, None, groups)))
    net = GroupNet(loss, X, y, 0.03, l2, groups)
    least = net.value(net.minimum(steps=3000))
    assert found.objective == pytest.approx(least, rel=1e-9)
    assert found.objective - found.proof.gap <= least * (1.0 + 1e-14)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [2, 3])
def test_groups_of_one_feature_are_the_lasso(loss, k):
    X, y = problem(k=k, seed=1)
    lasso = solved(objective(X, y, loss, ElasticNet(0.03, 1e-4)))
    ones = GroupLasso(0.03, 1e-4, None, tuple(np.random.default_rng(0).permutation(8).tolist()))
    alike = solved(objective(X, y, loss, ones))
    np.testing.assert_allclose(alike.weights, lasso.weights, rtol=1e-9, atol=1e-10)
    assert np.array_equal(alike.weights == 0.0, lasso.weights == 0.0)
    if k == 2:
        classes = solved(objective(X, y, loss, GroupLasso(0.03, 1e-4)))
        np.testing.assert_allclose(classes.weights, lasso.weights, rtol=1e-9, atol=1e-10)


def test_one_group_in_closed_form():
    """Orthogonal features of one size: w = (1 - t / |g|) g / curvature, g the pull at 0."""
    X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    y = np.array([1, 1, 1, 0])
    signs = np.where(y == 1, 1.0, -1.0)
    # mean (x.w - y)^2 + l1 sqrt(2) |w| without bias: the quadratic is |w|^2 - 2 pull.w
    pull, l1 = X.T @ signs / 4, 0.1
    length = np.sqrt(np.sum(pull**2))
    w = pull * (1.0 - l1 * np.sqrt(2.0) / 2.0 / length)
    of = objective(X, y, "squared", GroupLasso(l1, 0.0, None, (0, 0)), intercept=False)
    np.testing.assert_allclose(solved(of).weights[0, :-1], w, rtol=1e-14)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("k", [2, 3])
def test_small_working_sets_hold_whole_groups_and_lead_to_the_same_minimum(k):
    X, y = problem(n=80, d=30, k=k, seed=2)
    groups = groups_of(30)
    of = objective(X, y, "logistic", GroupLasso(0.01, 1e-3, None, tuple(groups.tolist())))
    rows = of.shape[0]
    few = solved(of, most_variables=18 * rows)
    assert few.objective == pytest.approx(solved(of).objective, rel=1e-11)
    W = np.zeros(of.shape)
    gradient = of.value_and_gradient(W).gradient
    for most in (8 * rows, 20 * rows, 2000):
        chosen = working_set(of, W, gradient, most)
        assert np.all(np.diff(chosen) > 0)
        assert set(np.flatnonzero(np.isin(groups, groups[chosen]))) == set(chosen.tolist())
    assert 0 < len(working_set(of, W, gradient, 8 * rows)) <= 7


def test_a_group_that_does_not_fit_is_refused_and_auto_knows():
    X, y = problem()
    of = objective(X, y, "logistic", GroupLasso(0.01, 0.0, None, (0,) * 6 + (1, 1)))
    with pytest.raises(ValueError, match=r"room for 4 features, but one has 6.*GradientDescent"):
        minimize(of, ProximalNewton(most_variables=5))
    assert isinstance(choose(of), ProximalNewton)
    with pytest.raises(ValueError, match=r"Newton takes l2 alone.*ProximalNewton\(\)"):
        minimize(of, Newton())
    wide = np.zeros((4, 2500))
    wide[:, 0] = [0.0, 1.0, 2.0, 3.0]
    too_large = objective(wide, np.array([0, 1, 0, 1]), "logistic",
                          GroupLasso(0.01, 0.0, None, (0,) * 2500))  # fmt: skip
    chosen = choose(too_large)
    assert isinstance(chosen, GradientDescent)
    assert "too large" in chosen.reason


@pytest.mark.sampled
@pytest.mark.parametrize("grouped", [(0, 1, 1, 0, 2, 2, 2, 0), "classes"])
@pytest.mark.parametrize("loss", LOSSES)
def test_proximal_gradients_find_the_same_minimum(loss, grouped):
    X, y = problem(k=3, seed=5)
    of = objective(X, y, loss, GroupLasso(0.05, 1e-3, None, grouped))
    by_gradients = minimize(of, GradientDescent(), stop=Stop(tol=1e-8, max_iter=5000))
    assert by_gradients.stop == "optimal"
    best = solved(of)
    assert by_gradients.objective == pytest.approx(best.objective, rel=1e-8)
    np.testing.assert_allclose(by_gradients.weights, best.weights, atol=1e-3)


def test_scales_far_apart_within_a_group_end_proven():
    X, y = problem(n=100, seed=4)
    X = X * 10.0 ** np.array([-3, -2, -1, 0, 1, 2, 3, 0])
    for groups in ((0, 0, 0, 0, 1, 1, 1, 1), (0,) * 8):
        for loss in LOSSES:
            found = solved(objective(X, y, loss, GroupLasso(0.01, 1e-4, None, groups)), tol=1e-9)
            assert found.stop == "optimal"


@pytest.mark.parametrize("seed", range(5))
def test_a_singular_model_is_minimised_to_its_end(seed):
    """Shifts of three classes cost the smooth part nothing, and the lengths something."""
    rng = np.random.default_rng(seed)
    penalty = GroupLasso(0.2, 0.0, None, (0, 0, 1))
    A = rng.standard_normal((5, 12))
    A -= np.tile(A.reshape(5, 3, 4).mean(axis=1), 3)
    H, first = A.T @ A, A.T @ rng.standard_normal(5)
    u, slope = np.zeros((3, 4)), first.reshape(3, 4).copy()
    minimise_with_groups(H[None], penalty, np.arange(3), np.ones(4), u, slope)
    g = (first + H @ u.ravel()).reshape(3, 4)
    assert np.abs(g[:, -1]).max() < 1e-6
    for row, own in zip(g, u, strict=True):
        for at, t in ((slice(0, 2), 0.2 * 2**0.5), (slice(2, 3), 0.2)):
            length = np.linalg.norm(own[at])
            if length == 0.0:
                assert np.linalg.norm(row[at]) <= t + 1e-7
            else:
                np.testing.assert_allclose(row[at], -t * own[at] / length, atol=1e-6)


def test_steps_never_lead_upwards_and_go_on_from_their_state():
    X, y = problem(n=200, d=20, k=3)
    of = objective(X, y, "squared_hinge",
                   GroupLasso(0.01, 0.0, None, tuple(groups_of(20).tolist())))  # fmt: skip
    rng = np.random.default_rng(0)
    steps = ProximalNewton().steps(of, np.zeros(of.shape), rng)
    whole = [next(steps) for _ in range(6)]
    values = [step.objective for step in whole]
    assert values == sorted(values, reverse=True)
    again = ProximalNewton().steps(of, np.zeros(of.shape), rng, whole[2].state)
    for step in whole[3:]:
        assert np.array_equal(next(again).weights, step.weights)
    start = np.random.default_rng(0).standard_normal(of.shape)
    far = minimize(of, ProximalNewton(), stop=Stop(tol=1e-12), start=start)
    assert far.objective == pytest.approx(solved(of).objective, rel=1e-11)
