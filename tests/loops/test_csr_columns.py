"""Columns of sparse rows, against their twin and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from loops import twins

from separatrix import loops
from separatrix.rows import CsrRows


def random_rows(n, d, value, index):
    X = sp.random_array((n, d), density=0.3, rng=np.random.default_rng(n), format="csr")
    return X, CsrRows(X.data.astype(value), X.indices.astype(index), X.indptr.astype(index), d)


@pytest.mark.parametrize("value", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("features", [[], [0], [6, 2, 3], range(7)])
def test_columns_are_those_of_the_twin_and_of_scipy(value, index, features):
    X, rows = random_rows(20, 7, value, index)
    features = np.array(features, dtype=np.int64)
    some, first = rows.part(3, 17), 3
    for of, begin, end in ((rows, 0, 20), (some, first, 17)):
        made, twin = loops.csr_columns(of, features), twins.csr_columns(of, features)
        for one, other in zip(made, twin, strict=True):
            np.testing.assert_array_equal(one, other)
            assert np.asarray(one).dtype == np.asarray(other).dtype
        theirs = X[begin:end, features].toarray().T.astype(value)
        whole = sp.csr_array(made[:3], shape=(len(features), end - begin)).toarray()
        np.testing.assert_array_equal(whole, theirs)


def test_what_does_not_fit_is_refused():
    _, rows = random_rows(5, 3, np.float64, np.int32)
    place, none = np.array([0, 1, -1], dtype=np.int32), np.zeros(0, dtype=np.int64)
    with pytest.raises(ValueError, match="place: expected shape"):
        loops._compiled._loops.column_sizes(rows, place[:2], np.zeros(2, dtype=np.int64))
    with pytest.raises(ValueError, match="place: expected numbers of columns"):
        loops._compiled._loops.column_sizes(rows, place, none)
    room = CsrRows(np.zeros(1), np.zeros(1, np.int32), np.zeros(3, np.int32), 5)
    with pytest.raises(ValueError, match="next: expected numbers from 0 to 1"):
        loops._compiled._loops.copy_columns(rows, place, np.array([0, 9]), room)
    with pytest.raises(TypeError, match="sparse"):
        loops._compiled._loops.column_sizes(np.zeros((5, 3)), place, np.zeros(2, dtype=np.int64))
