"""Rows with an offset, and their objective in long double."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

TIGHT = {"tol": 1e-10, "max_iter": 5000}
PHI = {
    "logistic": lambda m: np.logaddexp(np.longdouble(0.0), -m),
    "squared": lambda m: (1.0 - m) ** 2,
    "hinge": lambda m: np.maximum(0.0, 1.0 - m),
    "squared_hinge": lambda m: np.maximum(0.0, 1.0 - m) ** 2,
}


def table(n=120, d=4, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 3.0, 0.2, 1.0][:d] + [0.0, 1.0, 0.0, 5.0][:d]
    offset = rng.normal(size=(n, k)) + 0.5
    if k == 2:
        offset = offset[:, 0]
        scores = X @ rng.normal(size=d) + offset
        y = (scores - scores.mean() + rng.logistic(size=n) > 0.0).astype(int)
    else:
        y = (X @ rng.normal(size=(k, d)).T + offset + rng.gumbel(size=(n, k))).argmax(axis=1)
    return X, y, offset


def weights_of(clf):
    return np.column_stack([clf.coef_, clf.intercept_])


def objective(loss, X, y, offset, W, l2=0.0, l1=0.0, weight=None):
    """J in long double."""
    X, W = np.asarray(X, dtype=np.longdouble), np.asarray(W, dtype=np.longdouble)
    weight = np.ones(len(y)) if weight is None else weight
    s = X @ W[:, :-1].T + W[:, -1] + np.reshape(offset, (len(y), -1))
    own = np.arange(len(y)), y
    if len(W) == 1:
        losses = PHI[loss](np.where(y == 1, 1.0, -1.0) * s[:, 0])
    elif loss == "logistic":
        top = s.max(axis=1, keepdims=True)
        losses = np.log(np.exp(s - top).sum(axis=1)) + top[:, 0] - s[own]
    elif loss == "hinge":
        lifted = s + 1.0
        lifted[own] -= 1.0
        losses = lifted.max(axis=1) - s[own]
    else:
        sign = np.where(y[:, None] == np.arange(len(W)), 1.0, -1.0)
        losses = PHI[loss](sign * s).sum(axis=1)
    w = W[:, :-1]
    return float(weight @ losses / weight.sum() + l2 * (w**2).sum() + l1 * np.abs(w).sum())


def least(loss, X, y, offset, l2, weight=None):
    """The minimum of a smooth J by BFGS."""
    k = 1 if offset.ndim == 1 else offset.shape[1]
    shape = k, X.shape[1] + 1

    def of(w):
        return objective(loss, X, y, offset, w.reshape(shape), l2, weight=weight)

    found = minimize(of, np.zeros(np.prod(shape)), method="BFGS", options={"gtol": 1e-8})
    return found.fun
