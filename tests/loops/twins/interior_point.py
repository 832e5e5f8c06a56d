"""The compiled steps of an interior point method, with dense algebra in the given features."""

from __future__ import annotations

import numpy as np

SHORT_OF, SHORTEST, MOST = 0.995, 1e-3, 60


def interior_points(X, y, share, at, *, l2, intercept, standardization, enough):
    """Newton's systems of the features as they are: variables do not matter, but for rounding."""
    w, alpha, upper, slack, xi = at
    Z = np.column_stack([X, np.full(len(X), float(intercept))]) * y[:, None]
    penalty = 2.0 * l2 * np.append(np.ones(len(w) - 1), 0.0)

    def mean(a, b, c, d):
        return 0.5 * float(share @ (a * b + c * d))

    for taken in range(MOST):
        gradient = penalty * w - (share * alpha) @ Z
        now, J = mean(alpha, slack, upper, xi), share @ xi + l2 * w[:-1] @ w[:-1]
        away = gradient[:-1] @ gradient[:-1] / (4.0 * l2) + abs(gradient[-1])
        if 2.0 * now + away <= enough * J:
            return taken
        curvature = slack / alpha + xi / upper
        system = (Z * (share / curvature)[:, None]).T @ Z + np.diag(penalty)
        if not intercept:
            system[-1, -1] = 1.0

        def move(first, second, system=system, curvature=curvature, gradient=gradient):
            hoped = first / alpha - second / upper
            direction = np.linalg.solve(system, Z.T @ (share * hoped / curvature) - gradient)
            turn = np.where(share > 0.0, Z @ direction, 0.0)
            change = (hoped - turn) / curvature
            xi_change = (second + xi * change) / upper
            return direction, change, -change, xi_change + turn, xi_change

        def length(moves):
            pairs = zip((alpha, upper, slack, xi), moves[1:], strict=True)
            return min(1.0, *(np.min(a / np.maximum(-to, a)) for a, to in pairs))

        predicted = move(-alpha * slack, -upper * xi)
        t = length(predicted)
        _, a, u, s, x = (t * each for each in predicted)
        aim = now * (mean(alpha + a, slack + s, upper + u, xi + x) / now) ** 3
        _, a, _, s, x = predicted
        corrected = move(aim - alpha * slack - a * s, aim - upper * xi + a * x)
        t = SHORT_OF * length(corrected)
        if not t > SHORTEST:
            return taken
        for value, change in zip(at, corrected, strict=True):
            value += t * change
    return MOST
