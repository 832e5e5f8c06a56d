"""Rows that are numbers already: functions, and ``.npy`` files."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix.data.files.readers.formats import open_reader
from separatrix.numeric.rows import to_dense
from separatrix.rows import CsrRows

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(250, 3)), RNG.choice(["no", "yes"], 250)
WEIGHT = RNG.uniform(size=250)


def collected(reader):
    """All X, y and weights of one pass."""
    pieces = list(reader.pieces())
    y, weight = ([piece[i] for piece in pieces] for i in (1, 2))
    return (
        np.concatenate([to_dense(piece.X) for piece in pieces]),
        None if y[0] is None else np.concatenate(y),
        None if weight[0] is None else np.concatenate(weight),
    )


# Functions


@pytest.mark.parametrize("storage", [np.asarray, csr_array, lambda X: X.astype(np.float32)])
def test_a_function_that_returns_an_iterator(storage):
    def parts():
        for start in range(0, 250, 60):
            some = slice(start, start + 60)
            yield storage(X[some]), Y[some], WEIGHT[some]

    reader = open_reader(parts)
    for _ in range(2):
        found, y, weight = collected(reader)
        np.testing.assert_allclose(found, X, rtol=1e-6)
        assert y.tolist() == Y.tolist()
        assert weight.tolist() == WEIGHT.tolist()
    sparse = isinstance(next(reader.pieces()).X, CsrRows)
    assert sparse == (storage is csr_array)
    assert reader.identity() != open_reader(parts).identity()


def test_pieces_without_weights_or_rows_or_labels():
    empty = np.empty((0, 3))
    found, y, weight = collected(open_reader(lambda: [(empty, []), (X, Y), (empty, [])]))
    assert found.shape == X.shape
    assert len(y) == 250
    assert weight is None
    assert collected(open_reader(lambda: [(X, None)]))[1] is None


def test_a_piece_whose_rows_all_weigh_nothing():
    weights = np.concatenate([np.zeros(100), np.ones(150)])
    pieces = [(X[:100], Y[:100], weights[:100]), (X[100:], Y[100:], weights[100:])]
    assert collected(open_reader(lambda: pieces))[2].tolist() == weights.tolist()


def bad_value(before=0):
    """Where the first value above 2 stands, as errors name it; this many rows come before X."""
    row, feature = np.argwhere(X > 2)[0]
    return rf"row {before + row} \(counted from 0\): feature {feature}"


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([(X, Y), (X[:, :2], Y)], "piece 1, from row 250 has 2 columns; expected 3"),
        ([(X, Y), (csr_array(X), Y)], "piece 1, .* is sparse, unlike the first"),
        ([(X, Y[:-1])], r"piece 0, .*y has shape \(249,\), expected \(250,\)"),
        ([(X, Y), (np.where(X > 2, np.nan, X), Y)], f"piece 1, {bad_value(250)} is nan; expected"),
        ([(csr_array(np.where(X > 2, np.inf, X)), Y)], f"piece 0, {bad_value()} is inf; expected"),
        ([(X, Y, -WEIGHT)], "piece 0, .*must not be negative"),
        ([(X, Y, WEIGHT[:3])], r"piece 0, .*expected \(250,\), one weight per row"),
        ([(X, Y, WEIGHT, 3)], "piece 0, .* is a tuple of 4; expected"),
        ([X], r"piece 0, .* is ndarray; expected a tuple \(X, y\)"),
        ([], "gave no rows"),
        (3, "returned a int; expected an iterator"),
    ],
)
def test_pieces_are_checked_one_by_one(pieces, message):
    def parts():
        return pieces

    with pytest.raises((ValueError, TypeError), match=rf"parts\(\).*{message}"):
        collected(open_reader(parts))


def test_a_function_whose_second_iterator_is_another():
    rows = iter([(X, Y), (X, Y)])
    reader = open_reader(lambda: rows)
    collected(reader)
    with pytest.raises(ValueError, match="gave no rows"):
        list(reader.pieces())
    lengths = iter([250, 100])

    def parts():
        n = next(lengths)
        return [(X[:n], Y[:n])]

    reader = open_reader(parts)
    collected(reader)
    with pytest.raises(ValueError, match=r"gave 250 rows at first and 100 now.*fresh iterator"):
        list(reader.pieces())


def test_an_iterator_is_no_function():
    with pytest.raises(TypeError, match=r"generator can be read only once.*pass the function"):
        open_reader((X, Y) for _ in range(3))


# .npy


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", ">f8", "bool"])
@pytest.mark.parametrize("block_rows", [1, 100, 1000])
def test_npy_files(tmp_path, dtype, block_rows):
    stored = (X * 10).astype(dtype)
    np.save(tmp_path / "a.npy", stored[:120])
    np.save(tmp_path / "b.npy", stored[120:])
    np.save(tmp_path / "labels.npy", Y)
    np.save(tmp_path / "weights.npy", WEIGHT)
    reader = open_reader(
        tmp_path / "[ab].npy",
        target=tmp_path / "labels.npy",
        weight=str(tmp_path / "weights.npy"),
        block_rows=block_rows,
    )
    for _ in range(2):
        found, y, weight = collected(reader)
        assert np.array_equal(found, stored.astype(float))
        assert y.tolist() == Y.tolist()
        assert weight.tolist() == WEIGHT.tolist()
    assert next(reader.pieces()).X.dtype == (np.float32 if dtype == "float32" else np.float64)


def test_columns_of_npy_files(tmp_path):
    classes = (Y == "yes").astype(float)
    np.save(tmp_path / "t.npy", np.column_stack([WEIGHT, X, classes]))
    reader = open_reader(tmp_path / "t.npy", target=-1, weight=0, block_rows=77)
    found, y, weight = collected(reader)
    assert np.array_equal(found, X)
    assert y.tolist() == classes.tolist()
    assert weight.tolist() == WEIGHT.tolist()
    assert reader.identity() != open_reader(tmp_path / "t.npy", target=-1).identity()
    assert reader.identity() == open_reader(tmp_path / "t.npy", target=4, weight=0).identity()


def test_without_a_target_there_are_no_labels(tmp_path):
    np.save(tmp_path / "t.npy", X)
    assert collected(open_reader(tmp_path / "t.npy"))[1] is None


@pytest.mark.parametrize(
    ("stored", "options", "message"),
    [
        (X[:, 0], {}, r"shape \(250,\); expected 2 dimensions"),
        (np.asfortranarray(X), {}, "stored column by column.*ascontiguousarray"),
        (Y[:, None], {}, "holds <U3; expected numbers"),
        (np.where(X > 2, np.nan, X), {}, f"t.npy, {bad_value()} is nan; expected"),
        (X[:0], {}, "no rows"),
        (X, {"target": 3}, "target=3, but .* has 3 columns: expected from 0 to 2"),
        (X, {"target": "label"}, "columns of .npy files have no names"),
        (X, {"target": "short.npy"}, "short.npy has 249 values for the 250 rows"),
        (X[:, :1], {"target": 0}, "no column is left"),
        (X, {"weight": 0}, "must not be negative"),
    ],
)
def test_npy_files_that_do_not_fit(tmp_path, monkeypatch, stored, options, message):
    monkeypatch.chdir(tmp_path)
    np.save("short.npy", Y[:-1])
    np.save("t.npy", stored)
    with pytest.raises(ValueError, match=rf"(?s)(t\.npy|short\.npy|target).*{message}|{message}"):
        collected(open_reader("t.npy", block_rows=50, **options))


def test_npy_files_with_other_columns(tmp_path):
    np.save(tmp_path / "0.npy", X)
    np.save(tmp_path / "1.npy", X[:, :2])
    with pytest.raises(ValueError, match=r"1\.npy has 2 columns and .*0\.npy 3"):
        open_reader(tmp_path / "*.npy")


@pytest.mark.parametrize("size", [5, 100, 140, 6000])
def test_npy_files_that_were_cut_off(tmp_path, size):
    """Mapped into memory, they would kill the process."""
    path = tmp_path / "t.npy"
    np.save(path, X)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match=r"t\.npy (was cut off|is no \.npy file)"):
        open_reader(path)


def test_npy_files_that_are_cut_off_while_they_are_read(tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, X)
    reader = open_reader(path, block_rows=50)
    pieces = reader.pieces()
    next(pieces)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(ValueError, match=r"t\.npy has changed"):
        list(pieces)
    with pytest.raises(ValueError, match=r"t\.npy has changed"):
        reader.check_unchanged()


def test_labels_that_change_between_passes(tmp_path):
    np.save(tmp_path / "t.npy", X)
    np.save(tmp_path / "labels.npy", Y)
    reader = open_reader(tmp_path / "t.npy", target=tmp_path / "labels.npy")
    reader.check_unchanged()
    np.save(tmp_path / "labels.npy", Y[:-1])
    for look in (reader.check_unchanged, lambda: list(reader.pieces())):
        with pytest.raises(ValueError, match=r"labels\.npy has changed"):
            look()
