"""Sums of features by class, against those of plain NumPy."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.data import class_moments
from separatrix.data.class_moments import RunningMoments, group_sums
from separatrix.data.validation import check_rows
from separatrix.numeric.standardization import Standardization
from separatrix.rows import rows_of

N, D, K = 700, 5, 3


def data(rng, sparse, dtype=np.float64):
    X = rng.standard_normal((N, D)) + np.array([0.0, 3.0, 1e4, 0.0, -2.0])
    X = X.astype(dtype)
    X[rng.random((N, D)) < 0.3] = 0.0
    weight = rng.integers(0, 4, N).astype(float)
    X[np.flatnonzero(weight == 0.0)[0]] = 1e30  # as if absent
    return X, check_rows(sp.csr_array(X)) if sparse else X, weight, rng.integers(0, K, N)


def expected(X, weight, codes, shift, k=K):
    away = X.astype(np.float64) - shift
    own = [np.where(codes == each, weight, 0.0)[:, None] for each in range(k)]
    there = weight[:, None] > 0.0
    return [np.array([np.sum(c * np.where(there, a, 0.0), axis=0) for c in own])
            for a in (away, away**2)]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sparse", [False, True])
def test_sums_of_groups(rng, sparse, dtype):
    X, rows, weight, codes = data(rng, sparse, dtype)
    shift = None if sparse else rng.standard_normal(D)
    found = group_sums(rows_of(rows), weight, codes, K, shift)
    for one, other in zip(found, expected(X, weight, codes, 0.0 if sparse else shift), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)


@pytest.mark.parametrize("sparse", [False, True])
def test_running_sums_weighed_and_standardised(rng, sparse):
    """Block by block; a last class that no earlier block has, and a feature that none has."""
    X, rows, weight, codes = data(rng, sparse)
    codes[-1], weight[-1] = K, 2.0
    running = RunningMoments()
    for start in range(0, N, 200):
        at = slice(start, min(start + 200, N))
        running.add(rows_of(rows).part(at.start, at.stop), weight[at], codes[at])
    running = RunningMoments.from_dict(json.loads(json.dumps(running.to_dict())), K + 1, D)
    order, features = np.array([2, 0, K, 1]), D + sparse
    counts = np.bincount(codes, weight)[order]
    found = running.of_codes(order, features, counts)
    per_class, how = rng.random(K + 1), Standardization(
        np.zeros(features) if sparse else rng.standard_normal(features),
        np.append(rng.random(features) + 0.5, 1.0),
    )  # fmt: skip
    changed = found.weighed(per_class).standardized(how)
    np.testing.assert_array_equal(changed.counts, per_class * counts)
    wide = np.column_stack([X, np.zeros((N, features - D))])
    z = (wide - how.mean) / how.scale[:-1]
    each = weight * per_class[np.argsort(order)][codes]
    for moments, values, weights in ((found, wide, weight), (changed, z, each)):
        sums, squares = expected(values, weights, codes, moments.shift, K + 1)
        np.testing.assert_allclose(moments.sums, sums[order], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(moments.squares, squares[order], rtol=1e-9)


def test_too_many_sums_are_not_kept(rng, monkeypatch):
    monkeypatch.setattr(class_moments, "MOST_SUMS", 2 * D)
    _, rows, weight, codes = data(rng, sparse=False)
    running = RunningMoments()
    running.add(rows_of(rows[:9]), weight[:9], codes[:9] % 2)
    assert running.of_codes(np.arange(2), D, np.ones(2)) is not None
    running.add(rows_of(rows), weight, codes)
    running.add(rows_of(rows[:9]), weight[:9], codes[:9] % 2)
    assert running.of_codes(np.arange(2), D, np.ones(2)) is None
    assert RunningMoments.from_dict(running.to_dict(), K, D).bounded is False
