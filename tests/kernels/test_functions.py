"""Mercer kernels against scikit-learn's, and what gamma means."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import overlapping
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from separatrix.estimators.kernel import KernelPerceptron
from separatrix.kernels import get_kernel


@pytest.mark.parametrize("name", ["rbf", "poly", "linear", "sigmoid", "laplacian"])
@pytest.mark.parametrize("left", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("right", [np.asarray, sp.csr_matrix])
def test_kernels_are_those_of_scikit_learn(name, left, right, rng):
    A, B = rng.standard_normal((7, 4)), rng.standard_normal((5, 4))
    kernel = get_kernel(name, B, gamma=0.7, degree=3, coef0=0.5)
    expected = pairwise_kernels(A, B, metric=name, filter_params=True, gamma=0.7, degree=3,
                                coef0=0.5)  # fmt: skip
    np.testing.assert_allclose(
        kernel.between(left(A), kernel.prepare(right(B))), expected, rtol=1e-12
    )


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.25])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_gamma_means_what_it_means_in_svc(gamma, form):
    X, y = overlapping(n=50)
    expected = SVC(gamma=gamma).fit(X, y)._gamma
    assert KernelPerceptron(gamma=gamma).fit(form(X), y)._expansion.kernel.gamma == pytest.approx(
        expected
    )


def test_gamma_of_constant_rows_is_one():
    assert get_kernel("rbf", np.ones((3, 2))).gamma == 1.0


def test_rbf_far_from_the_origin_keeps_its_digits(rng):
    X = rng.standard_normal((20, 3))
    kernel = get_kernel("rbf", X, gamma=1.0)
    far = kernel.between(X + 2.0**26, kernel.prepare(X + 2.0**26))
    np.testing.assert_allclose(far, kernel.between(X, kernel.prepare(X)), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e155, 1e300, 1e-158])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_gamma_that_overflows_is_refused_without_a_warning_of_numpys(scale, container):
    rows = container(np.random.default_rng(0).standard_normal((20, 3)) * scale)
    with pytest.raises(ValueError, match=r"gamma='scale' is 1 / .* overflows"):
        KernelPerceptron().fit(rows, np.arange(20) % 2)
