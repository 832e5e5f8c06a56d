"""Products and norms of stored rows, against dense ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from dual_problems import KINDS, rows, stored

from separatrix.numeric.rows import CsrRows, row_products, squared_norms


@pytest.mark.parametrize("kind", KINDS)
def test_products_and_norms_of_rows(kind):
    X = np.round(rows(0, 12, 5)[0], 1)
    X[X < 0.3] = 0.0
    held = stored(X, kind)
    np.testing.assert_allclose(row_products(held), X @ X.T, atol=1e-6)
    np.testing.assert_allclose(squared_norms(held), (X**2).sum(axis=1), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squared_norms_in_pieces(dtype, monkeypatch):
    X = sp.random_array((40, 7), density=0.3, rng=np.random.default_rng(5), dtype=dtype).tocsr()
    X = sp.vstack([sp.csr_array((3, 7), dtype=dtype), X, sp.csr_array((2, 7), dtype=dtype)]).tocsr()
    held = CsrRows(X.data, X.indices, X.indptr[2:], X.shape[1])  # a block of a larger matrix
    expected = (X[2:].toarray().astype(np.float64) ** 2).sum(axis=1)
    for copied in (1, 10, 1 << 17):
        monkeypatch.setattr("separatrix.numeric.rows.CSR_VALUES_AT_ONCE", copied)
        np.testing.assert_allclose(squared_norms(held), expected, rtol=1e-12)
    none = CsrRows(X.data, X.indices, X.indptr[:3], X.shape[1])
    np.testing.assert_array_equal(squared_norms(none), np.zeros(2))
