"""The dual of Crammer and Singer's loss for coordinate ascent: shares alpha (n, k)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...numeric.types import AnyArray, Array
from ...objective import Objective
from ...proofs.binary_dual import dual_loss_of
from ...proofs.crammer_singer import CrammerSingerDualLoss, project_to_simplex


@dataclass(frozen=True)
class CrammerSingerDual:
    """Shares of every row in all classes."""

    loss: CrammerSingerDualLoss

    def start(self, y: AnyArray) -> Array:
        """A share of 1 for the true class."""
        alpha = np.zeros((len(y), self.loss.columns))
        alpha[np.arange(len(y)), y] = 1.0
        return alpha

    def slopes(self, y: AnyArray, scores: Array) -> Array:
        """Slopes of the dual with respect to the shares, (n, k); the loss is the largest entry."""
        rows = np.arange(len(y))
        entries: Array = scores - scores[rows, y][:, None] + 1.0
        entries[rows, y] = 0.0
        return entries

    def is_free(self, alpha: Array) -> AnyArray:
        """Whether each share belongs to a row with two or more shares."""
        held = alpha > 0.0
        free: AnyArray = held & (np.count_nonzero(held, axis=1) > 1)[:, None]
        return free

    def tangent(self, v: Array, free: AnyArray) -> Array:
        """Project onto directions that keep the sum of a row's shares."""
        count = np.maximum(np.count_nonzero(free, axis=1), 1)
        return np.where(free, v - (v.sum(axis=1) / count)[:, None], 0.0)

    def feasible(self, alpha: Array) -> Array:
        """Project onto the simplex."""
        below = np.flatnonzero((alpha < 0.0).any(axis=1))
        alpha = alpha.copy()
        alpha[below] = project_to_simplex(alpha[below])
        return alpha

    def stays(self, y: AnyArray, scores: Array, alpha: Array, shrink_margin: float) -> AnyArray:
        """Whether one class has the whole share, and its entry is the largest by the margin."""
        entries, rows = self.slopes(y, scores), np.arange(len(y))
        top = entries.argmax(axis=1)
        ahead = entries[rows, top]
        entries[rows, top] = -np.inf
        ahead -= entries.max(axis=1)
        stays: AnyArray = (alpha[rows, top] >= 1.0) & (ahead > shrink_margin)
        return stays


def crammer_singer_dual_loss(objective: Objective) -> CrammerSingerDualLoss:
    """The dual loss for more than two classes; raises TypeError for two."""
    dual_loss = dual_loss_of(objective)
    if not isinstance(dual_loss, CrammerSingerDualLoss):
        raise TypeError("a problem of more than two classes is needed, got two")
    return dual_loss


def multiclass_dual(objective: Objective) -> CrammerSingerDual:
    return CrammerSingerDual(crammer_singer_dual_loss(objective))
