"""The sums over rows behind a few columns of a covariance: none is a matrix of all coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data import Block, Sum
from ...data.labels import class_numbers
from ...losses import Loss
from ...numeric.standardization import Standardization
from ...numeric.types import Array, Ints
from .profile.sums import few_rows


@dataclass(frozen=True)
class CurvatureProducts(Sum[tuple[Array]]):
    """The second derivative of the losses times m directions, in standardised variables."""

    loss: Loss
    U: Array
    """Where it is taken, (k, d + 1)."""
    V: Array
    """(m, k, d + 1)."""
    standardization: Standardization

    def of(self, block: Block) -> tuple[Array]:
        """(m, k, d + 1)."""
        total, binary = np.zeros(self.V.shape), self.loss.column_loss
        for rows, added, y, weight in few_rows(block, self.standardization, self.V.shape):
            scores, turn = rows.scores(self.U[None])[:, 0] + added, rows.scores(self.V)
            if binary is not None:
                turn *= binary.curvature(y[:, None] * scores)[:, :, None]
            else:
                n, m, k = turn.shape
                each = np.repeat(y, m), np.repeat(scores, m, axis=0), turn.reshape(n * m, k)
                turn = self.loss.curvature_product(*each).reshape(n, m, k)
            total += rows.products(weight[:, None, None] * turn)
        return (total,)


@dataclass(frozen=True)
class ProjectedGradients(Sum[tuple[Array]]):
    """As ``GradientProducts`` and ``ClusterGradients``, for m products of the gradients."""

    loss: Loss
    U: Array
    V: Array
    """The directions of the products, (m, k, d + 1)."""
    standardization: Standardization
    power: int
    class_weight: Array | None
    clusters: Ints | None
    count: int

    def of(self, block: Block) -> tuple[Array]:
        """(m, m), or of clusters (count, m)."""
        m, numbers = len(self.V), np.flatnonzero(block.weights) + block.start
        total = np.zeros((m if self.clusters is None else self.count, m))
        for rows, added, y, weight in few_rows(block, self.standardization, self.V.shape):
            scores = rows.scores(self.U[None])[:, 0] + added
            slopes = self.loss.gradient(y, scores)
            along = np.einsum("nmk,nk->nm", rows.scores(self.V), slopes)
            if self.clusters is not None:
                own, numbers = self.clusters[numbers[: len(y)]], numbers[len(y) :]
                np.add.at(total, own, weight[:, None] * along)
                continue
            square = weight**self.power
            if self.power == 1 and self.class_weight is not None:
                square = square * self.class_weight[class_numbers(y, len(self.class_weight))]
            total += (square[:, None] * along).T @ along
        return (total,)
