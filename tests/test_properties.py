"""What must hold for any data: storage, weights, threads, precision do not change the result."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import TRAINABLE, level_in_use, quiet
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from loops import twins

from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    CoordinateDescent,
    GradientDescent,
    LinearClassifier,
    Newton,
    Objective,
    Perceptron,
    ProximalNewton,
    get_loss,
    loops,
)
from separatrix.data import arrays as source_module
from separatrix.data.validation import check_rows

SMOOTH = [name for name in TRAINABLE if get_loss(name).smooth]
BATCH = [
    LinearClassifier(l2=0.01, solver=LBFGS(), tol=1e-13),
    LinearClassifier("squared_hinge", l2=0.01, solver=Newton(), tol=1e-13),
    LinearClassifier("squared", l2=0.01),
    LinearClassifier("tanh_squared", l2=0.1, solver=GradientDescent(learning_rate=0.01),
                     max_iter=5, tol=None),
    LinearClassifier(l1=0.02, l2=0.01, solver=ProximalNewton(), tol=1e-13),
    LinearClassifier("squared_hinge", l1=0.02, l2=0.01, solver=CoordinateDescent(), tol=1e-13),
    LinearClassifier("squared", l1=0.02, l2=0.01, groups="classes", tol=1e-13),
]  # fmt: skip
pytestmark = [quiet, pytest.mark.filterwarnings("ignore:l1=.* no feature is selected")]


@st.composite
def problems(draw, integers=False, most_rows=30, most_features=6):
    n = draw(st.integers(2, most_rows))
    d = draw(st.integers(1, most_features))
    if integers:
        X = draw(arrays(np.float64, (n, d), elements=st.integers(-3, 3)))
    else:
        values = st.floats(-100, 100, width=32) | st.sampled_from([0.0, 1.0, -1.0])
        X = draw(arrays(np.float64, (n, d), elements=values))
    y = draw(arrays(np.int64, n, elements=st.integers(0, 1)))
    y[:2] = [0, 1]
    return X, y


def objective(loss, X, y, weight=None, l2=0.1, n_jobs=1):
    source = ArraySource(
        check_rows(X), np.where(y > 0, 1.0, -1.0), np.array([0, 1]), weight, n_jobs
    )
    return Objective(get_loss(loss), L2(l2), source)


@given(problems(integers=True), st.integers(0, 5))
def test_sparse_is_dense_bit_for_bit_on_integers(problem, seed):
    X, y = problem
    for update in ("online", "batch"):
        fits = [
            Perceptron(12, update=update, random_state=seed, keep=keep).fit(rows, y)
            for keep in ("last", "average", "best")
            for rows in (X, sp.csr_array(X), sp.csr_matrix(X.astype(np.float32)))
        ]
        for i in range(0, 9, 3):
            for other in fits[i + 1 : i + 3]:
                np.testing.assert_array_equal(other.coef_, fits[i].coef_)
                np.testing.assert_array_equal(other.intercept_, fits[i].intercept_)
                assert (other.stop_, other.n_iter_) == (fits[i].stop_, fits[i].n_iter_)


@given(problems(), st.sampled_from(TRAINABLE))
def test_sparse_is_dense_in_every_sum(problem, loss):
    X, y = problem
    W = (np.arange(X.shape[1] + 1)[None] - 2.0) / 8
    if not get_loss(loss).smooth:
        X = np.round(X)  # at a kink the last bit decides: let every sum be exact
    dense, sparse = (
        objective(loss, rows, y).value_and_gradient(W) for rows in (X, sp.csr_array(X))
    )
    np.testing.assert_allclose(sparse.value, dense.value, rtol=1e-12)
    np.testing.assert_allclose(sparse.gradient, dense.gradient, rtol=1e-10, atol=1e-10)


def well_posed(X):
    """Scaled to [-1, 1]: the minimum is then determined far better than 1e-10."""
    return X / max(1.0, np.abs(X).max())


@given(problems(), st.sampled_from(BATCH))
def test_sparse_is_dense_in_batch_solvers(problem, estimator):
    X, y = well_posed(problem[0]), problem[1]
    dense = estimator.fit(X, y)
    W, value = np.append(dense.coef_, dense.intercept_), dense.objective_
    sparse = estimator.fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.objective_, value, rtol=1e-10)
    np.testing.assert_allclose(np.append(sparse.coef_, sparse.intercept_), W, rtol=1e-5, atol=1e-6)


@given(problems(), st.data())
def test_weight_is_repetition_and_zero_is_absence(problem, data):
    X, y = well_posed(problem[0]), problem[1]
    times = data.draw(arrays(np.int64, len(y), elements=st.integers(0, 2)))
    times[:2] = [1, 2]
    repeated = np.repeat(X, times, axis=0), np.repeat(y, times)
    estimator = data.draw(st.sampled_from(BATCH))
    weighted = estimator.fit(X, y, sample_weight=times.astype(float)).objective_
    assert weighted == pytest.approx(estimator.fit(*repeated).objective_, rel=1e-10)
    W = np.linspace(-1, 1, X.shape[1] + 1)[None]
    for loss in TRAINABLE:
        one = objective(loss, X, y, times.astype(float)).value_and_gradient(W)
        two = objective(loss, *repeated).value_and_gradient(W)
        np.testing.assert_allclose(one.value, two.value, rtol=1e-12)
        np.testing.assert_allclose(one.gradient, two.gradient, rtol=1e-10, atol=1e-12)
        assert one.mistakes == two.mistakes


@given(problems(integers=True), st.data())
def test_in_the_batch_perceptron_weight_is_repetition_exactly(problem, data):
    X, y = problem
    times = data.draw(arrays(np.int64, len(y), elements=st.integers(0, 2)))
    times[:2] = [1, 2]
    clf = Perceptron(10, update="batch", start="sum", keep="last")
    weighted = clf.fit(X, y, sample_weight=times)
    W = np.append(weighted.coef_, weighted.intercept_)
    twice = clf.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_array_equal(np.append(twice.coef_, twice.intercept_), W)


@given(problems(), st.sampled_from(SMOOTH))
def test_gradients_are_finite_differences(problem, loss):
    X, y = well_posed(problem[0]), problem[1]
    rng = np.random.default_rng(0)
    problem = objective(loss, X, y)
    W, V = rng.standard_normal((2, 1, X.shape[1] + 1))
    h = 1e-5
    difference = (problem.value(W + h * V)[0] - problem.value(W - h * V)[0]) / (2 * h)
    slope = np.vdot(problem.value_and_gradient(W).gradient, V)
    assert slope == pytest.approx(difference, rel=1e-5, abs=1e-7)


@given(problems(), st.sampled_from(TRAINABLE))
def test_float32_agrees_to_its_precision(problem, loss):
    X, y = problem
    W = np.linspace(-1, 1, X.shape[1] + 1)[None]
    single = objective(loss, X.astype(np.float32), y).value_and_gradient(W)
    exact = objective(loss, X.astype(np.float32).astype(np.float64), y).value_and_gradient(W)
    np.testing.assert_allclose(single.value, exact.value, rtol=1e-12)
    np.testing.assert_allclose(single.gradient, exact.gradient, rtol=1e-10, atol=1e-10)


@given(problems(), st.integers(1, 7), st.sampled_from(TRAINABLE))
def test_sums_do_not_depend_on_block_boundaries(problem, size, loss):
    X, y = problem
    W = np.linspace(-1, 1, X.shape[1] + 1)[None]
    whole = objective(loss, X, y).value_and_gradient(W)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_module, "BLOCK_BYTES", size * 8 * X.shape[1])
        patch.setattr(source_module, "MOST_BLOCKS", 10**9)
        patch.setattr(source_module, "BLOCK_ROWS_PER_SUM", 0)
        pieces = objective(loss, X, y)
        assert len(pieces.source._parts) == -(-len(y) // size)
        parts = pieces.value_and_gradient(W)
    np.testing.assert_allclose(parts.value, whole.value, rtol=1e-12)
    np.testing.assert_allclose(parts.gradient, whole.gradient, rtol=1e-9, atol=1e-9)


@given(problems(), st.sampled_from(TRAINABLE), st.integers(2, 4))
def test_threads_do_not_change_a_bit_of_any_sum(problem, loss, threads):
    X, y = problem
    W = np.linspace(-1, 1, X.shape[1] + 1)[None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_module, "BLOCK_BYTES", 2 * 8 * X.shape[1])
        patch.setattr(source_module, "MOST_BLOCKS", 10**9)
        patch.setattr(source_module, "BLOCK_ROWS_PER_SUM", 0)
        one, more = (objective(loss, X, y, n_jobs=n).value_and_gradient(W) for n in (1, threads))
    assert one.value == more.value
    np.testing.assert_array_equal(one.gradient, more.gradient)


@given(problems(), st.sampled_from(TRAINABLE), st.sampled_from([1, 3]), st.sampled_from([0.0, 0.1]))
def test_compiled_equals_twin(problem, loss, batch, l2):
    X, y = np.round(problem[0]) / 128, np.where(problem[1] > 0, 1.0, -1.0)
    W = (np.arange(X.shape[1] + 1)[None] - 2.0) / 8
    for rows in (X, X.astype(np.float32), check_rows(sp.csr_array(X))):
        sums = []
        for batch_pass in (loops.batch_pass, twins.batch_pass):
            gradient = np.zeros_like(W)
            sums.append((*batch_pass(rows, y, get_loss(loss), W, gradient=gradient), *gradient[0]))
        np.testing.assert_allclose(*sums, rtol=1e-10, atol=1e-12)
        ends = []
        for online_pass in (loops.online_pass, loops.online_pass_twin):
            weights = loops.OnlineWeights.start(W, np.zeros_like(W))
            steps = np.array([0.125])
            online_pass(rows, y, get_loss(loss), weights, steps=steps, batch=batch, l2=l2)
            weights.fold()
            ends.append(np.append(weights.weights, weights.sum))
        if l2 == 0.0 or get_loss(loss).smooth:  # else rounding may decide a kink
            np.testing.assert_allclose(*ends, rtol=1e-9, atol=1e-9)


@pytest.mark.sampled
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("estimator", BATCH, ids=lambda e: str(e.solver))
def test_any_number_of_threads_gives_the_same_bits(make, estimator):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30_000, 20))
    y = X[:, 0] + rng.standard_normal(30_000) > 0
    fits = [estimator.set_params(n_jobs=n).fit(make(X), y).coef_.copy() for n in (1, 2, 3)]
    estimator.set_params(n_jobs=None)
    assert len(ArraySource(X, y, np.array([0, 1]))._parts) > 3
    for other in fits[1:]:
        np.testing.assert_array_equal(other, fits[0])


@given(problems(integers=True, most_features=3), st.data())
def test_separated_data_never_exceeds_the_bound(problem, data):
    """On data separated by W = (w, b) the online rule makes at most (R |W| / margin)^2 mistakes."""
    X, _ = problem
    W = data.draw(arrays(np.int64, X.shape[1] + 1, elements=st.integers(-3, 3)))
    Z = np.column_stack([X, np.ones(len(X))]).astype(np.int64)
    scores = Z @ W
    X, Z, y = X[scores != 0], Z[scores != 0], np.sign(scores[scores != 0])
    assume(len(np.unique(y)) == 2)
    # Whole numbers: their squares have no rounding.
    radius, margin = int((Z**2).sum(axis=1).max()), int((y * (Z @ W)).min())
    most = radius * int(W @ W) // margin**2
    clf = Perceptron(most + 1, shuffle=False, patience=None).fit(X, y)
    assert clf.stop_ == "no mistakes"
    assert 1 <= clf.n_updates_ <= most
    assert clf.score(X, y) == 1.0


def test_levels_are_restored():
    before = loops.level()
    for name in loops.levels():
        with level_in_use(name):
            assert loops.level() == name
        assert loops.level() == before
        with pytest.raises(KeyError), level_in_use(name):
            raise KeyError
        assert loops.level() == before
