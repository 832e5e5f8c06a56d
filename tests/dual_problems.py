"""Problems for the solvers of the dual, and their minima by a solver that shares nothing."""

from __future__ import annotations

from itertools import islice

import numpy as np
import scipy.sparse as sp
from scipy.optimize import LinearConstraint, minimize

from separatrix import (
    L2,
    ArraySource,
    DualAscent,
    Objective,
    get_loss,
)
from separatrix.numeric.rows import to_dense
from separatrix.rows import CsrRows

LOSSES = ["hinge", "squared_hinge", "logistic"]
KINDS = ["dense", "float32", "csr", "csr_long"]
SCALES = np.logspace(-2, 2, 5)


def stored(X, kind):
    if not kind.startswith("csr"):
        return X.astype(np.float32) if kind == "float32" else np.ascontiguousarray(X)
    S = sp.csr_array(X)
    index = np.int64 if kind == "csr_long" else np.int32
    return CsrRows(S.data, S.indices.astype(index), S.indptr.astype(index), X.shape[1])


def problem(X, y, loss="hinge", l2=1e-2, weight=None, intercept=True, kind="dense", n_jobs=1):
    k = 2 if y.dtype == float else int(y.max()) + 1
    loss = get_loss(loss) if k == 2 else get_loss(loss).multiclass()
    source = ArraySource(stored(X, kind), y, np.arange(k), weight, n_jobs)
    return Objective(loss, L2(l2), source, intercept)


def rows(seed, n=60, d=4, k=2, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal((d, k)) + noise * rng.standard_normal((n, k))).argmax(axis=1)
    y[:k] = np.arange(k)
    return X, np.where(y == 1, 1.0, -1.0) if k == 2 else y


def climb(objective, tol=1e-9, most=200, solver=None, start=None):
    start = np.zeros(objective.shape) if start is None else start
    run = (solver or DualAscent()).steps(objective, start, np.random.default_rng(0))
    before = 0.0
    for step in islice(run, most):
        assert before <= step.lower_bound <= step.objective
        before = step.lower_bound
        if step.objective - step.lower_bound <= tol * step.objective:
            return step
    gap = (step.objective - step.lower_bound) / step.objective
    raise AssertionError(f"gap {gap} after {most} steps")


def exact(objective):
    """The minimum of J with slack variables in place of kinks, by a solver for any program."""
    X, y = to_dense(objective.source.X), objective.source.y
    n, d = X.shape
    k = objective.shape[0]
    c = np.ones(n) if objective.source.weight is None else objective.source.weight
    W = k * (d + 1)

    def value(z):
        w = z[:W].reshape(k, d + 1)
        return c @ z[W:] / c.sum() + objective.penalty.l2 * np.sum(w[:, :-1] ** 2)

    def slope(z):
        w = z[:W].reshape(k, d + 1).copy()
        w[:, -1] = 0.0
        return np.concatenate([2 * objective.penalty.l2 * w.ravel(), c / c.sum()])

    Z = np.column_stack([X, np.full(n, float(objective.intercept))])
    if k == 1:
        A, low = np.column_stack([y[:, None] * Z, np.eye(n)]), np.ones(n)
    else:
        blocks = []
        for r in range(k):  # slack_i + s_own - s_r >= [r != own]
            block = np.zeros((n, k, d + 1))
            block[np.arange(n), y] += Z
            block[:, r] -= Z
            blocks.append(np.column_stack([block.reshape(n, W), np.eye(n)]))
        A, low = np.concatenate(blocks), np.concatenate([(y != r).astype(float) for r in range(k)])
    start = np.concatenate([np.zeros(W), np.ones(n)])
    bounds = [(None, None)] * W + [(0, None)] * n
    result = minimize(
        value, start, jac=slope, method="SLSQP", bounds=bounds,
        constraints=LinearConstraint(A, low, np.inf), options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert result.success
    return result.fun
