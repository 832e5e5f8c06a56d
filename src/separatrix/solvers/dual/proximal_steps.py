"""Steps of the proximal point method that do not depend on where the rows are stored.

See :mod:`separatrix.solvers.dual.proximal_point` for the method. A run in memory keeps the scores
of all rows; one that reads its rows block by block only keeps the center.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...data import Block, Sum
from ...losses import Loss
from ...numeric.dot import dot
from ...numeric.threads import ordered_sum
from ...numeric.types import Array
from ...objective import Objective
from ...proofs.dual_loss import DualLoss, DualSums
from ...proofs.dual_sums import SOME_ROWS

FIRST_PENALTY = 0.5  # rows within a margin of 1 of the kink have curvature
GROWTH = 4.0  # of the penalty parameter
MANY_FREE = 3  # free rows per feature, above which kinks may be sharpened
SETTLED = 0.1  # share of the center's move to which the weights of a step must converge
TOO_STEEP = 0.5  # of the initial slope left by a step, above which its length is searched
LEVEL = 0.1  # of the initial slope left at the end of that search
STILL = 1e-13  # of the smoothed J: if the center stops moving, sharper kinks lose digits
SMOOTH_ROUNDING = 1e-15  # of the smoothed J: smaller decreases are invisible


Numbers = tuple[float, float, float, float]
"""Sums of losses, mistakes, smoothed losses and proximal terms."""


class ProximalIterate(NamedTuple):
    """All values at some weights, for a center and a penalty parameter."""

    W: Array
    objective: float
    mistakes: float
    smooth: float  # J with its kinks rounded off
    gradient: Array  # gradient of the smoothed J
    proximal_term: float  # cost of the distance of alpha from the center
    bound: float


@dataclass
class ProximalSteps(ABC):
    """State of an ascent. ``fixed`` are the sums of rows that are not in the source.

    These rows count with the tangent given by their alpha; ``weight_sum`` includes them.
    """

    objective: Objective
    dual_loss: DualLoss
    W: Array
    center: Array
    penalty_parameter: float = FIRST_PENALTY
    proximal_term: float = np.inf  # cost of the last move of the center
    fixed: DualSums | None = None
    weight_sum: float = 0.0
    center_moved: bool = False  # whether the last step started from a new center

    def __post_init__(self) -> None:
        self.weight_sum = self.weight_sum or self.objective.source.weight_sum
        self.at = self._begin()

    @property
    def kept_bytes(self) -> int:
        """Bytes kept in memory for rows that are not."""
        return 0

    @abstractmethod
    def _begin(self) -> ProximalIterate:
        """Evaluate the initial weights."""

    @abstractmethod
    def alpha(self) -> Array:
        """Dual variables at the weights, (n, columns)."""

    @abstractmethod
    def _newton_direction(self) -> Array:
        """Newton's direction from the curvature of the free rows."""

    @abstractmethod
    def _move_center(self) -> None:
        """Move the center to the alphas at the weights, and sharpen the kinks if needed."""

    @abstractmethod
    def _descend(self, direction: Array, slope: float) -> None:
        """The whole step, or the best length along it."""

    def step(self) -> ProximalIterate:
        """One Newton step, from a new center if the weights have converged for the old one."""
        direction, slope = self._direction()
        settled = max(SETTLED * self.at.proximal_term, SMOOTH_ROUNDING * abs(self.at.smooth))
        self.center_moved = self.dual_loss.nonsmooth and -0.5 * slope <= settled
        if self.center_moved:
            self._move_center()
            direction, slope = self._direction()
        if -np.inf < slope < 0.0 and np.all(np.isfinite(direction)):
            self._descend(direction, slope)
        self.W = self.at.W
        return self.at

    def _direction(self) -> tuple[Array, float]:
        """Newton's direction, and the slope along it."""
        direction = self._newton_direction()
        return direction, dot(direction, self.at.gradient)

    def _sharpen(self, free: int) -> None:
        """Sharpen the kinks while many rows are free, or if the center moves slowly."""
        slowly = self.at.proximal_term > self.proximal_term / GROWTH
        moves = self.at.proximal_term > STILL * abs(self.at.smooth)
        if moves and (free > MANY_FREE * self.W.shape[1] or slowly):
            self.penalty_parameter *= GROWTH
        self.proximal_term = self.at.proximal_term

    def _evaluated(self, W: Array, numbers: Numbers, sums: DualSums) -> ProximalIterate:
        """The iterate from sums over the rows."""
        C, penalty = self.weight_sum, self.objective.penalty
        loss_sum, mistakes, smooth, proximal = numbers
        sums = DualSums(sums.weighted_rows / C, sums.neg_conjugates / C)
        rest = penalty.value(W)
        if self.fixed is not None:
            sums = sums.plus(self.fixed)
            rest += float(self.fixed.neg_conjugates.sum())
            rest += dot(self.dual_loss.gradient(self.fixed.weighted_rows), W)
        gradient = self.dual_loss.gradient(sums.weighted_rows) + penalty.gradient(W)
        if not self.objective.intercept:
            gradient[:, -1] = 0.0
        bound = self.dual_loss.bound(sums, penalty.l2, self.objective.intercept)
        return ProximalIterate(
            W, loss_sum / C + rest, mistakes, smooth / C + rest, gradient, proximal / C, bound
        )


Smoothed = tuple[float, float, float, float, Array, Array, list[Array]]


@dataclass(frozen=True)
class SmoothedSums(Sum[Smoothed]):
    """Losses, mistakes, smoothed losses and proximal terms; weighted rows, conjugates; scores.

    The scores are returned block by block if they were not known.
    """

    loss: Loss
    dual_loss: DualLoss
    W: Array
    center: Array
    penalty_parameter: float
    scores: Array | None

    def of(self, block: Block) -> Smoothed:
        """Process a few rows at a time, so that temporary arrays stay in cache."""
        here = np.empty((len(block.y), len(self.W)))
        known = self.scores is not None
        if self.scores is not None:
            here = self.scores[block.at]
        own = replace(self, center=self.center[block.at], scores=here)
        rows, pieces = block.rows, []
        for start in range(0, len(block.y), SOME_ROWS):
            stop = min(start + SOME_ROWS, len(block.y))
            weight = None if block.weight is None else block.weight[start:stop]
            piece = Block(rows.part(start, stop).X, block.y[start:stop], weight, start)
            pieces.append(piece)
        sums = ordered_sum(lambda piece: own._of_piece(piece, here[piece.at], known), pieces, 1)
        return *sums, ([] if known else [here])

    def _of_piece(
        self, block: Block, s: Array, known: bool
    ) -> tuple[float, float, float, float, Array, Array]:
        """The sums for a few rows; their scores ``s`` are written if they are unknown."""
        y, c, center = block.y, block.weights, self.center[block.at]
        if not known:
            block.rows.scores(self.W, s)
            if block.weight is not None:
                s[block.weight == 0.0] = 0.0  # ignore the row, even if its score overflows
        a = self.dual_loss.alpha(y, s, center, self.penalty_parameter)
        slopes, conjugates = self.dual_loss.tangents(block, a)
        rows = np.zeros((self.dual_loss.groups, self.W.shape[1]))
        block.rows.transpose_product(c[:, None] * slopes, rows)
        smooth = self.dual_loss.value(y, s, a, center, self.penalty_parameter)
        proximal = np.sum((a - center) ** 2, axis=1) / (2.0 * self.penalty_parameter)
        return (
            float(c @ self.loss.value(y, s)), float(c @ self.loss.mistakes(y, s)),
            float(c @ smooth), float(c @ proximal), rows, c @ conjugates,
        )  # fmt: skip
