"""Intervals of simulated tables contain the truth as often as their level says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from inspection.inference.cases import with_ones

from separatrix import LinearClassifier, inference


@pytest.mark.slow
@pytest.mark.parametrize("intervals", ["wald", "profile"])
def test_intervals_cover(intervals):
    """Of 2,000 simulated tables, within four standard deviations of the level."""
    rng, truth, times = np.random.default_rng(5), np.array([0.8, -0.5, 0.2]), 2000
    hits = np.zeros(3)
    for _ in range(times):
        X = rng.standard_normal((250, 2))
        y = (rng.random(250) < 1.0 / (1.0 + np.exp(-with_ones(X) @ truth))).astype(int)
        clf = LinearClassifier(l2=0.0, tol=1e-9).fit(X, y)
        found = inference(clf, X, y, intervals=intervals)
        hits += (found.intervals[:, 0] <= truth) & (truth <= found.intervals[:, 1])
    assert np.all(np.abs(hits / times - 0.95) <= 4.0 * math.sqrt(0.95 * 0.05 / times))
