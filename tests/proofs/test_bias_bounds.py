"""Bounds on biases contain those of all scores within the slack, and are not much wider."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_minima import LD, newton, softmax_parts
from scipy.optimize import brentq
from scipy.special import expit

from separatrix.losses import Hinge, Logistic
from separatrix.proofs.bias_bounds import column_bounds, softmax_bounds


def rows(seed, n=30):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    return rng, y, rng.standard_normal(n), np.abs(rng.standard_normal(n)) * 10.0 ** -(seed % 5)


@pytest.mark.parametrize("seed", range(10))
def test_bounds_of_a_column_are_the_roots_for_the_largest_and_smallest_scores(seed):
    rng, y, s, slack = rows(seed)
    share = rng.uniform(0.1, 1.0, len(y))
    low, high = column_bounds(Logistic().slope, y, s, slack, share, rng.standard_normal())

    def root(scores):
        return brentq(lambda b: share @ (-y * expit(-y * (scores + b))), -60, 60, xtol=1e-14)

    width = float(share @ slack / share.sum())
    assert root(s + slack) - 0.03 * width - 1e-12 <= low <= root(s + slack) + 1e-13
    assert root(s - slack) - 1e-13 <= high <= root(s - slack) + 0.03 * width + 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_bounds_contain_all_minimisers_of_the_hinge(seed):
    """Ties, and an interval of minimisers where both classes have as many rows: by fractions."""
    rng = np.random.default_rng(seed)
    y = np.array([1.0, -1.0] * 4)
    s = np.round(rng.standard_normal(8), 1) + 3.0 * y * (seed % 2)
    share = np.full(8, 0.125)
    low, high = column_bounds(Hinge().slope, y, s, np.zeros(8), share, 0.0)
    breaks = [Fraction(float(a)) - Fraction(float(b)) for a, b in zip(y, s, strict=True)]

    def total(b):
        pairs = zip(y, s, strict=True)
        return sum(max(Fraction(0), 1 - int(a) * (Fraction(float(t)) + b)) for a, t in pairs)

    best = [b for b in breaks if total(b) == min(map(total, breaks))]
    assert low <= float(min(best))
    assert float(max(best)) <= high
    assert high - low <= float(max(best) - min(best)) + 1e-9


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_softmax_contain_the_biases_of_all_scores_within_the_slack(seed):
    rng = np.random.default_rng(seed)
    n, k = 40, 3 + seed % 2
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    S, share = rng.standard_normal((n, k)) * 2.0, rng.uniform(0.1, 1.0, n)
    slack = np.abs(rng.standard_normal(n)) * 10.0 ** -(seed % 3)
    low, high = softmax_bounds(y, S, slack, share, biases(y, S, share).astype(float))
    widest = np.zeros((k, k))
    for trial in range(30):
        away = rng.uniform(-0.5, 0.5, (n, k)) if trial > k else np.eye(k)[np.full(n, trial % k)]
        b = biases(y, S + away * slack[:, None], share)  # differences change by the slack at most
        D = (b[:, None] - b).astype(float)
        widest = np.maximum(widest, np.abs(D - biases_difference(y, S, share)))
        assert np.all(low[:, None] - high <= D + 1e-12)
        assert np.all(high[:, None] - low >= D - 1e-12)
    assert widest.max() > 0.02 * np.max(high - low)  # some scores come near the bounds


def test_sums_over_many_rows_lose_no_digits():
    """Adding shares one by one is off by 1e-12, pairs by 1e-15."""
    n = 1 << 18
    y, share = np.arange(n) % 3, np.full(n, 1.0 / n) * np.where(np.arange(n) % 3, 1.1, 0.7)
    exact = np.log(np.bincount(y)) + np.log([0.7, 1.1, 1.1])
    low, high = softmax_bounds(y, np.zeros((n, 3)), np.zeros(n), share, exact)
    for a in range(3):
        for b in range(3):
            least, most = low[a] - high[b], high[a] - low[b]
            assert least - 1e-15 <= exact[a] - exact[b] <= most + 1e-15
            assert most - least < 1e-12


def biases_difference(y, S, share):
    b = biases(y, S, share)
    return (b[:, None] - b).astype(float)


def biases(y, S, share):
    """The best biases, in long double."""
    S, p = S.astype(LD), share.astype(LD) / share.astype(LD).sum()

    def at(b):
        value, G, H = softmax_parts(y, S + b)
        # One more along equal biases, which change nothing.
        return p @ value, p @ G, np.einsum("i,iab->ab", p, H) + 1

    b = newton(at, np.zeros(S.shape[1], LD), np.zeros(S.shape[1], LD))
    return b - b.mean()
