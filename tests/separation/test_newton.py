"""Rows of many features, which linear programs are not asked about."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import oracle, signed

from separatrix import separability
from separatrix.separation import thresholds
from separatrix.separation.newton import SquaredHingeNewton


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


def one_hot(rng, n: int) -> tuple[sp.csr_array, np.ndarray]:
    """Four columns of 10, 6, 4 and 2 categories, and labels that overlap."""
    codes = np.stack([rng.integers(0, k, n) for k in (10, 6, 4, 2)], axis=1)
    codes += [0, 10, 16, 20]
    X = sp.csr_array((np.ones(4 * n), codes.ravel(), np.arange(0, 4 * n + 1, 4)), shape=(n, 22))
    return X, (X[:, [0]].toarray()[:, 0] + rng.normal(size=n) > 0.5).astype(int)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dense", [False, True])
def test_sparse_rows_of_moderate_length_are_left_to_linear_programs(rng, monkeypatch, dense):
    X, y = one_hot(rng, 300)
    X = X.toarray() if dense else X
    expected = separability(X, y)
    asked = []
    newton = SquaredHingeNewton.separator
    monkeypatch.setattr(
        SquaredHingeNewton, "separator", lambda self: asked.append(self) or newton(self)
    )
    monkeypatch.setattr(thresholds, "NEWTON_DIMENSION", 10)
    for dimension, many in ((23, 0), (22, 1)):
        monkeypatch.setattr(thresholds, "SPARSE_PROGRAM_DIMENSION", dimension)
        found = separability(X, y)
        assert found.verdict == expected.verdict == oracle(signed(np.asarray(
            X if dense else X.toarray()), y))  # fmt: skip
        assert found.verify(exact=True)
        assert len(asked) == many
    monkeypatch.setattr(thresholds, "SPARSE_PROGRAM_DIMENSION", 2000)
    separability(rng.standard_normal((300, 22)), y)  # not mostly zeros
    assert len(asked) == 2
