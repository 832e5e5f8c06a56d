"""Every solver, estimator and verdict on every source, against the same rows in one array.

A source says how many rows there are, what they weigh, and gives blocks: uneven ones here, some
without rows, most without some class, dense or sparse, and rows of weight 0 among them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import quiet
from sklearn.base import clone

import separatrix
from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    BatchPerceptron,
    CoordinateAscent,
    DualAscent,
    GradientDescent,
    InteriorPoint,
    KernelPerceptron,
    LeastSquares,
    LinearClassifier,
    LinearProgram,
    Newton,
    Objective,
    Perceptron,
    ProximalPoint,
    Rosenblatt,
    Source,
    Stop,
    get_loss,
    minimize,
    separability,
)
from separatrix.data import Block, InMemory, Shuffle, Subset
from separatrix.data.labels_in_memory import LabelsInMemory
from separatrix.numeric.rows import CsrRows, as_scipy, slice_rows
from separatrix.solvers import choose

EDGES = [0, 0, 7, 8, 8, 60, 61, 130, 200, 240, 240]
N, D = EDGES[-1], 4


class Chunked(Source):
    """Rows as they might come from files: nothing but what every source has to say."""

    def __init__(self, X, y, classes, weight):
        self.whole, self.classes = Block(X, y, weight, 0), classes
        self.n_features = X.n_features if isinstance(X, CsrRows) else X.shape[1]

    @property
    def n_rows(self):
        return int(np.count_nonzero(self.whole.weights))

    @property
    def weight_sum(self):
        return float(self.whole.weights.sum())

    def blocks(self):
        X, y, weight, _ = self.whole
        for start, stop in pairwise(EDGES):
            some = None if weight is None else weight[start:stop]
            yield Block(slice_rows(X, start, stop), y[start:stop], some, start)


class ChunkedSparse(Chunked):
    """The same of sparse rows, which a source may tell."""

    storage = "csr"


def data(k, weighted, separated=False, seed=0):
    """Rows sorted by class, so that most blocks lack one; far from the origin and from scale 1."""
    rng = np.random.default_rng(seed)
    number = np.sort(np.arange(N) % k)
    centres = 2.0 * rng.standard_normal((k, D))
    X = centres[number] * (4.0 if separated else 1.0) + rng.standard_normal((N, D))
    X = X * [1.0, 5.0, 0.3, 2.0] + [0.0, 3.0, -2.0, 1.0]
    X[rng.random(X.shape) < 0.2] = 0.0
    if separated:
        X[:, 0] = number * 3.0
        X[:, 1] = number**2
    y = 2.0 * number - 1.0 if k == 2 else number
    weight = rng.integers(0, 4, N).astype(float) if weighted else None
    return np.ascontiguousarray(X), y, np.arange(k), weight


def csr(X):
    A = sp.csr_array(X)
    return CsrRows(A.data, A.indices, A.indptr, X.shape[1])


def subset(X, y, classes, weight):
    """The same rows, mixed among others in a larger array."""
    rng = np.random.default_rng(5)
    at = rng.permutation(2 * N)[:N]
    rows, labels = rng.standard_normal((2 * N, D)), np.resize(y, 2 * N).copy()
    weights = np.full(2 * N, 7.0)
    rows[at], labels[at] = X, y
    if weight is not None:
        weights[at] = weight
    return Subset(ArraySource(rows, labels, classes, None if weight is None else weights), at)


def read_rows(X, y, classes, weight, **options):
    """The same rows from a function, in pieces that are not those of the blocks."""
    sparse = isinstance(X, CsrRows)
    labels = classes[(y > 0).astype(int) if len(classes) == 2 else y]

    def pieces():
        for start, stop in pairwise(range(0, N + 1, 48)):
            rows = slice_rows(X, start, stop)
            some = as_scipy(rows) if sparse else rows
            at = slice(start, stop)
            yield (some, labels[at]) if weight is None else (some, labels[at], weight[at])

    return separatrix.read(pieces, block_rows=70, **options)


def cached(*rows):
    """Read back from a cache, which goes with the folder."""
    with TemporaryDirectory() as folder:
        return read_rows(*rows, cache=folder)


SOURCES = {
    "csr": lambda X, y, classes, weight: ArraySource(csr(X), y, classes, weight),
    "threads": lambda X, y, classes, weight: ArraySource(X, y, classes, weight, n_jobs=2),
    "subset": subset,
    "chunked": Chunked,
    "chunked csr": lambda X, y, classes, weight: ChunkedSparse(csr(X), y, classes, weight),
    "read": read_rows,
    "read csr, cached": lambda X, y, classes, weight: cached(csr(X), y, classes, weight),
}
AWAY = ("chunked", "chunked csr", "read", "read csr, cached")
every_source = pytest.mark.parametrize("kind", SOURCES)
every_weight = pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
both = pytest.mark.parametrize("k", [2, 3])


def objectives(kind, loss, k, weighted, l2=0.01, separated=False):
    """Of a source, and of the same rows in one array."""
    rows = data(k, weighted, separated)
    form = get_loss(loss) if k == 2 else get_loss(loss).multiclass()
    return (
        Objective(form, L2(l2), SOURCES[kind](*rows)),
        Objective(form, L2(l2), ArraySource(*rows[:3], rows[3])),
    )


# ---- what a source tells of itself ----------------------------------------------------------


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


@pytest.mark.parametrize("kind", ["csr", "threads", "subset", "labels", "labels csr"])
@every_weight
def test_rows_in_memory(kind, weighted):
    """Or as good as there: labels in memory, and rows that are read when asked for."""
    X, y, _, weight = rows = data(2, weighted)
    if kind.startswith("labels"):
        source = LabelsInMemory.of(SOURCES[kind.replace("labels", "chunked")](*rows))
    else:
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


# ---- solvers --------------------------------------------------------------------------------

BATCH = [
    ("logistic", Newton()), ("logistic", Newton(direct_weights=0)), ("logistic", LBFGS()),
    ("logistic", LBFGS(factored_features=0)), ("squared_hinge", LBFGS()),
    ("squared", LeastSquares()), ("squared", LeastSquares(direct_size=1)),
    ("logistic", None), ("squared", None), ("squared_hinge", None),
]  # fmt: skip


@quiet
@every_source
@both
@every_weight
@pytest.mark.parametrize(("loss", "solver"), BATCH, ids=str)
def test_batch_solvers_find_the_same_minimum(kind, k, weighted, loss, solver):
    there, here = objectives(kind, loss, k, weighted)
    found, expected = (
        minimize(of, choose(of) if solver is None else solver, stop=Stop(max_iter=500, tol=1e-10))
        for of in (there, here)
    )
    assert found.stop == expected.stop
    assert here.value(found.weights)[0] == pytest.approx(here.value(expected.weights)[0], rel=1e-10)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-3, atol=1e-4)


STEPS = [
    ("logistic", GradientDescent()), ("hinge", GradientDescent()),
    ("logistic", GradientDescent(learning_rate=0.01)), ("perceptron", BatchPerceptron()),
    ("squared_hinge", GradientDescent(learning_rate=0.01)),
]  # fmt: skip


@quiet
@every_source
@both
@every_weight
@pytest.mark.parametrize(("loss", "solver"), STEPS, ids=str)
def test_steps_of_all_rows_are_the_same(kind, k, weighted, loss, solver):
    there, here = objectives(kind, loss, k, weighted, 0.0 if loss == "perceptron" else 0.01)
    stop = Stop(max_iter=6, tol=None)
    found, expected = (minimize(of, solver, stop=stop).last for of in (there, here))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


ROW_BY_ROW = [
    ("perceptron", Rosenblatt(shuffle=False)),
    ("perceptron", Rosenblatt(shuffle=False, average=True)),
    ("logistic", GradientDescent(1, shuffle=False, learning_rate=0.01)),
    ("hinge", GradientDescent(1, shuffle=False, learning_rate=0.01)),
]


@quiet
@every_source
@both
@every_weight
@pytest.mark.parametrize(("loss", "solver"), ROW_BY_ROW, ids=str)
def test_row_by_row_it_does_not_matter_where_blocks_end(kind, k, weighted, loss, solver):
    there, here = objectives(kind, loss, k, weighted, 0.0 if loss == "perceptron" else 0.01)
    stop = Stop(max_iter=5, tol=None)
    found, expected = (minimize(of, solver, stop=stop) for of in (there, here))
    np.testing.assert_allclose(found.last, expected.last, rtol=1e-9, atol=1e-9)


# ---- row by row in another order, and mini-batches -------------------------------------------


@quiet
@both
@every_weight
@pytest.mark.parametrize("kind", ["csr", "threads", "subset"])
@pytest.mark.parametrize(
    ("loss", "solver"),
    [("perceptron", Rosenblatt()), ("hinge", GradientDescent(16, learning_rate=0.01))],
    ids=str,
)
def test_rows_in_memory_are_shuffled_alike(kind, k, weighted, loss, solver):
    there, here = objectives(kind, loss, k, weighted, 0.0 if loss == "perceptron" else 0.01)
    stop = Stop(max_iter=4, tol=None)
    found, expected = (minimize(of, solver, stop=stop, seed=3).last for of in (there, here))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@quiet
@both
@pytest.mark.parametrize("kind", AWAY)
def test_away_from_memory_rows_are_shuffled_within_their_blocks(kind, k):
    """The same each time, and in the end to the same minimum."""
    there, here = objectives(kind, "logistic", k, weighted=True)
    once, again = (
        minimize(there, GradientDescent(1), stop=Stop(max_iter=300, tol=None), seed=3).last
        for _ in range(2)
    )
    np.testing.assert_array_equal(once, again)
    lowest = minimize(here, Newton(), stop=Stop(tol=1e-12))
    assert here.value(once)[0] < 1.05 * here.value(lowest.weights)[0]


@quiet
@pytest.mark.parametrize("kind", ["chunked", "chunked csr"])
def test_a_mini_batch_ends_with_its_block(kind):
    """Each is a mean over its rows: a whole number of them in every block would be the same."""
    there, here = objectives(kind, "squared", 2, weighted=False)
    solver = GradientDescent(70, shuffle=False, learning_rate=1e-3)
    found = minimize(there, solver, stop=Stop(max_iter=1, tol=None)).last
    X, y, _, _ = data(2, weighted=False)
    Z, W = np.column_stack([X, np.ones(N)]), np.zeros(D + 1)
    for start, stop in pairwise(EDGES):
        for first in range(start, stop, 70):
            z, sign = Z[first : min(first + 70, stop)], y[first : min(first + 70, stop)]
            slope = 2.0 * z.T @ (z @ W - sign) / len(z)
            W -= 1e-3 * (slope + 0.02 * np.append(W[:-1], 0.0))
    np.testing.assert_allclose(found[0], W, rtol=1e-9)
    assert not np.allclose(found, minimize(here, solver, stop=Stop(max_iter=1, tol=None)).last)


# ---- losses with a kink: solvers that keep a number beside every row ---------------------------

KINKS = [
    ("hinge", DualAscent(), 0.01), ("hinge", ProximalPoint(), 0.01),
    ("hinge", InteriorPoint(), 0.01), ("hinge", CoordinateAscent(), 1.0),
    ("hinge", LinearProgram(), 0.0), ("hinge", None, 1e-5),
]  # fmt: skip


@quiet
@both
@every_weight
@every_source
@pytest.mark.parametrize(("loss", "solver", "l2"), KINKS, ids=str)
def test_losses_with_a_kink_find_the_same_minimum_or_a_remedy(kind, k, weighted, loss, solver, l2):
    there, here = objectives(kind, loss, k, weighted, l2)
    tol = 1e-8 if isinstance(solver, CoordinateAscent) else 1e-10  # it crawls
    stop = Stop(max_iter=300, tol=tol)
    if kind in AWAY and isinstance(solver, InteriorPoint):
        with pytest.raises(ValueError, match=r"in memory; use DualAscent"):
            minimize(there, solver, stop=stop)
        return
    found, expected = (
        minimize(of, choose(of) if solver is None else solver, stop=stop) for of in (there, here)
    )
    lowest = here.value(expected.weights)[0]
    assert found.stop == expected.stop
    assert here.value(found.weights)[0] == pytest.approx(lowest, rel=tol)
    assert (found.proof is None) == (expected.proof is None) == (l2 == 0.0)
    if found.proof is not None:
        assert found.proof.proven
        assert found.proof.lower_bound <= lowest * (1.0 + 1e-13)


@quiet
@both
@every_weight
@pytest.mark.parametrize("kind", AWAY)
def test_single_rows_of_the_squared_hinge_are_visited_block_by_block(kind, k, weighted):
    there, here = (
        replace(of, intercept=False) for of in objectives(kind, "squared_hinge", k, weighted, 1.0)
    )
    found = minimize(there, CoordinateAscent(), stop=Stop(tol=1e-8))
    expected = minimize(here, LBFGS(), stop=Stop(tol=1e-10))
    assert found.stop == "optimal"
    assert here.value(found.weights)[0] == pytest.approx(expected.objective, rel=1e-8)


@quiet
@every_weight
@pytest.mark.parametrize("kind", AWAY)
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_proximal_points_of_smooth_losses_need_no_rows_in_memory(kind, weighted, loss):
    there, here = objectives(kind, loss, 2, weighted)
    found = minimize(there, ProximalPoint(), stop=Stop(tol=1e-10))
    expected = minimize(here, Newton(), stop=Stop(tol=1e-11))
    assert found.stop == "optimal"
    assert here.value(found.weights)[0] == pytest.approx(expected.objective, rel=1e-10)


@quiet
@both
@every_weight
@pytest.mark.parametrize("kind", AWAY)
def test_any_weights_of_the_hinge_are_proven_away_from_memory(kind, k, weighted):
    """Steps row by row tell no bound: it comes from the rows near a kink, taken into memory."""
    there, here = objectives(kind, "hinge", k, weighted)
    solver, stop = GradientDescent(1, shuffle=False, learning_rate=1e-3), Stop(20, tol=1e-10)
    found, expected = (minimize(of, solver, stop=stop) for of in (there, here))
    least = minimize(here, DualAscent(), stop=Stop(tol=1e-12)).objective
    assert found.proof.lower_bound <= least * (1.0 + 1e-12)
    assert found.proof.gap == pytest.approx(expected.proof.gap, rel=1e-3)


@quiet
@both
@pytest.mark.parametrize("kind", AWAY)
@pytest.mark.parametrize("solver", ["auto", ProximalPoint(), CoordinateAscent()], ids=str)
def test_a_fit_says_what_it_keeps_beside_rows_that_are_not_in_memory(kind, k, solver):
    source = SOURCES[kind](*data(k, weighted=False))
    clf = LinearClassifier("hinge", solver=solver, l2=1.0, tol=1e-6, random_state=0).fit(source)
    told = re.search(r"keeping (\S+) MB in memory of rows that are not", repr(clf.solver_))
    numbers = N * (1 if k == 2 else k)
    least, most = 8 * numbers, 8 * numbers  # a number a row, or one for each class
    if solver == "auto":  # all rows, for they are few
        least = most = source.row_bytes * N
    elif isinstance(solver, CoordinateAscent):
        most *= 15
    assert 0.99 * least <= 1e6 * float(told[1]) <= 1.01 * most
    assert 0.0 <= clf.gap_ <= 1e-6 * clf.objective_


# ---- verdicts and estimators ----------------------------------------------------------------


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
