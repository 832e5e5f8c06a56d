"""Rows of any kind with several labels each."""

import numpy as np
import pytest
import scipy.sparse as sp
from label_columns import TIGHT, X, Y, assert_as_columns, table
from sklearn.base import clone

from separatrix import LinearClassifier


@pytest.mark.sampled
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_sparse_rows(loss, l1):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((80, 40)) * (rng.random((80, 40)) < 0.15)
    dense[:5] = 0.0  # empty rows
    Y = (dense[:, :3] + 0.1 * rng.standard_normal((80, 3)) > 0.05).astype(int)
    clf = LinearClassifier(loss, l1=l1, l2=1e-2, tol=1e-10)
    assert_as_columns(clf, sp.csr_array(dense), Y, atol=1e-4)
    a, b = clone(clf).fit(dense, Y), clone(clf).fit(sp.csr_array(dense), Y)
    assert np.allclose(a.coef_, b.coef_, atol=1e-4)


def test_float32_rows():
    clf = assert_as_columns(LinearClassifier(l2=1e-2, tol=1e-9), X.astype(np.float32), Y)
    assert clf.coef_.dtype == np.float64


def test_fewer_rows_than_features():
    X, Y = table(n=12, d=30, q=3)
    assert_as_columns(LinearClassifier(l2=0.1, tol=TIGHT), X, Y, atol=1e-4)


def test_one_feature_and_a_constant_one():
    assert_as_columns(LinearClassifier(l2=1e-2, tol=TIGHT), X[:, :1], Y)
    rows = np.column_stack([X[:, :2], np.full(len(X), 7.0)])
    assert_as_columns(LinearClassifier(l2=1e-2, tol=TIGHT, standardize=True), rows, Y)


def test_read_only_and_strided_arrays():
    wide = np.repeat(Y, 2, axis=1)
    wide.setflags(write=False)
    rows = np.asfortranarray(X)
    rows.setflags(write=False)
    a = LinearClassifier(l2=1e-2).fit(rows, wide[:, ::2])
    b = LinearClassifier(l2=1e-2).fit(X, Y)
    assert np.array_equal(a.coef_, b.coef_)
