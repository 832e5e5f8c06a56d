"""The algorithms of the course in the plainest NumPy: nothing shared with the package."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import linprog


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


# ---- separability ------------------------------------------------------------------------------


def signed(X, y):
    y = np.where(y == np.unique(y)[1], 1.0, -1.0)
    return y[:, None] * np.column_stack([X, np.ones(len(X))])


def oracle(Z):
    """The two programs over all rows at once."""
    n, d = Z.shape
    box = [(-1.0, 1.0)] * d
    strict = linprog(
        np.append(np.zeros(d), -1.0), A_ub=np.column_stack([-Z, np.ones(n)]), b_ub=np.zeros(n),
        bounds=[*box, (None, 1.0)],
    )  # fmt: skip
    if -strict.fun > 1e-8:
        return "separable"
    weak = linprog(-Z.sum(axis=0), A_ub=-Z, b_ub=np.zeros(n), bounds=box)
    return "quasi-separable" if -weak.fun > 1e-8 else "overlapping"


def random_problem(seed):
    """Small data of every kind: grids with exact ties, repeated columns, few rows, noise."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    X = rng.integers(-2, 3, (n, d)).astype(float)
    if seed % 4 == 3:
        X = rng.standard_normal((n, d))
    if seed % 4 == 1 and d > 2:
        X[:, 1], X[:, 2] = 2.0 * X[:, 0] + 1.0, 3.0
    a = X @ rng.integers(-2, 3, d) + rng.choice([0.0, 0.5])
    y = np.sign(a + rng.choice([0.0, 0.3, 2.0]) * rng.standard_normal(n))
    y[y == 0] = rng.choice([-1.0, 1.0], np.count_nonzero(y == 0))
    y[:2] = -1.0, 1.0
    return X, y


def kesler(X, y):
    k, d = y.max() + 1, X.shape[1] + 1
    rows = []
    for x, own in zip(np.column_stack([X, np.ones(len(X))]), y, strict=True):
        for rival in range(k):
            if rival != own:
                z = np.zeros((k, d))
                z[own], z[rival] = x, -x
                rows.append(z.ravel())
    return np.array(rows)


def best_margin(Z):
    """Nearest point of the hull by plain projected steps on two rows at a time."""
    share = np.full(len(Z), 1.0 / len(Z))
    for _ in range(20000):
        x = share @ Z
        m = Z @ x
        low, high = int(np.argmin(m)), int(np.argmax(np.where(share > 0.0, m, -np.inf)))
        step = Z[low] - Z[high]
        if m[high] - m[low] <= 1e-12 or step @ step == 0.0:
            break
        t = min(share[high], (m[high] - m[low]) / (step @ step))
        share[low], share[high] = share[low] + t, share[high] - t
    return np.linalg.norm(share @ Z)


def exact_square_margin(Z):
    """The square of the largest margin as a fraction: every set of rows that may pin it, tried."""
    Z = [[Fraction(float(v)) for v in z] for z in Z]
    for size in range(1, len(Z[0]) + 1):
        for rows in combinations(Z, size):
            p = _shortest_combination(rows)
            if p is not None and all(_dot(z, p) >= _dot(p, p) for z in Z):
                return _dot(p, p)
    raise AssertionError("no set of rows pins the margin")


def _dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def _shortest_combination(rows):
    """The point of the hull of a few rows nearest to 0, if all of them have a share > 0."""
    n = len(rows)
    system = [[_dot(a, b) for b in rows] + [Fraction(1), Fraction(0)] for a in rows]
    system.append([Fraction(1)] * n + [Fraction(0), Fraction(1)])
    for k in range(n + 1):
        at = next((i for i in range(k, n + 1) if system[i][k] != 0), None)
        if at is None:
            return None
        system[k], system[at] = system[at], system[k]
        system[k] = [v / system[k][k] for v in system[k]]
        for i in range(n + 1):
            if i != k and system[i][k] != 0:
                pairs = zip(system[i], system[k], strict=True)
                system[i] = [a - system[i][k] * b for a, b in pairs]
    shares = [line[-1] for line in system[:n]]
    if min(shares) <= 0:
        return None
    return [_dot(shares, column) for column in zip(*rows, strict=True)]


def quasi():
    """Rows that are quasi-separable: the first four lie on the boundary."""
    X = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3]], float)
    return X, np.array([0, 1, 0, 1, 1, 1])
