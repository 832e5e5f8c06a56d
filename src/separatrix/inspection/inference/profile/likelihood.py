"""The likelihood of a fit without a penalty, in the variables that are free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ....numeric.lazy import cached_property
from ....numeric.threads import one_blas_thread
from ....numeric.types import AnyArray, Array
from ..fitted import FittedLikelihood
from .sums import CandidateSums, Hessians, RowProducts


class Losses(NamedTuple):
    """The sum of the losses at m candidates."""

    value: Array
    """(m,)."""
    gradient: Array
    """(m, p)."""
    reach: Array
    """The largest change of a score, or of a difference of scores, from the centre: (m,)."""


@dataclass(frozen=True)
class Likelihood:
    """The sum of the losses as a function of the p free variables, in standardised units."""

    found: FittedLikelihood

    @cached_property
    def free(self) -> AnyArray:
        """Which of the k (d + 1) variables are free."""
        return self.found.free

    @property
    def estimate(self) -> Array:
        """The weights of the fit, (p,). For softmax those of the reference class are 0."""
        found, W = self.found, self.found.weights
        if len(W) > 1:
            W = W - W[found.reference]
        own: Array = found.standardization.from_weights(W).ravel()[self.free]
        return own

    @cached_property
    def coefficients(self) -> Array:
        """Rows that map the free variables to the reported coefficients."""
        found = self.found
        rows = (found.units @ found.contrasts)[:, self.free]
        width = found.weights.shape[1]
        kept = np.arange(len(rows)) % width < width - (not found.objective.intercept)
        return np.asarray(rows[kept])

    def at(self, theta: Array, centres: Array) -> Losses:
        """The losses at candidates (m, p), in one pass over the rows."""
        found = self.found
        asked = CandidateSums(
            found.objective.loss, self._whole(theta), self._whole(centres), found.standardization
        )
        with one_blas_thread(found.source.n_rows * float(theta.size)):
            value, gradient, reach = found.source.total(asked)
        flat = gradient.reshape(len(theta), -1)[:, self.free]
        return Losses(value, flat, np.max(reach, axis=0))

    def hessians(self, theta: Array) -> Array:
        """The second derivatives at candidates, (m, p, p), in one pass over the rows."""
        found = self.found
        weights = found.standardization.to_weights(self._whole(theta))
        with one_blas_thread(found.source.n_rows * float(weights[0].size) ** 2):
            (whole,) = found.source.total(
                Hessians(found.objective.loss, weights, found.standardization)
            )
        hessians: Array = whole[:, self.free][:, :, self.free]
        return hessians

    def widest(self, inverse: Array) -> float:
        """Bound on the change of scores along any direction of length 1 in a metric.

        ``inverse`` is that of the metric. A score changes by at most ``|z|`` in it, and the sum of
        ``|z|^2`` over the rows is a trace. Differences of scores change by sqrt(2) times that.
        """
        found = self.found
        k, width = found.weights.shape
        at = np.flatnonzero(self.free)
        square, blocks = 0.0, at // width
        for block in np.unique(blocks):
            inside = np.flatnonzero(blocks == block)
            of = at[inside] % width
            square += float(
                np.sum(inverse[np.ix_(inside, inside)] * self._products[np.ix_(of, of)])
            )
        return float(np.sqrt(max(square, 0.0) * (1.0 if k == 1 else 2.0)))

    @cached_property
    def _products(self) -> Array:
        found = self.found
        with one_blas_thread(found.source.n_rows * float(found.weights.shape[1]) ** 2):
            return found.source.total(RowProducts(found.standardization))[0]

    def _whole(self, theta: Array) -> Array:
        whole = np.zeros((len(theta), *self.found.weights.shape))
        whole.reshape(len(theta), -1)[:, self.free] = theta
        return whole
