"""Variables in which features are centred and have the same scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from .types import AnyArray, Array, Ints


class Variables(Protocol):
    """Others in place of the weights, such as make the curvature of J about 1."""

    def gradient(self, gradient: Array) -> Array:
        """A derivative by the weights as one by the variables."""

    def to_weights(self, direction: Array) -> Array:
        """A direction in the variables as one of the weights."""


@dataclass(frozen=True)
class Standardization:
    """Variables ``u = scale * w``, ``beta = b + w.mean`` instead of the weights.

    In these variables the curvature of J is about 1 in the direction of every feature, however
    features are scaled or shifted; J itself is unchanged. Costs O(d), and sparse rows stay sparse.
    Weights may have any number of classes and models: features are the last axis.
    """

    mean: Array
    scale: Array

    def gradient(self, gradient: Array) -> Array:
        """Convert a gradient by the weights to one by the variables."""
        g = gradient.copy()
        g[..., :-1] -= g[..., -1:] * self.mean
        g /= self.scale
        return g

    def to_weights(self, direction: Array) -> Array:
        """Convert a direction in the variables to one in the weights."""
        v = direction / self.scale
        v[..., -1] -= np.einsum("...j,j->...", v[..., :-1], self.mean)
        return v

    def from_weights(self, W: Array) -> Array:
        """Convert weights to values of the variables."""
        u = W.copy()
        u[..., -1] += np.einsum("...j,j->...", W[..., :-1], self.mean)
        return u * self.scale

    def after(self, before: Standardization) -> Standardization:
        """Combine two: this standardisation applied to rows that were already standardised."""
        mean = before.mean + before.scale[:-1] * self.mean
        return Standardization(mean, before.scale * self.scale)

    def in_space(self, asarray: Callable[[Array], Array]) -> Standardization:
        """The same with arrays of another space, such as of a device."""
        mean, scale = asarray(self.mean), asarray(self.scale)
        return self if mean is self.mean else Standardization(mean, scale)

    def of_features(self, at: Ints) -> Standardization:
        """The standardization of some features, and of the bias."""
        return Standardization(self.mean[at], self.scale[np.append(at, -1)])

    def rows(self, rows: AnyArray, dtype: DTypeLike = np.float64) -> Array:
        """(x - mean, 1) / scale of a few rows: their scores are products with the variables."""
        n, d = rows.shape
        z = np.ones((n, d + 1), dtype)
        np.subtract(rows, self.mean, out=z[:, :-1], casting="same_kind")
        np.divide(z, self.scale, out=z, casting="same_kind")
        return z
