"""Standardised rows: in memory, while they are read, dense and sparse."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import ArraySource
from separatrix.data import Block, Shuffle
from separatrix.data.standardized import Standardize, StandardizedSource, standardized
from separatrix.data.validation import check_rows
from separatrix.data.wrapped import SumOfMapped
from separatrix.losses import get_loss
from separatrix.numeric.rows import to_dense
from separatrix.numeric.standardization import Standardization
from separatrix.objective.objective import Objective
from separatrix.objective.sums import (
    BiasCurvature,
    ClassHessian,
    Hessian,
    HessianProduct,
    Value,
    ValueGradient,
)
from separatrix.penalties import L2
from separatrix.proofs.rounding import rounding
from separatrix.rows import CsrRows, Standardizer, rows_of

N, D = 2000, 4
CLASSES = np.array([0, 1])


def data(rng, sparse=False, dtype=np.float64):
    X = (rng.standard_normal((N, D)) * [1.0, 100.0, 0.01, 3.0]).astype(dtype)
    X[rng.random((N, D)) < 0.4] = 0.0
    mean = np.zeros(D) if sparse else rng.standard_normal(D)
    rows = check_rows(sp.csr_array(X)) if sparse else X
    y = np.where(np.arange(N) % 2, 1.0, -1.0)
    weight = rng.integers(0, 3, N).astype(float)
    how = Standardization(mean, np.append(rng.random(D) + 0.5, 1.0))
    return ArraySource(rows, y, CLASSES, weight, n_jobs=2), X, how


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_those_of_the_formula(rng, sparse, dtype):
    source, X, how = data(rng, sparse, dtype)
    expected = (X - how.mean) / how.scale[:-1]
    near = 1e-15 if dtype == np.float64 else 1e-7
    in_memory = standardized(source, how)
    assert isinstance(in_memory, ArraySource)
    assert in_memory.dtype == dtype
    assert in_memory.storage == source.storage
    np.testing.assert_allclose(to_dense(in_memory.X), expected, rtol=4 * near, atol=near)
    for start, stop in ((0, 0), (3, 4), (500, 1900)):  # sparse ones share the arrays of all
        some = Standardizer(how).copied(rows_of(source.X).part(start, stop)).X
        np.testing.assert_array_equal(to_dense(some), to_dense(in_memory.X)[start:stop])
    wrapped = StandardizedSource(source, how)
    (block,) = (block.stored for block in wrapped.blocks())
    assert wrapped.dtype == block.rows.dtype == np.float64  # not rounded to what is stored
    np.testing.assert_allclose(to_dense(block.X), to_dense(in_memory.X), rtol=near, atol=0.0)
    if isinstance(block.X, CsrRows):
        assert len(block.X.data) == len(source.X.data)


@pytest.mark.parametrize("sparse", [False, True])
def test_sums_visits_and_samples_are_those_of_scaled_rows(rng, sparse):
    source, _, how = data(rng, sparse)
    wrapped, copied = StandardizedSource(source, how), standardized(source, how)
    loss, W = get_loss("logistic"), rng.standard_normal((1, D + 1))
    plain = Standardization(np.zeros(D), np.ones(D + 1))
    V, twice = (
        rng.standard_normal((1, D + 1)),
        Standardization(rng.random(D), rng.random(D + 1) + 1),
    )
    for asked in (
        Value(loss, W), ValueGradient(loss, W), ValueGradient(loss, W, float32_sums=True),
        ClassHessian(loss, W, plain), ClassHessian(loss, W, twice), Hessian(loss, W, twice),
        HessianProduct(loss, W, V), BiasCurvature(loss, W),
    ):  # fmt: skip
        for one, other in zip(wrapped.total(asked), copied.total(asked), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        assert pickle.loads(pickle.dumps(SumOfMapped(asked, Standardize(how)))).sum.W is not W
    for (block, order), (other, same) in zip(
        wrapped.visits(Shuffle(5, 0)), copied.visits(Shuffle(5, 0)), strict=True
    ):
        np.testing.assert_array_equal(order, same)
        np.testing.assert_array_equal(to_dense(block.X), to_dense(other.X))
    sample = wrapped.sample(100)
    np.testing.assert_array_equal(
        to_dense(sample.block().X), to_dense(copied.sample(100).block().X)
    )


def test_large_sums_go_batch_by_batch(rng):
    d = 300
    source = ArraySource(rng.standard_normal((700, d)), np.ones(700), CLASSES)
    how = Standardization(rng.standard_normal(d), np.append(rng.random(d) + 0.5, 1.0))
    plain = Standardization(np.zeros(d), np.ones(d + 1))
    asked = ClassHessian(get_loss("logistic"), np.zeros((1, d + 1)), plain)
    assert SumOfMapped(asked, Standardize(how)).batch_rows == asked.batch_rows is not None
    (one,), (other,) = (
        s.total(asked) for s in (StandardizedSource(source, how), standardized(source, how))
    )
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * np.abs(other).max())


def test_names_tell_other_rows_and_other_scales_apart(rng):
    source, _, how = data(rng)
    other = Standardization(how.mean, 2.0 * how.scale)
    names = {StandardizedSource(source, each).fingerprint() for each in (how, how, other)}
    names.add(StandardizedSource(source.with_weight(None), how).fingerprint())
    assert len(names) == 3


@pytest.mark.parametrize("off", [0.0, 99.0, 30_000.0])
def test_far_off_the_origin_rows_are_centred_first(rng, off):
    """Below, J is known as exactly as its rounding says; beyond, that does not grow."""
    z = rng.standard_normal((N, D))
    how = Standardization(np.full(D, off), np.append(np.ones(D), 1.0))
    source = ArraySource(z + off, np.where(rng.random(N) < 0.5, 1.0, -1.0), CLASSES)
    wrapped = StandardizedSource(source, how)
    W = rng.standard_normal((1, D + 1))
    J, exact = (
        Objective(get_loss("logistic"), L2(0.0), s) for s in (wrapped, standardized(source, how))
    )
    value = J.value(W)[0]
    error, allowed = abs(value - exact.value(W)[0]), rounding(J, W, value)
    assert error <= allowed
    near = rounding(exact, W, value)
    assert np.all(wrapped.cancelling == (2.0 * off if off < 100 else 0.0))
    assert allowed <= 5e-13 if off == 99.0 else allowed < 1.01 * near


@pytest.mark.parametrize("sparse", [False, True])
def test_only_rows_without_weight_may_overflow(rng, sparse):
    source, X, how = data(rng, sparse)
    X[7] = 1e308
    rows = check_rows(sp.csr_array(X)) if sparse else X
    scales = Standardization(how.mean, np.append(np.full(D, 1e-5), 1.0))
    weight = np.ones(N)
    with pytest.raises(ValueError, match="row 7 of a block overflows when standardised"):
        _ = Standardize(scales)(Block(rows, source.y, weight, 0)).stored
    weight[7] = 0.0
    found = to_dense(Standardize(scales)(Block(rows, source.y, weight, 0)).stored.X)
    assert not found[7].any()
    assert np.all(np.isfinite(found))
