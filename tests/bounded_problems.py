"""Problems with bounded weights, and their minimum by SciPy's L-BFGS-B."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

ORACLE = {"ftol": 1e-16, "gtol": 1e-13, "maxiter": 20_000, "maxfun": 100_000, "maxcor": 50}


def losses(name, m):
    """Values and slopes of a loss of margins."""
    if name.endswith("logistic"):
        return np.logaddexp(0.0, -m), -1.0 / (1.0 + np.exp(np.minimum(m, 700.0)))
    lack = 1.0 - m if name == "squared" else np.maximum(1.0 - m, 0.0)
    return lack**2, -2.0 * lack


class Problem:
    """``mean loss + sum of p (l1 |s w| + l2 (s w)^2)`` of two classes, s the scales."""

    def __init__(self, X, y, name="logistic", l1=0.0, l2=0.0, c=None, p=1.0, scale=1.0):
        self.sign = np.where(y == np.max(y), 1.0, -1.0)
        c = np.ones(len(y)) if c is None else c
        self.share, self.X, self.name = c / c.sum(), X, name
        self.l1 = l1 * p * scale * np.ones(X.shape[1])
        self.l2 = l2 * p * scale**2 * np.ones(X.shape[1])

    def value(self, w, b):
        X, w = self.X.astype(np.longdouble), w.astype(np.longdouble)
        mean = self.share @ losses(self.name, self.sign * (X @ w + b))[0]
        return float(mean + self.l1 @ np.abs(w) + self.l2 @ w**2)

    def slope(self, w, b):
        """Derivative of the smooth part, the bias last."""
        slopes = self.share * self.sign * losses(self.name, self.sign * (self.X @ w + b))[1]
        return np.append(self.X.T @ slopes + 2.0 * self.l2 * w, slopes.sum())

    def least(self, low, high, intercept=True):
        """The minimum by another solver; weights are differences of two that are not negative."""
        d, unit = self.X.shape[1], np.sqrt(np.mean(self.X**2, axis=0)) + 1e-12
        low, high = (np.broadcast_to(ends, d) * unit for ends in (low, high))

        def split(v):
            w, b = (v[:d] - v[d:-1]) / unit, v[-1]
            slope = self.slope(w, b)
            value, _ = losses(self.name, self.sign * (self.X @ w + b))
            absolute = self.l1 @ ((v[:d] + v[d:-1]) / unit)
            gradient = np.concatenate([
                (slope[:-1] + self.l1) / unit, (self.l1 - slope[:-1]) / unit,
                slope[-1:] * intercept,
            ])  # fmt: skip
            return self.share @ value + self.l2 @ w**2 + absolute, gradient

        ends = [*zip(np.maximum(low, 0.0), np.maximum(high, 0.0), strict=True)]
        ends += [*zip(np.maximum(-high, 0.0), np.maximum(-low, 0.0), strict=True)]
        ends.append((None, None) if intercept else (0.0, 0.0))
        start = np.array([max(least or 0.0, 0.0) for least, _ in ends])
        found = minimize(split, start, jac=True, method="L-BFGS-B", bounds=ends, options=ORACLE)
        return found.fun


def drawn(seed):
    """Rows with duplicated, constant and badly scaled features, and bounds for their weights."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 120)), int(rng.integers(1, 14))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3, d) + rng.standard_normal(d)
    if d > 2:
        X[:, 1], X[:, 2] = X[:, 0], 3.0
    y = (X @ rng.standard_normal(d) + rng.standard_normal(n) > 0.0).astype(int)
    y[:2] = 0, 1
    low = np.where(rng.random(d) < 0.4, -rng.random(d), 0.0)
    high = low + rng.random(d) * rng.choice([0.0, 1.0, 10.0], d)
    return rng, X, y, rng.random(n) + 0.1, low, high
