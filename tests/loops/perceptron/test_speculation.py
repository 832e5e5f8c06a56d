"""Weights that follow later, on one thread or two: the bits of a row after the other."""

from __future__ import annotations

import os

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import LinearClassifier, loops
from separatrix.losses import PerceptronLoss
from separatrix.rows import CsrRows
from separatrix.solvers import Rosenblatt

SWITCHES = 96  # visits after which a pass has seen many mistakes, and begins to run ahead


def noise(n, d, seed, dtype="float32"):
    """Labels of chance: half of the rows are mistaken."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)).astype(dtype), rng.choice([-1.0, 1.0], n)


def run(X, y, order, *, at_once, threads=1, start=None, average=True, remembers=True, **options):
    """One pass in calls of so many visits: alone, a row cannot run ahead."""
    W = np.zeros((1, X.shape[1] + 1)) if start is None else start
    weights = loops.OnlineWeights.start(W, np.zeros(W.shape) if average else None)
    memory = loops.screening_state(X, 1) if remembers else None
    steps = options.pop("steps", np.ones(1))
    told, log, logs = np.zeros(4), np.empty(at_once, dtype=np.int64), []
    for first in range(0, len(order), at_once):
        some = order[first : first + at_once]
        own = steps if len(steps) == 1 else steps[first : first + at_once]
        result = loops.online_pass(
            X, y, PerceptronLoss(), weights, steps=own, order=some, log=log, screening=memory,
            threads=threads, **options,
        )  # fmt: skip
        told += result
        logs.append(log[: result.updates].copy())
    return weights, told, np.concatenate(logs)


def assert_follows(X, y, order, **options):
    """The weights, the sum, the count and the log are those of a row after the other."""
    plain, told, log = run(X, y, order, at_once=1, **options)
    assert len(log) > len(order) // 16  # otherwise nothing runs ahead
    for threads in (1, 2):
        ahead, heard, found = run(X, y, order, at_once=len(order), threads=threads, **options)
        np.testing.assert_array_equal(ahead.v, plain.v)
        np.testing.assert_array_equal(found, log)
        np.testing.assert_array_equal(heard[1:], told[1:])
        np.testing.assert_allclose(heard[0], told[0], rtol=1e-12)  # summed call by call there
        if plain.sum is not None:
            np.testing.assert_array_equal(ahead.sum, plain.sum)
            np.testing.assert_array_equal(ahead.lag, plain.lag)
        np.testing.assert_array_equal(ahead.scalars, plain.scalars)


@pytest.mark.parametrize("d", [1, 2, 7, 16, 33, 100, 301])
@pytest.mark.parametrize("average", [False, True])
def test_the_bits_are_those_of_a_row_after_the_other(d, average):
    X, y = noise(700, d, d)
    order = np.random.default_rng(d).permutation(np.repeat(np.arange(700), 3))
    assert_follows(X, y, order, average=average, remembers=average)


@pytest.mark.parametrize("scale", [1e-42, 1e-30, 1e-8, 1e8, 1e18, 1e37])
def test_tiny_and_huge_rows(scale):
    X, y = noise(500, 20, 1)
    X = (X.astype(np.float64) * scale).astype(np.float32)
    start = np.random.default_rng(2).standard_normal((1, 21)) * scale
    for at in (start, np.zeros_like(start), 1e9 * start):
        assert_follows(X, y, np.tile(np.arange(500), 2), start=at)


def test_weights_steps_and_no_bias():
    X, y = noise(600, 12, 3)
    rng = np.random.default_rng(3)
    order, weight = rng.permutation(1200) % 600, rng.choice([0.0, 0.25, 1.0, 1e6], 600)
    assert_follows(X, y, order, weight=weight, weight_scale=0.3)
    assert_follows(X, y, order, steps=1.0 / np.arange(1, 1201), intercept=False)


def test_steps_that_a_float_cannot_hold_are_mistakes_all_the_same():
    X, y = noise(800, 12, 12)
    start = np.random.default_rng(12).standard_normal((1, 13))
    for small in (0.0, 1e-320, 1e-42):
        steps = np.where(np.arange(800) % 3, 1.0, small)
        assert_follows(X, y, np.arange(800), steps=steps, start=start)
    assert_follows(X, y, np.arange(800), steps=np.zeros(1), start=start)


def test_rows_of_very_different_lengths():
    X, y = noise(800, 9, 4)
    X *= 10.0 ** np.random.default_rng(4).uniform(-6, 6, (800, 1)).astype(np.float32)
    assert_follows(X, y, np.arange(800))


def test_additions_that_the_copy_does_not_see():
    """A step is lost beside weights of 2**24 in float: after many the copy is far off."""
    X, _ = noise(20_000, 3, 10)
    X[:, :2], y = 1.0, np.ones(20_000)
    for big in (2.0**24, -(2.0**24)):
        start = np.array([[big, -big, 1e6, 0.0]])
        order, steps = np.arange(20_000), np.array([0.3])
        assert_follows(X, y, order, start=start, steps=steps, intercept=False, average=False)


def test_margins_within_the_rounding_of_floats():
    rng = np.random.default_rng(11)
    w = rng.standard_normal(50)
    X = rng.standard_normal((3000, 50))
    X -= np.outer(X @ w / (w @ w), w) * (1 - 1e-6 * rng.standard_normal((3000, 1)))
    y = rng.choice([-1.0, 1.0], 3000)
    start = np.append(w, 0.0)[None]
    assert_follows(X.astype(np.float32), y, np.arange(3000), start=start, steps=np.array([1e-9]))


def test_ties_and_repeated_rows():
    """Of whole numbers all sums are exact, and often 0: NumPy tells the truth."""
    rng = np.random.default_rng(5)
    X = rng.integers(-2, 3, (300, 4)).astype(np.float32)
    X[150:] = X[:150]
    y, order = rng.choice([-1.0, 1.0], 300), rng.permutation(3000) % 300
    assert_follows(X, y, order)
    w, log = np.zeros(5), []
    for i in order:
        x = np.append(X[i].astype(np.float64), 1.0)
        if y[i] * (w @ x) <= 0:
            w += y[i] * x
            log.append(i)
    weights, _, found = run(X, y, order, at_once=len(order), threads=2)
    np.testing.assert_array_equal(weights.v[0], w)
    np.testing.assert_array_equal(found, log)


@pytest.mark.parametrize("count", [SWITCHES - 1, SWITCHES, SWITCHES + 1, 200, 331])
def test_orders_of_any_length_and_rows_as_they_lie(count):
    X, y = noise(count, 30, count)
    assert_follows(X, y, np.arange(count))
    weights = [loops.OnlineWeights.start(np.zeros((1, 31)), None) for _ in range(2)]
    for each, order in zip(weights, (None, np.arange(count)), strict=True):
        loops.online_pass(
            X, y, PerceptronLoss(), each, steps=np.ones(1), order=order, threads=2
        )  # fmt: skip
    np.testing.assert_array_equal(weights[0].v, weights[1].v)


@pytest.mark.parametrize("most", [1, 31, 33, 100])
def test_a_pass_in_pieces_of_so_many_updates(most):
    X, y = noise(900, 25, 6)
    whole = loops.OnlineWeights.start(np.zeros((1, 26)), None)
    loops.online_pass(X, y, PerceptronLoss(), whole, steps=np.ones(1), threads=2)
    pieces, position = loops.OnlineWeights.start(np.zeros((1, 26)), None), 0
    while position < 900:
        result = loops.online_pass(
            X, y, PerceptronLoss(), pieces, steps=np.ones(1), order=np.arange(position, 900),
            max_updates=most, threads=2,
        )  # fmt: skip
        assert result.updates <= most
        position += result.position
    np.testing.assert_array_equal(pieces.v, whole.v)


@pytest.mark.parametrize("kind", ["float64", "csr", "csr32", "three classes"])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200, 5000])
def test_rows_touched_by_another_thread_are_no_others(kind, n):
    X, y = noise(n, 30, n, "float64")
    rows, loss, labels = X, PerceptronLoss(), y
    if kind.startswith("csr"):
        S = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0.0)[:, ::-1])
        value, index = (np.float32, np.int64) if kind == "csr32" else (np.float64, np.int32)
        arrays = S.data.astype(value), S.indices.astype(index), S.indptr.astype(index)
        rows = CsrRows(*arrays, 30)
    if kind == "three classes":
        loss, labels = loss.multiclass(), np.arange(n) % 3
    order = np.random.default_rng(n).permutation(n)
    ends = []
    for threads in (1, 2):
        k = 3 if kind == "three classes" else 1
        weights = loops.OnlineWeights.start(np.zeros((k, 31)), np.zeros((k, 31)))
        told = loops.online_pass(
            rows, labels, loss, weights, steps=np.ones(1), order=order, threads=threads
        )
        ends.append((told, weights.v.tobytes(), weights.sum.tobytes()))
    assert ends[0] == ends[1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_jobs_do_not_change_a_fit():
    X, y = noise(40_000, 40, 7)
    y[X[:, 0] > 1] = 1
    options = {"loss": "perceptron", "solver": Rosenblatt(average=True), "max_iter": 3}
    fits = [
        LinearClassifier(**options, l2=0.0, n_jobs=jobs, random_state=0).fit(X, y)
        for jobs in (1, 2, None)
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)
        for rows, expected in zip(fit.trace_.rows, fits[0].trace_.rows, strict=True):
            np.testing.assert_array_equal(rows, expected)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads as Linux has them")
def test_no_thread_is_left_behind():
    X, y = noise(20_000, 40, 9)
    weights = loops.OnlineWeights.start(np.zeros((1, 41)), None)
    before = len(os.listdir("/proc/self/task"))
    loops.online_pass(X, y, PerceptronLoss(), weights, steps=np.ones(1), threads=2)
    assert len(os.listdir("/proc/self/task")) == before


def test_a_stop_is_heard_while_weights_follow():
    X, y = noise(200_000, 10, 8)
    weights = loops.OnlineWeights.start(np.zeros((1, 11)), None)
    loops.request_stop()
    try:
        with pytest.raises(loops.Interrupted):
            loops.online_pass(X, y, PerceptronLoss(), weights, steps=np.ones(1), threads=2)
    finally:
        loops.clear_stop()
    assert np.isfinite(weights.v).all()
