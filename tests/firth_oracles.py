"""Firth's estimate by direct maximisation in long double, with numerical derivatives only."""

from __future__ import annotations

import numpy as np

LONG = np.longdouble


def log_determinant(A):
    """Of a positive definite matrix, by Gaussian elimination; -inf if it is not."""
    A, total = A.copy(), LONG(0)
    for k in range(len(A)):
        if not A[k, k] > 0:
            return -LONG(np.inf)
        total += np.log(A[k, k])
        A[k + 1 :, k:] -= np.outer(A[k + 1 :, k] / A[k, k], A[k, k:])
    return total


def design(X, intercept=True):
    Z = np.asarray(X, dtype=LONG)
    return np.column_stack([Z, np.ones(len(Z), dtype=LONG)]) if intercept else Z


def penalised(v, Z, y, weight=None, penalty=True):
    """The penalised log-likelihood at coefficients v, the intercept last."""
    w = np.ones(len(y), dtype=LONG) if weight is None else np.asarray(weight, dtype=LONG)
    s = Z @ v
    signs = np.where(np.asarray(y) > 0, LONG(1), LONG(-1))
    loss = np.maximum(-signs * s, 0) + np.log1p(np.exp(-np.abs(s)))
    p = 1 / (1 + np.exp(-np.clip(s, -5000, 5000)))
    q = 1 / (1 + np.exp(np.clip(s, -5000, 5000)))
    value = -np.sum(w * loss)
    if penalty:
        value += log_determinant((Z * (w * p * q)[:, None]).T @ Z) / 2
    return value


def derivatives(value, v, step):
    """Gradient and second derivative by central differences of the fourth and second order."""
    p, here = len(v), value(v)
    E = np.eye(p, dtype=LONG) * step
    gradient = np.array([
        (8 * (value(v + e) - value(v - e)) - value(v + 2 * e) + value(v - 2 * e)) / 12
        for e in E
    ]) / step  # fmt: skip
    H = np.empty((p, p), dtype=LONG)
    for i in range(p):
        H[i, i] = (value(v + E[i]) - 2 * here + value(v - E[i])) / step**2
        for j in range(i):
            H[i, j] = H[j, i] = (
                value(v + E[i] + E[j]) - value(v + E[i] - E[j]) - value(v - E[i] + E[j])
                + value(v - E[i] - E[j])
            ) / (4 * step**2)  # fmt: skip
    return gradient, H


def maximum(X, y, weight=None, intercept=True, fixed=(), steps=60):
    """Coefficients (intercept last) and the penalised log-likelihood; ``fixed`` ones stay 0."""
    Z = design(X, intercept)
    free = np.setdiff1d(np.arange(Z.shape[1]), fixed)
    v = np.zeros(Z.shape[1], dtype=LONG)

    def value(some):
        whole = np.zeros(Z.shape[1], dtype=LONG)
        whole[free] = some
        return penalised(whole, Z, y, weight)

    some = ascent(value, v[free], steps) if len(free) else v[free]
    v[free] = some
    return v.astype(float), float(value(some))


def penalised_classes(v, Z, y, k, weight=None, offset=None):
    """The penalised log-likelihood of k classes; v has a row for each class but the first."""
    w = np.ones(len(y), dtype=LONG) if weight is None else np.asarray(weight, dtype=LONG)
    s = np.column_stack([np.zeros(len(Z), LONG), Z @ v.reshape(k - 1, -1).T])
    s = s if offset is None else s + np.asarray(offset, dtype=LONG)
    s = s - s.max(axis=1, keepdims=True)
    p = np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)
    value = np.sum(w * (s[np.arange(len(y)), y] - np.log(np.exp(s).sum(axis=1))))
    q = p[:, 1:]
    V = -q[:, :, None] * q[:, None, :]
    V[:, np.arange(k - 1), np.arange(k - 1)] += q
    products = (w[:, None, None] * Z[:, :, None] * Z[:, None, :]).reshape(len(Z), -1)
    blocks = (V.reshape(len(Z), -1).T @ products).reshape(k - 1, k - 1, *[Z.shape[1]] * 2)
    information = blocks.transpose(0, 2, 1, 3).reshape(v.size, v.size)
    return value + log_determinant(information) / 2


def ascent(value, v, steps=60):
    """Where a function of long doubles is largest near v, by numerical derivatives."""
    for _ in range(steps):
        gradient, H = derivatives(value, v, LONG(2) ** -11)
        H = H.astype(float)
        top = np.linalg.eigvalsh(H).max()
        if top >= 0.0:
            H = H - (top + 1.0) * np.eye(len(H))
        move, length = -np.linalg.solve(H, gradient.astype(float)).astype(LONG), LONG(1)
        here = value(v)
        while value(v + length * move) < here and length > 1e-9:
            length /= 2
        v = v + length * move
        if np.abs(move).max() < 1e-12:
            break
    return v
