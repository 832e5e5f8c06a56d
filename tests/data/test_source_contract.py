"""What every source reports of itself, and verdicts and estimators on it, against one array."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import quiet
from sklearn.base import clone
from source_kinds import (
    AWAY,
    SOURCES,
    Chunked,
    ChunkedSparse,
    D,
    N,
    both,
    csr,
    data,
    every_source,
    every_weight,
    objectives,
    subset,
)

from separatrix import (
    ArraySource,
    KernelPerceptron,
    LinearClassifier,
    Perceptron,
    separability,
)
from separatrix.data import InMemory, Shuffle

# ---- what a source reports of itself --------------------------------------------------------


@every_source
@both
@every_weight
def test_sums_and_moments(kind, k, weighted):
    there, here = objectives(kind, "logistic", k, weighted)
    W = np.random.default_rng(1).standard_normal(here.shape)
    assert there.source.n_rows == here.source.n_rows
    assert there.source.weight_sum == here.source.weight_sum
    for ask in (
        lambda of: of.value(W),
        lambda of: of.value_and_gradient(W),
        lambda of: of.hessian(W, here.standardization)[1],
        lambda of: of.class_hessian(W, here.standardization),
        lambda of: of.bias_curvature(W),
        lambda of: of.hessian_product(W, W),
        lambda of: of.signed_row_sum(),
        lambda of: of.class_sums,
        lambda of: of.moments,
        lambda of: of.mistakes_of(np.stack([W, -W])),
        lambda of: of.largest_eigenvalue(),
    ):
        found, expected = ask(there), ask(here)
        if not isinstance(found, tuple):
            found, expected = (found,), (expected,)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@every_source
@every_weight
def test_a_sample_is_bounded_in_memory_and_the_same_wherever_blocks_end(kind, weighted):
    rows = data(3, weighted)
    source, array = SOURCES[kind](*rows), ArraySource(*rows[:3], rows[3])
    for size in (1, 17, 100):
        sample, expected = source.sample(size), array.sample(size)
        assert isinstance(sample, InMemory)
        assert sample.n_rows == len(sample.y) == size
        np.testing.assert_array_equal(sample.y, expected.y)
        np.testing.assert_array_equal(sample.weights, expected.weights)
        W = np.random.default_rng(0).standard_normal((3, D + 1))
        np.testing.assert_allclose(sample.scores(W), expected.scores(W), rtol=1e-12, atol=1e-12)
    whole = source.sample(10 * N)
    assert isinstance(whole, InMemory)
    assert whole.n_rows == source.n_rows


@every_weight
def test_the_fingerprint_names_the_data_and_nothing_else(weighted):
    rows = X, y, classes, weight = data(3, weighted)
    name = ArraySource(X, y, classes, weight).fingerprint()
    assert SOURCES["threads"](*rows).fingerprint() == name
    assert Chunked(*rows).fingerprint() == subset(*rows).fingerprint() == name
    assert Chunked(np.asfortranarray(X), y, classes, weight).fingerprint() == name
    sparse = ChunkedSparse(csr(X), y, classes, weight).fingerprint()
    wide = csr(X)._replace(indices=csr(X).indices.astype(np.int64))
    assert ArraySource(csr(X), y, classes, weight).fingerprint() == sparse != name
    assert ArraySource(wide, y, classes, weight).fingerprint() == sparse
    given = np.ones(N) if weight is None else weight
    assert (ArraySource(X, y, classes, np.ones(N)).fingerprint() == name) == (weight is None)
    moved, other, heavier = X.copy(), y.copy(), given.copy()
    moved[100, 2] = np.nextafter(moved[100, 2], 9.0)
    other[100] = (other[100] + 1) % 3
    heavier[100] += 1.0
    names = {
        name,
        ArraySource(moved, y, classes, weight).fingerprint(),
        ArraySource(X, other, classes, weight).fingerprint(),
        ArraySource(X, y, classes, heavier).fingerprint(),
        ArraySource(X, y, np.array(["a", "b", "c"]), weight).fingerprint(),
        ArraySource(X[::-1].copy(), y, classes, weight).fingerprint(),
        ArraySource(X.astype(np.float32), y, classes, weight).fingerprint(),
    }
    assert len(names) == 7


@every_source
@every_weight
@pytest.mark.parametrize("shuffle", [None, Shuffle(3, 1), Shuffle(3, 1, 2)])
def test_visits_go_to_every_row_that_counts(kind, weighted, shuffle):
    rows = data(3, weighted)
    source = SOURCES[kind](*rows)
    gone = []
    for block, order in source.visits(shuffle):
        at = np.arange(len(block.y)) if order is None else order
        gone.append(block.start + at % len(block.y))
    counts = np.bincount(np.concatenate(gone), minlength=N)
    passes = 1 if shuffle is None else shuffle.passes
    expected = np.ones(N) if rows[3] is None else rows[3] != 0.0
    np.testing.assert_array_equal(counts, passes * expected)
    batches = list(source.batches(32))
    assert sum(len(block.y) for block in batches) == source.n_rows
    assert all(np.all(block.weights != 0.0) for block in batches)


@pytest.mark.parametrize("kind", ["csr", "threads", "subset"])
@every_weight
def test_rows_in_memory(kind, weighted):
    X, y, _, weight = rows = data(2, weighted)
    source = SOURCES[kind](*rows)
    rng = np.random.default_rng(1)
    W, C, at = rng.standard_normal((2, D + 1)), rng.standard_normal((N, 2)), rng.integers(0, N, 30)
    Z = np.column_stack([X, np.ones(N)])
    np.testing.assert_array_equal(source.y, y)
    np.testing.assert_array_equal(source.weights, np.ones(N) if weight is None else weight)
    np.testing.assert_allclose(source.scores(W), Z @ W.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(source.transpose_product(C), C.T @ Z, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(source.row_norms(), np.linalg.norm(X, axis=1), rtol=1e-14)
    np.testing.assert_allclose(source.row_norms(squared=True), np.sum(X**2, axis=1), rtol=1e-14)
    np.testing.assert_allclose(source.gram(), X @ X.T, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(source.gram(at), X[at] @ X[at].T, rtol=1e-12, atol=1e-11)
    some = source.take(at)
    np.testing.assert_array_equal(some.y, y[at])
    np.testing.assert_array_equal(some.weights, source.weights[at])
    np.testing.assert_allclose(some.scores(W), (Z @ W.T)[at], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(source.block(slice(20, 30)).y, y[20:30])
    assert source.block(slice(20, 30)).start == 20
    heavier = source.with_weight(np.arange(1.0, N + 1.0))
    assert heavier.weight_sum == N * (N + 1) / 2
    np.testing.assert_array_equal(heavier.y, y)
    three = source.with_labels(np.arange(N) % 3, np.arange(3))
    assert (len(three.classes), three.weight_sum) == (3, source.weight_sum)


# ---- verdicts and estimators ----------------------------------------------------------------


@pytest.mark.sampled
@every_source
@both
@every_weight
@pytest.mark.parametrize("separated", [False, True])
def test_verdicts(kind, k, weighted, separated):
    X, y, classes, weight = data(k, weighted, separated)
    source = SOURCES[kind](X, y, classes, weight)
    found, expected = separability(source), separability(ArraySource(X, y, classes, weight))
    assert found.verdict == expected.verdict == ("separable" if separated else "overlapping")
    assert found.exact == expected.exact
    assert found.verify(source)
    assert expected.verify(source)
    if separated:
        assert found.margin == pytest.approx(expected.margin, rel=1e-6)


ESTIMATORS = [
    Perceptron(shuffle=False, max_iter=5, tol=None),
    Perceptron(update="batch", max_iter=5, tol=None),
    LinearClassifier(tol=1e-10),
    LinearClassifier("squared_hinge", tol=1e-10),
    LinearClassifier("squared"),
]


@quiet
@every_source
@both
@every_weight
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_estimators(kind, k, weighted, estimator):
    if kind == "cluster" and estimator.get_params().get("update") == "online":
        pytest.skip("parts are mixed, which tests/solvers/test_parameter_mixing.py checks")
    X, y, classes, weight = data(k, weighted)
    there = clone(estimator).fit(SOURCES[kind](X, y, classes, weight))
    here = clone(estimator).fit(ArraySource(X, y, classes, weight))
    plain = clone(estimator).fit(X, classes[(y > 0).astype(int) if k == 2 else y], weight)
    np.testing.assert_array_equal(here.coef_, plain.coef_)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-3, atol=1e-5)
    source = SOURCES[kind](X, y, classes, weight)
    assert there.score(source) == pytest.approx(here.score(ArraySource(X, y, classes, weight)))


@quiet
@pytest.mark.parametrize("estimator", [KernelPerceptron(max_iter=3)])
def test_estimators_that_need_rows_in_memory_say_so(estimator):
    rows = data(2, weighted=False)
    for kind in ("threads", "subset"):
        clone(estimator).fit(SOURCES[kind](*rows))
    for kind in AWAY:
        with pytest.raises((TypeError, ValueError), match=r"in memory.*source\.sample"):
            clone(estimator).fit(SOURCES[kind](*rows))
