"""Labels and weights of rows that are read, and what can be learned and predicted from them."""

from __future__ import annotations

import numpy as np
import pytest
from read_pieces import N, all_rows, data, pieces_of

import separatrix
from separatrix import LinearClassifier


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
    with pytest.raises(ValueError, match=r"weights of all .* rows are 0"):
        separatrix.read(pieces_of(X, y, np.zeros(N)))


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
