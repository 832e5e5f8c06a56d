"""Variables in which features are centred and of one scale, and sums of products in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from . import layout
from .layout import Rows
from .typing import Array

GRAM_ROWS = 512  # rows converted to float64 at a time


class Moments(NamedTuple):
    """Weighted mean and standard deviation of every feature."""

    mean: Array
    deviation: Array

    @property
    def mean_square(self) -> float:
        """Weighted mean of |x|^2."""
        return float(np.sum(self.mean**2 + self.deviation**2))


@dataclass(frozen=True)
class Frame:
    """Variables ``u = scale * w``, ``beta = b + w.mean`` in place of the weights.

    In them the curvature of J is about 1 in every direction that a feature stands for, however
    features are scaled or shifted; J itself is unchanged. Costs O(d), and sparse rows stay
    sparse. Weights may be of any number of classes and models: features are the last axis.
    """

    mean: Array
    scale: Array

    def gradient(self, gradient: Array) -> Array:
        """A derivative by the weights as one by the variables."""
        g = gradient.copy()
        g[..., :-1] -= g[..., -1:] * self.mean
        return g / self.scale

    def direction(self, direction: Array) -> Array:
        """A direction in the variables as one of the weights."""
        v = direction / self.scale
        v[..., -1] -= v[..., :-1] @ self.mean
        return v

    def variables(self, W: Array) -> Array:
        """Weights as values of the variables."""
        u = W.copy()
        u[..., -1] += W[..., :-1] @ self.mean
        return u * self.scale

    def rows(self, rows: Rows) -> Array:
        """(x - mean, 1) / scale of a few rows: times the variables, their scores."""
        n, d = layout.shape(rows)
        z = np.ones((n, d + 1))
        np.subtract(layout.dense(rows), self.mean, out=z[:, :-1])
        z /= self.scale
        return z


def gram(rows: Rows, weight: Array, frame: Frame) -> Array:
    """Z.T diag(weight) Z for the rows Z = (x - mean, 1) / scale, a few at a time in float64."""
    n, d = layout.shape(rows)
    total = np.zeros((d + 1, d + 1))
    symmetric = n == 0 or weight.min() >= 0.0  # then BLAS computes half of it
    for start in range(0, n, GRAM_ROWS):
        c = weight[start : start + GRAM_ROWS, None]
        z = frame.rows(layout.part(rows, start, start + len(c)))
        if symmetric:
            z *= np.sqrt(c)
            total += z.T @ z
        else:
            total += (c * z).T @ z
    return total
