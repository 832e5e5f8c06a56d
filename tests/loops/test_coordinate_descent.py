"""The compiled coordinate descent on a quadratic, against its twin and a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from loops import twins
from scipy.optimize import minimize

from separatrix import loops


def problem(m, seed, rank=None):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m if rank is None else rank, m))
    thresholds = rng.uniform(0.0, 2.0, m)
    thresholds[::3] = 0.0
    return A.T @ A, thresholds, rng.standard_normal(m), 3.0 * rng.standard_normal(m)


@pytest.mark.parametrize("level", loops.levels())
@pytest.mark.parametrize("m", [1, 2, 7, 8, 17, 64])
def test_the_compiled_loop_equals_its_twin(level, m):
    H, thresholds, u, slope = problem(m, m)
    H[0, :] = H[:, 0] = 0.0  # no curvature: it stays
    now, ends = loops.level(), []
    loops.use_level(level)
    try:
        for descend in (loops.coordinate_descent, twins.coordinate_descent):
            at, here = u.copy(), slope.copy()
            reported = descend(H, thresholds, at, here, max_epochs=5, enough=1e-3)
            ends.append((at, here, reported))
    finally:
        loops.use_level(now)
    for compiled, twin in zip(*ends, strict=True):
        np.testing.assert_allclose(compiled, twin, rtol=1e-9, atol=1e-10)
    assert ends[0][0][0] == u[0]
    assert ends[0][2].epochs == ends[1][2].epochs


@pytest.mark.parametrize("rank", [None, 4])
def test_the_end_is_the_minimum_and_the_slope_that_of_it(rank):
    H, thresholds, u, slope = problem(6, 3, rank)
    slope = H @ np.random.default_rng(1).standard_normal(6)  # so that there is a minimum
    start, first = u.copy(), slope.copy()
    loops.coordinate_descent(H, thresholds, u, slope, max_epochs=100_000, enough=0.0)
    np.testing.assert_allclose(slope, first + H @ (u - start), atol=1e-9)

    def value(parts):
        at = parts[:6] - parts[6:]
        smooth = first @ (at - start) + 0.5 * (at - start) @ H @ (at - start)
        return smooth + thresholds @ (parts[:6] + parts[6:])

    split = np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0)])
    best = minimize(value, split, bounds=[(0.0, None)] * 12, tol=1e-14).fun
    mine = value(np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)]))
    assert mine == pytest.approx(best, abs=1e-6)
    assert mine <= best + 1e-9
    assert (u == 0.0).any()


def test_epochs_end_where_little_is_gained_or_as_asked():
    H, thresholds, u, slope = problem(20, 5)
    reported = loops.coordinate_descent(H, thresholds, u, slope, max_epochs=3, enough=0.0)
    assert reported.epochs == 3
    assert reported.gain > 0.0
    reported = loops.coordinate_descent(H, thresholds, u, slope, max_epochs=1000, enough=np.inf)
    assert reported.epochs == 1


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="hessian: expected shape"):
        loops.coordinate_descent(
            np.eye(3), np.zeros(2), np.zeros(2), np.zeros(2), max_epochs=1, enough=0.0
        )
