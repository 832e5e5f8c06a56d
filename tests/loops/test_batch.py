"""Sums over all rows against their twins, in every layout and at every instruction-set level."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import level_in_use
from layouts import LAYOUTS, LOSSES, data, stored
from loops import twins

from separatrix import loops
from separatrix.data.validation import check_rows
from separatrix.losses import MultiLabel, get_loss, names
from separatrix.rows import rows_of

JOINT = [get_loss(name).multiclass() for name in names() if name != "zero_one"]


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
            curvature = [np.empty(300), np.empty(300)] if loss.has_curvature else [None, None]
            sums = loops.batch_pass(
                rows, y, loss, W, weight=c, gradient=got, curvature=curvature[0]
            )
            twin = twins.batch_pass(
                rows, y, loss, W, weight=c, gradient=expected, curvature=curvature[1]
            )
            np.testing.assert_allclose(sums, twin, rtol=1e-12)
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
            if loss.has_curvature:
                np.testing.assert_allclose(curvature[0], curvature[1], rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("d", [1, 3, 16, 33, 100, 2500])
@pytest.mark.parametrize("kind", LAYOUTS)
def test_float32_sums_are_right_to_single_precision_and_only_of_dense_floats(level, kind, d):
    X, y, rng = data(300, d)
    rows = stored(X, kind)
    W = rng.standard_normal((1, d + 1)) / d**0.5
    weight = rng.integers(0, 3, 300).astype(float)
    logistic = get_loss("logistic")
    for c in (None, weight):
        got, exact = np.zeros_like(W), np.zeros_like(W)
        curvature = [np.empty(300), np.empty(300)]
        loss_sum, _ = loops.batch_pass(
            rows, y, logistic, W, weight=c, gradient=got, curvature=curvature[0], float32_sums=True
        )
        wanted, _ = loops.batch_pass(
            rows, y, logistic, W, weight=c, gradient=exact, curvature=curvature[1]
        )
        assert loss_sum == pytest.approx(wanted, rel=1e-6)
        np.testing.assert_allclose(got, exact, rtol=0, atol=2e-7 * 300 * np.abs(X).max())
        np.testing.assert_allclose(curvature[0], curvature[1], rtol=0, atol=1e-5)
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
    twin = twins.batch_pass(rows, y, loss, W, weight=weight, gradient=expected)
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


OF_LABELS = [MultiLabel(loss) for loss in LOSSES]


def labels_of(rng, n, k):
    return np.where(rng.random((n, k)) < 0.3, 1, -1).astype(np.int8)


# With 300 labels a row fills more than a tile of margins.
@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("k", [2, 3, 8, 50, 300])
@pytest.mark.parametrize("loss", OF_LABELS, ids=lambda loss: loss.name)
def test_sums_over_labels_equal_their_twins(level, kind, k, loss):
    X, _, rng = data(90, 17)
    rows, y = stored(X, kind), labels_of(rng, 90, k)
    weight = rng.integers(0, 3, 90).astype(float)
    W = rng.standard_normal((k, 18))
    got, expected = np.zeros_like(W), np.zeros_like(W)
    sums = loops.batch_pass(rows, y, loss, W, weight=weight, gradient=got)
    twin = twins.batch_pass(rows, y, loss, W, weight=weight, gradient=expected)
    np.testing.assert_allclose(sums, twin, rtol=1e-12)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-11)
    alone = [
        loops.batch_pass(rows, y[:, c].astype(float), loss.binary, W[c, None], weight=weight)[0]
        for c in range(k)
    ]
    assert sums[0] == pytest.approx(sum(alone), rel=1e-12)


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("loss", OF_LABELS, ids=lambda loss: loss.name)
def test_online_passes_over_labels_equal_their_twins(level, kind, loss):
    X, _, rng = data(90, 17)
    rows, y, W = stored(X, kind), labels_of(rng, 90, 3), 0.1 * rng.standard_normal((3, 18))
    weight = rng.integers(0, 3, 90).astype(float)
    ends = []
    for run in (loops.online_pass, loops.online_pass_twin):
        weights, log = loops.OnlineWeights.start(W, np.zeros_like(W)), np.full(90, -1)
        result = run(
            rows, y, loss, weights, steps=np.array([0.01]), weight=weight, weight_scale=0.7,
            order=np.arange(89, -1, -1), l2=0.02, batch=4, log=log,
        )  # fmt: skip
        weights.fold()
        ends.append((result, weights, log))
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=1e-9)
    np.testing.assert_allclose(ends[0][1].weights, ends[1][1].weights, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ends[0][1].sum, ends[1][1].sum, rtol=1e-8, atol=1e-7)
    np.testing.assert_array_equal(ends[0][2], ends[1][2])


def test_a_row_without_weight_is_absent_and_what_is_not_finite_shows(level):
    y, loss = np.array([[1, -1], [1, 1]], dtype=np.int8), MultiLabel(get_loss("logistic"))
    W = np.eye(2, 3)
    for bad in (np.nan, np.inf, -np.inf):
        rows, gradient = np.array([[1.0, 2.0], [bad, 0.0]]), np.zeros((2, 3))
        weight = np.array([1.0, 0.0])
        value, mistakes = loops.batch_pass(rows, y, loss, W, weight=weight, gradient=gradient)
        assert value == pytest.approx(np.log1p(np.exp(-1.0)) + np.log1p(np.exp(2.0)), rel=1e-14)
        assert mistakes == 1.0
        shown, _ = loops.batch_pass(rows, y, loss, W)
        assert not np.isfinite(shown) or bad == np.inf


def test_levels_have_the_same_bits_of_labels(fused_levels):
    X, _, rng = data(200, 37)
    y, W, found = labels_of(rng, 200, 11), rng.standard_normal((11, 38)), set()
    for level in fused_levels:
        gradient = np.zeros_like(W)
        with level_in_use(level):
            sums = loops.batch_pass(X, y, MultiLabel(get_loss("logistic")), W, gradient=gradient)
        found.add((*sums, gradient.tobytes()))
    assert len(found) == 1


@pytest.mark.parametrize("kind", LAYOUTS)
def test_rows_whose_labels_are_all_right_are_counted(level, kind):
    X, _, rng = data(300, 5)
    y, candidates = labels_of(rng, 300, 3), rng.standard_normal((4, 3, 6))
    weight = rng.integers(0, 3, 300).astype(float)
    right = np.zeros(4)
    loops.weighted_correct(stored(X, kind), y, weight, candidates, right)
    each = [np.all((loops.scores(stored(X, kind), W) >= 0) == (y > 0), axis=1) for W in candidates]
    np.testing.assert_array_equal(right, [weight @ one for one in each])
    assert right.max() > 0


@pytest.mark.parametrize("kind", LAYOUTS)
def test_sums_equal_their_twins(level, kind):
    X, _, rng = data(700, 37)
    rows = stored(X, kind)
    W = rng.standard_normal((3, 38))
    np.testing.assert_allclose(loops.scores(rows, W), twins.scores(rows, W), atol=1e-12)
    for loop, twin, args, out in (
        (
            loops.transpose_product,
            twins.transpose_product,
            [rng.standard_normal((700, 3))],
            (3, 38),
        ),
        *(
            (
                loops.hessian_product,
                twins.hessian_product,
                [rng.random(700) * (np.arange(700) % 5 > 0), W[:k].copy()],
                (k, 38),
            )
            for k in (1, 2, 3)
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
                twins.moments(rows, c, group, shift, *expected)
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
            twins.weighted_correct(rows, labels, c, W, expected)
            np.testing.assert_array_equal(got, expected)
        got, expected = (
            each(rows, c, mean, factor[:-1])
            for each in (loops.max_standardised_norm2, twins.max_standardised_norm2)
        )
        assert got == pytest.approx(expected, rel=1e-12)
    for weight in (rng.random(n), rng.standard_normal(n)):
        got, expected = np.ones((d + 1, d + 1)), np.ones((d + 1, d + 1))
        loops.gram(rows, weight, mean, factor, got)
        twins.gram(rows, weight, mean, factor, expected)
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
    with pytest.raises(ValueError, match="y: expected numbers from 0 to 2"):
        loops.weighted_correct(X, np.array([0, 1, 3, 0, 0]), None, np.zeros((1, 3, 3)), right)
    assert loops.max_standardised_norm2(X, np.zeros(5), np.zeros(2), np.ones(2)) == 0.0
    far = np.array([[0.0, 1.0], [1e300, 0.0], [1.0, 1.0]])
    assert loops.max_standardised_norm2(far, None, np.zeros(2), np.ones(2)) == np.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 4, 9, 30])
def test_compensated_scores_are_those_of_fractions(level, rng, d, dtype):
    X = (rng.standard_normal((6, d)) * 10.0 ** rng.uniform(-6, 6, d) + 1e7).astype(dtype)
    X[rng.random(X.shape) < 0.2] = 0.0
    W = rng.standard_normal((2, d + 1)) * 10.0 ** rng.uniform(-3, 3, d + 1)
    W[:, -1] = -(X.astype(float) @ W[:, :-1].T).mean(axis=0)  # what large products leave is small
    for rows in (X, check_rows(sp.csr_array(X))):
        high, low = loops.compensated_scores(rows, W)
        exact = twins.compensated_scores(rows, W)
        np.testing.assert_array_equal(high, exact[0])
        sums = loops.compensated_transpose_product(rows, np.ascontiguousarray(high))
        exact_sums = twins.compensated_transpose_product(rows, np.ascontiguousarray(high))
        np.testing.assert_allclose(sums[0] + sums[1], exact_sums[0], rtol=1e-15)
        np.testing.assert_allclose(low, exact[1], rtol=0, atol=1e-15 * np.abs(W[:, :-1]).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_found_wherever_it_stands(level, dtype, odd):
    largest = np.finfo(dtype).max
    for size in (1, 7, 8, 131, 260):
        values = np.resize([largest, -largest, np.finfo(dtype).tiny, 0.0], size).astype(dtype)
        values.flags.writeable = False
        assert loops.all_finite(values)
        assert twins.all_finite(values)
        for at in range(size):
            spoilt = values.copy()
            spoilt[at] = odd
            assert not loops.all_finite(spoilt)
            assert not twins.all_finite(spoilt)


@pytest.mark.parametrize("store", [np.array, sp.csr_array])
@pytest.mark.parametrize("at", [(0, 0), (40_000, 7), (-1, -1)])
def test_rows_that_are_not_finite_are_refused_whatever_their_number(store, at):
    X = np.ones((70_000, 16))
    check_rows(store(X))
    for odd, said in ((np.nan, "NaN"), (np.inf, "infinity")):
        X[at] = odd
        with pytest.raises(ValueError, match=f"X contains {said}"):
            check_rows(store(X))


@pytest.mark.parametrize("d", [1, 2, 15, 16, 17, 33, 100])
@pytest.mark.parametrize("kind", LAYOUTS)
def test_squared_norms_equal_their_twin(level, kind, d):
    X = data(300, d)[0]
    X[[0, 7, 8, 299]] = 0.0
    held = stored(X, kind)
    expected = twins.squared_norms(held)
    np.testing.assert_allclose(loops.squared_norms(held), expected, rtol=1e-14)
    some = rows_of(held).part(5, 20).X  # a block of a larger table
    np.testing.assert_allclose(loops.squared_norms(some), expected[5:20], rtol=1e-14)
