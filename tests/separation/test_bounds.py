"""Bounds on the margin, and on mistakes, against fractions: what is rounded is no excuse."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import exact_square_margin, kesler, signed

from separatrix import CertificateDisplay, separability
from separatrix.separation import thresholds
from separatrix.separation.budget import OutOfWork, limited_work, spend
from separatrix.separation.text import enclosed, most


def square_radius(X, intercept=1):
    return max(sum(Fraction(float(v)) ** 2 for v in x) + intercept for x in np.asarray(X))


def assert_proven(found, X, Z, factor=1, intercept=1, tight=1e-6):
    exact = exact_square_margin(Z)
    lower, upper = found.margin_bounds
    assert 0 < Fraction(lower) ** 2 <= exact <= Fraction(upper) ** 2
    assert found.margin == lower
    assert upper - lower <= tight * upper
    true = factor * square_radius(X, intercept) / exact
    if true > 1e308:
        assert found.mistake_bound == np.inf
        return
    assert true <= Fraction(found.mistake_bound) <= true * Fraction(1 + 3 * tight)


def test_two_numbers_far_from_zero():
    X = np.array([[1e12], [1e12 + 1]])
    found = separability(X, [0, 1])
    assert_proven(found, X, signed(X, np.array([0, 1])), tight=1e-13)
    assert "is 5e-13, determined by 2 rows" in str(found)
    assert "at most 4.001e+48 mistakes" in str(found)  # 4.00000000001e48, rounded up


@pytest.mark.sampled
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
    assert_proven(separability(X, y), X, kesler(X, y), factor=2)


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1.0, 1e200])
def test_planes_through_the_origin(scale):
    X = scale * np.array([[1e8, 1.0], [1e8, 2.0], [-1e8, 3.0], [1e8 + 1, 1.0]])
    y = np.array([1, 1, 0, 1])
    found = separability(X, y, fit_intercept=False)
    assert_proven(found, X, signed(X, y)[:, :-1], intercept=0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_radius_of_float32_rows_is_not_rounded_to_float32(form):
    X = (np.array([[3.3, 7.7], [1.1, -5.1], [2.7, 0.3]]) * 1e3).astype(np.float32)
    y = np.array([1, 0, 1])
    assert_proven(separability(form(X), y), X, signed(X.astype(float), y), tight=1e-12)


def test_rows_of_all_scales():
    X = np.array([[1e290, 3.0], [1e-290, -1.0], [-2.0, 1e-8], [-3e-200, 0.0]])
    y = np.array([1, 1, 0, 0])
    assert_proven(separability(X, y), X, signed(X, y))


def offset_rows(offset=1e8):
    X = np.random.default_rng(3).standard_normal((20, 2))
    return X + offset, (X @ [1.0, -2.0] + 0.3 > 0.0).astype(int)


def test_bounds_that_do_not_meet_are_an_interval(monkeypatch):
    monkeypatch.setattr(thresholds, "EXACT_MARGIN_DIMENSION", 0)
    X, y = offset_rows()
    found, exact = separability(X, y), exact_square_margin(signed(X, y))
    lower, upper = found.margin_bounds
    assert Fraction(lower) ** 2 <= exact <= Fraction(upper) ** 2
    assert upper > 2.0 * lower
    words = str(found)
    assert "is between " in words
    assert "pinned" not in words
    below, above = (float(word.rstrip(";")) for word in words.split("between ")[1].split()[0:3:2])
    assert below <= lower < upper <= above
    assert Fraction(found.mistake_bound) >= square_radius(X) / exact
    assert json.loads(json.dumps(found.to_dict()))["margin_bounds"] == [lower, upper]
    assert CertificateDisplay.from_separability(found, X, y)._words().startswith("margin between ")


def test_work_that_ends_early_leaves_valid_bounds(monkeypatch):
    X, y = offset_rows()
    exact = exact_square_margin(signed(X, y))
    apart = []
    for work in (0.0, 1e3, 3e3, 1e7):
        monkeypatch.setattr(thresholds, "EXACT_MARGIN_WORK", work)
        lower, upper = separability(X, y).margin_bounds
        assert Fraction(lower) ** 2 <= exact <= Fraction(upper) ** 2
        apart.append(upper - lower)
    assert apart == sorted(apart, reverse=True)
    assert apart[-1] <= 1e-6 * upper < apart[0]


def test_work_counts_for_every_limit_around_it():
    with limited_work(1e9), pytest.raises(OutOfWork), limited_work(10.0):
        spend(11.0)
    with pytest.raises(OutOfWork), limited_work(10.0), limited_work(1e9):
        spend(11.0)


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        (0.2425356, 0.2425357, "0.242536"),
        (0.24253649, 0.24253651, "0.24254"),
        (0.9999995, 1.0000005, "1"),
        (1.234564e-9, 1.5e8, "between 1.23456e-09 and 1.5e+08"),
        (1.2344999, 1.2355001, "between 1.23449 and 1.23551"),
        (0.0, 3.0, "between 0 and 3"),
    ],
)
def test_an_enclosed_number(lower, upper, words):
    assert enclosed(lower, upper) == words


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (1.04, "1 mistake"),
        (51.00001, "51 mistakes"),
        (51.9, "51 mistakes"),
        (9999.5, "9999 mistakes"),
        (12341.0, "1.235e+04 mistakes"),
        (1e16, "1e+16 mistakes"),
    ],
)
def test_the_most_mistakes_are_never_rounded_down(bound, words):
    assert most(bound) == words


@pytest.mark.parametrize("offset", [0.0, 1e8, 1e12])
def test_the_residual_of_a_witness_is_not_below_that_in_fractions(offset):
    X = offset + np.array([[0.0, 0.1], [0.3, 1.0], [1.0, 0.7], [1.0, 1.0], [0.4, 0.6]])
    y = np.array([0, 1, 1, 0, 0])
    found = separability(X, y)
    assert found.verdict == "overlapping"
    weights = [Fraction(w) for w in found.witness.weights]
    rows = [[Fraction(v) for v in z] for z in signed(X, y)[found.witness.rows].tolist()]
    point = [sum(w * v for w, v in zip(weights, c, strict=True)) for c in zip(*rows, strict=True)]
    exact = sum(v * v for v in point) / sum(weights) ** 2
    assert exact <= Fraction(found.residual) ** 2
