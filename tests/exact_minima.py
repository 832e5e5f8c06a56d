"""Minima of J in long double, by Newton's method in the plainest NumPy: nothing of the package."""

from __future__ import annotations

import numpy as np

LD = np.longdouble
FLAT = 1e-12  # second derivative by a bias: below, all scores are so large that steps are lost


def solve(A, b):
    """Gaussian elimination with pivots, which NumPy lacks in long double."""
    A, b = A.copy(), b.copy()
    m = len(b)
    for i in range(m):
        p = i + int(np.argmax(np.abs(A[i:, i])))
        A[[i, p]], b[[i, p]] = A[[p, i]], b[[p, i]]
        for r in range(i + 1, m):
            f = A[r, i] / A[i, i]
            A[r, i:] -= f * A[i, i:]
            b[r] -= f * b[i]
    x = np.zeros(m, LD)
    for i in range(m - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


def margin_parts(loss, m):
    """Value, slope and second derivative of a loss of the margin."""
    if loss == "logistic":
        e = np.exp(-np.abs(m))
        s = np.where(m > 0, e, 1) / (1 + e)
        return np.maximum(-m, 0) + np.log1p(e), -s, e / (1 + e) ** 2
    short = 1 - m if loss == "squared" else np.maximum(1 - m, 0)
    return short**2, -2 * short, np.where(m < 1, 2, 0) if loss == "squared_hinge" else 0 * m + 2


def softmax_parts(y, S):
    """Value, gradient (n, k) and second derivatives (n, k, k) of softmax."""
    n, k = S.shape
    top = S.max(axis=1)
    E = np.exp(S - top[:, None])
    P = E / E.sum(axis=1)[:, None]
    own = np.zeros((n, k), LD)
    own[np.arange(n), y] = 1
    value = np.log(E.sum(axis=1)) + top - S[np.arange(n), y]
    return value, P - own, P[:, :, None] * (np.eye(k) - P[:, None, :])


def centre_of(X, p):
    """The mean row; without rounding where a feature is constant."""
    return np.where(np.ptp(X[p > 0], axis=0) == 0, X[np.argmax(p > 0)], p @ X)


def in_own_units(X, strength, p, intercept):
    """Centred features of about the same size, and l2 of each; with the centre and the units."""
    c = centre_of(X, p) * intercept
    Z = X - c
    unit = np.sqrt(p @ (Z * Z))
    unit = np.where(unit > 0, unit, LD(1))
    return Z / unit, strength.astype(LD) / unit**2, c, unit


def column_minimum(loss, X, sign, weight, strength, intercept=True, offset=0.0, start=None):
    """w and b that minimise one column, for labels -1 and +1 and l2 of every feature.

    ``start`` is a pair of w and b. NaN if Newton's method does not arrive from there.
    """
    X, sign, offset = X.astype(LD), sign.astype(LD), np.asarray(offset, LD)
    p = weight.astype(LD) / weight.astype(LD).sum()
    X, strength, c, unit = in_own_units(X, strength, p, intercept)
    Z = np.column_stack([X, np.ones(len(X), LD)]) if intercept else X
    diagonal = np.append(strength, LD(0)) if intercept else strength

    def at(v):
        value, slope, curvature = margin_parts(loss, sign * (Z @ v + offset))
        g = Z.T @ (p * sign * slope) + 2 * diagonal * v
        return p @ value + diagonal @ (v * v), g, (Z.T * (p * curvature)) @ Z

    v = np.zeros(Z.shape[1], LD)
    if start is not None:
        v[: len(c)] = np.asarray(start[0], LD) * unit
        v[len(c) :] = start[1] + np.asarray(start[0], LD) @ c
    v = newton(at, v, diagonal)
    if not intercept:
        return v / unit, LD(0)
    if loss != "squared_hinge" and at(v)[2][-1, -1] < FLAT:
        v = np.full_like(v, np.nan)
    return v[:-1] / unit, v[-1] - v[:-1] / unit @ c


def softmax_minimum(X, y, k, weight, strength, intercept=True, offset=0.0, start=None):
    """W (k, d) and b (k,) of sum 0 that minimise softmax; ``start`` is such a pair, too.

    NaN if Newton's method does not arrive from there.
    """
    X, offset = X.astype(LD), np.asarray(offset, LD)
    n, d = X.shape
    p = weight.astype(LD) / weight.astype(LD).sum()
    X, strength, c, unit = in_own_units(X, strength, p, intercept)
    Z = np.column_stack([X, np.full(n, LD(intercept))])
    m = d + 1
    diagonal = np.tile(np.append(strength, LD(0)), k)

    def at(v):
        value, G, H = softmax_parts(y, Z @ v.reshape(k, m).T + offset)
        g = ((p[:, None] * G).T @ Z).ravel() + 2 * diagonal * v
        curvature = np.einsum("i,iab,ij,il->ajbl", p, H, Z, Z).reshape(k * m, k * m)
        curvature[m - 1 :: m, m - 1 :: m] += 1  # along equal biases, which change nothing
        return p @ value + diagonal @ (v * v), g, curvature

    v = np.zeros((k, m), LD)
    if start is not None:
        v[:, :-1], v[:, -1] = start[0] * unit, start[1] + start[0] @ c
    v = newton(at, v.ravel(), diagonal)
    if intercept and np.diag(at(v)[2])[m - 1 :: m].min() - 1 < FLAT:
        v = np.full_like(v, np.nan)
    v = v.reshape(k, m)
    W = v[:, :-1] / unit
    W -= W.mean(axis=0)  # as at every penalised minimum
    b = v[:, -1] - W @ c
    return W, (b - b.mean()) * intercept


def newton(at, v, diagonal):
    """Damped Newton steps until the gradient is as small as long double allows.

    NaN if the last step is not small.
    """
    free = np.where(diagonal == 0, LD(1e-17), LD(0))  # biases of softmax that nothing determines
    value, g, H = at(v)
    left, near = 100, False
    while left:
        with np.errstate(all="ignore"):
            step = solve(H + np.diag(2 * diagonal + free), -g)
        if not np.isfinite(step).all():
            return np.full_like(v, np.nan)
        t = LD(1)
        while t > 1e-9:
            trial = at(v + t * step)
            flatter = np.abs(trial[1]).max() <= np.abs(g).max()  # where J is only rounding
            if trial[0] <= value or (flatter and float(np.abs(step).max()) < 1e-4):
                break
            t /= 2
        v, (value, g, H) = v + t * step, trial
        near = float(np.abs(step).max()) < 1e-13 * max(1.0, float(np.abs(v).max()))
        left = min(left - 1, 2) if near else left - 1
    return v if near else np.full_like(v, np.nan)


def objective(loss, X, y, weight, strength, W, b, offset=0.0):
    """J at W (k, d) and b (k,): of "softmax", or the sum over columns of a loss of the margin."""
    p = weight.astype(LD) / weight.astype(LD).sum()
    c = centre_of(X.astype(LD), p)
    S = (X - c) @ W.T + (b + W @ c) + np.asarray(offset, LD)
    if loss == "softmax":
        value = softmax_parts(y, S)[0]
    else:
        own = y[:, None] == (np.array([1]) if len(W) == 1 else np.arange(len(W)))
        value = margin_parts(loss, np.where(own, S, -S))[0].sum(axis=1)
    return p @ value + np.sum(strength.astype(LD) * W * W)
