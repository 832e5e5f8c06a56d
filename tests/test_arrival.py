"""Default fits of many classes arrive at their minimum, whatever the penalty and the shape."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from separatrix import LBFGS, LinearClassifier


def columns(X, y, W, b, l2):
    """J of the squared hinge with one column per class, and its derivatives, in plain NumPy."""
    T = np.where(y[:, None] == np.arange(len(W)), 1.0, -1.0)
    lack = np.maximum(0.0, 1.0 - T * (X @ W.T + b))
    G = -2.0 * T * lack / len(y)
    return (lack**2).sum() / len(y) + l2 * (W**2).sum(), G.T @ X + 2.0 * l2 * W, G.sum(axis=0)


def softmax(X, y, W, b, l2):
    """The same of the softmax."""
    S = X @ W.T + b
    S -= S.max(axis=1, keepdims=True)
    P = np.exp(S)
    total = P.sum(axis=1)
    G = P / total[:, None]
    G[np.arange(len(y)), y] -= 1.0
    J = np.mean(np.log(total) - S[np.arange(len(y)), y]) + l2 * (W**2).sum()
    return J, (G / len(y)).T @ X + 2.0 * l2 * W, G.mean(axis=0)


def least(function, X, y, k, l2):
    """By SciPy's BFGS, from zeros."""
    d = X.shape[1]

    def flat(v):
        V = v.reshape(k, d + 1)
        J, by_w, by_b = function(X, y, V[:, :-1], V[:, -1], l2)
        return J, np.column_stack([by_w, by_b]).ravel()

    options = {"gtol": 1e-9, "maxiter": 100_000}
    return minimize(flat, np.zeros(k * (d + 1)), jac=True, method="BFGS", options=options).fun


@pytest.mark.parametrize(("loss", "function"), [("squared_hinge", columns), ("logistic", softmax)])
@pytest.mark.parametrize("seed", range(8))
def test_classes_of_one_row_do_not_slow_lbfgs_down(loss, function, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((16, 5))
    y = np.append(np.arange(6), rng.integers(0, 6, 10))
    fit = LinearClassifier(loss, solver=LBFGS()).fit(X, y)
    J = function(X, y, fit.coef_, fit.intercept_, fit.l2)[0]
    assert fit.stop_ == "optimal"
    assert fit.n_iter_ <= 200
    assert J == pytest.approx(fit.objective_, rel=1e-12)
    assert abs(J - least(function, X, y, 6, fit.l2)) <= 1e-6 * J
