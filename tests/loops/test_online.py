"""Online passes against their twin, in every layout and at every instruction-set level."""

from __future__ import annotations

import numpy as np
import pytest
from layouts import LAYOUTS, LOSSES, data, stored

from separatrix import loops
from separatrix.losses import get_loss


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("l2", [0.0, 1e-3, 0.4])
@pytest.mark.parametrize("with_offset", [False, True])
def test_online_pass_equals_its_twin(level, kind, batch, l2, with_offset):
    X, y, rng = data(60, 19)
    offset = 2.0 * rng.standard_normal((60, 1)) if with_offset else None
    rows = stored(X, kind)
    start = rng.standard_normal((1, 20))
    order = rng.permutation(60)[:50]
    weight = rng.integers(1, 4, 60).astype(float)
    steps = 0.5 / np.arange(1, 51)
    for loss in LOSSES:
        runs = []
        for run in (loops.online_pass, loops.online_pass_twin):
            weights = loops.OnlineWeights.start(start, np.zeros((1, 20)))
            log = np.full(50, -1)
            result = run(
                rows, y, loss, weights, steps=steps, weight=weight, weight_scale=0.4,
                order=order, l2=l2, batch=batch, log=log, offset=offset,
            )  # fmt: skip
            weights.fold()
            runs.append((result, weights, log))
        (result, weights, log), (twin, expected, log_twin) = runs
        np.testing.assert_allclose(result, twin, rtol=1e-10)
        np.testing.assert_allclose(weights.weights, expected.weights, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(weights.sum, expected.sum, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(log, log_twin)


@pytest.mark.parametrize("kind", LAYOUTS)
def test_the_perceptron_is_exact_on_integers(level, kind):
    X, y, rng = data(200, 21, integers=True)
    rows = stored(X, kind)
    order = rng.permutation(200)
    runs = []
    for run in (loops.online_pass, loops.online_pass_twin):
        weights = loops.OnlineWeights.start(np.zeros((1, 22)), np.zeros((1, 22)))
        run(rows, y, get_loss("perceptron"), weights, steps=np.array([0.5]), order=order)
        weights.fold()
        runs.append(weights)
    np.testing.assert_array_equal(runs[0].weights, runs[1].weights)
    np.testing.assert_array_equal(runs[0].sum, runs[1].sum)


def test_a_pass_in_pieces_has_the_same_bits():
    X, y, _ = data(80, 9)
    whole = loops.OnlineWeights.start(np.zeros((1, 10)), np.zeros((1, 10)))
    loss, steps = get_loss("hinge"), np.array([0.1])
    loops.online_pass(X, y, loss, whole, steps=steps, l2=0.3)
    pieces = loops.OnlineWeights.start(np.zeros((1, 10)), np.zeros((1, 10)))
    order, position = np.arange(80), 0
    while position < 80:
        position += loops.online_pass(
            X, y, loss, pieces, steps=steps, l2=0.3, order=order[position:], max_updates=1
        ).position
    np.testing.assert_array_equal(whole.v, pieces.v)
    np.testing.assert_array_equal(whole.scalars, pieces.scalars)
    np.testing.assert_array_equal(whole.lag, pieces.lag)


def test_the_average_is_exact_through_many_rescalings():
    X, y, _ = data(40, 3)
    weights = loops.OnlineWeights.start(np.ones((1, 4)), np.zeros((1, 4)))
    w, b, total = np.ones(3), 1.0, np.zeros(4)
    for _ in range(30):
        loops.online_pass(X, y, get_loss("perceptron"), weights, steps=np.array([0.3]), l2=0.5)
        for i in range(40):
            a = w @ X[i] + b
            w = w * 0.7
            if y[i] * a <= 0:
                w, b = w + 0.3 * y[i] * X[i], b + 0.3 * y[i]
            total += np.append(w, b)
    weights.fold()
    np.testing.assert_allclose(weights.weights[0], np.append(w, b), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weights.sum[0], total, rtol=1e-11, atol=1e-11)


def test_a_decay_below_zero_clears_the_weights():
    X, y = np.array([[1.0, 2.0]]), np.array([1.0])
    weights = loops.OnlineWeights.start(np.array([[5.0, 5.0, 1.0]]), None)
    loops.online_pass(X, y, get_loss("perceptron"), weights, steps=np.array([1.0]), l2=3.0)
    np.testing.assert_array_equal(weights.weights, [[0.0, 0.0, 1.0]])
