"""Sparse rows gathered from columns against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix.loops.gathered_rows import gather_rows


@pytest.mark.parametrize(("columns", "n"), [(5, 40), (1, 3), (3, 1), (2, 0), (0, 3)])
def test_rows_are_those_of_scipy(columns, n):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(columns, n)) * (rng.random((columns, n)) < 0.7)
    features = (rng.integers(0, 4, (columns, n)) + 4 * np.arange(columns)[:, None]).astype(np.int32)
    found = gather_rows(values, features, 4 * columns + 1)
    assert (found.data.dtype, found.indices.dtype, found.indptr.dtype) == ("f8", "i4", "i4")
    expected = np.zeros((n, 4 * columns + 1))
    for j in range(columns):
        expected[np.arange(n), features[j]] = values[j]
    shape = (n, 4 * columns + 1)
    np.testing.assert_array_equal(csr_array(found[:3], shape=shape).toarray(), expected)
    assert np.all(found.data)
    assert found.indptr[-1] == len(found.data) == np.count_nonzero(values)
