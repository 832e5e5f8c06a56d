"""Sparse rows gathered from columns against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix.loops.gathered_rows import gather_rows

SHAPES = [(5, 3, 40), (1, 0, 3), (0, 1, 3), (3, 2, 1), (2, 2, 0), (0, 0, 3)]


@pytest.mark.parametrize(("numbers", "others", "n"), SHAPES)
def test_rows_are_those_of_scipy(numbers, others, n):
    """Columns of both kinds in any order; each has four features, of which a number uses one."""
    rng = np.random.default_rng(0)
    columns = numbers + others
    rows = rng.normal(size=(n, numbers)) * (rng.random((n, numbers)) < 0.7)
    values = rng.normal(size=(others, n)) * (rng.random((others, n)) < 0.7)
    order = rng.permutation(columns)
    starts = np.empty(columns, dtype=np.int64)
    starts[order] = 4 * np.arange(columns)
    features = rng.integers(0, 4, (others, n)) + starts[numbers:, None]
    features[values == 0.0] = -1  # of which nothing is used
    found = gather_rows(rows, starts[:numbers], values, features, order, 4 * columns + 1)
    assert (found.data.dtype, found.indices.dtype, found.indptr.dtype) == ("f8", "i4", "i4")
    expected = np.zeros((n, 4 * columns + 1))
    for j in range(numbers):
        expected[:, starts[j]] = rows[:, j]
    for j in range(others):
        expected[np.arange(n), features[j]] += values[j]
    matrix = csr_array(found[:3], shape=expected.shape)
    assert matrix.has_sorted_indices
    np.testing.assert_array_equal(matrix.toarray(), expected)
    assert np.all(found.data)
    assert found.indptr[-1] == len(found.data) == np.count_nonzero(rows) + np.count_nonzero(values)


@pytest.mark.parametrize("feature", [-1, 3, 2**40])
def test_a_value_without_a_feature_is_refused(feature):
    numbers, order = np.empty((2, 0)), np.zeros(1, dtype=np.int64)
    features = np.array([[0, feature]])
    with pytest.raises(ValueError, match="features: expected numbers below"):
        gather_rows(numbers, order[:0], np.ones((1, 2)), features, order, 3)
