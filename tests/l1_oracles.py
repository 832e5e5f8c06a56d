"""What the result of an elastic net should be, in long doubles and the plainest NumPy."""

from __future__ import annotations

from copy import copy

import numpy as np
from sklearn.datasets import make_classification

from separatrix import LinearClassifier


def _margins(name, m):
    """Value, slope and largest curvature of a loss of margins."""
    if name in ("logistic", "one_vs_rest_logistic"):
        return np.logaddexp(0, -m), -1 / (1 + np.exp(m)), 0.25
    lack = 1 - m if name == "squared" else np.maximum(0, 1 - m)
    return lack**2, -2 * lack, 2.0


def mean_loss(name, X, y, W, c, k):
    """Weighted mean loss, its gradient (rows of weights, d + 1) and its largest curvature."""
    Z = np.column_stack([X, np.ones(len(X))]).astype(np.longdouble)
    c = c.astype(np.longdouble) / c.sum()
    scores = Z @ W.astype(np.longdouble).T
    if name == "logistic" and k > 2:
        top = scores.max(axis=1, keepdims=True)
        logs = top + np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
        own = np.arange(len(y)), y
        p = np.exp(scores - logs)
        p[own] -= 1
        return float(c @ (logs[:, 0] - scores[own])), (c[:, None] * p).T @ Z, 0.5
    own = y[:, None] == (1 if k == 2 else np.arange(k))
    signs = np.where(own, 1, -1)
    value, slope, most = _margins(name, signs * scores)
    return float(c @ value.sum(axis=1)), (c[:, None] * signs * slope).T @ Z, most


class Net:
    """``mean loss + sum of p * (l1 |w| + l2 w^2)`` of some rows."""

    def __init__(self, name, X, y, l1, l2, c=None, p=None, intercept=True):
        self.name, self.X, self.y, self.l1, self.l2 = name, X, y, l1, l2
        self.c = np.ones(len(X)) if c is None else c
        self.p = np.ones(X.shape[1]) if p is None else np.asarray(p)
        self.k, self.intercept = len(np.unique(y)), intercept
        self.shape = (1 if self.k == 2 else self.k, X.shape[1] + 1)

    def value(self, W):
        w = W[:, :-1].astype(np.longdouble)
        penalty = np.sum(self.p * (self.l1 * np.abs(w) + self.l2 * w**2))
        return float(mean_loss(self.name, self.X, self.y, W, self.c, self.k)[0] + penalty)

    def smooth_gradient(self, W):
        g = mean_loss(self.name, self.X, self.y, W, self.c, self.k)[1]
        g[:, :-1] += 2 * self.l2 * self.p * W[:, :-1]
        g[:, -1] *= self.intercept
        return g

    def violation(self, W):
        """How far each weight's subgradient is from holding 0."""
        g, w = self.smooth_gradient(W), W[:, :-1]
        thresholds = self.l1 * self.p
        at_zero = np.maximum(np.abs(g[:, :-1]) - thresholds, 0)
        away = np.abs(g[:, :-1] + thresholds * np.sign(w))
        return np.column_stack([np.where(w == 0, at_zero, away), np.abs(g[:, -1])]).astype(float)

    def curvatures(self):
        """No smaller than those of the smooth part along each weight."""
        most = mean_loss(self.name, self.X, self.y, np.zeros(self.shape), self.c, self.k)[2]
        squares = np.average(self.X**2, axis=0, weights=self.c)
        return np.append(most * squares + 2 * self.l2 * self.p, most)

    def shrunk(self, W, step):
        """Every weight nearer to 0 by its threshold times the step."""
        W[:, :-1] = np.sign(W[:, :-1]) * np.maximum(np.abs(W[:, :-1]) - self.l1 * self.p * step, 0)
        return W

    def minimum(self, steps=20_000, tol=1e-15):
        """By plain proximal gradients with momentum and restarts, on centred features."""
        mean = np.average(self.X, axis=0, weights=self.c) * self.intercept
        there = copy(self)
        there.X = self.X - mean
        Z = np.column_stack([there.X, np.ones(len(self.X)) * self.intercept])
        most = mean_loss(self.name, self.X, self.y, np.zeros(self.shape), self.c, self.k)[2]
        share = self.c / self.c.sum()
        L = most * np.linalg.eigvalsh((share[:, None] * Z).T @ Z)[-1] + 2 * self.l2 * self.p.max()
        W = V = np.zeros(self.shape)
        t = 1.0
        for _ in range(steps):
            U = self.shrunk(V - there.smooth_gradient(V).astype(float) / L, 1 / L)
            if np.sum((V - U) * (U - W)) > 0:  # it leads upwards: begin again
                t, V = 1.0, W
                continue
            after = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
            W, V, t, moved = U, U + (t - 1) / after * (U - W), after, np.abs(U - V).max()
            if moved <= tol:
                break
        W = W.copy()
        W[:, -1] -= W[:, :-1] @ mean
        return W


def problem(n=120, d=15, k=2, seed=0, flip_y=0.01):
    return make_classification(
        n_samples=n, n_features=d, n_informative=4, n_redundant=2, n_classes=k,
        n_clusters_per_class=1, random_state=seed, flip_y=flip_y,
    )  # fmt: skip


def fitted(X, y, weight=None, **given):
    given = {"l1": 0.02, "l2": 0.0, "tol": 1e-12} | given
    return LinearClassifier(**given).fit(X, y, weight)
