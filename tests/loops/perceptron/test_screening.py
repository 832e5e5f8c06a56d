"""Rows left unread change no bit of a run: the loop with a memory against the one without."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from loops import twins

from separatrix import Perceptron, loops
from separatrix.data import labels
from separatrix.losses import PerceptronLoss
from separatrix.numeric.rows import shape_of
from separatrix.rows import CsrRows

PASSES = 25


def separable(n, d, seed, k=2, gap=0.05):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    W = rng.standard_normal((k, d))
    scores = X @ W.T
    y = scores.argmax(axis=1)
    X += gap * W[y]
    return X, y


def run(
    rows, y, k, orders, *, screening, weight=None, start=None, intercept=True, steps=None,
    sure=np.inf,  # always keep notes, whatever they save
):  # fmt: skip
    d = shape_of(rows)[1]
    joint = k > 2
    signs = y.astype(np.int64) if joint else np.where(y == 1, 1.0, -1.0)
    W = np.zeros((k if joint else 1, d + 1)) if start is None else start
    weights = loops.OnlineWeights.start(W, np.zeros(W.shape))
    remembered = loops.screening_state(rows, len(W)) if screening else None
    visited = []
    log = np.empty(len(y) + 1, dtype=np.int64)
    with np.errstate(over="ignore"):
        for number, order in enumerate(orders):
            if remembered is not None:  # else even the weights are too large
                remembered.always = number < sure
            result = loops.online_pass(
                rows, signs, PerceptronLoss().multiclass() if joint else PerceptronLoss(), weights,
                steps=np.ones(1) if steps is None else steps, weight=weight, order=order,
                intercept=intercept, log=log, screening=remembered,
            )  # fmt: skip
            visited.append((*result, log[: result.updates].tobytes()))
    return weights, visited, remembered


def assert_same(rows, y, k, orders, **options):
    plain, visited, _ = run(rows, y, k, orders, screening=False, **options)
    skipping, found, memory = run(rows, y, k, orders, screening=True, **options)
    np.testing.assert_array_equal(plain.v, skipping.v)
    np.testing.assert_array_equal(plain.sum, skipping.sum)
    np.testing.assert_array_equal(plain.lag, skipping.lag)
    np.testing.assert_array_equal(plain.scalars, skipping.scalars)
    assert str(visited) == str(found)  # as text: NaN is itself
    return memory


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("kind", ["float32", "float64", "csr"])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_bits_are_those_of_the_plain_loop(k, kind, shuffled, seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 900)), int(rng.integers(1, 40))
    X, y = separable(n, d, seed, k)
    if kind == "csr":
        S = sp.csr_matrix(np.where(rng.random(X.shape) < 0.4, X, 0.0))
        rows = CsrRows(S.data, S.indices, S.indptr, d)
    else:
        rows = X.astype(kind)
    orders = [rng.permutation(n) if shuffled else None for _ in range(PASSES)]
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if seed % 2 else None
    shape = (k if k > 2 else 1, d + 1)
    start = rng.standard_normal(shape) if seed == 3 else None
    steps = rng.random(n) + 0.1 if seed == 2 else None
    assert_same(rows, y, k, orders, weight=weight, start=start, intercept=seed != 1, steps=steps)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e-8, 1e8, 1e30, 1e150, 1e200])
@pytest.mark.parametrize("k", [2, 3])
def test_scales_at_the_edge_of_floating_point(scale, k):
    X, y = separable(200, 7, 0, k)
    assert_same(scale * X, y, k, [None] * PASSES)
    mixed = X * np.logspace(-np.log10(scale) / 2, np.log10(scale) / 2, 7)
    assert_same(mixed, y, k, [None] * PASSES)


@pytest.mark.parametrize("scale", [1e-42, 1e-20, 1e-3, 1e10, 1e18, 1e30])
def test_notes_of_single_precision_rows_at_every_scale(scale):
    X, y = separable(400, 9, 1)
    X[:, -1] *= 1e-4
    assert_same((scale * X).astype(np.float32), y, 2, [None] * PASSES)
    start = np.random.default_rng(0).standard_normal((1, 10)) / scale
    assert_same((scale * X).astype(np.float32), y, 2, [None] * PASSES, start=start)


@pytest.mark.parametrize("start", [1e-300, 1e-25, 1e25, 1e300])
def test_starts_at_the_edge_of_floating_point(start):
    X, y = separable(200, 7, 0)
    assert_same(X, y, 2, [None] * PASSES, start=np.full((1, 8), start))


def test_ties_zeros_and_margins_of_one_rounding():
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, (300, 3)).astype(float)
    X[::7] = 0.0
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    assert_same(X, y, 2, [None] * PASSES)
    tiny = X * (1.0 + 2.0**-52 * rng.integers(-2, 3, X.shape))
    assert_same(tiny, y, 2, [None] * PASSES, start=np.array([[1.0, 1.0, -2.0, 2.0**-52]]))


def test_rows_are_left_unread_once_the_weights_settle():
    X, y = separable(2000, 5, 0)
    memory = assert_same(X, y, 2, [None] * 60)
    assert memory.screened > 0.5 * 60 * 2000


@pytest.mark.parametrize("shuffled", [False, True])
def test_notes_are_taken_where_they_save_most_of_the_reading(shuffled):
    X, y = separable(3000, 20, 0, gap=0.2)
    rng = np.random.default_rng(0)
    signs = np.where(y == 1, 1.0, -1.0)
    memory = loops.screening_state(X, 1)
    with_notes, plain = (loops.OnlineWeights.start(np.zeros((1, 21)), None) for _ in range(2))
    for _ in range(60):
        order = rng.permutation(3000) if shuffled else None
        for weights, known in ((with_notes, memory), (plain, None)):
            loops.online_pass(
                X, signs, PerceptronLoss(), weights, steps=np.ones(1), order=order, screening=known
            )
    np.testing.assert_array_equal(with_notes.v, plain.v)
    assert memory.active
    assert memory.screened > 0.5 * 60 * 3000


def test_a_survey_that_is_interrupted_leaves_the_weights_alone():
    X, y = separable(3000, 20, 0, gap=0.2)
    signs = np.where(y == 1, 1.0, -1.0)
    memory = loops.screening_state(X, 1)
    memory.always = True
    with_notes, plain = (loops.OnlineWeights.start(np.zeros((1, 21)), None) for _ in range(2))

    def one_pass(weights, known):
        loops.online_pass(X, signs, PerceptronLoss(), weights, steps=np.ones(1), screening=known)

    one_pass(with_notes, memory)
    before = with_notes.v.copy()
    loops.request_stop()
    try:
        with pytest.raises(loops.Interrupted):
            one_pass(with_notes, memory)
    finally:
        loops.clear_stop()
    np.testing.assert_array_equal(with_notes.v, before)
    for _ in range(PASSES):
        one_pass(with_notes, memory)
    for _ in range(PASSES + 1):
        one_pass(plain, None)
    np.testing.assert_array_equal(with_notes.v, plain.v)


def test_notes_are_given_up_where_they_save_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 20)), rng.integers(0, 2, 2000)
    signs = np.where(y == 1, 1.0, -1.0)
    weights = loops.OnlineWeights.start(np.zeros((1, 21)), None)
    memory = loops.screening_state(X, 1)
    for _ in range(20):
        loops.online_pass(X, signs, PerceptronLoss(), weights, steps=np.ones(1), screening=memory)
    assert not memory.active


def test_rows_left_out_are_looked_at_again_once_notes_are_given_up():
    n, rest = 400, 60
    X, y = np.ones((n, 1)), np.ones(n, dtype=int)
    X[::2] = 1e-12  # right too, but so near the plane that they are always read
    X[0] = -1e3  # a mistake, after which all others are
    calm = np.append(np.arange(1, n), 1)
    # A round has n visits. The third is left before its end, which comes within the last pass:
    # rows left out until then must be read if the mistake follows, wherever that is.
    for place in range(4 * rest):
        orders = [calm, calm, calm[rest:], np.insert(calm, place, 0)]
        memory = assert_same(X, y, 2, orders, start=np.array([[1.0, 0.0]]), sure=3)
        assert memory.screened > 0
        assert not memory.active


@pytest.mark.parametrize(
    ("shape", "most_classes"),
    [((1000, 50), 4), ((300, 2000), 1), ((100_000, 3), 4), ((40, 5000), 0), ((9, 2), 1)],
)
def test_the_memory_is_small(shape, most_classes):
    """Three copies of the weights are too much for few long rows, the more with many classes."""
    rows = np.zeros(shape, np.float32)
    for k in (1, 4):
        memory = loops.screening_state(rows, k)
        assert (memory is not None) == (k <= most_classes)
        if memory is not None:
            assert 0 < memory.nbytes <= 0.1 * rows.nbytes + 40 * len(rows)


def test_a_memory_of_other_rows_is_refused():
    weights = loops.OnlineWeights.start(np.zeros((1, 4)), None)
    memory = loops.screening_state(np.ones((500, 3)), 1)
    with pytest.raises(ValueError, match="screening"):
        loops.online_pass(
            np.ones((6, 3)),
            np.ones(6),
            PerceptronLoss(),
            weights,
            steps=np.ones(1),
            screening=memory,
        )


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_fit_ends_where_its_replay_does(shuffle):
    X, y = separable(600, 4, 1)
    clf = Perceptron(60, shuffle=shuffle, patience=None, keep="last", random_state=0).fit(X, y)
    *_, last = clf.trace_.replay(X, y)  # update by update: the loop without a memory
    np.testing.assert_array_equal(clf.coef_, last.weights[:, :-1])


@pytest.mark.parametrize(("n", "block", "group"), [(1, 1, 1), (100, 7, 3), (64, 64, 2), (90, 1, 9)])
def test_orders_equal_their_twin(n, block, group):
    orders = loops.draw_orders(n, block, group, 2**63 + 5, number=7, count=3)
    for number, order in enumerate(orders, start=7):
        twin = twins.draw_order(n, block, group, 2**63 + 5, number)
        np.testing.assert_array_equal(order, twin)
        np.testing.assert_array_equal(np.sort(order), np.arange(n))


def test_orders_mix_rows_sorted_by_class():
    (order,) = loops.draw_orders(200_000, 50, 256, 1)
    label = order >= 100_000
    shares = label.reshape(-1, 12_500).mean(axis=1)
    assert np.abs(shares - 0.5).max() < 0.15
    assert np.abs(np.diff(label.astype(int))).mean() > 0.4  # neighbours in time are strangers


def test_every_place_is_as_likely():
    places = loops.draw_orders(6, 1, 6, 1, count=3000)
    for column in places.T:
        assert np.abs(np.bincount(column, minlength=6) / 3000 - 1 / 6).max() < 0.03


def test_classes_found_by_counting_are_those_found_by_sorting():
    rng = np.random.default_rng(0)
    for y in (
        rng.integers(0, 5, 90), rng.integers(0, 2, 50).astype(bool),
        rng.integers(3, 9, 80).astype(np.uint8), rng.integers(0, 3, 70).astype(np.int32),
        rng.integers(-3, 3, 90), np.where(rng.random(20) < 0.5, -1, 1), 2**40 + np.arange(9) % 2,
    ):  # fmt: skip
        found = labels.small_integer_classes(y)
        np.testing.assert_array_equal(found, np.unique(y))
        assert found.dtype == y.dtype
    for y in (
        np.arange(8),
        np.array([-(2**62), 2**62] * 9),
        np.array([0.0, 1.0]),
        np.array(["a", "b"]),
    ):
        assert labels.small_integer_classes(y) is None


def near_the_plane(rng, n, d, dtype):
    """Rows of which many lie so close to a plane that float32 cannot tell on which side."""
    X = rng.standard_normal((n, d))
    u = rng.standard_normal(d)
    X -= np.outer(X @ u, u) / (u @ u) * (rng.random(n) < 0.5)[:, None]
    X[::7] = np.round(X[::7])
    X[1::7] = X[2::7][: len(X[1::7])]
    return np.ascontiguousarray(X.astype(dtype)), np.where(X @ u >= 0.0, 1.0, -1.0), u


@pytest.mark.parametrize("level", loops.levels())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 8, 16, 23, 100])
@pytest.mark.parametrize("scale", [1e-42, 1e-20, 1.0, 1e15, 1e30])
def test_rows_settled_in_their_own_precision_are_right(level, dtype, d, scale):
    """The general loop, which a penalty too small to count leads to, reads every row exactly."""
    rng = np.random.default_rng(d)
    X, y, u = near_the_plane(rng, 301, d, dtype)
    X *= dtype(scale) * 10.0 ** rng.integers(-2, 3, (301, 1)).astype(dtype)
    before = loops.level()
    loops.use_level(level)
    try:
        for start in (0.0, 1e-170, 1.0, 1e10 / scale):
            ends = []
            for l2 in (0.0, 1e-300):
                weights = loops.OnlineWeights.start(start * np.append(u, 0.0)[None], None)
                log = np.zeros(2 * len(X), dtype=np.int64)
                order = np.tile(np.arange(len(X)), 2)
                made = loops.online_pass(
                    X, y, PerceptronLoss(), weights, steps=np.ones(1), order=order, l2=l2, log=log
                )
                ends.append((made, weights.v.tobytes(), log.tolist()))
            assert repr(ends[0]) == repr(ends[1])
    finally:
        loops.use_level(before)
