"""What is said of the rounding of J."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from problems import exact_value

from separatrix import L2, ArraySource, Objective, get_loss
from separatrix.proofs.rounding import rounding


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


def in_fractions(loss, x, sign, w):
    """The mean loss, exactly, and the largest sum that a score is made of."""
    w, total, size = [Fraction(float(v)) for v in w], Fraction(0), Fraction(0)
    for row, y in zip(x, sign, strict=True):
        terms = [a * Fraction(float(v)) for a, v in zip(w, [*row, 1.0], strict=True)]
        rest = 1 - Fraction(float(y)) * sum(terms)
        rest = rest if loss == "squared" else max(rest, Fraction(0))
        total += rest if loss == "hinge" else rest**2
        size = max(size, sum(map(abs, terms)))
    return total / len(sign), size


@pytest.mark.parametrize("loss", ["hinge", "squared", "squared_hinge"])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("d", [1, 5])
def test_the_objective_of_nearly_perfect_fits_is_that_of_fractions(d, offset, loss):
    rng = np.random.default_rng(d)
    sign = np.array([-1.0, 1.0, 1.0, -1.0])
    for _ in range(20):
        w = np.append(rng.normal(size=d) * 10 ** rng.uniform(-2, 2), rng.choice([0.0, 1e-9]))
        x = rng.normal(size=(4, d)) + offset
        x[:, 0] = (sign - x[:, 1:] @ w[1:-1]) / w[0]  # margins of 1, up to rounding
        source = ArraySource(x, sign, np.array([0, 1]))
        found = exact_value(Objective(get_loss(loss), L2(0.0), source), w[None])
        expected, _ = in_fractions(loss, x, sign, w)
        assert abs(Fraction(found) - expected) <= Fraction(1, 10**12) * expected


def test_margins_nearer_to_1_than_scores_are_known_are_right_to_the_stated_bound():
    rng = np.random.default_rng(0)
    sign = np.array([-1.0, 1.0, -1.0, 1.0])
    for _ in range(20):
        x = 1e8 + 2.0**-26 * rng.integers(-4, 5, size=(4, 3))
        w = np.array([1.0, -1.0, 0.0, 1.0]) * 2.0**26 * (1 + 2.0**-52 * rng.integers(0, 9, size=4))
        source = ArraySource(x, sign, np.array([0, 1]))
        found = exact_value(Objective(get_loss("hinge"), L2(0.0), source), w[None])
        expected, size = in_fractions("hinge", x, sign, w)
        bound = expected / 10**12 + 3 * size / 10**31
        assert abs(Fraction(found) - expected) <= bound
