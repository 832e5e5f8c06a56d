"""Every compiled loop against its twin, in every layout and at every instruction-set level."""

from __future__ import annotations

import platform
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import loops
from separatrix.data.validation import check_rows
from separatrix.losses import get_loss, names
from separatrix.numeric.rows import CsrRows, slice_rows, take_rows, to_dense

JOINT = [get_loss(name).multiclass() for name in names() if name != "zero_one"]
LOSSES = [get_loss(name) for name in names() if name != "zero_one"]
LAYOUTS = ["dense32", "dense64", "csr32", "csr64", "csr64_long"]


def stored(X, name):
    if name == "dense32":
        return X.astype(np.float32)
    if name == "dense64":
        return X
    csr = sp.csr_array(X.astype(np.float32) if name == "csr32" else X)
    if name == "csr64_long":
        csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return CsrRows(csr.data, csr.indices, csr.indptr, X.shape[1])


def data(n, d, seed=0, integers=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)).astype(float)
    if not integers:
        X = (X * rng.standard_normal((n, d))).astype(np.float32).astype(float)
    X[rng.random((n, d)) < 0.3] = 0.0
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return X, y, rng


@pytest.mark.parametrize("d", [1, 2, 15, 16, 17, 33, 100])
@pytest.mark.parametrize("kind", LAYOUTS)
def test_batch_pass_equals_its_twin(level, kind, d):
    X, y, rng = data(300, d)
    rows = stored(X, kind)
    W = rng.standard_normal((1, d + 1))
    weight = rng.integers(0, 3, 300).astype(float)
    for loss in LOSSES:
        for c in (None, weight):
            got, expected = np.zeros_like(W), np.zeros_like(W)
            bend = [np.empty(300), np.empty(300)] if loss.has_curvature else [None, None]
            sums = loops.batch_pass(rows, y, loss, W, weight=c, gradient=got, curvature=bend[0])
            twin = loops.batch_pass_twin(
                rows, y, loss, W, weight=c, gradient=expected, curvature=bend[1]
            )
            np.testing.assert_allclose(sums, twin, rtol=1e-12)
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
            if loss.has_curvature:
                np.testing.assert_allclose(bend[0], bend[1], rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("d", [1, 3, 16, 33, 100, 2500])
@pytest.mark.parametrize("kind", LAYOUTS)
def test_rough_sums_are_right_to_single_precision_and_only_of_dense_floats(level, kind, d):
    X, y, rng = data(300, d)
    rows = stored(X, kind)
    W = rng.standard_normal((1, d + 1)) / d**0.5
    weight = rng.integers(0, 3, 300).astype(float)
    logistic = get_loss("logistic")
    for c in (None, weight):
        got, exact = np.zeros_like(W), np.zeros_like(W)
        bend = [np.empty(300), np.empty(300)]
        loss_sum, _ = loops.batch_pass(
            rows, y, logistic, W, weight=c, gradient=got, curvature=bend[0], float32_sums=True
        )
        wanted, _ = loops.batch_pass(
            rows, y, logistic, W, weight=c, gradient=exact, curvature=bend[1]
        )
        assert loss_sum == pytest.approx(wanted, rel=1e-6)
        np.testing.assert_allclose(got, exact, rtol=0, atol=2e-7 * 300 * np.abs(X).max())
        np.testing.assert_allclose(bend[0], bend[1], rtol=0, atol=1e-5)
        if kind != "dense32":
            np.testing.assert_array_equal(got, exact)
        elif d > 3:
            assert not np.array_equal(got, exact)


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("loss", JOINT, ids=lambda loss: loss.name)
def test_joint_losses_equal_their_twins(level, kind, k, loss):
    X, _, rng = data(300, 17)
    rows = stored(X, kind)
    y = rng.integers(0, k, 300)
    weight = rng.integers(0, 3, 300).astype(float)
    W = rng.standard_normal((k, 18))
    got, expected = np.zeros_like(W), np.zeros_like(W)
    sums = loops.batch_pass(rows, y, loss, W, weight=weight, gradient=got)
    twin = loops.batch_pass_twin(rows, y, loss, W, weight=weight, gradient=expected)
    np.testing.assert_allclose(sums, twin, rtol=1e-12)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-11)
    ends = []
    for run in (loops.online_pass, loops.online_pass_twin):
        weights = loops.OnlineWeights.start(W, np.zeros_like(W))
        log = np.full(300, -1)
        result = run(
            rows, y, loss, weights, steps=np.array([0.01]), weight=weight, weight_scale=0.7,
            order=np.arange(299, -1, -1), l2=0.02, batch=4, log=log,
        )  # fmt: skip
        weights.fold()
        ends.append((result, weights, log))
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=1e-9)
    np.testing.assert_allclose(ends[0][1].weights, ends[1][1].weights, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ends[0][1].sum, ends[1][1].sum, rtol=1e-8, atol=1e-7)
    np.testing.assert_array_equal(ends[0][2], ends[1][2])


