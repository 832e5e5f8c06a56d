"""The algorithms of the lectures in the plainest NumPy: nothing shared with the package."""

from __future__ import annotations

import numpy as np


def perceptron(X, y, passes, step=1.0, l2=0.0, order=None, w=None, b=0.0, weight=None):
    """Rows in order, an update on every margin <= 0, until a clean pass (l2 = 0 only)."""
    n, d = X.shape
    w = np.zeros(d) if w is None else np.array(w, dtype=float)
    weight = np.ones(n) if weight is None else weight
    strengths = np.zeros(n, dtype=int)
    mean_w, mean_b = np.zeros(d), 0.0
    mistakes = []
    ends = []
    for p in range(passes):
        wrong = 0
        for i in range(n) if order is None else order[p]:
            activation = w @ X[i] + b
            w = w * max(0.0, 1 - 2 * step * l2)
            if y[i] * activation <= 0:
                w = w + step * weight[i] * n / weight.sum() * y[i] * X[i]
                b = b + step * weight[i] * n / weight.sum() * y[i]
                strengths[i] += 1
                wrong += 1
            mean_w, mean_b = mean_w + w, mean_b + b
        mistakes.append(wrong)
        ends.append((w, b))
        if wrong == 0 and l2 == 0:
            break
    visits = n * len(mistakes)
    return {
        "w": w, "b": b, "strengths": strengths, "mistakes": mistakes, "ends": ends,
        "average": (mean_w / visits, mean_b / visits),
    }  # fmt: skip


def batch_perceptron(X, y, passes, step=1.0, w=None, b=None):
    """Start at the sum of y * (x, 1), then add all mistakes at once until there are none."""
    w = (y[:, None] * X).sum(axis=0) if w is None else w
    b = y.sum() if b is None else b
    strengths = np.zeros(len(y), dtype=int)
    for p in range(1, passes + 1):
        wrong = y * (X @ w + b) <= 0
        if not wrong.any():
            return w, b, p, strengths
        w = w + step * (y[wrong, None] * X[wrong]).sum(axis=0)
        b = b + step * y[wrong].sum()
        strengths += wrong
    return w, b, passes, strengths


VALUE = {
    "perceptron": lambda m: max(0.0, -m),
    "logistic": lambda m: np.log1p(np.exp(-m)) if m > 0 else -m + np.log1p(np.exp(m)),
    "squared": lambda m: (1 - m) ** 2,
    "tanh_squared": lambda m: (1 - np.tanh(m)) ** 2,
    "hinge": lambda m: max(0.0, 1 - m),
    "squared_hinge": lambda m: max(0.0, 1 - m) ** 2,
}
SLOPE = {
    "perceptron": lambda m: -1.0 if m <= 0 else 0.0,
    "logistic": lambda m: -1 / (1 + np.exp(m)),
    "squared": lambda m: -2 * (1 - m),
    "tanh_squared": lambda m: -2 * (1 - np.tanh(m)) * (1 - np.tanh(m) ** 2),
    "hinge": lambda m: -1.0 if m < 1 else 0.0,
    "squared_hinge": lambda m: -2 * max(0.0, 1 - m),
}


def objective(loss, X, y, w, b, l2, weight=None):
    """Weighted mean loss plus l2 |w|^2."""
    weight = np.ones(len(y)) if weight is None else weight
    losses = [VALUE[loss](m) for m in y * (X @ w + b)]
    return np.dot(weight, losses) / weight.sum() + l2 * w @ w


def gradient(loss, X, y, w, b, l2, weight=None):
    """Derivative by w and b."""
    weight = np.ones(len(y)) if weight is None else weight
    g = weight * np.array([SLOPE[loss](m) for m in y * (X @ w + b)]) * y / weight.sum()
    return X.T @ g + 2 * l2 * w, g.sum()


def descent(loss, X, y, l2, step, passes, order=None, batch=None):
    """Gradient descent over batches of rows, the mean over each; batch None is all of them."""
    n, d = X.shape
    w, b = np.zeros(d), 0.0
    t = 0
    for p in range(passes):
        rows = np.arange(n) if order is None else np.array(order[p])
        for start in range(0, n, batch or n):
            at = rows[start : start + (batch or n)]
            t += 1
            eta = step(t) if callable(step) else step
            gw, gb = gradient(loss, X[at], y[at], w, b, 0.0)
            w, b = w * max(0.0, 1 - 2 * eta * l2) - eta * gw, b - eta * gb
    return w, b


def newton(X, y, l2, weight=None, tol=1e-13):
    """Logistic minimum by Newton's method with halving, in float64."""
    n, d = X.shape
    weight = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    Z = np.column_stack([X, np.ones(n)])
    penalty = np.append(np.full(d, 2 * l2), 0.0)
    w = np.zeros(d + 1)

    def value(w):
        m = y * (Z @ w)
        return weight @ np.logaddexp(0, -m) + l2 * w[:-1] @ w[:-1]

    for _ in range(200):
        m = y * (Z @ w)
        p = 1 / (1 + np.exp(np.clip(m, -500, 500)))
        g = -Z.T @ (weight * y * p) + penalty * w
        H = (Z * (weight * p * (1 - p))[:, None]).T @ Z + np.diag(penalty)
        scale = 1 / np.sqrt(np.diag(H))
        direction = -scale * np.linalg.solve(H * scale * scale[:, None], scale * g)
        if -(g @ direction) < tol**2:
            break
        length = 1.0
        while value(w + length * direction) > value(w) and length > 1e-12:
            length /= 2
        w = w + length * direction
    return w, value(w)
