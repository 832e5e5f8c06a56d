"""Rows dense and sparse: each function against plain NumPy on the dense array."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.numeric.rows import row_nonzeros
from separatrix.rows import CsrRows, rows_of

RNG = np.random.default_rng(1)
X = RNG.normal(size=(30, 5)) * (RNG.random((30, 5)) < 0.4)
X[[0, 7, 29]] = 0.0  # empty rows


def csr(A) -> CsrRows:
    S = sp.csr_array(A)
    return CsrRows(S.data, S.indices, S.indptr, A.shape[1])


FORMS = [np.ascontiguousarray, csr]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("at", [(0, 30), (3, 11), (7, 8), (12, 12)])
def test_slices_share_memory_and_have_the_rows(form, at):
    part = rows_of(form(X)).part(*at).X
    assert rows_of(part).shape == (at[1] - at[0], 5)
    assert np.array_equal(rows_of(part).to_dense(), X[slice(*at)])
    assert np.array_equal(rows_of(part).as_scipy().toarray(), X[slice(*at)])
    np.testing.assert_allclose(
        rows_of(part).row_products(), X[slice(*at)] @ X[slice(*at)].T, atol=1e-14
    )


def test_slices_are_no_copies():
    dense, sparse = X.copy(), csr(X)
    assert np.shares_memory(rows_of(dense).part(2, 9).X, dense)
    assert rows_of(sparse).part(2, 9).X.data is sparse.data
    assert np.shares_memory(rows_of(dense).take(np.arange(2, 9)).X, dense)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("at", [[], [4], [29, 0, 0, 7], list(range(3, 12)), [5, 4, 3]])
def test_rows_are_taken_in_the_order_given(form, at):
    at = np.array(at, dtype=np.int64)
    assert np.array_equal(rows_of(rows_of(form(X)).take(at).X).to_dense(), X[at])


@pytest.mark.parametrize("form", FORMS)
def test_the_values_of_a_row_and_where_they_stand(form):
    for i in range(30):
        at, values = row_nonzeros(form(X), i)
        row = np.zeros(5)
        row[at] = values
        assert np.array_equal(row, X[i])
