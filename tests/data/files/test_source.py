"""Rows in files as a source: every row once, in blocks that no reader decides."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import quiet

import separatrix
from separatrix import LinearClassifier, Perceptron, Rosenblatt
from separatrix.data import Shuffle
from separatrix.data.blocks import row_hash
from separatrix.data.files.cached_blocks import CacheWarning
from separatrix.data.files.cutting import cut
from separatrix.data.files.facts import Facts
from separatrix.numeric.rows import to_dense

N, D = 500, 3


def data(k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    y = np.argmax(X[:, :k] + 0.7 * rng.standard_normal((N, min(k, D)))[:, :k], axis=1)
    return X, y


def pieces_of(X, y, weight=None, size=37):
    """A function that gives the rows in pieces of so many."""

    def pieces():
        for start in range(0, len(y), size):
            at = slice(start, start + size)
            yield (X[at], y[at]) if weight is None else (X[at], y[at], weight[at])

    return pieces


def all_rows(source):
    blocks = list(source.blocks())
    X = np.concatenate([to_dense(block.X) for block in blocks])
    return X, np.concatenate([block.y for block in blocks])


# ---- blocks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 64, 65, N, 10 * N])
@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_edges_come_from_block_rows_alone(size, storage):
    X, y = data()
    rows = X if storage == "dense" else sp.csr_array(X)
    source = separatrix.read(pieces_of(rows, y, size=size), block_rows=64)
    blocks = list(source.blocks())
    assert [len(block.y) for block in blocks] == [64] * 7 + [N - 7 * 64]
    assert [block.start for block in blocks] == list(range(0, N, 64))
    found, labels = all_rows(source)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, 2.0 * y - 1.0)
    assert source.storage == storage
    expected = X.size if storage == "dense" else np.count_nonzero(X)
    assert source.row_values == expected / N


def test_bits_do_not_depend_on_the_pieces_of_a_reader():
    X, y = data()
    fits = [
        LinearClassifier().fit(separatrix.read(pieces_of(X, y, size=size), block_rows=50))
        for size in (3, 50, 77, N)
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)


def test_later_sparse_pieces_may_know_more_features():
    """As files of LIBSVM text do, whose lines end with their last value."""
    rng = np.random.default_rng(0)
    narrow, wide = sp.csr_array(rng.random((5, 3))), sp.csr_array(rng.random((5, 6)))
    parts = [
        separatrix.Block(separatrix.numeric.rows.CsrRows(A.data, A.indices, A.indptr, A.shape[1]),
                         np.zeros(5), None, 0)
        for A in (narrow, wide)
    ]  # fmt: skip
    (block,) = cut(parts, 10)
    expected = np.vstack([np.pad(narrow.toarray(), ((0, 0), (0, 3))), wide.toarray()])
    np.testing.assert_array_equal(to_dense(block.X), expected)
    facts = Facts()
    list(facts.collect(b._replace(y=np.zeros(5, dtype=int)) for b in cut(parts, 5)))
    assert facts.n_features == 6


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_precision(dtype):
    X, y = data()
    source = separatrix.read(pieces_of(X, y), dtype=dtype)
    assert source.dtype == dtype
    assert all_rows(source)[0].astype(dtype).tolist() == X.astype(dtype).tolist()
    assert source.row_bytes == np.dtype(dtype).itemsize * D


def test_blocks_have_a_size_of_their_own_if_none_is_told():
    X, y = data()
    assert [len(block.y) for block in separatrix.read(pieces_of(X, y)).blocks()] == [N]
    wide = np.zeros((300, 5000))
    labels = np.arange(300) % 2
    source = separatrix.read(pieces_of(wide, labels))
    assert [len(block.y) for block in source.blocks()] == [209, 91]  # 2**20 values


# ---- labels and weights ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array(["b", "a"]), ["a", "b"]),
        (np.array([7, -3]), [-3, 7]),
        (np.array([2.0, 1.0]), [1.0, 2.0]),
        (np.array([True, False]), [False, True]),
        (np.array(["z", "x", "y"], dtype=object), ["x", "y", "z"]),
        (np.array([10, 300000, -5]), [-5, 10, 300000]),
    ],
)
def test_labels_become_numbers_of_classes(labels, expected):
    X, y = data(k=len(labels))
    source = separatrix.read(pieces_of(X, labels[y]), block_rows=100)
    assert source.classes.tolist() == expected
    numbers = np.searchsorted(np.array(expected), labels[y].astype(type(expected[0])))
    encoded = 2.0 * numbers - 1.0 if len(expected) == 2 else numbers
    np.testing.assert_array_equal(all_rows(source)[1], encoded)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([0.5, 1.0]), "continuous"),
        (np.array([np.nan, 1.0]), "row 2 .*: the label is missing"),
        (np.array(["a", None], dtype=object), "row 3 .*: the label is missing"),
        (np.array([1, "a"], dtype=object), "one kind"),
        (np.array([1j, 2j]), "numbers or words"),
    ],
)
def test_labels_that_are_no_classes(labels, message):
    X = np.eye(2)
    with pytest.raises(ValueError, match=message):
        separatrix.read(lambda: iter([(X, np.array([0, 1])), (X, labels)]))


def test_labels_of_another_kind_later():
    X = np.eye(2)
    with pytest.raises(ValueError, match=r"piece 1.*words, but numbers before"):
        separatrix.read(lambda: iter([(X, [0, 1]), (X, ["a", "b"])]))


def test_a_target_of_row_numbers():
    many = np.arange(1 << 17)
    with pytest.raises(ValueError, match="more than 65536 distinct"):
        separatrix.read(lambda: iter([(many[:, None] * 1.0, many)]))


def test_one_class_can_be_predicted_but_not_learned():
    X, y = data()
    fit = LinearClassifier().fit(X, y)
    source = separatrix.read(pieces_of(X[y == 1], y[y == 1]))
    assert source.classes.tolist() == [1]
    assert fit.score(source) == fit.score(X[y == 1], y[y == 1])
    with pytest.raises(ValueError, match="only one class"):
        LinearClassifier().fit(source)


def test_rows_without_labels_can_be_predicted_but_not_learned():
    X, y = data()
    fit = LinearClassifier().fit(X, y)
    source = separatrix.read(lambda: iter([(X[:100], None), (X[100:], None)]), block_rows=33)
    np.testing.assert_array_equal(fit.predict(source), fit.predict(X))
    with pytest.raises(ValueError, match=r"no labels.*target="):
        LinearClassifier().fit(source)
    with pytest.raises(ValueError, match="unlike the rows before"):
        separatrix.read(lambda: iter([(X[:100], None), (X[100:], y[100:])]))


def test_rows_of_weight_zero_are_as_if_absent():
    X, y = data(k=3)
    weight = np.where(y == 2, 0.0, 1.0 + np.arange(N) % 3)
    source = separatrix.read(pieces_of(X, y, weight), block_rows=64)
    assert source.classes.tolist() == [0, 1]
    assert source.n_rows == np.count_nonzero(weight)
    assert source.weight_sum == weight.sum()
    here = LinearClassifier(tol=1e-10).fit(X[y < 2], y[y < 2], weight[y < 2])
    there = LinearClassifier(tol=1e-10).fit(source)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    with pytest.raises(ValueError, match="weight of every row is 0"):
        separatrix.read(pieces_of(X, y, np.zeros(N)))


# ---- predictions ----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_predictions_by_blocks_are_those_of_arrays(k):
    X, y = data(k)
    fit = LinearClassifier().fit(X, y)
    source = separatrix.read(pieces_of(X, y), block_rows=64)
    for name in ("decision_function", "predict", "predict_proba", "predict_log_proba"):
        found, expected = getattr(fit, name)(source), getattr(fit, name)(X)
        assert found.shape == expected.shape
        if name == "predict":
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert fit.score(source) == fit.score(X, y)
    with pytest.raises(ValueError, match="expecting 3 features"):
        fit.predict(separatrix.read(pieces_of(X[:, :2], y)))


# ---- shuffling ------------------------------------------------------------------------------


def visited(source, shuffle):
    return np.concatenate([visit.block.start + visit.order for visit in source.visits(shuffle)])


@pytest.mark.parametrize("cached", [False, True])
def test_a_shuffled_pass_visits_every_row_once_in_an_order_of_its_seed(cached, tmp_path):
    X, y = data()
    options = {"cache": tmp_path} if cached else {}
    source = separatrix.read(pieces_of(X, y), block_rows=32, **options)
    orders = [visited(source, Shuffle(seed, number)) for seed in (1, 2) for number in (0, 1)]
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.arange(N))
    assert len({order.tobytes() for order in orders}) == 4
    np.testing.assert_array_equal(visited(source, Shuffle(1, 0)), orders[0])
    np.testing.assert_array_equal(
        visited(source, Shuffle(1, 0, 2)), np.concatenate([orders[0], orders[1]])
    )
    blocks = orders[0] // 32
    # Neighbours come from all blocks of a window of three, which with a cache lie anywhere.
    first = set(blocks[: 3 * 32].tolist())
    assert len(first) == 3
    assert set(blocks[:24].tolist()) == first
    assert (first == {0, 1, 2}) == (not cached)


def test_orders_do_not_depend_on_the_pieces_of_a_reader():
    X, y = data()
    fits = [
        Perceptron(max_iter=3, tol=None, random_state=3).fit(
            separatrix.read(pieces_of(X, y, size=size), block_rows=32)
        )
        for size in (5, 100)
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


@quiet
def test_shuffled_rows_reach_the_minimum():
    X, y = data()
    source = separatrix.read(pieces_of(X, y), block_rows=32)
    solver = separatrix.GradientDescent(1)
    found = LinearClassifier(solver=solver, max_iter=100, tol=None, random_state=0).fit(source)
    lowest = LinearClassifier(tol=1e-10).fit(X, y)
    assert found.objective_ < 1.02 * lowest.objective_


# ---- rows that are held out -----------------------------------------------------------------


def held_out(share):
    """By the definition, in Python's whole numbers: SplitMix64 of the number of the row."""
    mask = (1 << 64) - 1
    found = []
    for row in range(N):
        z = (row + 1) * 0x9E3779B97F4A7C15 & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        found.append((z ^ z >> 31) < share * 2**64)
    return np.array(found)


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_validation_rows_are_those_of_a_hash_and_not_trained_on(cached, weighted, tmp_path):
    X, y = data()
    out, weight = held_out(0.2), (np.arange(N) % 4).astype(float) if weighted else None
    weights = np.ones(N) if weight is None else weight
    options = {"cache": tmp_path} if cached else {}
    source = separatrix.read(pieces_of(X, y, weight), block_rows=64, validation=0.2, **options)
    for each, rows in ((source, ~out), (source.validation, out)):
        found, labels = all_rows(each)
        np.testing.assert_array_equal(found, X[rows])
        np.testing.assert_array_equal(labels, 2.0 * y[rows] - 1.0)
        assert each.n_rows == np.count_nonzero(weights[rows])
        assert each.weight_sum == weights[rows].sum()
        starts = [block.start for block in each.blocks()]
        lengths = [len(block.y) for block in each.blocks()]
        np.testing.assert_array_equal(starts, np.cumsum([0, *lengths[:-1]]))
    there = LinearClassifier(tol=1e-10).fit(source)
    here = LinearClassifier(tol=1e-10).fit(X[~out], y[~out], weights[~out])
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    margin = (2.0 * y - 1.0) * (X @ there.coef_[0] + there.intercept_[0])
    loss = np.average(np.logaddexp(0.0, -margin[out]), weights=weights[out])
    assert there.history_["validation_loss"].shape == there.history_["pass"].shape
    assert there.history_["validation_loss"][-1] == pytest.approx(loss, rel=1e-6)
    assert "validation_loss" not in here.history_


