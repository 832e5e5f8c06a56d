"""Steps of the proximal point method, wherever the rows are: what they share.

See :mod:`separatrix.solvers.dual.proximal_point` for the method. A run in memory keeps scores of
all rows; one that reads its rows block by block keeps the center alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...numeric.dot import dot
from ...numeric.types import Array
from ...objective import Objective
from .dual_loss import DualLoss, DualSums

FIRST_PENALTY = 0.5  # rows up to a margin of 1 on either side of the kink have curvature
GROWTH = 4.0  # of the penalty parameter
MANY_FREE = 3  # free rows per feature, above which the kinks may be sharper
SETTLED = 0.1  # share of the center's move to which the weights of a step are solved
TOO_STEEP = 0.5  # of the slope at the start of a step is left at its end: then its length is sought
LEVEL = 0.1  # of the slope at the start is left where that search ends
STILL = 1e-13  # of the smoothed J: where the center moves no more, sharper kinks lose digits
SMOOTH_ROUNDING = 1e-15  # of the smoothed J: no smaller decrease is seen in it


Numbers = tuple[float, float, float, float]
"""Sums of losses, mistakes, smoothed losses and proximal terms."""


class ProximalIterate(NamedTuple):
    """Everything at some weights, for a center and a penalty parameter."""

    W: Array
    objective: float
    mistakes: float
    smooth: float
    """J with its kinks rounded off."""
    gradient: Array
    """Of the smooth one."""
    proximal_term: float
    """What the distance of alpha from the center costs."""
    bound: float


@dataclass
class ProximalSteps(ABC):
    """Where an ascent stands. ``fixed`` are the sums of rows that are not in the source.

    Such rows count with the tangent that their alpha chooses, and ``weight_sum`` is that of all.
    """

    objective: Objective
    dual_loss: DualLoss
    W: Array
    center: Array
    penalty_parameter: float = FIRST_PENALTY
    proximal_term: float = np.inf
    """Cost of the last move of the center."""
    fixed: DualSums | None = None
    weight_sum: float = 0.0
    center_moved: bool = False
    """Whether the last step began at a new center."""

    def __post_init__(self) -> None:
        self.weight_sum = self.weight_sum or self.objective.source.weight_sum
        self.at = self._begin()

    @property
    def kept_bytes(self) -> int:
        """What is kept in memory of rows that are not there."""
        return 0

    @abstractmethod
    def _begin(self) -> ProximalIterate:
        """Everything at the weights given."""

    @abstractmethod
    def alpha(self) -> Array:
        """Dual variables at the weights, (n, columns)."""

    @abstractmethod
    def _newton_direction(self) -> Array:
        """From the curvature of the rows that are free."""

    @abstractmethod
    def _move_center(self) -> None:
        """To the alphas at the weights, and sharpen the kinks if need be."""

    @abstractmethod
    def _descend(self, direction: Array, slope: float) -> None:
        """The whole step, or the best length along it."""

    def step(self) -> ProximalIterate:
        """One Newton step, from a new center if the weights have settled for the old one."""
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
        """Kinks get sharper while many rows are free, or where the center moves slowly."""
        slowly = self.at.proximal_term > self.proximal_term / GROWTH
        moves = self.at.proximal_term > STILL * abs(self.at.smooth)
        if moves and (free > MANY_FREE * self.W.shape[1] or slowly):
            self.penalty_parameter *= GROWTH
        self.proximal_term = self.at.proximal_term

    def _evaluated(self, W: Array, numbers: Numbers, sums: DualSums) -> ProximalIterate:
        """From sums over the rows."""
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
