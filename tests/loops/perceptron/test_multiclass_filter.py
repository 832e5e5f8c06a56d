"""Margins of many classes in float change no bit of a run: whole passes against row by row.

A call for one row has no time to make up its mind about rows, and takes the plain sums.
"""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import loops
from separatrix.losses import PerceptronLoss

LOSS = PerceptronLoss().multiclass()


def problem(n, d, k, seed, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal((d, k))).argmax(axis=1)
    return X, np.where(rng.random(n) < noise, rng.integers(0, k, n), y)


def run(X, y, W, orders, at_once, weight=None, step=1.0):
    weights = loops.OnlineWeights.start(W, np.zeros(W.shape))
    visited = []
    log = np.empty(len(y) + 1, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for order in orders:
            for start in range(0, len(order), at_once):
                result = loops.online_pass(
                    X, y, LOSS, weights, steps=np.array([step]), weight=weight,
                    order=order[start : start + at_once], log=log,
                )  # fmt: skip
                visited += log[: result.updates].tolist()
    return weights, visited


def assert_same(X, y, k, start=None, passes=4, **options):
    y = y.astype(np.int64)
    W = np.zeros((k, X.shape[1] + 1)) if start is None else start
    orders = [np.random.default_rng(i).permutation(len(y)) for i in range(passes)]
    plain, expected = run(X, y, W, orders, 1, **options)
    rough, visited = run(X, y, W, orders, len(y), **options)
    assert visited == expected
    for name in ("v", "sum", "lag", "scalars"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(rough, name))


@pytest.mark.sampled
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("k", [3, 4, 6, 8, 10, 15])
@pytest.mark.parametrize("d", [1, 7, 16, 33, 64])
def test_the_bits_are_those_of_the_plain_sums(kind, k, d):
    for noise in (0.0, 0.3):
        X, y = problem(700, d, k, k + d, noise)
        assert_same(X.astype(kind), y, k)


def test_ties_and_margins_of_one_rounding():
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (600, 3)).astype(float)
    y = (X @ rng.integers(-2, 3, (3, 4))).argmax(axis=1)
    assert_same(X, y, 4)
    near = X * (1.0 + 2.0**-52 * rng.integers(-2, 3, X.shape))
    assert_same(near, y, 4, start=rng.integers(-2, 3, (4, 4)).astype(float))


@pytest.mark.sampled
@pytest.mark.parametrize("gap", [1e-5, 1e-6, 1e-7, 1e-8, 1e-12])
@pytest.mark.parametrize("d", [5, 40])
def test_classes_that_floats_cannot_tell_apart(gap, d):
    rng = np.random.default_rng(d)
    X, _ = problem(2000, d, 5, 1)
    W = rng.standard_normal((1, d + 1)) + gap * rng.standard_normal((5, d + 1))
    scores = X @ W[:, :-1].T + W[:, -1]
    y = np.where(rng.random(2000) < 0.2, rng.integers(0, 5, 2000), scores.argmax(axis=1))
    for kind in (np.float32, np.float64):
        assert_same(X.astype(kind), y, 5, start=W, step=1e-3 * gap)


@pytest.mark.parametrize("scale", [1e-200, 1e-44, 1e-38, 1e-20, 1e18, 1e25, 1e38, 1e150])
def test_scales_at_the_edge_of_floats(scale):
    X, y = problem(500, 9, 4, 0)
    assert_same(scale * X, y, 4)
    assert_same(X, y, 4, start=np.full((4, 10), scale))
    one = X.copy()
    one[::50] *= scale
    assert_same(one, y, 4)
    assert_same(X * np.append(scale, np.ones(8)), y, 4)


def test_weights_that_are_not_numbers_make_every_row_a_mistake():
    X, y = problem(300, 5, 3, 0)
    for bad in (np.nan, np.inf, -np.inf, 1e308):
        start = np.random.default_rng(0).standard_normal((3, 6))
        start[1, 2] = bad
        assert_same(X, y, 3, start=start, passes=1)


def test_rows_without_weight():
    X, y = problem(700, 12, 5, 3, 0.1)
    assert_same(X, y, 5, weight=np.random.default_rng(0).choice([0.0, 0.5, 2.0], 700))
