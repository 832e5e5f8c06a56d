"""One pass of the perceptron over many rows: the bits of a row after the other."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import loops
from separatrix.losses import PerceptronLoss


def noise(n, d, seed, dtype="float32"):
    """Labels of chance: half of the rows are mistaken."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)).astype(dtype), rng.choice([-1.0, 1.0], n)


def run(X, y, order, *, at_once, start=None, average=True, remembers=True, **options):
    """One pass in calls of some visits each."""
    W = np.zeros((1, X.shape[1] + 1)) if start is None else start
    weights = loops.OnlineWeights.start(W, np.zeros(W.shape) if average else None)
    memory = loops.screening_state(X, 1) if remembers else None
    steps = options.pop("steps", np.ones(1))
    reported, log, logs = np.zeros(4), np.empty(at_once, dtype=np.int64), []
    for first in range(0, len(order), at_once):
        some = order[first : first + at_once]
        own = steps if len(steps) == 1 else steps[first : first + at_once]
        result = loops.online_pass(
            X, y, PerceptronLoss(), weights, steps=own, order=some, log=log, screening=memory,
            **options,
        )  # fmt: skip
        reported += result
        logs.append(log[: result.updates].copy())
    return weights, reported, np.concatenate(logs)


def assert_same_bits(X, y, order, **options):
    """The weights, the sum, the count and the log are those of a row after the other."""
    plain, reported, log = run(X, y, order, at_once=1, **options)
    assert len(log) > len(order) // 16
    whole, heard, found = run(X, y, order, at_once=len(order), **options)
    np.testing.assert_array_equal(whole.v, plain.v)
    np.testing.assert_array_equal(found, log)
    np.testing.assert_array_equal(heard[1:], reported[1:])
    np.testing.assert_allclose(heard[0], reported[0], rtol=1e-12)  # summed call by call there
    if plain.sum is not None:
        np.testing.assert_array_equal(whole.sum, plain.sum)
        np.testing.assert_array_equal(whole.lag, plain.lag)
    np.testing.assert_array_equal(whole.scalars, plain.scalars)


@pytest.mark.sampled
@pytest.mark.parametrize("d", [1, 2, 7, 16, 33, 100, 301])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_bits_are_those_of_a_row_after_the_other(d, average, dtype):
    X, y = noise(700, d, d, dtype)
    order = np.random.default_rng(d).permutation(np.repeat(np.arange(700), 3))
    assert_same_bits(X, y, order, average=average, remembers=average)


@pytest.mark.parametrize("scale", [1e-42, 1e-30, 1e-8, 1e8, 1e18, 1e37])
def test_tiny_and_huge_rows(scale):
    X, y = noise(500, 20, 1)
    X = (X.astype(np.float64) * scale).astype(np.float32)
    start = np.random.default_rng(2).standard_normal((1, 21)) * scale
    for at in (start, np.zeros_like(start), 1e9 * start):
        assert_same_bits(X, y, np.tile(np.arange(500), 2), start=at)


def test_weights_steps_and_no_bias():
    X, y = noise(600, 12, 3)
    rng = np.random.default_rng(3)
    order, weight = rng.permutation(1200) % 600, rng.choice([0.0, 0.25, 1.0, 1e6], 600)
    assert_same_bits(X, y, order, weight=weight, weight_scale=0.3)
    assert_same_bits(X, y, order, steps=1.0 / np.arange(1, 1201), intercept=False)


def test_steps_that_a_float_cannot_hold_are_mistakes_all_the_same():
    X, y = noise(800, 12, 12)
    start = np.random.default_rng(12).standard_normal((1, 13))
    for small in (0.0, 1e-320, 1e-42):
        steps = np.where(np.arange(800) % 3, 1.0, small)
        assert_same_bits(X, y, np.arange(800), steps=steps, start=start)
    assert_same_bits(X, y, np.arange(800), steps=np.zeros(1), start=start)


def test_rows_of_very_different_lengths():
    X, y = noise(800, 9, 4)
    X *= 10.0 ** np.random.default_rng(4).uniform(-6, 6, (800, 1)).astype(np.float32)
    assert_same_bits(X, y, np.arange(800))


def test_margins_within_the_rounding_of_floats():
    rng = np.random.default_rng(11)
    w = rng.standard_normal(50)
    X = rng.standard_normal((3000, 50))
    X -= np.outer(X @ w / (w @ w), w) * (1 - 1e-6 * rng.standard_normal((3000, 1)))
    y = rng.choice([-1.0, 1.0], 3000)
    start = np.append(w, 0.0)[None]
    assert_same_bits(X.astype(np.float32), y, np.arange(3000), start=start, steps=np.array([1e-9]))


def test_ties_and_repeated_rows():
    """Of whole numbers all sums are exact, and often 0: NumPy's are right."""
    rng = np.random.default_rng(5)
    X = rng.integers(-2, 3, (300, 4)).astype(np.float32)
    X[150:] = X[:150]
    y, order = rng.choice([-1.0, 1.0], 300), rng.permutation(3000) % 300
    assert_same_bits(X, y, order)
    w, log = np.zeros(5), []
    for i in order:
        x = np.append(X[i].astype(np.float64), 1.0)
        if y[i] * (w @ x) <= 0:
            w += y[i] * x
            log.append(i)
    weights, _, found = run(X, y, order, at_once=len(order))
    np.testing.assert_array_equal(weights.v[0], w)
    np.testing.assert_array_equal(found, log)


@pytest.mark.parametrize("count", [63, 64, 65, 200, 331])
def test_orders_of_any_length_and_rows_as_they_lie(count):
    X, y = noise(count, 30, count)
    assert_same_bits(X, y, np.arange(count))
    weights = [loops.OnlineWeights.start(np.zeros((1, 31)), None) for _ in range(2)]
    for each, order in zip(weights, (None, np.arange(count)), strict=True):
        loops.online_pass(
            X, y, PerceptronLoss(), each, steps=np.ones(1), order=order
        )  # fmt: skip
    np.testing.assert_array_equal(weights[0].v, weights[1].v)


@pytest.mark.parametrize("most", [1, 31, 33, 100])
def test_a_pass_in_pieces_of_some_updates(most):
    X, y = noise(900, 25, 6)
    whole = loops.OnlineWeights.start(np.zeros((1, 26)), None)
    loops.online_pass(X, y, PerceptronLoss(), whole, steps=np.ones(1))
    pieces, position = loops.OnlineWeights.start(np.zeros((1, 26)), None), 0
    while position < 900:
        result = loops.online_pass(
            X, y, PerceptronLoss(), pieces, steps=np.ones(1), order=np.arange(position, 900),
            max_updates=most,
        )  # fmt: skip
        assert result.updates <= most
        position += result.position
    np.testing.assert_array_equal(pieces.v, whole.v)


def test_a_stop_ends_a_pass():
    X, y = noise(200_000, 10, 8)
    weights = loops.OnlineWeights.start(np.zeros((1, 11)), None)
    loops.request_stop()
    try:
        with pytest.raises(loops.Interrupted):
            loops.online_pass(X, y, PerceptronLoss(), weights, steps=np.ones(1))
    finally:
        loops.clear_stop()
    assert np.isfinite(weights.v).all()
