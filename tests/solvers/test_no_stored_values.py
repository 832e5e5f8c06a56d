"""Rows of zeros alone, stored dense, or sparse with no values at all."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import quiet

from separatrix import (
    LBFGS,
    CoordinateAscent,
    CoordinateDescent,
    DualAscent,
    GradientDescent,
    InteriorPoint,
    LeastSquares,
    LinearClassifier,
    LinearClassifierCV,
    Newton,
    Perceptron,
    ProximalNewton,
    ProximalPoint,
)

Y = np.arange(20) % 3 % 2
Y3 = np.arange(20) % 3
WEIGHT = np.where(np.arange(20) < 6, 1.0, np.arange(20) % 4 * 0.5)
SOLVERS = [
    (CoordinateAscent(), ("hinge", "squared_hinge", "logistic")),
    (DualAscent(), ("hinge", "squared_hinge", "logistic")),
    (InteriorPoint(), ("hinge",)),
    (ProximalPoint(), ("hinge",)),
    (LBFGS(), ("logistic", "squared_hinge")),
    (Newton(), ("logistic",)),
    (LeastSquares(), ("squared",)),
    (GradientDescent(), ("logistic", "hinge")),
    (ProximalNewton(), ("logistic",)),
    (CoordinateDescent(), ("squared_hinge",)),
    ("auto", ("logistic", "hinge", "squared", "squared_hinge", "one_vs_rest_hinge")),
]
PAIRS = [(solver, loss) for solver, losses in SOLVERS for loss in losses]


@quiet
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("solver", "loss"), PAIRS, ids=str)
def test_storage_without_values_is_as_zeros(solver, loss, intercept, weight, standardize):
    for d in (1, 3):
        fits = [
            LinearClassifier(
                loss, solver=solver, fit_intercept=intercept, standardize=standardize, max_iter=50,
                random_state=0,
            ).fit(X, Y, sample_weight=weight)
            for X in (np.zeros((20, d)), sp.csr_array((20, d)))
        ]  # fmt: skip
        dense, sparse = fits
        assert not sparse.coef_.any()
        assert sparse.stop_ == dense.stop_
        assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-6)
        np.testing.assert_allclose(
            sparse.intercept_, dense.intercept_, atol=1e-2
        )  # J is flat there


@quiet
@pytest.mark.parametrize("loss", ["hinge", "logistic", "one_vs_rest_hinge"])
def test_several_classes(loss):
    for solver in ("auto", *([CoordinateAscent()] if loss == "hinge" else [])):
        dense, sparse = (
            LinearClassifier(loss, solver=solver, max_iter=50, random_state=0).fit(X, Y3)
            for X in (np.zeros((20, 2)), sp.csr_array((20, 2)))
        )
        assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-6)
        assert not sparse.coef_.any()


@quiet
def test_perceptrons_and_cross_validation():
    dense, sparse = np.zeros((20, 3)), sp.csr_array((20, 3))
    for make in (
        lambda: Perceptron(max_iter=10, random_state=0),
        lambda: LinearClassifierCV("hinge", l2s=[1.0, 0.1], cv=3, random_state=0, scoring=None),
        lambda: LinearClassifierCV("squared", l2s=[1.0, 0.1], cv="loo", scoring=None),
    ):
        one, other = make().fit(dense, Y), make().fit(sparse, Y)
        np.testing.assert_array_equal(one.predict(dense), other.predict(sparse))
