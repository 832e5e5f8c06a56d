"""The compiled loops of kernels against their twins, and the same bits however they are run."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from conftest import level_in_use
from loops.twins import kernel as twins

from separatrix import KernelPerceptron, kernels
from separatrix.kernels import gaussian
from separatrix.loops import kernel as kernel_loops
from separatrix.loops.kernel import (
    PANEL,
    CacheLines,
    Changes,
    KernelPerceptronPass,
    KernelPerceptronState,
    ShiftedRows,
)


def random_rows(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def rings(n=500, d=4, k=2, seed=0):
    X = random_rows(n, d, seed)
    edges = np.quantile((X**2).sum(axis=1), np.arange(1, k) / k)
    noise = 0.5 * np.random.default_rng(seed + 1).standard_normal(n)
    return X, np.searchsorted(edges, (X**2).sum(axis=1) + noise)


# ---- Gaussian kernel -------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, PANEL - 1, PANEL, 3 * PANEL + 5])
@pytest.mark.parametrize("m", [1, 4, 11])
@pytest.mark.parametrize("d", [1, 6])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_gaussian_loops_equal_their_twins(level, n, m, d, dtype):
    shift = np.random.default_rng(4).integers(-3, 4, d).astype(float)
    reference = ShiftedRows(random_rows(n, d).astype(dtype), shift)
    rows = reference.shifted(random_rows(m, d, seed=1))
    slots = np.random.default_rng(2).permutation(m + 2)[:m]
    out, expected = np.zeros((2, m + 2, n))
    kernel_loops.gaussian_rows(rows, reference, 0.7, slots, out)
    twins.gaussian_rows(rows, reference, 0.7, slots, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-13)
    for k in (1, 3):
        coefficients = random_rows(k, n, seed=3)
        np.testing.assert_allclose(
            kernel_loops.gaussian_sums(rows, reference, 0.7, coefficients),
            twins.gaussian_sums(rows, reference, 0.7, coefficients),
            atol=1e-13,
        )


def test_gaussian_values_have_their_own_bits(level):
    X = random_rows(45, 7)
    reference = ShiftedRows(X, np.zeros(7))
    together, alone = np.empty((2, 45, 45))
    kernel_loops.gaussian_rows(X, reference, 0.3, np.arange(45), together)
    for i in range(45):
        kernel_loops.gaussian_rows(X[i : i + 1], reference, 0.3, np.array([i]), alone)
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together, together.T)
    np.testing.assert_array_equal(together.diagonal(), 1.0)


def test_levels_with_fused_products_agree_bit_by_bit(fused_levels):
    reference, rows = ShiftedRows(random_rows(30, 7), np.ones(7)), random_rows(9, 7, seed=1)
    results = []
    for name in fused_levels:
        results.append(np.empty((9, 30)))
        with level_in_use(name):
            kernel_loops.gaussian_rows(rows, reference, 0.3, np.arange(9), results[-1])
    for result in results:
        np.testing.assert_array_equal(result, results[0])


def test_decay_at_its_edges(level):
    values = np.array([0.0, -0.0, -1e-9, 1e-300, 1.0, 600.0, 707.0, 750.0, np.inf, np.nan, 2.0])
    expected = twins.exp_neg(values.copy(), 1.0)
    np.testing.assert_allclose(kernel_loops.exp_neg(values, 1.0), expected, rtol=1e-15)
    many = np.abs(random_rows(1, 1001)[0]) * 30
    exact = np.exp(-many.astype(np.longdouble)).astype(np.float64)
    np.testing.assert_allclose(kernel_loops.exp_neg(many, 1.0), exact, rtol=4e-16)


def test_decay_refuses_what_it_would_have_to_copy():
    with pytest.raises(TypeError):
        kernel_loops.exp_neg(np.ones((4, 6)).T, 1.0)


def test_rbf_of_rows_far_apart_is_zero_and_of_huge_rows_nan():
    kernel = kernels.Gaussian(1.0)
    values = kernel.between(np.array([[1e3]]), kernel.prepare(np.array([[0.0], [2e3]])))
    np.testing.assert_array_equal(values, 0.0)
    X, y = np.array([[1e200], [-1e200], [1e199]]), [0, 1, 0]
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="overflowed"):
        KernelPerceptron(gamma=1.0).fit(X, y)


# ---- passes ----------------------------------------------------------------------------------


def problem(k, n=60):
    X, y = rings(n, k=k)
    columns = 1 if k == 2 else k
    labels = np.where(y == 1, 1.0, -1.0) if k == 2 else y.astype(np.int64)
    state = KernelPerceptronState.zero(columns, n)
    rng = np.random.default_rng(5)
    weight = rng.uniform(0.5, 2.0, n)
    run = KernelPerceptronPass(labels, weight, weight / weight.mean(), rng.permutation(n),
                   rng.uniform(0.5, 1.0, n), 120, state)  # fmt: skip
    return X, run


def assert_same(run, twin):
    assert (run.position, run.updates) == (twin.position, twin.updates)
    np.testing.assert_array_equal(run.log[: run.updates], twin.log[: twin.updates])
    np.testing.assert_allclose(run.totals, twin.totals, rtol=1e-12)
    for name in ("scores", "coefficients", "late", "counts"):
        actual, expected = getattr(run.state, name), getattr(twin.state, name)
        np.testing.assert_allclose(actual, expected, atol=1e-11)


@pytest.mark.parametrize("k", [2, 4])
def test_kernel_pass_equals_its_twin(level, k):
    X, run = problem(k)
    twin = problem(k)[1]
    n = len(X)
    values = np.empty((n, n))
    twins.gaussian_rows(X, ShiftedRows(X, np.zeros(4)), 0.5, np.arange(n), values)
    slot = np.arange(n)
    slot[run.order[40]] = -1
    for one in (run, twin):
        kept = CacheLines(values, slot.copy(), np.zeros(n, dtype=np.int64))
        loop = kernel_loops.kernel_pass if one is run else twins.kernel_pass
        assert len(loop(one, kept, 5)) == 5
        while not one.ended:
            loop(one, kept, n)
            kept.slot[:] = np.arange(n)
    assert_same(run, twin)


@pytest.mark.parametrize("k", [2, 4])
def test_blocks_visit_as_the_plain_loop_does(level, k):
    X, run = problem(k)
    twin = problem(k)[1]
    n, reference = len(X), ShiftedRows(X, np.zeros(4))
    rows = kernels.KernelCache(kernels.Gaussian(0.5), X, 1.0, 1e9)
    passes = gaussian.GaussianPasses(rows, reference, 0.5)
    passes.width = 13
    passes.visit(run)
    values = np.empty((n, n))
    twins.gaussian_rows(X, reference, 0.5, np.arange(n), values)
    kept = CacheLines(values + 1.0, np.arange(n), np.zeros(n, dtype=np.int64))
    twins.kernel_pass(twin, kept, n)
    assert_same(run, twin)


def test_gaussian_update_equals_its_twin(level):
    reference = ShiftedRows(random_rows(29, 3), np.array([1.0, 0.0, -2.0]))
    changes = Changes(
        np.array([3, 28, 0, 7, 9, 1]),
        np.array([[0, 1], [1, -1], [2, 0], [0, 2], [1, 0], [2, 1]]),
        random_rows(6, 2),
        np.array([-1, 2, 0, -1, 1, -1]),
        np.array([0, 0, 1, 0, 0, 0]),
    )
    results = []
    for loop in (kernel_loops.gaussian_update, twins.gaussian_update):
        kept, scores = random_rows(3, 29, seed=4), random_rows(3, 29, seed=5)
        for part in (slice(0, 1), slice(1, -(-29 // PANEL))):
            loop(reference, 0.4, 1.0, changes, kept, scores, part)
        results.append((kept, scores))
    for actual, expected in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-12)


# ---- the estimator ---------------------------------------------------------------------------


def fitted(X, y, **options):
    common = {"max_iter": 6, "patience": None, "random_state": 0, "learning_rate": 0.7}
    return KernelPerceptron(**(common | options)).fit(X, y)


def assert_same_model(model, other, X):
    np.testing.assert_array_equal(model.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(model.support_, other.support_)
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))
    for name, values in model.history_.items():
        if name != "seconds":
            np.testing.assert_array_equal(values, other.history_[name])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("keep", ["average", "voted"])
def test_threads_blocks_and_cache_do_not_change_a_bit(monkeypatch, k, keep):
    X, y = rings(400, k=k)
    options = {"keep": keep, "class_weight": {0: 1.7}, "learning_rate": lambda t: 1 / np.sqrt(t)}
    expected = fitted(X, y, cache_mb=200, **options)
    assert expected.n_updates_ > len(expected.support_)  # some rows are kept and used again
    assert_same_model(fitted(X, y, **options), expected, X)
    assert_same_model(fitted(X, y, cache_mb=0.02, **options), expected, X)
    for threads in (1, 2, 3):
        for module in (gaussian, kernels.functions):
            monkeypatch.setattr(module, "n_threads", lambda _, threads=threads: threads)
            monkeypatch.setattr(module, "WORTH_A_THREAD", 1)
        monkeypatch.setattr(gaussian, "LEAST_ROWS", 5 * threads)
        assert_same_model(fitted(X, y, cache_mb=200, **options), expected, X)


@pytest.mark.parametrize("k", [2, 3])
def test_blocks_give_the_bits_of_row_after_row(monkeypatch, k):
    X, y = rings(400, k=k)
    blocks = fitted(X, y)

    class Elsewhere(kernels.Gaussian):
        """No kernel is of this class, so that none goes by blocks."""

    monkeypatch.setattr(gaussian, "Gaussian", Elsewhere)
    assert_same_model(fitted(X, y), blocks, X)


def test_duplicated_rows_of_both_classes_and_one_feature():
    X = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0)
    y = np.tile([0, 1], 6)
    model = fitted(X, y, keep="last", shuffle=False, max_iter=3)
    assert model.n_updates_ > 0
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("form", [np.asfortranarray, lambda X: X[::2], lambda X: X.astype("f4")])
def test_layouts_of_rows(form):
    X, y = rings(200)
    given = form(X)
    given.flags.writeable = False
    y = y[::2] if len(given) < len(X) else y
    expected = fitted(np.ascontiguousarray(given, dtype=np.float64), y)
    assert_same_model(fitted(given, y), expected, given)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_dense_rows_are_held_once(dtype):
    X, _ = rings(4000, d=300)
    X = X.astype(dtype)
    y = X[:, 0] > np.median(X[:, 0])
    X[y, 0] += 100  # few rows become supports
    fitted(X[:100], y[:100])
    tracemalloc.start()
    model = fitted(X, y, gamma=1e-4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.support_vectors_.nbytes < 0.01 * X.nbytes
    blocks = 3 * gaussian.MOST_ROWS * 300 * 8  # taken from the rows, and side by side
    assert peak < 200 * len(X) + blocks < 0.8 * X.nbytes
