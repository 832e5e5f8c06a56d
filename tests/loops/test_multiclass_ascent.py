"""The compiled epoch of dual coordinate ascent for many classes, against its twin and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from layouts import LAYOUTS, data, stored
from loops import twins
from scipy.optimize import minimize

from separatrix import loops


def start(y, k, d):
    alpha = np.zeros((len(y), k))
    alpha[np.arange(len(y)), y] = 1.0
    return alpha, np.zeros((d + 1, loops.line_width(k)))


@pytest.mark.parametrize("level", loops.levels())
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("k", [3, 8, 9, 33])
@pytest.mark.parametrize("with_offset", [False, True])
def test_the_compiled_pass_equals_its_twin(level, layout, k, with_offset):
    X, _, rng = data(60, 11)
    X[5] = 0.0
    y, weight = rng.integers(0, k, 60), rng.uniform(0, 2, 60)
    given = {
        "inv_weight_sum": 1 / weight.sum(), "row_norm2": np.sum(X**2, axis=1), "inv_2l2": 20.0,
        "bias_inv_penalty": 15.0 * (k % 2), "weight": weight, "shrink_margin": 0.3,
        "offset": rng.standard_normal((60, k)) if with_offset else None,
    }  # fmt: skip
    rows, now, ends = stored(X, layout), loops.level(), []
    loops.use_level(level)
    try:
        for one_pass in (loops.multiclass_epoch, twins.multiclass_epoch):
            alpha, lines = start(y, k, 11)
            order, results = np.random.default_rng(3).permutation(60), []
            for _ in range(4):
                results.append(one_pass(rows, y, alpha, lines, order, **given))
                order = order[: results[-1].n_active]
            ends.append((alpha, lines, order, results))
    finally:
        loops.use_level(now)
    for compiled, twin in zip(*ends, strict=True):
        np.testing.assert_allclose(compiled, twin, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ends[0][0].sum(axis=1), 1.0, atol=1e-12)
    assert ends[0][0].min() >= 0.0
    assert np.all(ends[0][1][:, k:] == 0.0)


@pytest.mark.parametrize("seed", range(6))
def test_the_alphas_of_a_row_are_the_best_while_others_stay(seed):
    """One row against a general optimiser of the dual over its alphas."""
    rng, k = np.random.default_rng(seed), 4
    x, y, inv_2l2 = rng.standard_normal(3), np.array([1]), 10.0 ** rng.uniform(-1, 1)
    W = rng.standard_normal((k, 3))
    alpha, lines = start(y, k, 3)
    lines[:3, :k] = W.T
    loops.multiclass_epoch(
        x[None], y, alpha, lines, np.arange(1), inv_weight_sum=1.0,
        row_norm2=np.array([x @ x]), inv_2l2=inv_2l2,
    )  # fmt: skip
    before = start(y, k, 3)[0][0]

    def loss_of_dual(a):
        moved = W + inv_2l2 * np.outer(before - a, x)
        gain = a.sum() - a[1]
        return np.sum(moved**2) / (2.0 * inv_2l2) - gain

    found = minimize(
        loss_of_dual, before, bounds=[(0.0, None)] * k, method="SLSQP", tol=1e-14,
        constraints=[{"type": "eq", "fun": lambda a: a.sum() - 1.0}],
    )  # fmt: skip
    np.testing.assert_allclose(alpha[0], found.x, atol=1e-5)
    assert loss_of_dual(alpha[0]) <= found.fun + 1e-10
    np.testing.assert_allclose(
        lines[:3, :k].T, W + inv_2l2 * np.outer(before - alpha[0], x), atol=1e-12
    )


def test_a_row_of_zeros_without_a_bias_gives_all_to_the_largest_entry():
    alpha, lines = start(np.array([2]), 3, 2)
    results = loops.multiclass_epoch(
        np.zeros((1, 2)), np.array([2]), alpha, lines, np.arange(1), inv_weight_sum=1.0,
        row_norm2=np.zeros(1), inv_2l2=1.0,
    )  # fmt: skip
    np.testing.assert_array_equal(alpha, [[1.0, 0.0, 0.0]])  # the rivals' entries are 1
    assert results == (1, 1.0, 1.0)
    assert not lines.any()


def test_what_does_not_fit_is_refused():
    alpha, lines = start(np.array([2, 0]), 3, 2)
    given = {"inv_weight_sum": 1.0, "row_norm2": np.ones(2), "inv_2l2": 1.0}
    X, y = np.ones((2, 2)), np.array([2, 0])
    with pytest.raises(ValueError, match="order: expected numbers from 0 to 1"):
        loops.multiclass_epoch(X, y, alpha, lines, np.array([2]), **given)
    wrong = np.zeros((3, 3))
    with pytest.raises(ValueError, match="lines: expected a multiple of 8"):
        loops.multiclass_epoch(X, y, alpha, wrong, np.arange(2), **given)
    with pytest.raises(ValueError, match="alpha: expected shape"):
        loops.multiclass_epoch(X, y, alpha[:1], lines, np.arange(2), **given)
