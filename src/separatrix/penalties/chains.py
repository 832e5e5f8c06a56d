"""Weights that do not decrease along chains of features.

What is compared are the weights divided by factors, their units: a chain of standardised features
is in order if the weights of the features as given are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from ..numeric.lazy import cached_property
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array, Ints

UNORDERED = 4 * EPS  # of neighbours in a chain: weights that are equal apart from rounding


@dataclass(frozen=True, eq=False)
class Chains:
    """Sequences of features, and the units (d,) of all weights."""

    features: tuple[Ints, ...]
    units: Array

    @cached_property
    def members(self) -> Ints:
        """All features in chains."""
        none = np.empty(0, dtype=np.int64)
        return np.concatenate([none, *self.features])

    def blocks(self) -> Ints:
        """A number for every feature: equal in a chain, others have their own."""
        first = np.arange(len(self.units))
        for chain in self.features:
            first[chain] = chain.min()
        return np.unique(first, return_inverse=True)[1].astype(np.int64)

    def in_order(self, w: Array) -> bool:
        """Whether all weights (k, d) are in order, apart from rounding."""
        for chain in self.features:
            v = w[:, chain] / self.units[chain]
            if np.any(np.diff(v) < -UNORDERED * _larger(v)):
                return False
        return True

    def restrict(self, w: Array, step: Array) -> None:
        """Move w (k, d) to the nearest weights in order, squares divided by the steps, in place."""
        for chain in self.features:
            units = self.units[chain]
            weights = units**2 / np.broadcast_to(step, w.shape[1])[chain]
            for row in w:
                v = row[chain] / units
                ordered = isotonic(v, weights)
                if ordered is not v:
                    row[chain] = units * ordered

    def snap(self, w: Array) -> None:
        """Move weights by their rounding, so that they are in order, in place."""
        for chain in self.features:
            w[:, chain] = np.maximum.accumulate(w[:, chain], axis=1)

    def join(self, labels: Ints, fixed: AnyArray, w: Array) -> None:
        """Give equal neighbours one label, and fix all of them if one is fixed, in place."""
        for chain in self.features:
            v = w[:, chain] / self.units[chain]
            apart = np.diff(v) > UNORDERED * _larger(v)
            first = np.zeros(v.shape, dtype=np.int64)
            first[:, 1:] = np.maximum.accumulate(np.arange(1, len(chain)) * apart, axis=1)
            own = np.take_along_axis(labels[:, chain], first, axis=1)
            labels[:, chain] = own
            fixed[:, chain] |= np.isin(own, own[fixed[:, chain]])

    def with_multipliers(self, V: Array, curvature: Array) -> Array:
        """V plus multipliers of the order, with which a conjugate without chains is the smallest.

        ``curvature`` (d,) is that of the penalty, which is positive in chains. Any multipliers that
        are not negative give an upper bound on the conjugate with chains.
        """
        V = V.copy()
        for chain in self.features:
            u = self.units[chain]
            squares = curvature[chain] * u
            for row in V:
                v = isotonic(row[chain] / squares, squares * u)
                multipliers = np.maximum(np.cumsum(u * (row[chain] - squares * v)), 0.0)
                multipliers[-1] = 0.0  # none after the last
                row[chain] -= np.diff(multipliers, prepend=0.0) / u
        return V


def isotonic(values: Array, weights: Array) -> Array:
    """The nearest values that do not decrease, squares of distances weighted."""
    if np.all(values[1:] >= values[:-1]) or not np.all(np.isfinite(values)):
        return values  # J reports an overflow
    share = weights / weights.max()
    usable = np.where((share > 0.0) & np.isfinite(share), share, EPS)
    found: Array = isotonic_regression(values, weights=usable).x
    return found


def _larger(v: Array) -> Array:
    """The larger size of neighbours."""
    larger: Array = np.maximum(np.abs(v[:, 1:]), np.abs(v[:, :-1]))
    return larger