@pytest.mark.parametrize("kind", LAYOUTS)
def test_sums_equal_their_twins(level, kind):
    X, _, rng = data(700, 37)
    rows = stored(X, kind)
    W = rng.standard_normal((3, 38))
    np.testing.assert_allclose(loops.scores(rows, W), loops.scores_twin(rows, W), atol=1e-12)
    for loop, twin, args, out in (
        (
            loops.transpose_product,
            loops.transpose_product_twin,
            [rng.standard_normal((700, 3))],
            (3, 38),
        ),
        (
            loops.hessian_product,
            loops.hessian_product_twin,
            [rng.random(700), W[0].copy()],
            (38,),
        ),
    ):
        got, expected = np.zeros(out), np.zeros(out)
        loop(rows, *args, got)
        twin(rows, *args, expected)
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
    for c in (None, rng.integers(0, 2, 700).astype(float)):
        for shift in (None,) if kind.startswith("csr") else (None, rng.standard_normal(37)):
            for group in (None, rng.integers(0, 3, 700)):
                shape = (37,) if group is None else (3, 37)
                got, expected = ([np.zeros(shape), np.zeros(37)] for _ in range(2))
                loops.moments(rows, c, group, shift, *got)
                loops.moments_twin(rows, c, group, shift, *expected)
                for ours, theirs in zip(got, expected, strict=True):
                    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("shape", [(700, 37), (3, 1), (33, 8), (20, 129)])
def test_many_weights_and_products_equal_their_twins(level, kind, shape):
    n, d = shape
    X, y, rng = data(n, d)
    X[:, -1] = 3.0  # a constant
    rows, mean, factor = stored(X, kind), rng.standard_normal(d), rng.random(d + 1)
    for c in (None, rng.integers(0, 2, n).astype(float), np.zeros(n)):
        for m, k in ((1, 1), (20, 1), (3, 4), (9, 3)):
            W = rng.standard_normal((m, k, d + 1))
            labels = y if k == 1 else rng.integers(0, k, n)
            got, expected = np.ones(m), np.ones(m)
            loops.weighted_correct(rows, labels, c, W, got)
            loops.weighted_correct_twin(rows, labels, c, W, expected)
            np.testing.assert_array_equal(got, expected)
        got, expected = (
            each(rows, c, mean, factor[:-1])
            for each in (loops.max_standardised_norm2, loops.max_standardised_norm2_twin)
        )
        assert got == pytest.approx(expected, rel=1e-12)
    for weight in (rng.random(n), rng.standard_normal(n)):
        got, expected = np.ones((d + 1, d + 1)), np.ones((d + 1, d + 1))
        loops.gram(rows, weight, mean, factor, got)
        loops.gram_twin(rows, weight, mean, factor, expected)
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-10)
        np.testing.assert_array_equal(got, got.T)


