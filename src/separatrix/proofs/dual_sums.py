"""Sums over all rows that give the weights, gradients and lower bounds of the dual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Block, InMemory, Sum
from ..losses import Loss
from ..numeric.types import Array, Ints
from .binary_dual import BinaryDualLoss
from .dual_loss import DualLoss, DualSums

SOME_ROWS = 1 << 13  # processed at a time


def present_scores(source: InMemory, W: Array) -> Array:
    """Scores of every row, (n, k); 0 for rows without weight, even if theirs overflow."""
    scores = source.scores(W)
    if source.weight is not None:
        scores[source.weight == 0.0] = 0.0
    return scores


def dual_sums(source: InMemory, dual_loss: DualLoss, alpha: Array) -> DualSums:
    """Mean over all rows; it determines the weights and the bound."""
    rows, conjugates = source.total(AlphaSums(dual_loss, alpha))
    return DualSums(rows / source.weight_sum, conjugates / source.weight_sum)


def signed_dual_sums(source: InMemory, dual_loss: BinaryDualLoss, alpha: Array) -> DualSums:
    """Sums for two classes without a bias, which needs no separate groups: all in the first."""
    signed = source.y * alpha if source.weight is None else source.weight * source.y * alpha
    rows = np.zeros((2, source.n_features + 1))
    rows[0] = source.transpose_product(signed[:, None])[0]
    rows[0] /= source.weight_sum
    return DualSums(rows, np.array([mean_gain(source, dual_loss, alpha), 0.0]))


def mean_gain(source: InMemory, dual_loss: BinaryDualLoss, alpha: Array) -> float:
    """Mean of -phi*(-alpha) over all rows."""
    conjugates, weight = dual_loss.loss.conjugate(alpha), source.weight
    if source.offset is not None:
        conjugates = conjugates + alpha * source.y * source.offset[:, 0]
    return -float(conjugates.sum() if weight is None else weight @ conjugates) / source.weight_sum


@dataclass(frozen=True)
class AlphaSums(Sum[tuple[Array, Array]]):
    """Sums of weighted rows and conjugates at given alphas, (n,) or (n, columns)."""

    dual_loss: DualLoss
    alpha: Array

    def of(self, block: Block) -> tuple[Array, Array]:
        alpha = self.alpha[block.at].reshape(-1, self.dual_loss.columns)
        c, conjugates = self.dual_loss.tangents(block, alpha)
        if block.weight is not None:
            c, conjugates = c * block.weight[:, None], conjugates * block.weight[:, None]
        rows = np.zeros((self.dual_loss.groups, block.rows.shape[1] + 1))
        block.rows.transpose_product(c, rows)
        return rows, conjugates.sum(axis=0)


@dataclass(frozen=True)
class TangentSums(Sum[tuple[float, Array, Array, list[Array]]]):
    """Losses at W; weighted rows and conjugates of the tangents there; distances to a kink.

    Rows without weight have an infinite distance.
    """

    loss: Loss
    dual_loss: DualLoss
    W: Array
    left_out: Ints  # sorted indices of rows whose tangents are skipped

    def of(self, block: Block) -> tuple[float, Array, Array, list[Array]]:
        s, c = scores_of(block, self.W), block.weights
        value = float(c @ self.loss.value(block.y, s))
        distance = self.dual_loss.distance_to_kink(block.y, s)
        distance[c == 0.0] = np.inf
        out = self.left_out[slice(*np.searchsorted(self.left_out, [block.at.start, block.at.stop]))]
        counted = np.array(c, dtype=np.float64)
        counted[out - block.start] = 0.0
        alpha = self.dual_loss.subgradient(block.y, s)
        slopes, conjugates = self.dual_loss.tangents(block, alpha)
        rows = np.zeros((self.dual_loss.groups, block.rows.shape[1] + 1))
        block.rows.transpose_product(counted[:, None] * slopes, rows)
        return value, rows, counted @ conjugates, [distance]


@dataclass(frozen=True)
class Subgradients(Sum[tuple[list[Array]]]):
    """Dual variables of every row that are subgradients at W; any valid one at a kink."""

    dual_loss: DualLoss
    W: Array

    def of(self, block: Block) -> tuple[list[Array]]:
        return ([self.dual_loss.subgradient(block.y, scores_of(block, self.W))],)


def scores_of(block: Block, W: Array) -> Array:
    """Scores of every row, (n, k); 0 for rows without weight, even if theirs overflow."""
    scores = block.rows.scores(W)
    if block.weight is not None:
        scores[block.weight == 0.0] = 0.0
    return scores


def joined(blocks: list[Array]) -> Array:
    """``np.concatenate`` that frees each block once copied, because they are as long as y."""
    whole = np.empty((sum(map(len, blocks)), *blocks[0].shape[1:]))
    stop = len(whole)
    while blocks:
        start = stop - len(blocks[-1])
        whole[start:stop] = blocks.pop()
        stop = start
    return whole