def test_validation_of_many_classes_and_of_averages():
    X, y = data(3)
    source = separatrix.read(pieces_of(X, y), block_rows=64, validation=0.3)
    fit = Perceptron(max_iter=4, tol=None, random_state=0, keep="average").fit(source)
    out = held_out(0.3)
    scores = X @ fit.coef_.T + fit.intercept_
    own = scores[np.arange(N), y]
    scores[np.arange(N), y] = -np.inf
    loss = np.maximum(scores.max(axis=1) - own, 0.0)[out].mean()
    assert fit.history_["validation_loss"][-1] == pytest.approx(loss)


def test_validation_that_leaves_a_class_untrained():
    X, y = data()
    rare = np.zeros(N, dtype=int)
    rare[np.flatnonzero(held_out(0.2))[0]] = 1
    with pytest.raises(ValueError, match="every row of the class 1"):
        separatrix.read(pieces_of(X, rare), validation=0.2)
    with pytest.raises(ValueError, match="holds out none"):
        separatrix.read(pieces_of(X[:3], y[:3]), validation=1e-9)


def test_row_hash_is_even():
    assert row_hash(7, 3).tolist() == row_hash(0, 10)[7:].tolist()
    shares = np.histogram(row_hash(0, 100_000).astype(float), 10, (0.0, 2.0**64))[0]
    assert np.all(np.abs(shares - 10_000) < 500)


