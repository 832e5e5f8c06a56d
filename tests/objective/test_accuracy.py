"""What is said of the rounding of J."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import L2, ArraySource, Objective, get_loss
from separatrix.objective.accuracy import rounding


def problem(X, weight=None):
    y = np.where(np.arange(len(X)) % 2, 1.0, -1.0)
    return Objective(get_loss("hinge"), L2(0.1), ArraySource(X, y, np.array([0, 1]), weight))


@pytest.mark.parametrize("weighted", [False, True])
def test_lengths_of_rows_bound_the_rounding_without_moments(weighted):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((40, 6)) * [1, 5, 0.1, 1, 2, 3], rng.standard_normal((1, 7))
    weight = rng.integers(0, 3, 40).astype(float) if weighted else None
    c = np.ones(40) if weight is None else weight
    by_moments, by_lengths = problem(X, weight), problem(X, weight)
    _ = by_lengths.row_norm2
    exact, bound = rounding(by_moments, W, 1.0), rounding(by_lengths, W, 1.0)
    sizes = np.abs(X) @ np.abs(W[0, :-1]) + np.abs(W[0, -1])
    assert np.finfo(float).eps * (c @ sizes) / c.sum() <= exact <= bound < 10 * exact
    assert by_lengths._known.moments is None


def test_lengths_that_say_too_little_are_not_used():
    X, W = np.tile([[1e6, 1.0]], (4, 1)), np.array([[0.0, 1e3, 0.0]])
    tight, loose = problem(X), problem(X)
    _ = loose.row_norm2
    assert rounding(loose, W, 1e-3) == rounding(tight, W, 1e-3)
