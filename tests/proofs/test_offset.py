"""Lower bounds with an offset: below the minimum from any weights, and tight at the minimum.

The minimum is found by scipy on plain NumPy sums; at kinks it is not quite one, which is above it.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from separatrix import L2, ArraySource, ElasticNet, Objective, get_loss
from separatrix.proofs.gap import GapTracker
from separatrix.proofs.nonsmooth_bound import nonsmooth_lower_bound
from separatrix.proofs.smooth_bound import smooth_lower_bound
from separatrix.rows import DenseRows, with_offset
from separatrix.solvers.dual.proximal_point import reduced_run

N, D = 40, 3


def problem(name, k, seed, intercept=True, penalty=None):
    rng = np.random.default_rng(seed)
    X, offset = rng.normal(size=(N, D)) + 0.5, 3.0 * rng.normal(size=(N, k)) + 2.0
    y = np.where(rng.random(N) < 0.4, 1.0, -1.0) if k == 1 else np.arange(N) % k
    weight = rng.integers(0, 3, size=N).astype(float)
    rows = with_offset(DenseRows(X), offset)
    source = ArraySource(rows, y, np.arange(max(k, 2)), weight)
    loss = get_loss(name).for_classes(max(k, 2))
    return Objective(loss, penalty or L2(0.05), source, intercept), X, offset, y, weight


def value_of(objective, X, offset, y, weight):
    loss, penalty = objective.loss, objective.penalty

    def of(w):
        W = w.reshape(objective.shape)
        s = X @ W[:, :-1].T + W[:, -1] * objective.intercept + offset
        return weight @ loss.value(y, s) / weight.sum() + penalty.value(W)

    return of


def least(of, size):
    """A minimum as far as scipy finds one, and where."""
    found = minimize(of, np.zeros(size), method="BFGS", options={"gtol": 1e-10})
    again = minimize(of, found.x, method="Nelder-Mead", options={"maxiter": 4000})
    best = min(found, again, key=lambda each: each.fun)
    return best.fun, best.x


@pytest.mark.sampled
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("name", "k"), [
    ("logistic", 1), ("squared", 1), ("squared_hinge", 1), ("logistic", 3),
    ("one_vs_rest_logistic", 3),
])  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_smooth_losses(name, k, intercept, seed):
    objective, *data = problem(name, k, seed, intercept)
    lowest, there = least(value_of(objective, *data), np.prod(objective.shape))
    rng = np.random.default_rng(seed)
    for scale in (0.0, 0.01, 0.1, 0.3, 1.0, 3.0):
        for _ in range(4):
            W = scale * rng.normal(size=objective.shape)
            W[:, -1] = (W[:, -1] - 2.0) * intercept
            found = smooth_lower_bound(objective, W, objective.value_and_gradient(W))
            assert found.value - found.allowance <= lowest + 1e-9
    W = there.reshape(objective.shape)
    W[:, -1] *= intercept
    found = smooth_lower_bound(objective, W, objective.value_and_gradient(W))
    assert lowest - 1e-5 <= found.value - found.allowance <= lowest + 1e-9


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["logistic", "one_vs_rest_logistic"])
def test_bounds_with_l1(name):
    objective, *data = problem(name, 3, 0, penalty=ElasticNet(l1=0.02, l2=0.0))
    lowest, _ = least(value_of(objective, *data), np.prod(objective.shape))
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 1.0):
        W = scale * rng.normal(size=objective.shape)
        found = smooth_lower_bound(objective, W, objective.value_and_gradient(W))
        assert found.value - found.allowance <= lowest + 1e-9


@pytest.mark.sampled
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(2))
def test_bounds_of_the_hinge(k, intercept, seed):
    objective, *data = problem("hinge", k, seed, intercept)
    of = value_of(objective, *data)
    lowest, there = least(of, np.prod(objective.shape))
    rng = np.random.default_rng(seed)
    for scale in (0.0, 0.1, 1.0):
        W = scale * rng.normal(size=objective.shape)
        W[:, -1] *= intercept
        assert nonsmooth_lower_bound(objective, W, reduced_run).lower_bound <= lowest + 1e-9
    W = there.reshape(objective.shape)
    W[:, -1] *= intercept
    found = nonsmooth_lower_bound(objective, W, reduced_run)
    assert 0.9 * lowest <= found.lower_bound <= lowest + 1e-9  # scipy stops at kinks


def test_exact_sums_agree_with_plain_ones():
    objective, *_ = problem("logistic", 1, 0)
    W = np.random.default_rng(0).normal(size=objective.shape)
    proof = GapTracker(objective, 1e-9, reduced_run)
    exact = proof.given.tangents(W)
    at = objective.value_and_gradient(W)
    plain = smooth_lower_bound(objective, W, at)
    np.testing.assert_allclose(exact.value, at.value, rtol=1e-13)
    np.testing.assert_allclose(exact.gradient, at.gradient, atol=1e-13)
    G = at.gradient[:, :-1] - objective.penalty.gradient(W)[:, :-1]
    along = np.vdot(G, W[:, :-1]) + at.gradient[0, -1] * W[0, -1]
    conjugate = along - (at.value - objective.penalty.value(W))
    assert exact.conjugate == pytest.approx(conjugate, rel=1e-11)
    assert plain.value <= at.value
