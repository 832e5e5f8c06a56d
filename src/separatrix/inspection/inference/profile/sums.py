"""Sums over rows for many candidates at a time: one pass serves all ends of all intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....data import Block, Sum
from ....losses import Loss
from ....numeric.standardization import Standardization
from ....numeric.types import AnyArray, Array
from ....objective.hessians import hessian_of
from ....rows import host_rows_of

SCORES_AT_ONCE = 2**18  # of all candidates: they stay in the cache of a processor


@dataclass(frozen=True)
class CandidateSums(Sum[tuple[Array, Array, list[Array]]]):
    """Losses and gradients at m candidates, and how far the scores are from those of a centre.

    CandidateSums and gradients are in standardised variables, (m, k, d + 1).
    """

    loss: Loss
    U: Array
    centres: Array
    """(m, k, d + 1), or (1, k, d + 1) for one centre of all."""
    standardization: Standardization

    def of(self, block: Block) -> tuple[Array, Array, list[Array]]:
        """(m,), (m, k, d + 1), and for each block the largest change of scores, (m,)."""
        m, k, width = self.U.shape
        losses, gradient, reach = np.zeros(m), np.zeros((m, k, width)), np.zeros(m)
        for rows, added, y, weight in few_rows(block, self.standardization, (m, k, width)):
            scores = rows.scores(self.U)
            reach = np.maximum(reach, self._spread(scores, rows.scores(self.centres)))
            scores += added[:, None]
            value, slopes = self._derivatives(y, scores)
            losses += weight @ value
            gradient += rows.products(weight[:, None, None] * slopes)
        return losses, gradient, [reach]

    def _spread(self, scores: Array, centre: Array) -> Array:
        change = scores - centre
        if self.loss.column_loss is not None:
            return np.asarray(np.abs(change).max(axis=(0, 2), initial=0.0))
        return np.asarray(np.ptp(change, axis=2).max(axis=0, initial=0.0))

    def _derivatives(self, y: AnyArray, scores: Array) -> tuple[Array, Array]:
        """Losses (n, m) and their derivatives by the scores (n, m, k)."""
        binary, (n, m, k) = self.loss.column_loss, scores.shape
        if binary is not None:
            sign = y[:, None]
            margins = sign * scores[:, :, 0]
            return binary.phi(margins), (sign * binary.slope(margins))[:, :, None]
        flat, labels = scores.reshape(n * m, k), np.repeat(y, m)
        return (
            self.loss.value(labels, flat).reshape(n, m),
            self.loss.gradient(labels, flat).reshape(n, m, k),
        )


@dataclass(frozen=True)
class CentredRows:
    """A few rows. Dense ones are standardised first, so that offsets cost no digits."""

    X: AnyArray
    standardization: Standardization
    dense: bool

    @classmethod
    def of(cls, X: AnyArray, own: Standardization) -> CentredRows:
        dense = not sp.issparse(X)
        return cls(own.rows(X) if dense else X, own, dense)

    def scores(self, U: Array) -> Array:
        """(n, m, k)."""
        m, k, width = U.shape
        if self.dense:
            return np.asarray(self.X @ U.reshape(m * k, width).T).reshape(-1, m, k)
        W = self.standardization.to_weights(U.reshape(m * k, width))
        return np.asarray(self.X @ W[:, :-1].T + W[:, -1]).reshape(-1, m, k)

    def products(self, slopes: Array) -> Array:
        """Sums of the slopes (n, m, k) times the rows: (m, k, d + 1)."""
        n, m, k = slopes.shape
        flat = slopes.reshape(n, m * k)
        if self.dense:
            return np.asarray(flat.T @ self.X).reshape(m, k, -1)
        total = np.column_stack([np.asarray((self.X.T @ flat).T), flat.sum(axis=0)])
        return self.standardization.gradient(total).reshape(m, k, -1)


def few_rows(
    block: Block, own: Standardization, shape: tuple[int, int, int]
) -> Iterator[tuple[CentredRows, Array, AnyArray, Array]]:
    """The rows of positive weight, a few at a time, their scores at weights of 0, labels, weights.

    For products with candidates of this shape, (m, k, d + 1).
    """
    X, weight, y = host_rows_of(block.X).as_matrix(), block.weights, block.y
    added = block.rows.scores(np.zeros(shape[1:]))
    if (present := block.present) is not None:
        X, weight, y, added = X[present], weight[present], y[present], added[present]
    step = max(SCORES_AT_ONCE // (shape[0] * shape[1]), 1)
    for start in range(0, len(y), step):
        some = slice(start, start + step)
        yield CentredRows.of(X[some], own), added[some], y[some], weight[some]


@dataclass(frozen=True)
class Hessians(Sum[tuple[Array]]):
    """The second derivatives at several candidates, given as weights (m, k, d + 1)."""

    loss: Loss
    weights: Array
    standardization: Standardization

    def of(self, block: Block) -> tuple[Array]:
        """(m, k (d + 1), k (d + 1))."""
        each = (hessian_of(block, self.loss, W, self.standardization) for W in self.weights)
        return (np.stack(list(each)),)


@dataclass(frozen=True)
class RowProducts(Sum[tuple[Array]]):
    """``sum z z'`` of the standardised rows that count, whatever their weights."""

    standardization: Standardization

    def of(self, block: Block) -> tuple[Array]:
        """(d + 1, d + 1)."""
        counts = (block.weights != 0.0).astype(np.float64)
        return (block.rows.gram(counts, self.standardization),)