# ---- passes that differ, caches that are damaged ---------------------------------------------


def test_rows_that_change_between_passes_are_noticed():
    X, y = data()
    calls = []

    def pieces():
        calls.append(1)
        labels = y.copy()
        if len(calls) > 1:
            labels[5] = 1 - labels[5]
        yield X, labels

    with pytest.raises(ValueError, match="expected the same rows at each pass"):
        LinearClassifier().fit(separatrix.read(pieces))
    calls.clear()

    def more():
        calls.append(1)
        yield X, np.where(np.arange(N) == 3, 7, y) if len(calls) > 1 else y

    with pytest.raises(ValueError, match="label 7 was not there in the first pass"):
        LinearClassifier().fit(separatrix.read(more))


def test_a_failed_pass_leaves_the_estimator_as_it_was():
    X, y = data()
    left = [3]

    def pieces():
        left[0] -= 1
        yield X[:100], y[:100]
        if left[0] < 0:
            raise OSError("the disk is gone")
        yield X[100:], y[100:]

    fit = LinearClassifier().fit(X, y)
    before = fit.coef_.copy()
    with pytest.raises(OSError, match="the disk is gone"):
        fit.fit(separatrix.read(pieces, block_rows=64))
    np.testing.assert_array_equal(fit.coef_, before)


