"""The cases of a fuzz run: small whole numbers, scaled, shifted and weighed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LOSSES = ("logistic", "squared", "hinge", "squared_hinge")


@dataclass
class Case:
    """Small whole numbers, and the rows that are made of them by scaling and shifting."""

    base: np.ndarray
    X: np.ndarray
    y: np.ndarray
    k: int
    weight: np.ndarray | None
    l2: float
    intercept: bool
    loss: str


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
