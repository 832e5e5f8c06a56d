"""The dot product: exact enough, and the same bits whatever the threads of BLAS."""

from __future__ import annotations

import math

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from separatrix.numeric.dot import dot


@pytest.mark.parametrize("n", [1, 100, 10_000, 100_000])
def test_against_an_exact_sum(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(2, n))
    exact = math.fsum((a * b).tolist())
    assert dot(a, b) == pytest.approx(exact, abs=1e-12 * float(np.sum(np.abs(a * b))))
    two = a.reshape(1, -1), b.reshape(1, -1)
    assert dot(*two) == dot(a, b)


def test_threads_of_blas_change_no_bit():
    a, b = np.random.default_rng(0).normal(size=(2, 300_001))
    found = set()
    for threads in (1, 2, 4):
        with threadpool_limits(threads, "blas"):
            found.add(dot(a, b))
    assert len(found) == 1


@pytest.mark.parametrize("size", [1, 10_000, 10_001, 50_000])
def test_inner_products_of_few_and_many(size):
    a, b = np.random.default_rng(0).standard_normal((2, 2, size))
    assert dot(a, b) == pytest.approx(sum(map(np.dot, a, b)), rel=1e-10)
    assert dot(a[:, ::2], b[:, ::2]) == pytest.approx(np.sum(a[:, ::2] * b[:, ::2]), rel=1e-10)
