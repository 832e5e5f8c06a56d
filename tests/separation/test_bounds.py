"""Bounds on the margin, and on mistakes, against fractions: what is rounded is no excuse."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import exact_square_margin, kesler, signed

from separatrix import separability


def square_radius(X, intercept=1):
    return max(sum(Fraction(float(v)) ** 2 for v in x) + intercept for x in np.asarray(X))


def assert_proven(found, X, Z, factor=1, intercept=1, tight=1e-6):
    exact = exact_square_margin(Z)
    lower, upper = found.margin_bounds
    assert 0 < Fraction(lower) ** 2 <= exact <= Fraction(upper) ** 2
    assert found.margin == lower
    assert upper - lower <= tight * upper
    true = factor * square_radius(X, intercept) / exact
    assert true <= Fraction(found.mistake_bound) <= true * Fraction(1 + 3 * tight)


def test_two_numbers_far_from_zero():
    X = np.array([[1e12], [1e12 + 1]])
    found = separability(X, [0, 1])
    assert_proven(found, X, signed(X, np.array([0, 1])), tight=1e-13)
    assert "is 5e-13, pinned by 2 rows" in str(found)
    assert "at most 4.001e+48 mistakes" in str(found)  # 4.00000000001e48, rounded up


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e4, 1e8, 1e12, 1e15])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("d", [1, 2, 3])
def test_bounds_hold_and_meet_whatever_the_offset(d, seed, offset):
    rng = np.random.default_rng(100 * d + seed)
    step = max(np.spacing(offset), 0.25)  # ties and equal rows
    X = offset + step * rng.integers(-6, 7, (8, d)).astype(float)
    side = (X - offset) / step @ np.array([1.0, -2.0, 0.5])[:d] + 0.25
    y = (side > np.median(side)).astype(int)
    given = sp.csr_array(X) if seed % 2 else X
    assert_proven(separability(given, y), X, signed(X, y))


@pytest.mark.parametrize("seed", range(15))
def test_random_rows_beyond_1e8(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 2))
    y = (X @ [1.0, -2.0] + 0.3 > 0.0).astype(int)
    y[:2] = (X[:2] @ [1.0, -2.0] + 0.3 > 0.0).astype(int)
    assert_proven(separability(X + 1e8, y), X + 1e8, signed(X + 1e8, y))


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_three_classes(offset):
    X = offset + np.array([[0.0], [1.0], [10.0], [11.0], [-7.0]])
    y = np.array([1, 1, 2, 2, 0])
    assert_proven(separability(X, y, fit_intercept=False) if False else separability(X, y), X,
                  kesler(X, y), factor=2)  # fmt: skip


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1.0, 1e200])
def test_planes_through_the_origin(scale):
    X = scale * np.array([[1e8, 1.0], [1e8, 2.0], [-1e8, 3.0], [1e8 + 1, 1.0]])
    y = np.array([1, 1, 0, 1])
    found = separability(X, y, fit_intercept=False)
    assert_proven(found, X, signed(X, y)[:, :-1], intercept=0)


def test_float32_rows_count_as_they_are():
    X = (np.array([[3.3], [1.1], [2.7]]) * 1e6).astype(np.float32)
    y = np.array([1, 0, 1])
    assert_proven(separability(X, y), X.astype(float), signed(X.astype(float), y))
