from __future__ import annotations

import numpy as np
import pytest

from separatrix.numeric.dot import dot


@pytest.mark.parametrize("size", [1, 10_000, 10_001, 50_000])
def test_inner_products_of_few_and_many(size):
    a, b = np.random.default_rng(0).standard_normal((2, 2, size))
    assert dot(a, b) == pytest.approx(sum(map(np.dot, a, b)), rel=1e-10)
    assert dot(a[:, ::2], b[:, ::2]) == pytest.approx(np.sum(a[:, ::2] * b[:, ::2]), rel=1e-10)
