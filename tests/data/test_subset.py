"""Some rows of a source are a source."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from fold_problems import kinds, problem

from separatrix import (
    L2,
    ArraySource,
    Objective,
)
from separatrix.data import Shuffle, Subset


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_some_rows_are_a_source(make, weighted):
    rng = np.random.default_rng(0)
    X, y = kinds(9000, 2)
    weight = rng.integers(0, 3, 9000).astype(float) if weighted else None
    whole = problem(make(X), y, weight=weight)
    W = rng.standard_normal((1, 4))
    for rows in (
        np.r_[5:7, 100:4000, 4002, 4010:8999],
        rng.permutation(9000)[:500],
        np.r_[3, 3, 2, 1, 1],
        np.sort(rng.permutation(9000)[:4000]),
        np.arange(9000),
        np.r_[2, 3, 3, 5],
    ):
        some = Objective(whole.loss, L2(0.1), Subset(whole.source, rows))
        c = None if weight is None else weight[rows]
        alone = Objective(whole.loss, L2(0.1), problem(X[rows], y[rows], weight=c).source)
        if len(np.unique(y[rows])) < 2 or not some.source.weight_sum:
            continue
        assert some.source.n_rows == alone.source.n_rows
        assert some.source.weight_sum == alone.source.weight_sum
        at, expected = some.value_and_gradient(W), alone.value_and_gradient(W)
        assert at.value == pytest.approx(expected.value, rel=1e-12)
        np.testing.assert_allclose(at.gradient, expected.gradient, rtol=1e-9, atol=1e-12)
        ((_, order),) = some.source.visits(Shuffle(0, 1))
        assert sorted(order) == np.flatnonzero(np.ones(len(rows)) if c is None else c).tolist()


def test_a_sample_is_random_and_stays_the_same():
    n = 100_000
    y = np.where(np.arange(n) < n // 2, -1.0, 1.0)  # sorted by class, and every other row alike
    X = np.column_stack([y, np.arange(n) % 2, np.arange(n)])
    source = ArraySource(X, y, np.array([0, 1]))
    sample = source.sample(4000)
    assert source.sample(4000) is sample
    assert sample.n_rows == 4000
    assert abs(sample.y.mean()) < 0.01
    assert abs(sample.X[:, 1].mean() - 0.5) < 0.05
    assert len(np.unique(sample.X[:, 2])) == 4000
    assert source.sample(n) is source
    half = source.sample(n // 2)  # too many to copy
    assert isinstance(half, Subset)
    weight = np.where(y > 0, 2.0, 0.0)
    present = ArraySource(X, y, np.array([0, 1]), weight).sample(1000)
    assert set(present.y) == {1.0}
    assert present.weight_sum == 2000.0
