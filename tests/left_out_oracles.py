"""Minima without a row in the plainest NumPy and SciPy, for leave-one-out scores."""

from __future__ import annotations

import numpy as np
import scipy.optimize


def terms(loss, y, s):
    """Gradients (n, k) and second derivatives (n, k, k) of the losses by scores (n, k)."""
    if loss == "softmax":
        e = np.exp(s - s.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        return p - np.eye(s.shape[1])[y], np.einsum("ij,jk->ijk", p, np.eye(s.shape[1])) - (
            p[:, :, None] * p[:, None, :]
        )
    sign = y[:, None] if s.shape[1] == 1 else np.where(np.eye(s.shape[1])[y] > 0, 1.0, -1.0)
    m = sign * s
    if loss == "logistic":
        slope, bend = -1.0 / (1.0 + np.exp(m)), 0.25 / np.cosh(m / 2.0) ** 2
    elif loss == "squared":
        slope, bend = -2.0 * (1.0 - m), np.full_like(m, 2.0)
    else:  # squared_hinge
        slope, bend = -2.0 * np.maximum(0.0, 1.0 - m), 2.0 * (m < 1.0)
    return sign * slope, np.einsum("ij,jk->ijk", bend, np.eye(s.shape[1]))


def values(loss, y, s):
    """The loss of each row."""
    if loss == "softmax":
        top = s.max(axis=1)
        return top + np.log(np.exp(s - top[:, None]).sum(axis=1)) - s[np.arange(len(y)), y]
    sign = y[:, None] if s.shape[1] == 1 else np.where(np.eye(s.shape[1])[y] > 0, 1.0, -1.0)
    m = sign * s
    phi = {
        "logistic": np.logaddexp(0.0, -m), "squared": (1.0 - m) ** 2,
        "squared_hinge": np.maximum(0.0, 1.0 - m) ** 2,
    }[loss]  # fmt: skip
    return phi.sum(axis=1)


def minimum(loss, X, y, c, l2, intercept=True, offset=0.0, k=1):
    """Newton's method with halved steps: (k, d + 1). ``l2`` has a strength for every feature."""
    n, d = X.shape
    p = c / c.sum()
    centre = p @ X * intercept
    scale = np.sqrt(p @ (X - centre) ** 2)
    scale = np.where(scale > 0.0, scale, 1.0)
    Z = np.column_stack([(X - centre) / scale, np.full(n, float(intercept))])
    stiffness = np.append(2.0 * l2 / scale**2, 0.0)
    W = np.zeros((k, d + 1))

    def objective(W):
        return p @ values(loss, y, Z @ W.T + offset) + 0.5 * np.sum(stiffness * W**2)

    for _ in range(60):
        g, H = terms(loss, y, Z @ W.T + offset)
        gradient = (g * p[:, None]).T @ Z + stiffness * W
        hessian = np.einsum("iab,ij,il->ajbl", H * p[:, None, None], Z, Z, optimize=True)
        hessian = hessian.reshape(k * (d + 1), -1) + np.diag(np.tile(stiffness, k))
        step = np.linalg.lstsq(hessian, gradient.ravel(), rcond=1e-13)[0].reshape(W.shape)
        if np.sum(gradient * step) < 1e-16:  # the next step squares what is left
            W = W - step
            break
        t = 1.0
        while objective(W - t * step) > objective(W) and t > 1e-6:
            t *= 0.5
        W = W - t * step
    W = np.column_stack([W[:, :-1] / scale, W[:, -1] - W[:, :-1] / scale @ centre])
    if loss == "softmax":
        W[:, -1] -= W[:, -1].mean()
    return W


def left_out(loss, X, y, c, l2, row, standardize=False, balanced=False, **settings):
    """The weights without a row, as a fit would find them."""
    rest = np.arange(len(y)) != row
    X, y, c = X[rest], y[rest], c[rest].astype(float)
    if settings.get("offset") is not None:
        settings["offset"] = settings["offset"][rest]
    if balanced:
        for label in np.unique(y):
            c[y == label] /= c[y == label].sum()
    strengths = np.full(X.shape[1], l2)
    if standardize:
        mean = c @ X / c.sum()
        strengths = strengths * (c @ (X - mean) ** 2 / c.sum())
    return minimum(loss, X, y, c, strengths, **settings)


def hinge_violation(X, y, c, l2, w, b):
    """How far 0 is from the subdifferential of the mean hinge plus ``l2 |w|^2`` at (w, b)."""
    p = c / c.sum()
    Z = y[:, None] * np.column_stack([X, np.ones(len(y))])
    m = Z @ np.append(w, b)
    on = np.abs(m - 1.0) < 1e-9
    fixed = np.append(2.0 * l2 * w, 0.0) - (p * (m < 1.0) * ~on) @ Z
    if not on.any():
        return float(np.abs(fixed).max())
    found = scipy.optimize.lsq_linear((p[on, None] * Z[on]).T, fixed, (0.0, 1.0), tol=1e-15)
    return float(np.abs((p[on, None] * Z[on]).T @ found.x - fixed).max())
