"""Sums over all rows from which weights, gradients and lower bounds of the dual follow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ... import loops
from ...data import Block, InMemory, Sum
from ...losses import Loss
from ...numeric.rows import shape_of, slice_rows
from ...numeric.threads import ordered_sum
from ...numeric.types import Array
from .dual_loss import DualLoss, DualSums
from .losses import BinaryDualLoss

SOME_ROWS = 1 << 13  # at a time, where something is computed for each


def present_scores(source: InMemory, W: Array) -> Array:
    """Of every row, (n, k); 0 of those without weight, even where theirs overflow."""
    scores = source.scores(W)
    if source.weight is not None:
        scores[source.weight == 0.0] = 0.0
    return scores


def dual_sums(source: InMemory, dual_loss: DualLoss, alpha: Array) -> DualSums:
    """Of all rows, the mean: from which weights and the bound follow."""
    rows, conjugates = source.total(AlphaSums(dual_loss, alpha))
    return DualSums(rows / source.weight_sum, conjugates / source.weight_sum)


def signed_dual_sums(source: InMemory, dual_loss: BinaryDualLoss, alpha: Array) -> DualSums:
    """The same of two classes without a bias, which alone asks for either: all in the first."""
    weight = source.weights
    rows = source.transpose_product((weight * source.y * alpha)[:, None])
    gain = -float(weight @ dual_loss.loss.conjugate(alpha))
    both = DualSums(np.concatenate([rows, np.zeros_like(rows)]), np.array([gain, 0.0]))
    return DualSums(both.weighted_rows / source.weight_sum, both.neg_conjugates / source.weight_sum)


@dataclass(frozen=True)
class AlphaSums(Sum[tuple[Array, Array]]):
    """Weighted rows and conjugates at given alphas, (n,) or (n, columns)."""

    dual_loss: DualLoss
    alpha: Array

    def of(self, block: Block) -> tuple[Array, Array]:
        """Of one block."""
        alpha = self.alpha[block.at].reshape(-1, self.dual_loss.columns)
        c, conjugates = self.dual_loss.coefficients(block.y, alpha)
        if block.weight is not None:
            c, conjugates = c * block.weight[:, None], conjugates * block.weight[:, None]
        rows = np.zeros((self.dual_loss.groups, shape_of(block.X)[1] + 1))
        loops.transpose_product(block.X, c, rows)
        return rows, conjugates.sum(axis=0)


@dataclass(frozen=True)
class TangentSums(Sum[tuple[Array, Array]]):
    """Weighted rows and conjugates of the tangents at known scores, of some rows."""

    dual_loss: DualLoss
    scores: Array
    counted: Array
    """Whether a row counts, (n,)."""

    def of(self, block: Block) -> tuple[Array, Array]:
        """Of one block."""
        alpha = self.dual_loss.subgradient(block.y, self.scores[block.at])
        slopes, conjugates = self.dual_loss.coefficients(block.y, alpha)
        c = np.where(self.counted[block.at], block.weights, 0.0)
        rows = np.zeros((self.dual_loss.groups, shape_of(block.X)[1] + 1))
        loops.transpose_product(block.X, c[:, None] * slopes, rows)
        return rows, c @ conjugates


@dataclass(frozen=True)
class LossSum(Sum[tuple[float]]):
    """Of the losses at known scores."""

    loss: Loss
    scores: Array

    def of(self, block: Block) -> tuple[float]:
        """Of one block."""
        return (float(block.weights @ self.loss.value(block.y, self.scores[block.at])),)


Smoothed = tuple[float, float, float, float, Array, Array, list[Array]]


@dataclass(frozen=True)
class SmoothedSums(Sum[Smoothed]):
    """Losses, mistakes, smoothed losses and proximal terms; weighted rows, conjugates; scores.

    The scores are told block by block where they were not known.
    """

    loss: Loss
    dual_loss: DualLoss
    W: Array
    center: Array
    penalty_parameter: float
    scores: Array | None

    def of(self, block: Block) -> Smoothed:
        """A few rows at a time: what is computed for them then stays small, and in cache."""
        here = np.empty((len(block.y), len(self.W)))
        known = self.scores is not None
        if self.scores is not None:
            here = self.scores[block.at]
        own = replace(self, center=self.center[block.at], scores=here)
        pieces = []
        for start in range(0, len(block.y), SOME_ROWS):
            stop = min(start + SOME_ROWS, len(block.y))
            weight = None if block.weight is None else block.weight[start:stop]
            piece = Block(slice_rows(block.X, start, stop), block.y[start:stop], weight, start)
            pieces.append(piece)
        sums = ordered_sum(lambda piece: own._of_piece(piece, here[piece.at], known), pieces, 1)
        return *sums, ([] if known else [here])

    def _of_piece(
        self, block: Block, s: Array, known: bool
    ) -> tuple[float, float, float, float, Array, Array]:
        """The same of a few rows; their scores ``s`` are written if they are not known."""
        y, c, center = block.y, block.weights, self.center[block.at]
        if not known:
            loops.scores(block.X, self.W, s)
            if block.weight is not None:
                s[block.weight == 0.0] = 0.0  # as if absent, even where its score overflows
        a = self.dual_loss.alpha(y, s, center, self.penalty_parameter)
        slopes, conjugates = self.dual_loss.coefficients(y, a)
        rows = np.zeros((self.dual_loss.groups, self.W.shape[1]))
        loops.transpose_product(block.X, c[:, None] * slopes, rows)
        smooth = self.dual_loss.value(y, s, a, center, self.penalty_parameter)
        proximal = np.sum((a - center) ** 2, axis=1) / (2.0 * self.penalty_parameter)
        return (
            float(c @ self.loss.value(y, s)), float(c @ self.loss.mistakes(y, s)),
            float(c @ smooth), float(c @ proximal), rows, c @ conjugates,
        )  # fmt: skip
