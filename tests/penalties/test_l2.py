from __future__ import annotations

import numpy as np
import pytest

from separatrix import L2


def test_value_gradient_and_diagonal_leave_the_bias_alone():
    W = np.array([[1.0, -2.0, 7.0], [0.5, 0.0, -9.0]])
    penalty = L2(0.3)
    assert penalty.value(W) == pytest.approx(0.3 * (1.0 + 4.0 + 0.25))
    for row, column in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[row, column] = 1e-4
        slope = (penalty.value(W + step) - penalty.value(W - step)) / 2e-4
        assert penalty.gradient(W)[row, column] == pytest.approx(slope, abs=1e-9)
        curvature = penalty.value(W + step) - 2.0 * penalty.value(W) + penalty.value(W - step)
        assert penalty.diagonal(W.shape)[row, column] == pytest.approx(curvature / 1e-8, abs=1e-6)


@pytest.mark.parametrize("l2", [1e-3, 0.5, 4.0])
def test_the_conjugate_is_the_largest_difference(l2):
    rng = np.random.default_rng(0)
    V, penalty = rng.standard_normal((2, 5)), L2(l2)

    def difference(w):
        return np.sum(V * w) - penalty.value(np.column_stack([w, [3.0, -1.0]]))

    best = V / (2.0 * l2)
    assert penalty.conjugate(V) == pytest.approx(difference(best), rel=1e-12)
    for size in (1e-3, 1.0, 10.0):
        assert difference(best + size * rng.standard_normal(V.shape)) < penalty.conjugate(V)


def test_without_a_penalty_there_is_no_largest_difference():
    assert L2().conjugate(np.zeros((1, 3))) == 0.0
    assert L2().conjugate(np.array([[0.0, 1e-300]])) == np.inf
