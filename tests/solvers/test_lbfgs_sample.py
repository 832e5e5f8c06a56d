"""A fit that begins with a sample of the rows."""

from __future__ import annotations

import numpy as np

from separatrix import (
    LBFGS,
    ArraySource,
    LinearClassifier,
)


def test_rows_sorted_by_class_and_columns_that_hang_together():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 6)) @ rng.standard_normal((6, 6)) ** 3
    y = X @ rng.standard_normal(6) + rng.logistic(size=len(X)) > 0
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    clf = LinearClassifier(l2=1e-6, tol=1e-9, solver=LBFGS()).fit(X, y)
    assert clf.stop_ == "optimal"
    assert clf.n_iter_ <= 6  # from zeros, 10 and more
    again = LinearClassifier(l2=1e-6, tol=1e-9, solver=LBFGS(), n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(again.coef_, clf.coef_)


def test_a_sample_that_misleads_is_not_followed():
    rng = np.random.default_rng(0)
    n = 40_000
    X = np.full((n, 1), 1.0)
    y = rng.random(n) < 0.5
    X[y] = -1.0
    far = np.setdiff1d(np.arange(n), np.flatnonzero(np.isin(np.arange(n), sampled(n))))[:50]
    X[far] *= -1e4  # no row of the sample: there the classes are apart
    for solver in (LBFGS(), LBFGS(factored_features=0)):
        clf = LinearClassifier(l2=1e-9, tol=1e-6, solver=solver).fit(X, y)
        assert clf.stop_ == "optimal"
        assert clf.objective_ < np.log(2.0)


def sampled(n):
    """Rows that the solver looks at first."""
    source = ArraySource(np.arange(n, dtype=float)[:, None], np.ones(n), np.array([0, 1]))
    return source.sample(4096).X[:, 0].astype(int)
