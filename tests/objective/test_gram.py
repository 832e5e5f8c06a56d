"""Moments of the features, and second moments in standardised variables."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from problems import objective_of

from separatrix.numeric.standardization import Standardization
from separatrix.objective.gram import gram_blocked
from separatrix.rows import CsrRows, DenseRows


@pytest.mark.parametrize("d", [1, 255, 256, 700])
def test_products_in_tiles_are_the_products(d):
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((300, d)) + 5.0, rng.integers(0, 3, 300).astype(float)
    standardization = Standardization(X.mean(axis=0), rng.random(d + 1) + 0.5)
    expected = DenseRows(X).gram(weight, standardization)
    parts = [(DenseRows(X[at]), weight[at]) for at in (slice(0, 90), slice(90, 300))]
    for dtype, near in ((np.float64, 1e-13), (np.float32, 1e-5)):
        one, two = (gram_blocked(parts, standardization, dtype, threads) for threads in (1, 2))
        assert one.dtype == dtype
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, one.T)
        np.testing.assert_allclose(one, expected, rtol=0, atol=near * np.abs(expected).max())


@pytest.mark.sampled
@pytest.mark.parametrize("d", [3, 130, 300])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("far", [0.1, 30.0, 1e6])
def test_products_of_few_stored_values_are_the_products(d, index, far):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, d)) < 0.5 / d, rng.standard_normal((200, d)), 0.0)
    X[:, 0], X[3] = far, 0.0  # a column that is hardly ever 0, and an empty row
    scale = np.append(np.full(d, 0.7), 1.3)
    standardization = Standardization(X.mean(axis=0), scale)
    Z = np.column_stack([X - X.mean(axis=0), np.ones(200)]).astype(np.longdouble) / scale
    stored = sp.csr_array(X)
    rows = CsrRows(stored.data, stored.indices.astype(index), stored.indptr.astype(index), d)
    assert rows.sums_stored_alone(standardization) == (d > 3 and far < 1e4)
    for weight in (rng.random(200), rng.standard_normal(200), np.zeros(200)):
        expected = np.asarray((Z * weight[:, None]).T @ Z, dtype=np.float64)
        near = 1e-12 * max(1.0, far**2 if far < 1e4 else 1.0)
        np.testing.assert_allclose(rows.gram(weight, standardization), expected, atol=near)
        if weight.min() >= 0.0:
            parts = [
                (rows.part(0, 90), weight[:90]),
                (rows.part(90, 200), weight[90:]),
            ]
            got = gram_blocked(parts, standardization, np.float64, 2)
            np.testing.assert_allclose(got, expected, atol=near)
            np.testing.assert_array_equal(got, got.T)


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_classes_and_the_gradient_at_zeros(store, classes, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 9)) * (rng.random((400, 9)) < 0.5) + 2.0
    number = rng.integers(0, classes, 400)
    number[:classes] = np.arange(classes)
    y = np.where(number > 0, 1.0, -1.0) if classes == 2 else number
    weight = rng.integers(0, 3, 400).astype(float) if weighted else None
    c = np.ones(400) if weight is None else weight
    own = c * (number == np.arange(classes)[:, None])
    for intercept in (True, False):
        for loss in ("logistic", "squared", "squared_hinge", "tanh_squared"):
            problem = objective_of(store(X), y, loss, 0.1, weight, intercept)
            expected = own @ np.column_stack([X, np.ones(400)])
            np.testing.assert_allclose(problem.class_sums, expected, rtol=1e-12)
            mean = c @ X / c.sum()
            np.testing.assert_allclose(problem.moments.mean, mean, rtol=1e-12)
            deviation = np.sqrt(c @ (X - mean) ** 2 / c.sum())
            np.testing.assert_allclose(problem.moments.deviation, deviation, rtol=1e-9)
            at, there = problem.at_zeros(), problem.value_and_gradient(np.zeros(problem.shape))
            assert at.value == pytest.approx(there.value, rel=1e-12)
            assert at.mistakes == there.mistakes
            np.testing.assert_allclose(at.gradient, there.gradient, rtol=1e-9, atol=1e-12)
