"""The kernel perceptron by the plainest NumPy, and small data for it."""

from __future__ import annotations

import numpy as np

XOR = np.array([0, 1, 1, 0])
PARAMETERS = {"gamma": 0.3, "degree": 2, "coef0": 1.0}


def naive_dual(K, y, passes, orders=None):
    """Two classes: strengths, mistakes per pass, coefficients of the last and of the average."""
    n = len(y)
    strengths, total = np.zeros(n, dtype=int), np.zeros(n)
    mistakes = []
    for p in range(passes):
        wrong = 0
        for i in range(n) if orders is None else orders[p]:
            if y[i] * sum(strengths[j] * y[j] * K[j, i] for j in np.flatnonzero(strengths)) <= 0:
                strengths[i] += 1
                wrong += 1
            total += strengths * y
        mistakes.append(wrong)
        if not wrong:
            break
    return strengths, mistakes, strengths * y, total / (n * len(mistakes))


def primal_vectors(features, labels, k, passes):
    """Every weight vector of the rule in explicit features, and how many rows it survived."""
    W = np.zeros((1 if k == 2 else k, features.shape[1]))
    vectors, survived, rows = [], [], []
    for _ in range(passes):
        wrong = 0
        for i, (x, d) in enumerate(zip(features, labels, strict=True)):
            s = W @ x
            if k == 2:
                mistake = (2 * d - 1) * s[0] <= 0
            else:
                rival = max((c for c in range(k) if c != d), key=lambda c: (s[c], -c))
                mistake = s[rival] - s[d] >= 0
            if mistake:
                W = W.copy()
                if k == 2:
                    W[0] += (2 * d - 1) * x
                else:
                    W[d] += x
                    W[rival] -= x
                    rows.append((i, d, rival))
                vectors.append(W)
                survived.append(0)
                wrong += 1
            survived[-1] += 1
        if not wrong:
            break
    return vectors, survived, rows


def primal_votes(features, vectors, survived):
    """Two classes: sum of signs with sign(0) = 1; more: votes of each vector for its argmax."""
    columns = len(vectors[0])
    votes = np.zeros((len(features), columns))
    for W, count in zip(vectors, survived, strict=True):
        for r, x in enumerate(features):
            s = W @ x
            if columns == 1:
                votes[r] += count if s[0] >= 0 else -count
            else:
                votes[r, int(np.argmax(s))] += count
    return votes


def explicit(X, kernel):
    """Integer features whose inner product is the kernel plus 1."""
    Z = np.column_stack([np.ones(len(X)), X])
    if kernel == "poly":  # (1 + x.z)^2: all products, in both orders
        Z = np.column_stack([np.ones(len(X)), (Z[:, :, None] * Z[:, None, :]).reshape(len(X), -1)])
    return Z


def whole_numbers(n=60, d=3, k=2, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return np.rint(2 * rng.standard_normal((n, d)) + labels[:, None]), labels


def three_clouds(n=150, d=4, seed=1):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    return rng.standard_normal((n, d)) + 1.2 * np.eye(3, d)[labels], labels
