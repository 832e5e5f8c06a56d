"""Softmax of some rows at once, a lane of a vector for each, against long doubles."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import loops
from separatrix.losses import get_loss

FAR = (0.0, 1e-9, 1.0, 37.0, 600.0, 1e5, 1e300)


def by_rows(scores, y, weight=None):
    """Loss, mistakes and slopes, rows being their scores."""
    k = scores.shape[1]
    gradient = np.zeros((k, k + 1))
    softmax = get_loss("logistic").for_classes(k)
    reported = loops.batch_pass(
        scores, y, softmax, np.eye(k, k + 1), weight=weight, gradient=gradient
    )
    return *reported, gradient[:, -1]


@pytest.mark.parametrize("k", [3, 4, 7, 18])
def test_every_row_is_as_exact_as_long_doubles(k):
    rng = np.random.default_rng(k)
    for far in FAR:
        for scores in far * rng.standard_normal((20, 1, k)):
            y = rng.integers(0, k, 1)
            gaps = scores[0].astype(np.longdouble) - scores[0, y[0]]
            others = np.delete(gaps, y)
            top = max(others.max(), np.longdouble(0))
            rest = np.exp(others - top).sum() + np.expm1(-top)
            value, mistakes, slope = by_rows(scores, y)
            # An error of a difference is one of its exponential; further than 708 that is 0.
            near = 3e-16 * (k + min(float(np.abs(gaps).max()), 2 * 708.0))
            assert value == pytest.approx(float(top + np.log1p(rest)), rel=near, abs=1e-300)
            assert mistakes == float(others.max() >= 0.0)
            expected = np.exp(gaps - top) / (1.0 + rest)
            expected[y[0]] = -np.exp(others - top).sum() / (1.0 + rest)
            np.testing.assert_allclose(slope, expected.astype(float), rtol=near, atol=1e-300)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 31, 32, 33, 70])
def test_rows_that_fill_no_vector_count_once(n):
    rng = np.random.default_rng(n)
    scores, y, weight = rng.standard_normal((n, 5)), rng.integers(0, 5, n), rng.integers(0, 3, n)
    value, mistakes, slope = by_rows(scores, y, weight.astype(float))
    one_by_one = [by_rows(scores[i : i + 1], y[i : i + 1]) for i in range(n)]
    values, wrong, slopes = map(np.array, zip(*one_by_one, strict=True))
    assert value == pytest.approx(weight @ values, rel=1e-14)
    assert mistakes == weight @ wrong
    np.testing.assert_allclose(slope, weight @ slopes, rtol=1e-12, atol=1e-14)


def test_what_is_not_finite_shows_unless_its_row_is_absent():
    y = np.zeros(2, dtype=np.int64)
    for bad in ([np.nan, 0.0, 0.0], [0.0, np.nan, 1.0], [0.0, 1.0, np.nan], [np.inf, 0.0, 0.0]):
        scores = np.array([[1.0, 0.0, 0.0], bad])
        with np.errstate(invalid="ignore"):
            assert np.isnan(by_rows(scores, y)[0])
    rival = np.array([[1.0, 0.0, 0.0], [0.0, 1e308, 0.0]])
    assert by_rows(rival, y)[0] >= 1e308
    absent = np.array([1.0, 0.0])
    value, mistakes, slope = by_rows(np.array([[1.0, 0.0, 0.0], [np.nan] * 3]), y, absent)
    assert np.all(np.isfinite(slope))
    assert value == pytest.approx(np.log1p(2.0 * np.exp(-1.0)), rel=1e-15)
    assert mistakes == 0.0
