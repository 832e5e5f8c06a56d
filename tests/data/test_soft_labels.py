"""What counts as probabilities in place of labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.data.soft_labels import check_probabilities, check_shares


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([0.25, 1.0], [[0.75, 0.25], [0.0, 1.0]]),
        ([[0.25], [1.0]], [[0.75, 0.25], [0.0, 1.0]]),
        ([[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [0.0, 1.0]]),
        (np.array([0, 1]), [[1.0, 0.0], [0.0, 1.0]]),
        (np.array([True, False]), [[0.0, 1.0], [1.0, 0.0]]),
        (np.array([0.5, 0.25], dtype=object), [[0.5, 0.5], [0.75, 0.25]]),
    ],
)
def test_probabilities(y, expected):
    found = check_probabilities(y)
    np.testing.assert_array_equal(found, expected)
    assert found.flags.c_contiguous
    assert found.dtype == np.float64


def test_float32_sums_are_within_its_rounding():
    P = np.random.default_rng(0).dirichlet(np.ones(7), 50).astype(np.float32)
    np.testing.assert_allclose(check_probabilities(P).sum(axis=1), 1.0, rtol=1e-15)


def test_views_and_read_only_arrays():
    y = np.linspace(0.0, 1.0, 10)[::-2]
    y.flags.writeable = False
    np.testing.assert_array_equal(check_probabilities(y)[:, 1], y)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "y is None"),
        ([0.5, np.nan], "the value NaN in row 1"),
        ([0.5, 1.5], "the value 1.5 in row 1"),
        ([[0.5, 0.5], [-0.1, 1.1]], "the value -0.1 in row 1, column 0"),
        ([[0.5, np.inf]], "the value inf in row 0, column 1"),
        ([[0.5, 0.5], [0.5, 0.6]], "of row 1 sum to 1.1"),
        (["no", "yes"], "does not have numbers"),
        ([[0.5, 0.5], [1.0]], "does not have numbers"),
        (np.array([0.5, None]), "the value NaN in row 1"),
        (np.array([0.5 + 1j]), "does not have numbers"),
        (np.zeros((2, 2, 2)), "shape"),
        (0.5, "shape"),
        ([], "shape"),
    ],
)
def test_anything_else_is_refused(y, words):
    with pytest.raises(ValueError, match=words):
        check_probabilities(y)


def test_sparse_probabilities_are_refused():
    with pytest.raises(TypeError, match="dense array"):
        check_probabilities(sp.csr_array(np.eye(2)))


def test_every_class_needs_a_row():
    P = np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    check_shares(P, None)
    with pytest.raises(ValueError, match=r"above 0 of class 2.*leave out its column"):
        check_shares(P, np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="above 0 of class 1"):
        check_shares(np.array([[1.0, 0.0]]), None)
