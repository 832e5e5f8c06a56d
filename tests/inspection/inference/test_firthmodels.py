"""Firth's penalty as the package firthmodels has it: estimates, tests and intervals.

Its standard errors are of another kind: from the information with hat values added to the weights.
"""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import LinearClassifier, inference

firthmodels = pytest.importorskip("firthmodels")


def table(seed):
    """Few or many rows, rare classes, dependent features, and separable classes in between."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(25, 300)), int(rng.integers(1, 7))
    X = rng.standard_normal((n, d)) + 0.8 * rng.standard_normal((n, 1))
    scores = X @ rng.normal(0.0, 2.0 if seed % 5 == 0 else 0.7, d) + rng.normal(0.0, 1.5)
    y = (scores + rng.logistic(size=n) * (seed % 7 != 3) > 0.0).astype(int)
    y[:2] = 0, 1
    return X, y


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(20))
def test_as_firthmodels(seed):
    X, y = table(seed)
    theirs = firthmodels.FirthLogisticRegression(
        backend="numpy", max_iter=50, gtol=1e-7, xtol=1e-7
    ).fit(X, y)
    theirs.lrt()
    clf = LinearClassifier(bias_reduction="firth", tol=1e-10).fit(X, y)
    found = inference(clf, X, y, intervals="profile")
    coef = np.append(theirs.coef_, theirs.intercept_)
    np.testing.assert_allclose(found.coef, coef, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.log_likelihood, theirs.loglik_, rtol=1e-9)
    ends = theirs.conf_int(method="pl", max_iter=50, tol=1e-8)
    p_values = [ratio.p_value for ratio in found.test_each()]
    for ours, their in ((found.intervals, ends), (p_values, theirs.lrt_pvalues_[:-1])):
        known = np.isfinite(their)  # some of its searches do not end
        assert known.any()
        np.testing.assert_allclose(np.asarray(ours)[known], their[known], rtol=1e-6, atol=1e-8)
        assert np.isfinite(ours).all()