def test_ties_are_right_for_the_larger_of_two_classes_and_the_first_of_more():
    X, zeros = np.ones((5, 2)), np.zeros((1, 1, 3))
    right = np.zeros(1)
    loops.weighted_correct(X, np.array([-1.0, 1.0, -1.0, 1.0, 1.0]), None, zeros, right)
    assert right == 3.0
    right[:] = 0.0
    loops.weighted_correct(X, np.array([0, 1, 2, 0, 0]), None, np.zeros((1, 3, 3)), right)
    assert right == 3.0
    with pytest.raises(ValueError, match="number of a class"):
        loops.weighted_correct(X, np.array([0, 1, 3, 0, 0]), None, np.zeros((1, 3, 3)), right)
    assert loops.max_standardised_norm2(X, np.zeros(5), np.zeros(2), np.ones(2)) == 0.0
    far = np.array([[0.0, 1.0], [1e300, 0.0], [1.0, 1.0]])
    assert loops.max_standardised_norm2(far, None, np.zeros(2), np.ones(2)) == np.inf


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("l2", [0.0, 1e-3, 0.4])
def test_online_pass_equals_its_twin(level, kind, batch, l2):
    X, y, rng = data(60, 19)
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
                order=order, l2=l2, batch=batch, log=log,
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


def test_levels_agree(rng):
    """All levels with fused multiply-add give the same bits; the baseline rounds otherwise."""
    X, y, _ = data(300, 45)
    W = rng.standard_normal((1, 46))
    results = {}
    before = loops.level()
    for name in loops.levels():
        loops.use_level(name)
        gradient = np.zeros_like(W)
        loops.batch_pass(X, y, get_loss("logistic"), W, gradient=gradient)
        results[name] = gradient
    loops.use_level(before)
    for name, gradient in results.items():
        np.testing.assert_allclose(gradient, results["baseline"], rtol=1e-12, atol=1e-12)
        if name != "baseline":
            np.testing.assert_array_equal(gradient, results["avx2"])


