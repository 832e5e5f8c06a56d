"""The largest margin against plain projected steps, and its bounds."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import best_margin, signed

from separatrix import separability
from separatrix.separation import thresholds


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_margin(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3))
    X = X[abs(X @ [1.0, -2.0, 0.5] + 0.3) > 0.4]
    y = X @ [1.0, -2.0, 0.5] + 0.3 > 0.0
    found, Z = separability(X, y), signed(X, y)
    w = np.append(found.coef[0], found.intercept)
    assert np.linalg.norm(w) == pytest.approx(1.0)
    assert (Z @ w).min() == pytest.approx(found.margin)
    assert found.margin == pytest.approx(best_margin(Z), rel=1e-5)
    low, high = found.margin_bounds
    assert low <= high <= low * (1 + 1e-6)
    rows, share = found.support
    assert np.linalg.norm(share @ Z[rows]) == pytest.approx(high)
    assert (Z @ w)[rows] == pytest.approx(found.margin)
    radius = np.linalg.norm(Z, axis=1).max()
    assert found.radius == pytest.approx(radius)
    assert found.mistake_bound == pytest.approx((radius / found.margin) ** 2)


@pytest.mark.parametrize("margin", [1e-2, 1e-6])
def test_a_thin_gap_between_features_of_all_scales(margin):
    rng = np.random.default_rng(1)
    scale = 10.0 ** rng.uniform(-3, 3, 6)
    U = rng.standard_normal((300, 6))
    side = np.sign(U[:, 0])
    U[:, 0] = side * (np.abs(U[:, 0]) + margin)
    found = separability(U * scale, side)
    low, high = found.margin_bounds
    assert found.verdict == "separable"
    assert 0.0 < low <= high
    assert high - low <= max(1e-6 * high, 1e-14 * found.radius)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e-17])
def test_a_separator_of_a_margin_beyond_rounding_still_has_margins_above_zero(scale):
    X = np.random.default_rng(0).normal(size=(30, 3)) * scale
    found = separability(X, X[:, 0] > 0)
    assert found.verdict == "separable"
    lower, upper = found.margin_bounds
    assert 0.0 < lower <= upper
    assert np.min(signed(X, X[:, 0] > 0) @ np.append(found.coef[0], found.intercept)) > 0.0


def test_out_of_work_the_bounds_enclose_the_margin(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 120))
    y = X @ rng.standard_normal(120) > 0.0
    low, high = separability(X, y).margin_bounds
    assert high <= low * (1 + 1e-5)
    last = np.linalg.norm(np.column_stack([X, np.ones(400)]), axis=1).max()
    for work in (5e3, 2e4, 8e4):
        monkeypatch.setattr(thresholds, "FLOAT_MARGIN_WORK", work)
        found = separability(X, y)
        lower, upper = found.margin_bounds
        assert 0.0 < lower < low
        assert high < upper < last
        assert " is between " in str(found)
        rows, share = found.support
        assert np.linalg.norm(share @ signed(X, y)[rows]) == pytest.approx(upper)
        last = upper
