"""Profile intervals in long double, by constrained Newton fits and bisection."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

LONG = np.longdouble


def solved(A, b):
    """Gaussian elimination with pivots: NumPy's solver knows no long doubles."""
    A, b = A.astype(LONG), b.astype(LONG)
    for i in range(len(A)):
        best = i + int(np.argmax(np.abs(A[i:, i])))
        A[[i, best]], b[[i, best]] = A[[best, i]], b[[best, i]]
        factors = A[i + 1 :, i] / A[i, i]
        A[i + 1 :] -= factors[:, None] * A[i]
        b[i + 1 :] -= factors * b[i]
    x = np.zeros(len(A), LONG)
    for i in range(len(A) - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


def losses(theta, Z, Y, weight, order):
    """Minus the log-likelihood, its gradient and Hessian; the first class has scores of 0."""
    B = theta.reshape(Y.shape[1] - 1, -1)
    S = np.column_stack([np.zeros(len(Z), LONG), Z @ B.T])
    top = S.max(axis=1, keepdims=True)
    total = np.exp(S - top).sum(axis=1)
    value = weight @ (np.log(total) + top[:, 0] - (S * Y).sum(axis=1))
    if order == 0:
        return value
    P = np.exp(S - top) / total[:, None]
    R = weight[:, None] * (P - Y)[:, 1:]
    gradient = (R.T @ Z).ravel()
    k, width = B.shape
    hessian = np.zeros((k, width, k, width), LONG)
    for a in range(k):
        for b in range(k):
            c = weight * P[:, a + 1] * ((a == b) - P[:, b + 1])
            hessian[a, :, b] = (Z.T * c) @ Z
    return value, gradient, hessian.reshape(k * width, k * width)


def least(theta, Z, Y, weight, free):
    """Damped Newton in the free parameters."""
    theta = theta.copy()
    for _ in range(200):
        value, gradient, hessian = losses(theta, Z, Y, weight, 2)
        step = np.zeros(len(theta), LONG)
        step[free] = solved(hessian[np.ix_(free, free)], -gradient[free])
        fall = -(gradient @ step)
        share = LONG(1)
        while losses(theta + share * step, Z, Y, weight, 0) > value and share > 1e-12:
            share /= 2
        theta += share * step
        if fall < 1e-17 or share <= 1e-12:
            break
    return theta, losses(theta, Z, Y, weight, 0)


def profile_ends(X, y, number, weight=None, level=0.95, intercept=True):
    """Both ends for one coefficient, as floats; features are standardised for accuracy."""
    X = np.asarray(X, dtype=LONG)
    centre = X.mean(axis=0) if intercept else np.zeros(X.shape[1], LONG)
    scale = X.std(axis=0) if intercept else np.ones(X.shape[1], LONG)
    Z = (X - centre) / scale
    if intercept:
        Z = np.column_stack([Z, np.ones(len(Z), LONG)])
    width, classes = Z.shape[1], np.unique(y)
    if intercept and number % width == width - 1:  # the intercept of the features as given
        Z = np.column_stack([X / scale, np.ones(len(X), LONG)])
    Y = (np.asarray(y)[:, None] == classes).astype(LONG)
    weight = np.ones(len(Z), LONG) if weight is None else np.asarray(weight, dtype=LONG)
    count = (len(classes) - 1) * width
    best, floor = least(np.zeros(count, LONG), Z, Y, weight, np.arange(count))
    rise, others = LONG(chi2.ppf(level, 1)) / 2, np.delete(np.arange(count), number)
    unit = LONG(1) if number % width == width - 1 or not intercept else scale[number % width]
    ends = []
    for side in (-1, 1):
        theta, inside, outside, step = best, best[number], None, LONG(0.1)
        while outside is None or abs(outside - inside) > 1e-9 * abs(outside - best[number]):
            trial = theta.copy()
            trial[number] = inside + side * step if outside is None else (inside + outside) / 2
            fitted, value = least(trial, Z, Y, weight, others)
            if value - floor < rise:
                inside, theta, step = trial[number], fitted, 2 * step
            else:
                outside = trial[number]
        ends.append(float((inside + outside) / 2 / unit))
    return ends
