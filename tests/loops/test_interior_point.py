"""The compiled steps of an interior point method for the hinge, against their twin."""

from __future__ import annotations

import numpy as np
import pytest
from layouts import LAYOUTS, data, stored
from loops import twins

from separatrix import loops
from separatrix.numeric.standardization import Standardization


def middle(n, d):
    """The point at weights of 0, half way between the bounds."""
    half = np.full(n, 0.5)
    return loops.HingePairs(np.zeros(d + 1), half, half.copy(), np.ones(n), np.full(n, 2.0))


def problem(n=60, d=11):
    X, y, rng = data(n, d)
    share = rng.uniform(0.0, 2.0, n)
    share[3] = 0.0
    scale = np.append(rng.uniform(0.5, 2.0, d), 0.5)
    return X, y, share / share.sum(), Standardization(rng.standard_normal(d), scale)


def gap(X, y, share, at, l2, intercept):
    """J at the weights less the dual at alphas that balance, both in plain arithmetic."""
    margins = y * (X @ at.w[:-1] + at.w[-1])
    J = share @ np.maximum(0.0, 1.0 - margins) + l2 * at.w[:-1] @ at.w[:-1]
    pulls = share * np.clip(at.alpha, 0.0, 1.0)
    if intercept:
        one, other = pulls[y > 0].sum(), pulls[y < 0].sum()
        pulls = pulls * np.where(y > 0, min(1.0, other / one), min(1.0, one / other))
    v = (pulls * y) @ X
    return (J - (pulls.sum() - v @ v / (4.0 * l2))) / J


@pytest.mark.parametrize("level", loops.levels())
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_compiled_steps_equal_their_twin(level, layout, intercept):
    X, y, share, standardization = problem()
    if not intercept:
        standardization = Standardization(np.zeros(11), standardization.scale)
    given = {"l2": 1e-2, "intercept": intercept, "standardization": standardization}
    ends, now = [], loops.level()
    loops.use_level(level)
    try:
        for enough in (0.5, 1e-2, 1e-4):
            for rows, steps in (
                (stored(X, layout), loops.interior_points), (X, twins.interior_points),
            ):  # fmt: skip
                at = middle(60, 11)
                ends.append((steps(rows, y, share, at, enough=enough, **given), at))
    finally:
        loops.use_level(now)
    for (taken, at), (expected, twin) in zip(ends[::2], ends[1::2], strict=True):
        assert taken == expected
        for found, value in zip(at, twin, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-6, atol=1e-9)
    assert ends[0][0] < ends[2][0] < ends[4][0] < 20
    assert -1e-12 <= gap(X, y, share, ends[4][1], 1e-2, intercept) <= 1e-3


def test_a_point_at_the_end_takes_no_step():
    X, y, share, standardization = problem()
    at = middle(60, 11)
    given = {"l2": 1e-2, "intercept": True, "standardization": standardization, "enough": 1e-5}
    assert loops.interior_points(X, y, share, at, **given) > 0
    kept = [each.copy() for each in at]
    assert loops.interior_points(X, y, share, at, **given) == 0
    for found, value in zip(at, kept, strict=True):
        np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_steps_that_are_not_finite_are_not_taken(bad):
    X, y, share, standardization = problem()
    X[7, 2] = bad
    at = middle(60, 11)
    given = {"l2": 1e-2, "intercept": True, "standardization": standardization, "enough": 1e-5}
    assert loops.interior_points(X, y, share, at, **given) == 0
    for found, value in zip(at, middle(60, 11), strict=True):
        np.testing.assert_array_equal(found, value)


def test_a_stop_asked_for_ends_the_steps():
    X, y, share, standardization = problem(2000)
    loops.request_stop()
    try:
        with pytest.raises(loops.Interrupted):
            loops.interior_points(
                X, y, share, middle(2000, 11), l2=1e-2, intercept=True,
                standardization=standardization, enough=1e-5,
            )  # fmt: skip
    finally:
        loops.clear_stop()
