"""Rows of the kernel matrix have the same bits, whatever is kept."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_oracles import (
    three_clouds,
)

from separatrix.estimators.kernel import KernelPerceptron
from separatrix.kernels import KernelCache, get_kernel


def test_kernel_rows_have_the_same_bits_whatever_is_cached(rng):
    X = rng.standard_normal((301, 7))
    kernel = get_kernel("rbf", X)
    roomy, tight = (KernelCache(kernel, X, 1.0, room) for room in (1e9, 3 * 8 * 301))
    assert (roomy.capacity, tight.capacity) == (301, 3)
    for number in rng.integers(301, size=200).tolist():
        likely = rng.integers(301, size=20)
        expected = roomy.row(number, lambda: np.arange(0)).copy()
        np.testing.assert_array_equal(tight.row(number, lambda likely=likely: likely), expected)
    assert tight.computed > 200


@pytest.mark.parametrize(("keep", "budget"), [("average", None), ("voted", None), ("auto", 20)])
def test_a_tiny_cache_changes_nothing(keep, budget):
    X, y = three_clouds(n=300)
    common = {"keep": keep, "max_iter": 5, "random_state": 0, "budget": budget}
    roomy = KernelPerceptron(**common).fit(X, y)
    tight = KernelPerceptron(**common, cache_mb=0).fit(X, y)
    np.testing.assert_array_equal(tight.embedding_strengths_, roomy.embedding_strengths_)
    np.testing.assert_array_equal(tight.dual_coef_, roomy.dual_coef_)
    np.testing.assert_array_equal(tight.history_["norm"], roomy.history_["norm"])
    np.testing.assert_array_equal(tight.decision_function(X), roomy.decision_function(X))