def test_a_cache_is_read_and_a_damaged_one_decoded_again(tmp_path):
    X, y = data()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    options = {"target": tmp_path / "y.npy", "block_rows": 64, "cache": tmp_path / "cache"}
    plain = separatrix.read(tmp_path / "X.npy", **(options | {"cache": None}))
    first, second = (separatrix.read(tmp_path / "X.npy", **options) for _ in range(2))
    (file,) = (tmp_path / "cache").iterdir()
    assert plain.fingerprint() == first.fingerprint() == second.fingerprint()
    assert (second.n_rows, second.weight_sum, second.classes.tolist()) == (N, N, [0, 1])
    for shuffle in (None, Shuffle(1, 0)):
        source = separatrix.read(tmp_path / "X.npy", **options)
        with file.open("r+b") as damaged:
            damaged.seek(3 * 64 * D * 8)
            damaged.write(b"\xff" * 100)
        with pytest.warns(CacheWarning, match="decoded again"):
            visits = list(source.visits(shuffle))
        at = [v.block.start + (np.arange(len(v.block.y)) if v.order is None else v.order)
              for v in visits]  # fmt: skip
        rows = [v.block.X if v.order is None else v.block.X[v.order] for v in visits]
        np.testing.assert_array_equal(np.concatenate(rows), X[np.concatenate(at)])


def test_what_cannot_be_known_again_leaves_no_cache_behind(tmp_path):
    X, y = data()
    source = separatrix.read(pieces_of(X, y), cache=tmp_path / "cache", block_rows=64)
    assert list((tmp_path / "cache").iterdir()) == []
    np.testing.assert_array_equal(all_rows(source)[0], X)


@pytest.mark.parametrize("cached", [False, True])
def test_a_lack_of_memory_names_the_way_out(tmp_path, monkeypatch, cached):
    X, y = data()
    source = separatrix.read(pieces_of(X, y), block_rows=64, cache=tmp_path if cached else None)

    def none(*_):
        raise MemoryError("Unable to allocate 2 TiB")

    place = "separatrix.data.files.cache._pages" if cached else "separatrix.data.files.stored.cut"
    monkeypatch.setattr(place, none)
    for read_rows in (lambda: list(source.blocks()), lambda: list(source.visits(Shuffle(0, 0)))):
        with pytest.raises(MemoryError, match=r"2 TiB.*block_rows= less than 64, or dtype="):
            read_rows()


# ---- threads ---------------------------------------------------------------------------------


@quiet
def test_sums_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 200))
    y = (X[:, 0] > 0).astype(int)
    found = []
    for threads in (1, 2, 3):
        source = separatrix.read(pieces_of(X, y, size=500), block_rows=1500)
        source.__dict__["threads"] = threads
        found.append(LinearClassifier(max_iter=5, tol=None).fit(source).coef_)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@quiet
def test_strengths_of_rows_are_counted():
    X, y = data()
    weight = (np.arange(N) % 3).astype(float)
    source = separatrix.read(pieces_of(X, y, weight), block_rows=64)
    fit = LinearClassifier("perceptron", l2=0.0, solver=Rosenblatt(shuffle=False), max_iter=3,
                           tol=None).fit(source)  # fmt: skip
    here = LinearClassifier("perceptron", l2=0.0, solver=Rosenblatt(shuffle=False), max_iter=3,
                            tol=None).fit(X, y, weight)  # fmt: skip
    np.testing.assert_array_equal(fit.embedding_strengths_, here.embedding_strengths_)
