"""Halving of a step until J decreases enough."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from separatrix.solvers.line_search import SUFFICIENT_DECREASE, backtrack

START = np.ones((1, 1))


class At(NamedTuple):
    value: float


def parabola(W):
    return At(1.0 + float(W[0, 0]) ** 2)


def from_one(along, evaluate=parabola, slope=None):
    """From w = 1, where the derivative of the parabola is 2."""
    direction = np.full((1, 1), along)
    slope = 2.0 * along if slope is None else slope
    return backtrack(evaluate, START, evaluate(START), direction, slope)


@pytest.mark.parametrize(
    ("along", "length"),
    [(-1.0, 1.0), (-1.9, 1.0), (-2.0, 0.5), (-3.0, 0.5), (-4.0, 0.25), (-1000.0, 2.0**-9)],
)
def test_a_step_is_halved_until_j_decreases(along, length):
    found, there, then = from_one(along)
    assert (found, there.item()) == (length, 1.0 + length * along)
    assert then == parabola(there) < parabola(START)


@pytest.mark.parametrize(("share", "length"), [(0.5, 0.5), (2.0, 1.0)])
def test_a_decrease_has_to_be_a_share_of_what_the_slope_promises(share, length):
    """J(1 + along) - J(1) is ``along * (2 + along)``, and the slope promises ``2 * along``."""
    assert from_one(-2.0 * (1.0 - share * SUFFICIENT_DECREASE))[0] == length


@pytest.mark.parametrize("high", [np.inf, np.nan])
def test_a_step_out_of_the_domain_is_halved(high):
    found, there, _ = from_one(-4.0, lambda W: At(high) if W[0, 0] < 0.0 else parabola(W))
    assert (found, there.item()) == (0.25, 0.0)


def test_a_decrease_below_rounding_is_believed_unless_j_rises():
    tiny = -1e-20
    assert from_one(tiny, lambda W: At(1.0), slope=tiny)[0] == 1.0
    found, there, then = from_one(tiny, lambda W: At(1.0 + (W is not START) * 1e-3), slope=tiny)
    assert (found, then) == (0.0, At(1.0))
    assert there is START


def test_no_step_at_all_where_j_rises():
    found, there, then = from_one(1.0, slope=-2.0)
    assert (found, then) == (0.0, parabola(START))
    assert there is START
