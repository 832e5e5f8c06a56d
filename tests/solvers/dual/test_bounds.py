"""Lower bounds for losses with kinks, against minima."""

from __future__ import annotations

import numpy as np
import pytest
from dual_problems import KINDS, LOSSES, SCALES, climb, problem, rows

from separatrix.solvers.dual.bounds import nonsmooth_lower_bound
from separatrix.training.gap import provable


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_hold_wherever_the_weights_are(loss):
    rng = np.random.default_rng(0)
    for seed in range(12):
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
            assert 0.0 <= nonsmooth_lower_bound(objective, W).lower_bound <= least * (1 + 1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_a_nonsmooth_lower_bound_the_minimum_needs_only_rows_near_a_kink(k, monkeypatch):
    X, y = rows(0, 3000, 4, k)
    objective = problem(X * SCALES[:4], y, l2=1e-4)
    step = climb(objective, 1e-11)
    monkeypatch.setattr("separatrix.solvers.dual.bounds.NEAR_KINK", 300)
    bounds = [nonsmooth_lower_bound(objective, step.weights).lower_bound for _ in range(2)]
    assert bounds[0] == bounds[1]
    assert step.objective * (1 - 1e-9) <= bounds[0] <= step.objective * (1 + 1e-13)
    assert 0.0 <= nonsmooth_lower_bound(objective, 0.0 * step.weights).lower_bound <= step.objective
    slack = nonsmooth_lower_bound(objective, 1.001 * step.weights).lower_bound
    assert step.objective * (1 - 1e-2) <= slack <= step.objective * (1 + 1e-13)


def test_no_bound_is_told_where_none_is_known():
    X, y = rows(0)
    for loss, l2 in (("hinge", 0.0), ("perceptron", 0.1), ("tanh_squared", 0.1)):
        assert not provable(problem(X, y, loss, l2))
    objective = problem(X, y)
    assert provable(objective)
    assert nonsmooth_lower_bound(objective, np.full(objective.shape, np.inf)).lower_bound == 0.0
