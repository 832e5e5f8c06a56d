"""The cases of a fuzz run: small whole numbers, scaled, shifted and weighed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LOSSES = ("logistic", "squared", "hinge", "squared_hinge")


@dataclass
class Case:
    """Data and an objective, as the user sees them:

    ``J = sum(weight * loss) / sum(weight) + sum_j p_j (l1 |s_j w_j| + l2 (s_j w_j)^2)``

    with p the penalty weights and s the deviations by which a standardised fit divides. With groups
    the length of a group, times the root of its size, replaces the absolute values.
    """

    base: np.ndarray
    """Small whole numbers, of which the rows are made by scaling and shifting."""
    X: np.ndarray
    y: np.ndarray
    k: int
    weight: np.ndarray | None
    l2: float
    intercept: bool
    loss: str
    l1: float = 0.0
    penalty_weights: np.ndarray | None = None
    groups: np.ndarray | str | None = None
    scale: np.ndarray | None = None

    @property
    def columns(self) -> int:
        """Rows of ``coef_``."""
        return 1 if self.k == 2 else self.k

    @property
    def row_weights(self) -> np.ndarray:
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def feature_weights(self) -> np.ndarray:
        d = self.X.shape[1]
        return np.ones(d) if self.penalty_weights is None else self.penalty_weights

    @property
    def deviations(self) -> np.ndarray:
        return np.ones(self.X.shape[1]) if self.scale is None else self.scale

    @property
    def free(self) -> np.ndarray:
        """Features without a penalty, (d,)."""
        return (self.feature_weights == 0.0) | (self.l1 == 0.0 == self.l2)

    @property
    def binary_losses(self) -> bool:
        """Whether the loss is a sum of losses of margins, one for each row of ``coef_``."""
        return self.k == 2 or self.loss not in ("logistic", "hinge", "perceptron")

    @property
    def binary_name(self) -> str:
        return self.loss.removeprefix("one_vs_rest_")

    @property
    def signs(self) -> np.ndarray:
        """The targets of the margins, (n, rows of ``coef_``): -1 or +1."""
        if self.k == 2:
            return np.where(self.y == 1, 1, -1)[:, None]
        return np.where(self.y[:, None] == np.arange(self.k), 1, -1)


def draw(rng: np.random.Generator) -> Case:
    """A case; a third are of an ordinary scale, a third far off, a third mixed."""
    n, d = int(rng.integers(2, 16)), int(rng.integers(1, 4))
    k = 2 if rng.random() < 0.7 else 3
    n = max(n, k + 1)
    base = rng.integers(-4, 5, (n, d)).astype(float)
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    if rng.random() < 0.3:  # easier to separate
        y = np.digitize(base[:, 0], np.quantile(base[:, 0], np.arange(1, k) / k))
        y[:k] = np.arange(k)
    kind, power = int(rng.integers(3)), np.zeros(d)
    if kind == 1:
        power = np.full(d, rng.integers(-996, 997) if rng.random() < 0.3 else rng.integers(-60, 60))
    elif kind == 2:
        power = rng.integers(-40, 40, d) if rng.random() < 0.7 else rng.integers(-900, 900, d)
    offset = np.zeros(d)
    if rng.random() < 0.3:
        offset = rng.choice([1.0, 2.0**10, 2.0**20, 2.0**30, 2.0**40]) * rng.integers(-3, 4, d)
    intercept = bool(rng.random() < 0.8)
    weight = None
    if rng.random() < 0.4:
        weight = rng.choice([1.0, 2.0, 0.5, 7.0, 0.0], n) * 2.0 ** rng.choice([0, -1060, 900, 3])
        weight[:k] = weight.max() or 1.0
    l2 = float(rng.choice([0.0, 1e-300, 1e-12, 1e-8, 1e-4, 1e-2, 1.0, 1e4]))
    X = (base + offset) * 2.0**power
    return Case(base + offset, X, y, k, weight, l2, intercept, str(rng.choice(LOSSES)))
