"""Dense rows that are mostly zeros, stored sparse."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import ArraySource
from separatrix.data import Subset
from separatrix.data.without_zeros import without_zeros


def source_of(share, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((30, 20)) * (rng.random((30, 20)) < share)).astype(dtype)
    return X, ArraySource(X, np.arange(30) % 3, np.arange(3), np.arange(30.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("some", [False, True])
def test_the_rows_are_the_same(some, dtype):
    X, source = source_of(0.1, dtype)
    at = np.array([3, 4, 9, 20, 29])
    given = Subset(source, at) if some else source
    X = X[at] if some else X
    stored = without_zeros(given)
    assert (stored.storage, stored.dtype, stored.n_features) == ("csr", dtype, 20)
    assert stored.row_values == pytest.approx(np.count_nonzero(X) / len(X))
    W = np.random.default_rng(1).standard_normal((3, 21))
    np.testing.assert_allclose(stored.scores(W), X @ W[:, :-1].T + W[:, -1], atol=1e-6)
    np.testing.assert_array_equal(stored.y, given.y)
    np.testing.assert_array_equal(stored.weights, given.weights)
    assert stored.weight_sum == given.weight_sum


def test_full_rows_stay_as_they_are():
    source = source_of(0.6)[1]
    assert without_zeros(source) is source
    stored = without_zeros(source_of(0.1)[1])
    assert without_zeros(stored) is stored
