"""What a group lasso should come to, in long doubles and the plainest NumPy."""

from __future__ import annotations

import numpy as np
from l1_oracles import Net, mean_loss


class GroupNet(Net):
    """``mean loss + l1 * p_g * sqrt(size) * |w_g| + sum of p * l2 w^2``; groups as documented."""

    def __init__(self, name, X, y, l1, l2, groups, **given):
        super().__init__(name, X, y, l1, l2, **given)
        self.groups = groups

    def blocks(self):
        """For every block: which weights (rows, columns) are in it, and its factor of |w|."""
        k, d = self.shape[0], self.shape[1] - 1
        if isinstance(self.groups, str):
            return [((np.arange(k), np.full(k, j)), self.l1 * self.p[j]) for j in range(d)]
        found = []
        for g in range(max(self.groups) + 1):
            inside = np.array([j for j in range(d) if self.groups[j] == g])
            factor = self.l1 * self.p[inside[0]] * len(inside) ** 0.5
            found += [((np.full(len(inside), c), inside), factor) for c in range(k)]
        return found

    def value(self, W):
        w = W[:, :-1].astype(np.longdouble)
        lengths = sum(factor * np.sqrt(np.sum(w[at] ** 2)) for at, factor in self.blocks())
        loss = mean_loss(self.name, self.X, self.y, W, self.c, self.k)[0]
        return float(loss + lengths + np.sum(self.p * self.l2 * w**2))

    def violation(self, W):
        """How far each block's subgradient is from holding 0, for each of its weights."""
        g, w = self.smooth_gradient(W), W[:, :-1].astype(np.longdouble)
        found = np.abs(g)
        for at, factor in self.blocks():
            length, pull = np.sqrt(np.sum(w[at] ** 2)), np.sqrt(np.sum(g[at] ** 2))
            if length == 0:
                found[at] = max(pull - factor, 0)
            else:
                found[at] = np.sqrt(np.sum((g[at] + factor * w[at] / length) ** 2))
        return found.astype(float)

    def minimum(self, steps=20_000, tol=1e-15):
        """By plain proximal gradients with momentum and restarts, on centred features."""
        mean = np.average(self.X, axis=0, weights=self.c) * self.intercept
        given = {"c": self.c, "p": self.p, "intercept": self.intercept}
        there = GroupNet(self.name, self.X - mean, self.y, self.l1, self.l2, self.groups, **given)
        Z = np.column_stack([there.X, np.ones(len(self.X)) * self.intercept])
        most = mean_loss(self.name, self.X, self.y, np.zeros(self.shape), self.c, self.k)[2]
        share = self.c / self.c.sum()
        L = most * np.linalg.eigvalsh((share[:, None] * Z).T @ Z)[-1] + 2 * self.l2 * self.p.max()
        W = V = np.zeros(self.shape)
        t, blocks = 1.0, self.blocks()
        for _ in range(steps):
            U = V - there.smooth_gradient(V).astype(float) / L
            for at, factor in blocks:
                length = np.sqrt(np.sum(U[at] ** 2))
                U[at] *= max(1 - factor / L / length, 0) if length > 0 else 0
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