@pytest.mark.parametrize("value", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_rows_are_summed_in_one_fixed_order(level, value, index, rng):
    """By fours, what is left over with the first of each; rows of every length, one of none."""
    lengths, d = rng.permutation(41), 300
    indptr = np.append(0, np.cumsum(lengths)).astype(index)
    indices = np.concatenate([np.sort(rng.choice(d, n, replace=False)) for n in lengths])
    values = (rng.standard_normal(len(indices)) * 10.0 ** rng.integers(-8, 8)).astype(value)
    rows = CsrRows(values, indices.astype(index), indptr, d)
    w = rng.standard_normal(d) * 10.0 ** rng.integers(-8, 8, d)
    fuses = level != "baseline" or platform.machine().lower() not in ("x86_64", "amd64")

    def multiply_add(a, b, c):
        a, b, c = float(a), float(b), float(c)
        return float(Fraction(a) * Fraction(b) + Fraction(c)) if fuses else a * b + c

    expected, changed, times = [], w.copy(), rng.standard_normal(len(lengths))
    for i, n in enumerate(lengths):
        at = slice(indptr[i], indptr[i + 1])
        sums = [0.0, 0.0, 0.0, 0.0]
        for p, (j, x) in enumerate(zip(indices[at], values[at], strict=True)):
            lane = p % 4 if p < n // 4 * 4 else 0
            sums[lane] = multiply_add(x, w[j], sums[lane])
            changed[j] = multiply_add(times[i], x, changed[j])
        expected.append((sums[0] + sums[2]) + (sums[1] + sums[3]))
    out = np.append(w, 0.0)[None]
    np.testing.assert_array_equal(loops.scores(rows, out)[:, 0], expected)
    loops.transpose_product(rows, times[:, None], out)
    np.testing.assert_array_equal(out[0, :-1], changed)


def test_rows_of_every_origin_are_read_without_a_copy():
    X = np.arange(12.0).reshape(4, 3)
    X.flags.writeable = False
    assert np.shares_memory(check_rows(X), X)
    csr = sp.csr_array(np.eye(3, dtype=np.float32))
    rows = check_rows(csr)
    assert np.shares_memory(rows.data, csr.data)
    assert np.shares_memory(rows.indices, csr.indices)
    part = slice_rows(rows, 1, 3)
    assert np.shares_memory(part.indptr, csr.indptr)
    np.testing.assert_array_equal(to_dense(part), np.eye(3)[1:])
    np.testing.assert_array_equal(loops.scores(part, np.array([[1.0, 2, 3, 4]]))[:, 0], [6, 7])


@pytest.mark.parametrize("kind", LAYOUTS)
def test_picked_rows_are_those_rows(kind, rng):
    X, _, _ = data(50, 6)
    rows = stored(X, kind)
    for at in (np.arange(10, 20), np.array([3, 7, 49]), np.array([], dtype=int)):
        np.testing.assert_allclose(to_dense(take_rows(rows, at)), X[at], rtol=1e-7)


@pytest.mark.parametrize("kind", LAYOUTS)
def test_no_rows_and_no_features(kind):
    for n, d in ((0, 3), (3, 0), (3, 3)):
        rows = stored(np.zeros((n, d)), kind)
        gradient = np.zeros((1, d + 1))
        loss, _ = loops.batch_pass(
            rows, np.ones(n), get_loss("hinge"), np.zeros((1, d + 1)), gradient=gradient
        )
        assert loss == n
        assert gradient[0, -1] == -n


def test_a_stop_asked_for_ends_every_loop():
    X, y, _ = data(20_000, 5)
    loops.request_stop()
    try:
        with pytest.raises(loops.Interrupted):
            loops.batch_pass(X, y, get_loss("hinge"), np.zeros((1, 6)))
        with pytest.raises(loops.Interrupted):
            loops.scores(X, np.zeros((1, 6)))
        weights = loops.OnlineWeights.start(np.zeros((1, 6)), None)
        with pytest.raises(loops.Interrupted):
            loops.online_pass(X, y, get_loss("hinge"), weights, steps=np.array([1.0]))
        with pytest.raises(loops.Interrupted):
            loops.online_pass_twin(X, y, get_loss("hinge"), weights, steps=np.array([1.0]))
    finally:
        loops.clear_stop()


def test_what_a_loop_writes_to_is_never_a_copy():
    rows, y = np.ones((4, 2)), np.ones(4)
    sideways = np.zeros((3, 2)).T  # Fortran order: a conversion would take the sums
    with pytest.raises(TypeError):
        loops.transpose_product(rows, np.ones((4, 2)), sideways)
    with pytest.raises(TypeError):
        loops.batch_pass(
            rows, y, get_loss("logistic"), np.zeros((1, 3)), gradient=np.zeros((1, 6))[:, ::2]
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_found_wherever_it_stands(level, dtype, odd):
    largest = np.finfo(dtype).max
    for size in (1, 7, 8, 131, 260):
        values = np.resize([largest, -largest, np.finfo(dtype).tiny, 0.0], size).astype(dtype)
        values.flags.writeable = False
        assert loops.all_finite(values)
        assert loops.all_finite_twin(values)
        for at in range(size):
            spoilt = values.copy()
            spoilt[at] = odd
            assert not loops.all_finite(spoilt)
            assert not loops.all_finite_twin(spoilt)


@pytest.mark.parametrize("store", [np.array, sp.csr_array])
@pytest.mark.parametrize("at", [(0, 0), (40_000, 7), (-1, -1)])
def test_rows_that_are_not_finite_are_refused_whatever_their_number(store, at):
    X = np.ones((70_000, 16))
    check_rows(store(X))
    for odd, said in ((np.nan, "NaN"), (np.inf, "infinity")):
        X[at] = odd
        with pytest.raises(ValueError, match=f"X contains {said}"):
            check_rows(store(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 4, 9, 30])
def test_compensated_scores_are_those_of_fractions(level, rng, d, dtype):
    X = (rng.standard_normal((6, d)) * 10.0 ** rng.uniform(-6, 6, d) + 1e7).astype(dtype)
    X[rng.random(X.shape) < 0.2] = 0.0
    W = rng.standard_normal((2, d + 1)) * 10.0 ** rng.uniform(-3, 3, d + 1)
    W[:, -1] = -(X.astype(float) @ W[:, :-1].T).mean(axis=0)  # what large products leave is small
    for rows in (X, check_rows(sp.csr_array(X))):
        high, low = loops.compensated_scores(rows, W)
        exact = loops.compensated_scores_twin(rows, W)
        np.testing.assert_array_equal(high, exact[0])
        sums = loops.compensated_transpose_product(rows, np.ascontiguousarray(high))
        exact_sums = loops.compensated_transpose_product_twin(rows, np.ascontiguousarray(high))
        np.testing.assert_allclose(sums[0] + sums[1], exact_sums[0], rtol=1e-15)
        np.testing.assert_allclose(low, exact[1], rtol=0, atol=1e-15 * np.abs(W[:, :-1]).max())
