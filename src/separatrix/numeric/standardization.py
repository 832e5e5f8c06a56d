"""Variables in which features are centred and of one scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from .types import AnyArray, Array


@dataclass(frozen=True)
class Standardization:
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
        g /= self.scale
        return g

    def to_weights(self, direction: Array) -> Array:
        """A direction in the variables as one of the weights."""
        v = direction / self.scale
        v[..., -1] -= np.einsum("...j,j->...", v[..., :-1], self.mean)
        return v

    def from_weights(self, W: Array) -> Array:
        """Weights as values of the variables."""
        u = W.copy()
        u[..., -1] += np.einsum("...j,j->...", W[..., :-1], self.mean)
        return u * self.scale

    def after(self, before: Standardization) -> Standardization:
        """Both in one: rows that were standardised before are standardised by this."""
        mean = before.mean + before.scale[:-1] * self.mean
        return Standardization(mean, before.scale * self.scale)

    def rows(self, rows: AnyArray, dtype: DTypeLike = np.float64) -> Array:
        """(x - mean, 1) / scale of a few rows: times the variables, their scores."""
        n, d = rows.shape
        z = np.ones((n, d + 1), dtype)
        np.subtract(rows, self.mean, out=z[:, :-1], casting="same_kind")
        np.divide(z, self.scale, out=z, casting="same_kind")
        return z
