"""Sums over rows on a GPU against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from separatrix.data.device_arrays import device_rows
from separatrix.numeric.standardization import Standardization
from separatrix.objective.sums import BiasCurvature, ClassHessian, HessianProduct
from separatrix.rows import DenseRows

from .arrays import KINDS, problem, torch_rows

LOSSES = ("logistic", "squared", "squared_hinge", "tanh_squared", "hinge", "perceptron")


def both(kind, n=1003, d=12, k=2):
    X, number = problem(n, d, k, kind=kind)
    return device_rows(torch_rows(X, kind)), DenseRows(X.astype(np.float64)), number


@pytest.mark.parametrize("d", [1, 7, 32, 100, 128, 256, 512, 700, 1500, 3000, 5000, 9000])
@pytest.mark.parametrize("kind", KINDS)
def test_the_pass_of_two_classes(kind, d):
    there, here, number = both(kind, 501, d)
    y, rng = 2.0 * number - 1.0, np.random.default_rng(1)
    W = rng.standard_normal((1, d + 1)) / np.sqrt(d)
    weight = rng.random(len(y))
    weight[::7] = 0.0
    for loss in map(sx.get_loss, LOSSES[:3]):
        gradients, curvatures = np.zeros((2, 1, d + 1)), np.zeros((2, len(y)))
        found = [
            rows.value_gradient(y, loss, W, weight, gradients[i], curvatures[i])
            for i, rows in enumerate((there, here))
        ]
        np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
        np.testing.assert_allclose(*gradients, atol=1e-11 * np.abs(gradients).max())
        np.testing.assert_allclose(*curvatures, rtol=1e-11, atol=1e-14)
    products = np.zeros((2, 1, d + 1))
    for rows, out in zip((there, here), products, strict=True):
        rows.hessian_product(weight, W, out)
    np.testing.assert_allclose(*products, atol=1e-11 * np.abs(products).max())


@pytest.mark.parametrize("k", [3, 5, 40, 300])
@pytest.mark.parametrize("loss", [*LOSSES, "one_vs_rest_logistic", "one_vs_rest_hinge"])
def test_many_classes(loss, k):
    there, here, _ = both("float32", 701, 20)
    rng = np.random.default_rng(k)
    y, W = rng.integers(0, k, 701), rng.standard_normal((k, 21))
    of, weight = sx.get_loss(loss).for_classes(k), rng.random(701)
    weight[::5] = 0.0
    gradients = np.zeros((2, k, 21))
    found = [
        rows.value_gradient(y, of, W, weight, gradients[i]) for i, rows in enumerate((there, here))
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    np.testing.assert_allclose(*gradients, atol=1e-11 * np.abs(gradients).max())


@pytest.mark.parametrize("kind", KINDS)
def test_other_sums(kind):
    there, here, number = both(kind, 1003, 37, 3)
    rng = np.random.default_rng(2)
    W, weight = rng.standard_normal((3, 38)), rng.random(1003)
    np.testing.assert_allclose(there.scores(W), here.scores(W), atol=1e-11)
    C, sums = rng.standard_normal((1003, 3)), np.zeros((2, 3, 38))
    for rows, out in zip((there, here), sums, strict=True):
        rows.transpose_product(C, out)
    np.testing.assert_allclose(*sums, atol=1e-10)
    np.testing.assert_allclose(there.squared_norms(), here.squared_norms(), rtol=1e-12)
    for group, shift in ((None, None), (number, rng.standard_normal(37))):
        found = [
            (np.zeros(37) if group is None else np.zeros((3, 37)), np.zeros(37)) for _ in range(2)
        ]
        for rows, (sum, squares) in zip((there, here), found, strict=True):
            rows.moments(weight, group, shift, sum, squares)
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)
    how = Standardization(rng.standard_normal(37), np.append(rng.random(37) + 0.5, 2.0))
    for c in (weight, weight - 0.5):
        np.testing.assert_allclose(there.gram(c, how), here.gram(c, how), atol=1e-9)
    at = np.array([5, 3, 900])
    np.testing.assert_array_equal(there.take(at).to_dense(), here.take(at).to_dense())
    np.testing.assert_array_equal(there.part(3, 9).to_dense(), here.part(3, 9).to_dense())
    for ours, theirs in zip(there.compensated_scores(W), here.compensated_scores(W), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-15, atol=1e-25)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "one_vs_rest_logistic"])
@pytest.mark.parametrize("k", [3, 50])
def test_second_derivatives_of_many_classes(loss, k):
    there, here, _ = both("float32", 701, 20)
    rng = np.random.default_rng(k)
    y, weight, (W, V) = rng.integers(0, k, 701), rng.random(701), rng.standard_normal((2, k, 21))
    weight[::5] = 0.0
    of = sx.get_loss(loss).for_classes(k)
    ours, theirs = (sx.ArraySource(rows.X, y, np.arange(k), weight) for rows in (there, here))
    how = Standardization(np.zeros(20), np.ones(21))
    for sum in (HessianProduct(of, W, V), BiasCurvature(of, W), ClassHessian(of, W, how)):
        found, expected = ours.total(sum)[0], theirs.total(sum)[0]
        np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


def test_sparse_sums():
    import scipy.sparse as sp

    from separatrix.data.device_arrays import uploaded
    from separatrix.rows import CsrRows
    from separatrix.rows.device import cuda

    rng = np.random.default_rng(0)
    matrix = sp.random_array((900, 400), density=0.03, format="csr", rng=rng)
    matrix.data[:] = rng.standard_normal(matrix.nnz)
    here = CsrRows.of_scipy(matrix)
    there = uploaded(here, cuda(0))
    for k in (1, 4):
        y = np.where(rng.random(900) < 0.5, -1.0, 1.0) if k == 1 else rng.integers(0, k, 900)
        W, weight = rng.standard_normal((k, 401)), rng.random(900)
        loss = sx.get_loss("logistic").for_classes(max(k, 2))
        gradients = np.zeros((2, k, 401))
        found = [
            rows.value_gradient(y, loss, W, weight, gradients[i])
            for i, rows in enumerate((there, here))
        ]
        np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
        np.testing.assert_allclose(*gradients, atol=1e-12 * np.abs(gradients).max())
        np.testing.assert_allclose(there.scores(W), here.scores(W), atol=1e-12)
        (high, expected), (low, rest) = zip(
            there.compensated_scores(W), here.compensated_scores(W), strict=True
        )
        np.testing.assert_array_equal(high, expected)
        np.testing.assert_allclose(low, rest, rtol=1e-10, atol=1e-24)
    np.testing.assert_allclose(there.squared_norms(), here.squared_norms(), rtol=1e-14)
    group = rng.integers(0, 2, 900)
    found = [(np.zeros((2, 400)), np.zeros(400)) for _ in range(2)]
    for rows, (sum, squares) in zip((there, here), found, strict=True):
        rows.moments(weight, group, None, sum, squares)
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
