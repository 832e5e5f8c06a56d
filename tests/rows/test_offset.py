"""Rows with an offset, against rows with one more feature for each column of it, of weight 1."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import ArraySource, get_loss, loops
from separatrix.data import Subset
from separatrix.data.wrapped import WithoutOffset
from separatrix.numeric.standardization import Standardization
from separatrix.rows import (
    CsrRows,
    DenseRows,
    OffsetRows,
    StandardizedRows,
    Standardizer,
    concatenate_rows,
    host_rows_of,
    with_offset,
)

N, D = 40, 3
rng = np.random.default_rng(0)
X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7)
OFFSET = rng.normal(size=(N, 3))
WEIGHT = rng.integers(0, 3, size=N).astype(float)
W = rng.normal(size=(3, D + 1))


def stored(kind, values):
    return DenseRows(values) if kind == "dense" else CsrRows.of_scipy(sp.csr_array(values))


def both(kind, k):
    """Rows with an offset, and rows with k more features; and the weights of each."""
    offset = OFFSET[:, :k].copy()
    wide = stored(kind, np.column_stack([X, offset]))
    V = np.column_stack([W[:k, :-1], np.eye(k), W[:k, -1]])
    return with_offset(stored(kind, X), offset), W[:k].copy(), wide, V


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("k", [1, 3])
def test_sums_are_those_of_one_more_feature(kind, k):
    rows, U, wide, V = both(kind, k)
    y = np.where(np.arange(N) % 2, 1.0, -1.0) if k == 1 else np.arange(N) % 3
    loss = get_loss("logistic").for_classes(max(k, 2))
    np.testing.assert_allclose(rows.scores(U), wide.scores(V), rtol=1e-13, atol=1e-13)
    for here, there in zip(rows.compensated_scores(U), wide.compensated_scores(V), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-15, atol=1e-30)
    gradient, whole = np.zeros_like(U), np.zeros_like(V)
    found = rows.value_gradient(y, loss, U, WEIGHT, gradient)
    expected = wide.value_gradient(y, loss, V, WEIGHT, whole)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_allclose(gradient, np.delete(whole, range(D, D + k), axis=1), atol=1e-12)
    if k == 1:
        curvature, of_wide = np.empty(N), np.empty(N)
        rows.value_gradient(y, loss, U, WEIGHT, curvature=curvature)
        wide.value_gradient(y, loss, V, WEIGHT, curvature=of_wide)
        np.testing.assert_allclose(curvature, of_wide, rtol=1e-12)
    right, of_all = np.zeros(2), np.zeros(2)
    rows.weighted_correct(y, WEIGHT, np.stack([U, -U]), right)
    wide.weighted_correct(y, WEIGHT, np.stack([V, V - 2.0 * np.column_stack(
        [U[:, :-1], np.zeros((k, k)), U[:, -1]])]), of_all)  # fmt: skip
    np.testing.assert_allclose(right, of_all)


def test_scores_of_digits_that_cancel_are_exact():
    offset = np.full((N, 1), 1e8)
    rows = with_offset(DenseRows(np.full((N, 1), 1.0)), offset)
    high, low = rows.compensated_scores(np.array([[1e-9, -1e8]]))
    np.testing.assert_array_equal(high + low, np.full((N, 1), 1e-9))


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_parts_and_copies_keep_the_offset_of_their_rows(kind):
    rows = with_offset(stored(kind, X), OFFSET)
    for made, at in (
        (rows.part(5, 9), np.arange(5, 9)),
        (rows.take(np.array([7, 2, 2])), [7, 2, 2]),
        (rows.take_features(np.array([0, 2])), np.arange(N)),
        (concatenate_rows([rows.part(0, 3), rows.part(3, 4)]), np.arange(4)),
        (pickle.loads(pickle.dumps(rows)), np.arange(N)),
        (rows.stored, np.arange(N)),
    ):
        assert isinstance(made, OffsetRows)
        np.testing.assert_array_equal(made.offset, OFFSET[at])
        assert made.shape[0] == len(at)
    assert host_rows_of(rows) is rows.without_offset
    assert with_offset(rows, None) is rows.without_offset
    again = with_offset(rows, 2.0 * OFFSET)  # in place of the other
    np.testing.assert_array_equal(again.scores(0.0 * W), 2.0 * OFFSET)
    assert rows.visitable
    weights = loops.OnlineWeights.start(W[:1], None)
    own = with_offset(stored(kind, X), OFFSET[:, :1].copy())
    found = own.visits.online_pass(
        np.ones(N), get_loss("hinge"), weights, steps=np.zeros(1)
    )  # steps of length 0: the losses are those at W
    losses = np.maximum(0.0, 1.0 - own.scores(W[:1])[:, 0])
    assert found.loss_sum == pytest.approx(losses.sum(), rel=1e-12)
    assert own.visits.screening_state(1) is None


def test_products_that_are_linear_do_not_see_it():
    rows, plain = with_offset(DenseRows(X), OFFSET), DenseRows(X)
    scaling = Standardization(np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 0.5, 1.0]))
    for name, arguments in (
        ("mean", ()), ("squared_norms", ()), ("row_products", ()), ("to_dense", ()),
        ("gram", (WEIGHT, scaling)), ("standardized", (scaling,)),
        ("features_as_dense", (np.array([1]),)),
        ("max_standardised_norm2", (WEIGHT, scaling.mean, np.ones(D))),
    ):  # fmt: skip
        np.testing.assert_array_equal(
            getattr(rows, name)(*arguments), getattr(plain, name)(*arguments)
        )
    assert (rows.dtype, rows.storage, rows.rounding) == (plain.dtype, plain.storage, plain.rounding)
    assert rows.row_bytes == plain.row_bytes + 24


def test_sources_pass_it_on():
    y = (np.arange(N) % 3).astype(np.int64)
    source = ArraySource(with_offset(DenseRows(X), OFFSET), y, np.arange(3), WEIGHT)
    plain = source.without_offset
    assert source.has_offset
    assert not plain.has_offset
    assert plain.without_offset is plain
    assert source.fingerprint() != plain.fingerprint()
    other = ArraySource(with_offset(DenseRows(X), OFFSET + 1.0), y, np.arange(3), WEIGHT)
    assert source.fingerprint() != other.fingerprint()
    assert plain.fingerprint() == ArraySource(X, y, np.arange(3), WEIGHT).fingerprint()
    at = np.array([3, 8, 9])
    for some in (source.take(at), Subset(source, at), Subset(source, at).materialised):
        assert some.has_offset
        np.testing.assert_array_equal(some.scores(0.0 * W), OFFSET[at])
        np.testing.assert_array_equal(some.without_offset.scores(0.0 * W), np.zeros((3, 3)))
    removed = WithoutOffset(source)
    assert not removed.has_offset
    assert all(block.rows.offset is None for block in removed.blocks())


def test_standardised_rows_have_the_offset_outside():
    scaling = Standardizer(Standardization(np.zeros(D), np.full(D + 1, 2.0)))
    rows = with_offset(StandardizedRows(DenseRows(X), scaling), OFFSET)
    np.testing.assert_allclose(rows.scores(W) - rows.without_offset.scores(W), OFFSET, atol=1e-15)
