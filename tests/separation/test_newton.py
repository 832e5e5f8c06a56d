"""Rows of many features, which linear programs are not asked about."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import oracle, signed

from separatrix import separability
from separatrix.separation import thresholds


def test_more_features_than_rows(rng):
    X = rng.standard_normal((20, 1000))
    y = rng.integers(0, 2, 20)
    found = separability(X, y)
    assert found.verdict == "separable"
    assert found.verify(exact=True)
    assert found.margin_bounds[1] <= found.margin * (1 + 1e-6)
    twice = separability(np.vstack([X, X[:1]]), np.append(y, 1 - y[0]))
    assert twice.verdict == "quasi-separable"
    assert sorted(twice.witness.rows) == [0, 20]
    assert twice.witness.weights == pytest.approx([0.5, 0.5])
    assert twice.verify(exact=True)


def test_many_features_that_overlap(rng, monkeypatch):
    monkeypatch.setattr(thresholds, "NEWTON_DIMENSION", 10)
    X = rng.standard_normal((400, 20))
    X[:, 3] = X[:, 4]
    y = rng.integers(0, 2, 400)
    found = separability(X, y)
    assert found.verdict == oracle(signed(X, y)) == "overlapping"
    assert found.verify(exact=True)
