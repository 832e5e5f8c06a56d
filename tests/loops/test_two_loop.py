"""The two-loop recursion, against its twin and the inverse that BFGS would make of the pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from loops import twins

from separatrix import loops
from separatrix.loops import CurvaturePair


@pytest.fixture(params=loops.levels())
def level(request):
    now = loops.level()
    loops.use_level(request.param)
    yield
    loops.use_level(now)


def pairs_of(count, shape, seed=0):
    """Steps on a quadratic, so that the curvature along each is above 0."""
    rng = np.random.default_rng(seed)
    curvature = rng.uniform(0.5, 2.0, shape)
    steps = rng.standard_normal((count, *shape))
    changes = steps * curvature
    return tuple(
        CurvaturePair(s.copy(), y.copy(), float(np.sum(s * y)), float(np.sum(y * y)))
        for s, y in zip(steps, changes, strict=True)
    ), rng.standard_normal(shape)


def inverse_of(pairs):
    """By the definition: a matrix that every pair corrects, the first one first."""
    eye = np.eye(pairs[0].s.size)
    B = pairs[-1].sy / pairs[-1].yy * eye
    for pair in pairs:
        s, y = pair.s.ravel(), pair.y.ravel()
        V = eye - np.outer(y, s) / (s @ y)
        B = V.T @ B @ V + np.outer(s, s) / (s @ y)
    return B


@pytest.mark.parametrize("count", [1, 2, 7])
def test_it_is_the_inverse_of_bfgs_times_the_gradient(count, level):
    pairs, gradient = pairs_of(count, (3, 4))
    direction, slope = loops.two_loop(gradient, pairs)
    expected = -inverse_of(pairs) @ gradient.ravel()
    np.testing.assert_allclose(direction.ravel(), expected, rtol=1e-10)
    assert slope == pytest.approx(float(gradient.ravel() @ expected), rel=1e-10)
    assert slope < 0.0


@pytest.mark.parametrize("size", [1, 7, 9, 8191, 8192, 8193, 40_003])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_the_compiled_loop_equals_its_twin(size, count, level):
    pairs, gradient = pairs_of(count, (1, size), seed=size)
    for array in (gradient, *(array for pair in pairs for array in pair[:2])):
        array.flags.writeable = False
    expected, expected_slope = twins.two_loop(gradient, pairs)
    direction, slope = loops.two_loop(gradient, pairs)
    np.testing.assert_allclose(direction, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    assert slope == pytest.approx(expected_slope, rel=1e-11)


def test_without_a_pair_it_goes_down_the_gradient():
    gradient = np.array([[3.0, -4.0]])
    direction, slope = loops.two_loop(gradient, ())
    np.testing.assert_array_equal(direction, [[-3.0, 4.0]])
    assert slope == -25.0


def test_sums_over_many_are_exact_to_thirteen_digits():
    gradient = np.random.default_rng(0).standard_normal((1, 1_000_000))
    exact = -math.fsum((gradient * gradient).ravel().tolist())
    assert loops.two_loop(gradient, ())[1] == pytest.approx(exact, rel=1e-13)


def test_pairs_of_another_size_are_refused():
    pairs, gradient = pairs_of(2, (1, 5))
    with pytest.raises(ValueError, match="s: expected shape"):
        loops.two_loop(np.ones((1, 6)), pairs)
    with pytest.raises(ValueError, match="y: expected shape"):
        loops.two_loop(gradient, (pairs[0], pairs[1]._replace(y=np.ones(4))))
