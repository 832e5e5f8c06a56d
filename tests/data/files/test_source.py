"""Rows in files as a source: every row once, in blocks that no reader decides."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import quiet
from read_pieces import D, N, all_rows, data, pieces_of

import separatrix
from separatrix import LinearClassifier, Rosenblatt
from separatrix.data import Shuffle
from separatrix.data.files.cache.blocks import CacheWarning
from separatrix.data.files.cutting import cut
from separatrix.data.files.facts import Facts
from separatrix.numeric.rows import to_dense


@pytest.mark.sampled
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
        separatrix.Block(separatrix.rows.CsrRows(A.data, A.indices, A.indptr, A.shape[1]),
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


def test_blocks_have_a_size_of_their_own_if_none_is_given():
    X, y = data()
    assert [len(block.y) for block in separatrix.read(pieces_of(X, y)).blocks()] == [N]
    wide = np.zeros((300, 5000))
    labels = np.arange(300) % 2
    source = separatrix.read(pieces_of(wide, labels))
    assert [len(block.y) for block in source.blocks()] == [209, 91]  # 2**20 values


def test_rows_that_change_between_passes_are_noticed():
    X, y = data()
    calls = []

    def pieces():
        calls.append(1)
        labels = y.copy()
        if len(calls) > 1:
            labels[5] = 1 - labels[5]
        yield X, labels

    with pytest.raises(ValueError, match="expected the same rows in each pass"):
        LinearClassifier().fit(separatrix.read(pieces))
    calls.clear()

    def more():
        calls.append(1)
        yield X, np.where(np.arange(N) == 3, 7, y) if len(calls) > 1 else y

    with pytest.raises(ValueError, match="label 7 was not there in the first pass"):
        LinearClassifier().fit(separatrix.read(more))


@pytest.mark.sampled
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("block_rows", [None, 50])
def test_other_values_and_another_order_are_noticed_and_a_cache_helps(make, block_rows, tmp_path):
    """Numbers kept with the rows would be those of others."""
    X, y = data()
    passes = []

    def drawn():
        passes.append(1)
        yield make(X * len(passes)), y

    def shuffled():
        passes.append(1)
        order = np.random.default_rng(len(passes)).permutation(N)
        yield make(X[order]), y[order]

    for pieces in (drawn, shuffled):
        with pytest.raises(ValueError, match=r"another order, or with other values.*cache="):
            LinearClassifier("hinge").fit(separatrix.read(pieces, block_rows=block_rows))
        source = separatrix.read(pieces, block_rows=block_rows, cache=tmp_path)
        assert LinearClassifier("hinge").fit(source).converged_


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

    place = (
        "separatrix.data.files.cache.file._pages" if cached else "separatrix.data.files.stored.cut"
    )
    monkeypatch.setattr(place, none)
    for read_rows in (lambda: list(source.blocks()), lambda: list(source.visits(Shuffle(0, 0)))):
        with pytest.raises(MemoryError, match=r"2 TiB.*block_rows= less than 64, or dtype="):
            read_rows()


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
