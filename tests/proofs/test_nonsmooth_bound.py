"""Lower bounds for losses with kinks, against minima."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dual_problems import KINDS, LOSSES, SCALES, climb, problem, rows

from separatrix import L2, ElasticNet, Stop, minimize
from separatrix.proofs.nonsmooth_bound import nonsmooth_lower_bound
from separatrix.proofs.provable import provable
from separatrix.proofs.smooth_bound import smooth_lower_bound
from separatrix.solvers.dual.proximal_point import reduced_run
from separatrix.solvers.newton import Newton


@pytest.mark.sampled(1)
@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_hold_wherever_the_weights_are(loss):
    rng = np.random.default_rng(0)
    for seed in range(8):
        k = 3 if loss == "hinge" and seed % 2 else 2
        X, y = rows(seed, 40, 3, k, noise=rng.uniform(0, 5))
        X = X * 10.0 ** rng.uniform(-2, 2, 3) + rng.uniform(-3, 3)
        weight = None if seed % 3 else 10.0 ** rng.uniform(-2, 2, 40)
        l2 = 10.0 ** rng.uniform(-6, 0)
        objective = problem(X, y, loss, l2, weight, bool(seed % 4), KINDS[seed % 4])
        least = climb(objective).objective
        for size in (0.0, 0.1, 10.0):
            W = size * rng.standard_normal(objective.shape)
            if not objective.intercept:
                W[:, -1] = 0.0
            assert (
                0.0
                <= nonsmooth_lower_bound(objective, W, reduced_run).lower_bound
                <= least * (1 + 1e-12)
            )


@pytest.mark.parametrize("k", [2, 3])
def test_a_nonsmooth_lower_bound_the_minimum_needs_only_rows_near_a_kink(k, monkeypatch):
    X, y = rows(0, 3000, 4, k)
    objective = problem(X * SCALES[:4], y, l2=1e-4)
    step = climb(objective, 1e-11)
    monkeypatch.setattr("separatrix.proofs.nonsmooth_bound.NEAR_KINK", 300)
    bounds = [
        nonsmooth_lower_bound(objective, step.weights, reduced_run).lower_bound for _ in range(2)
    ]
    assert bounds[0] == bounds[1]
    assert step.objective * (1 - 1e-9) <= bounds[0] <= step.objective * (1 + 1e-13)
    assert (
        0.0
        <= nonsmooth_lower_bound(objective, 0.0 * step.weights, reduced_run).lower_bound
        <= step.objective
    )
    slack = nonsmooth_lower_bound(objective, 1.001 * step.weights, reduced_run).lower_bound
    assert step.objective * (1 - 1e-2) <= slack <= step.objective * (1 + 1e-13)


def test_no_bound_is_reported_where_none_is_known():
    X, y = rows(0)
    for loss, l2 in (("hinge", 0.0), ("perceptron", 0.1), ("tanh_squared", 0.1)):
        assert not provable(problem(X, y, loss, l2))
    objective = problem(X, y)
    assert provable(objective)
    assert (
        nonsmooth_lower_bound(objective, np.full(objective.shape, np.inf), reduced_run).lower_bound
        == 0.0
    )


def entropy(q):
    """-sum of q log q over the last axis."""
    return -np.sum(np.where(q > 0.0, q * np.log(np.where(q > 0.0, q, 1.0)), 0.0), axis=-1)


def softmax_mixture(X, y, P, share):
    """Conjugate of probabilities with a share of q, the same for all rows, and its gradient."""
    own = np.eye(P.shape[1])[y]
    lack, counts = (P - own).mean(axis=0), own.mean(axis=0)
    q = np.maximum(counts - (1.0 - share) / share * lack, 0.0)
    slopes = (1.0 - share) * P + share * q - own
    return -(1.0 - share) * entropy(P).mean() - share * entropy(q), slopes.T @ X / len(X)


def logistic_mixture(X, y, alpha, share):
    """The same of alphas of two classes, with a share of the one that balances their sums."""
    over = np.mean(alpha * y)
    light = y == -np.sign(over)
    a = min(1.0, (1.0 - share) / share * abs(over) / light.mean())
    conjugates = [-entropy(np.stack([each, 1.0 - each], -1)) for each in (alpha, np.array(a))]
    slopes = -y * ((1.0 - share) * alpha + share * a * light)
    mean = (1.0 - share) * conjugates[0].mean() + share * light.mean() * conjugates[1]
    return mean, slopes[None] @ X / len(X)


@pytest.mark.parametrize("off", [1e-9, 1e-3, 0.05])
@pytest.mark.parametrize("k", [2, 3])
def test_of_ten_mixtures_that_balance_the_bound_is_that_of_the_best(k, off):
    X, y = rows(1, 50, 3, k)
    objective = problem(X, y, "logistic", 1e-2)
    least = minimize(objective, Newton(), stop=Stop(tol=1e-12))
    W = least.weights + off * np.arange(1.0, 5.0) * np.arange(1.0, len(least.weights) + 1)[:, None]
    scores = X @ W[:, :-1].T + W[:, -1]
    if k == 2:
        mixture, tangents = logistic_mixture, 1.0 / (1.0 + np.exp(y * scores[:, 0]))
        over = np.mean(tangents * y)
        first = abs(over) / (np.mean(y == -np.sign(over)) + abs(over))
    else:
        mixture, tangents = softmax_mixture, np.exp(scores)
        tangents /= tangents.sum(axis=1, keepdims=True)
        lack, counts = (tangents - np.eye(k)[y]).mean(axis=0), np.bincount(y) / len(y)
        first = np.max(np.maximum(lack, 0.0) / (counts + np.abs(lack)))
    found = []
    for share in first * 2.0 ** np.arange(10):
        if share < 1.0:
            conjugate, gradient = mixture(X, y, tangents, share)
            found.append(-conjugate - np.sum(gradient**2) / (4.0 * objective.penalty.l2))
    bound = smooth_lower_bound(objective, W, objective.value_and_gradient(W))
    assert bound.value == pytest.approx(max(*found, 0.0), rel=1e-11)
    assert 0.0 < bound.value - bound.allowance <= least.objective * (1 + 1e-12)


@pytest.mark.parametrize("kind", ["logistic", "squared_hinge", "squared"])
@pytest.mark.parametrize("penalty", [L2(1e4), ElasticNet(1e-3, 1e4)])
def test_bounds_hold_where_the_penalty_dwarfs_the_loss(penalty, kind):
    """J and its gradient are rounded in units of the penalty, which a bound subtracts again."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        X, y = rows(seed, 12, 2)
        X[:, 0] = 1e-8 * rng.integers(-1, 2, 12) + 3e8 * (seed % 2)
        whole = replace(problem(X, y, kind, 1e4), penalty=penalty)
        for size in (1e5, 1e7, 1e9):
            W = size * rng.standard_normal(whole.shape) * [1.0, 1e-8, 1e-8]
            found = smooth_lower_bound(whole, W, whole.value_and_gradient(W))
            assert found.value - found.allowance <= whole.value_at_zeros
