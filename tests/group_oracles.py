"""What the result of a group lasso should be, in long doubles and the plainest NumPy."""

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

    def shrunk(self, W, step):
        """Every block nearer to 0 by its factor times the step."""
        for at, factor in self.blocks():
            length = np.sqrt(np.sum(W[at] ** 2))
            W[at] *= max(1 - factor * step / length, 0) if length > 0 else 0
        return W
