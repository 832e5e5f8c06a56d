"""The sums over rows behind a covariance: products of the gradients of rows or clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...data import Block, Sum
from ...data.labels import class_numbers
from ...losses import Loss
from ...numeric.standardization import Standardization
from ...numeric.types import Array, Ints
from ...objective.hessians import assemble_hessian
from ...rows import host_rows_of


@dataclass(frozen=True)
class GradientProducts(Sum[tuple[Array]]):
    """``sum c_i^p g_i g_i'`` with g_i the gradient of row i's loss in the standardised variables.

    The power p is 1 if a weight counts repetitions, and 2 if it is a sampling weight. Weights of
    classes multiply the gradient, so they are always squared.
    """

    loss: Loss
    W: Array
    standardization: Standardization
    power: int
    class_weight: Array | None = None
    """The factor of each class that is part of the weights; None: 1."""

    def of(self, block: Block) -> tuple[Array]:
        """(k (d + 1), k (d + 1))."""
        rows, weight = block.rows, block.weights**self.power
        if self.power == 1 and self.class_weight is not None:
            weight = weight * self.class_weight[class_numbers(block.y, len(self.class_weight))]
        slopes = self.loss.gradient(block.y, rows.scores(self.W))

        def products(a: int, b: int) -> Array:
            return np.where(weight != 0.0, weight * slopes[:, a] * slopes[:, b], 0.0)

        k, d = self.W.shape
        return (assemble_hessian(k, d, products, lambda c: rows.gram(c, self.standardization)),)


@dataclass(frozen=True)
class ClusterGradients(Sum[tuple[Array]]):
    """The gradient of the weighted losses of each cluster in the standardised variables."""

    loss: Loss
    W: Array
    standardization: Standardization
    clusters: Ints
    """The cluster of every row, (n,)."""
    count: int

    def of(self, block: Block) -> tuple[Array]:
        """(clusters, k, d + 1)."""
        weight = block.weights
        slopes = self.loss.gradient(block.y, block.rows.scores(self.W))
        slopes = np.where(weight[:, None] != 0.0, weight[:, None] * slopes, 0.0)
        n, (k, width) = len(slopes), self.W.shape
        X = host_rows_of(block.X).as_matrix()
        dense = not sp.issparse(X)
        if dense:  # centred before they are summed, so that offsets cost no digits
            X = self.standardization.rows(X)
        place = self.clusters[block.at], np.arange(n)
        total = np.empty((self.count, k, width))
        for c in range(k):
            indicator = sp.csr_array((slopes[:, c], place), shape=(self.count, n))
            if dense:
                total[:, c] = indicator @ X
            else:
                total[:, c, :-1] = (indicator @ X).toarray()
                total[:, c, -1] = indicator.sum(axis=1)
        return (total if dense else self.standardization.gradient(total),)
