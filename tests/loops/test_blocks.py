"""Sums over blocks that threads take one after another: their bits are those of plain blocks."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import L2, ArraySource, Objective, get_loss, loops
from separatrix.data.validation import check_rows
from separatrix.losses import MultiLabel
from separatrix.numeric.threads import n_threads, ordered_sum, run_on_threads
from separatrix.objective.sums import ValueGradient

LAYOUTS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr": lambda X: check_rows(sp.csr_array(X)),
    "csr float32": lambda X: check_rows(sp.csr_array(X.astype(np.float32))),
}


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_BYTES", 256)
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_ROWS_PER_SUM", 0)


def table(classes=2, n=501, d=7):
    rng = np.random.default_rng(classes)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    X[:3] = 0.0  # empty rows where they are sparse
    y = rng.integers(classes, size=n)
    return X, np.where(y > 0, 1.0, -1.0) if classes == 2 else y


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("loss", ["logistic", "hinge", "perceptron"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [True, False])
def test_bits_are_those_of_blocks_added_in_order(layout, loss, classes, weighted, small_blocks):
    X, y = table(classes)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, len(y)).astype(float) if weighted else None
    W = rng.standard_normal((1 if classes == 2 else classes, X.shape[1] + 1))
    loss = get_loss(loss) if classes == 2 else get_loss(loss).multiclass()
    for float32_sums in (False, True):
        for threads in (1, 2, 3, 50):
            source = ArraySource(layout(X), y, np.arange(classes), weight, threads)
            assert len(source._parts) > 20
            objective = Objective(loss, L2(0.0), source, float32_sums=float32_sums)
            plain = ordered_sum(ValueGradient(loss, W, float32_sums).of, source._parts, 1)
            at = objective.value_and_gradient(W)
            assert (at.value, at.mistakes) == (plain[0] / source.weight_sum, plain[1])
            np.testing.assert_array_equal(at.gradient, plain[2] / source.weight_sum)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("weighted", [True, False])
def test_bits_of_labels_are_those_of_blocks_added_in_order(layout, weighted, small_blocks):
    X, _ = table()
    rng = np.random.default_rng(0)
    y = np.where(rng.random((len(X), 5)) < 0.3, 1, -1).astype(np.int8)
    weight = rng.integers(0, 3, len(y)).astype(float) if weighted else None
    W, loss = rng.standard_normal((5, X.shape[1] + 1)), MultiLabel(get_loss("logistic"))
    for threads in (1, 2, 50):
        source = ArraySource(layout(X), y, np.arange(5)[:, None], weight, threads)
        plain = ordered_sum(ValueGradient(loss, W).of, source._parts, 1)
        at = Objective(loss, L2(0.0), source).value_and_gradient(W)
        assert (at.value, at.mistakes) == (plain[0] / source.weight_sum, plain[1])
        np.testing.assert_array_equal(at.gradient, plain[2] / source.weight_sum)


def test_a_loss_of_ones_own_is_summed_in_python(small_blocks):
    class Mine(type(get_loss("logistic"))):
        pass

    X, y = table()
    W = np.random.default_rng(0).standard_normal((1, X.shape[1] + 1))
    source = ArraySource(X, y, np.array([-1, 1]), n_jobs=2)
    mine, known = (
        Objective(loss, L2(0.1), source).value_and_gradient(W)
        for loss in (Mine(), get_loss("logistic"))
    )
    assert mine.value == pytest.approx(known.value, rel=1e-13)
    np.testing.assert_allclose(mine.gradient, known.gradient, rtol=1e-10)


def test_some_blocks_may_be_empty_and_none_is_taken_twice():
    X, y = table()
    W = np.ones((1, X.shape[1] + 1))
    sums = np.full(2 + W.size, np.nan)
    edges = np.array([0, 0, 100, 100, 101, 501, 501])
    blocks = loops.BlockSum(edges, sums)
    for _ in range(2):  # the second finds nothing left to do
        loops.batch_blocks(X, y, get_loss("logistic"), W, blocks)
    gradient = np.zeros_like(W)
    loss_sum, mistakes = loops.batch_pass(X, y, get_loss("logistic"), W, gradient=gradient)
    assert (sums[0], sums[1]) == (pytest.approx(loss_sum, rel=1e-13), mistakes)
    np.testing.assert_allclose(sums[2:], gradient[0], rtol=1e-11)


def test_blocks_of_other_rows_or_weights_is_refused():
    X, y = table()
    W, loss = np.ones((1, X.shape[1] + 1)), get_loss("logistic")
    for edges, size, why in (([0, 500], 10, "end with n"), ([0, 501], 9, "sum of the blocks")):
        with pytest.raises(ValueError, match=why):
            loops.batch_blocks(X, y, loss, W, loops.BlockSum(np.array(edges), np.zeros(size)))
    for edges in ([], [1, 501], [0, 501, 500]):
        with pytest.raises(ValueError, match="edges"):
            loops.BlockSum(np.array(edges, dtype=np.int64), np.zeros(10))
    blocks = loops.BlockSum(np.array([0, 501]), np.zeros(2 + 2 * W.size))
    with pytest.raises(ValueError, match="y: expected numbers from 0 to 1"):
        loops.batch_blocks(X, np.full(501, 2), loss.multiclass(), np.ones((2, W.size)), blocks)


def test_after_a_request_to_stop_there_is_no_sum(small_blocks):
    X, y = table()
    source = ArraySource(X, y, np.array([-1, 1]), n_jobs=2)
    objective = Objective(get_loss("logistic"), L2(0.1), source)
    loops.request_stop()
    try:
        with pytest.raises(loops.Interrupted):
            objective.value_and_gradient(np.zeros(objective.shape))
    finally:
        loops.clear_stop()
    assert np.isfinite(objective.value_and_gradient(np.zeros(objective.shape)).value)


# ---- threads -----------------------------------------------------------------------------


def test_the_one_who_asks_works_too_and_others_help():
    barrier, inside = threading.Barrier(3), set()

    def work():
        barrier.wait(timeout=30)  # all wait until three have come
        inside.add((threading.get_ident(), n_threads(None)))

    run_on_threads(work, 3, lambda: None)
    assert len(inside) == 3
    assert threading.get_ident() in {who for who, _ in inside}
    assert {threads for _, threads in inside} == {1}  # no worker starts others
    run_on_threads(lambda: run_on_threads(lambda: inside.clear(), 2, lambda: None), 2, lambda: None)
    assert not inside


@pytest.mark.parametrize("fails", ["who asks", "who helps"])
def test_an_error_reaches_who_asked_and_the_rest_is_given_up(fails):
    asks, seen, helped = threading.get_ident(), [], threading.Event()

    def part(number):
        seen.append(number)
        if (threading.get_ident() == asks) == (fails == "who asks"):
            helped.set()
            raise ZeroDivisionError(f"block {number}")
        helped.wait(timeout=30)
        return (number,)

    with pytest.raises(ZeroDivisionError, match="block"):
        ordered_sum(part, list(range(1000)), 2)
    assert len(seen) < 1000
    assert ordered_sum(lambda number: (number,), list(range(1000)), 2) == (499500,)


def test_where_no_thread_is_free_the_one_who_asks_does_it_all():
    held, free = threading.Semaphore(0), threading.Event()

    def hold():
        held.release()
        free.wait(timeout=30)

    holder = threading.Thread(target=lambda: run_on_threads(hold, 20, lambda: None))
    holder.start()
    try:
        for _ in range(20):
            held.acquire(timeout=30)
        assert ordered_sum(lambda number: (number,), list(range(100)), 2) == (4950,)
    finally:
        free.set()
        holder.join()
