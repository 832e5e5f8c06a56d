"""Proximal points of the dual, each found by Newton's method on the weights.

Problem: ``max_alpha D(alpha)``, the dual of ``J(W) = sum_i p_i phi(y_i (w.x_i + b)) + l2 |w|^2``
(or of Crammer and Singer's loss of k classes), with a free bias.
Input: rows x_i in memory, labels y_i, shares p_i of the weight; l2 > 0.
Output: weights W, dual variables alpha, J(W) and the bound D of a feasible alpha: their difference
is the duality gap.

Algorithm: a step maximises ``D(alpha) - sum_i p_i |alpha_i - center_i|^2 / (2 penalty_parameter)``
and moves the center to where that is. Its own dual is smooth: J with its kinks rounded off, shifted
by the center. So Newton's method finds the weights, the bias among them and as free as in J, and
every row's alpha follows from its scores. Only rows near a kink have curvature: the second
derivative is a sum over few of them. The penalty parameter grows while many rows are near one, or
where the centers move slowly.

Single alphas or pairs of them took hundreds of passes with a weak penalty, badly scaled features
made it worse, and a free bias ties all alphas together. Here some dozens of steps close the gap to
1e-9 of J whatever the scales, and threads share reads.

Papers: R. T. Rockafellar, Monotone operators and the proximal point algorithm, SIAM J. Control and
Optimization 14 (1976) 877-898; Newton's method for the steps: O. L. Mangasarian, A finite Newton
method for classification, Optimization Methods and Software 17 (2002) 913-929; X. Li, D. Sun and
K.-C. Toh, A highly efficient semismooth Newton augmented Lagrangian method for solving lasso
problems, SIAM J. Optimization 28 (2018) 433-458.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...numeric.types import Array
from ...objective import Objective
from ..base import State
from .dual_loss import DualLoss, DualSums
from .losses import dual_loss_of
from .newton_system import NewtonSystem
from .solver import DualIterate, DualSolver
from .sums import SOME_ROWS, SmoothedSums, present_scores

PHASE = "proximal point"
FIRST_PENALTY = 0.5  # rows up to a margin of 1 on either side of the kink have curvature
GROWTH = 4.0  # of the penalty parameter
MANY_FREE = 3  # free rows per feature, above which the kinks may be sharper
SETTLED = 0.1  # share of the center's move to which the weights of a step are solved
MOST_TRIALS = 60
NOTHING = np.empty((0, 0))
SMOOTH_ROUNDING = 1e-15  # of the smoothed J: no smaller decrease is seen in it


@dataclass(frozen=True, repr=False)
class ProximalPoint(DualSolver):
    """Climbs the dual by proximal steps, each solved by Newton's method on the weights.

    For the hinge (Crammer and Singer's for more than two classes), and for two classes also the
    squared hinge and the logistic loss; with a penalty, and rows in memory. Each step tells J
    and a lower bound on its minimum. No scale of the features slows it down, and no weak penalty
    unless rows are few.

    >>> from separatrix import LinearClassifier, ProximalPoint
    >>> clf = LinearClassifier("hinge", l2=0.5, solver=ProximalPoint())
    >>> clf.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).converged_
    True
    """

    name = "ProximalPoint"

    def iterates(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None
    ) -> Iterator[tuple[DualIterate, State]]:
        """Newton's steps; those are told that bring something, and the last towards a center."""
        if state is None:
            rows = len(objective.in_memory.y)
            state = start_state(W, np.zeros((rows, dual_loss_of(objective).columns)))
        return proximal_iterates(objective, state)


def start_state(W: Array, center: Array, polishes: bool = False) -> State:
    """To begin at given weights and alphas; ``polishes`` if these are another method's last."""
    return {
        "phase": PHASE, "W": W, "center": center, "penalty_parameter": FIRST_PENALTY,
        "proximal_term": np.inf, "polishes": polishes,
    }  # fmt: skip


def proximal_iterates(objective: Objective, state: State) -> Iterator[tuple[DualIterate, State]]:
    """For ever."""
    run = ProximalPointRun(
        objective, dual_loss_of(objective), state["W"], state["center"],
        state["penalty_parameter"], state["proximal_term"],
    )  # fmt: skip
    polishes = state["polishes"]
    del state  # its center is as long as the rows, and soon replaced
    while True:
        smooth = run.at.smooth
        with np.errstate(all="ignore"):
            at = run.step()
        ended = polishes or run.center_moved or not at.smooth < smooth
        yield (
            DualIterate(at.W, at.objective, at.mistakes, at.bound, ended, run.alpha),
            {
                "phase": PHASE, "W": run.W, "center": run.center,
                "penalty_parameter": run.penalty_parameter, "proximal_term": run.proximal_term,
                "polishes": polishes,
            },
        )  # fmt: skip
        del at  # the scores of all rows, before the next step makes its own


class Point(NamedTuple):
    """Everything at some weights, for a center and a penalty parameter."""

    W: Array
    scores: Array
    objective: float
    mistakes: float
    smooth: float
    """J with its kinks rounded off."""
    gradient: Array
    """Of the smooth one."""
    proximal_term: float
    """What the distance of alpha from the center costs."""
    bound: float


def joined(blocks: list[Array]) -> Array:
    """As ``np.concatenate``, but each block is let go when it is copied: they are as long as y."""
    whole = np.empty((sum(map(len, blocks)), *blocks[0].shape[1:]))
    stop = len(whole)
    while blocks:
        start = stop - len(blocks[-1])
        whole[start:stop] = blocks.pop()
        stop = start
    return whole


@dataclass
class ProximalPointRun:
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
        self.source = self.objective.in_memory
        self.weight_sum = self.weight_sum or self.source.weight_sum
        self.at = self._point(self.W)

    def _point(self, W: Array, scores: Array | None = None) -> Point:
        """One read of the data; half of one where the scores are known."""
        loss_sum, mistakes, smooth, proximal, rows, conjugates, found = self.source.total(
            SmoothedSums(
                self.objective.loss, self.dual_loss, W, self.center, self.penalty_parameter, scores
            )
        )
        scores = joined(found) if scores is None else scores
        C, penalty = self.weight_sum, self.objective.penalty
        sums = DualSums(rows / C, conjugates / C)
        rest = penalty.value(W)
        if self.fixed is not None:
            sums = sums.plus(self.fixed)
            rest += float(self.fixed.neg_conjugates.sum())
            rest += float(np.vdot(self.dual_loss.gradient(self.fixed.weighted_rows), W))
        gradient = self.dual_loss.gradient(sums.weighted_rows) + penalty.gradient(W)
        if not self.objective.intercept:
            gradient[:, -1] = 0.0
        bound = self.dual_loss.bound(sums, penalty.l2, self.objective.intercept)
        return Point(
            W, scores, loss_sum / C + rest, mistakes, smooth / C + rest, gradient, proximal / C,
            bound,
        )  # fmt: skip

    def alpha(self) -> Array:
        """Dual variables at the weights: made from the scores when needed, they take no place."""
        alpha = np.empty_like(self.center)
        for start in range(0, len(alpha), SOME_ROWS):
            at = slice(start, start + SOME_ROWS)
            alpha[at] = self.dual_loss.alpha(
                self.source.y[at], self.at.scores[at], self.center[at], self.penalty_parameter
            )
        return alpha

    def step(self) -> Point:
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

    def _move_center(self) -> None:
        """To the alphas; kinks get sharper while many rows are free, or where it goes slowly."""
        alpha = self.alpha()
        free, weight = self.dual_loss.is_free(alpha), self.source.weight
        many = np.count_nonzero(free if weight is None else free & (weight != 0.0))
        if (
            many > MANY_FREE * self.W.shape[1]
            or self.at.proximal_term > self.proximal_term / GROWTH
        ):
            self.penalty_parameter *= GROWTH
        self.center, self.proximal_term = alpha, self.at.proximal_term
        self.at = self._point(self.at.W, self.at.scores)

    # ---- the length of a step

    def _descend(self, direction: Array, slope: float) -> None:
        """The whole step, or the best length along it, for which scores are enough."""
        # A search is rare: to read the scores once more for it costs less than to hold them.
        before = self.at = self.at._replace(scores=NOTHING)
        there = self._point(before.W + direction)
        if abs(float(np.vdot(there.gradient, direction))) > 0.5 * abs(slope):
            change = there.scores
            del there
            scores = present_scores(self.source, before.W)
            change -= scores
            length = self._search(direction, scores, change, slope)
            del change, scores
            there = self._point(before.W + length * direction)
        # Beyond what floating point holds it stays where it is.
        self.at = there if np.isfinite(there.objective) else self._point(before.W)

    def _search(self, direction: Array, scores: Array, change: Array, slope: float) -> float:
        """Where the slope along the step vanishes, nearly."""
        low, high, length = 0.0, np.inf, 1.0
        for _ in range(MOST_TRIALS):
            steep = self._slope(direction, scores, change, length)
            if abs(steep) <= 0.1 * abs(slope):
                break
            if steep < 0.0:
                low = length
            else:
                high = length
            length = 2.0 * length if np.isinf(high) else 0.5 * (low + high)
        return length

    def _slope(self, direction: Array, scores: Array, change: Array, length: float) -> float:
        there = self.at.W + length * direction
        steep = float(np.vdot(self.objective.penalty.gradient(there), direction))
        if self.fixed is not None:
            steep += float(np.vdot(self.dual_loss.gradient(self.fixed.weighted_rows), direction))
        total = 0.0
        for start in range(0, len(change), SOME_ROWS):
            at = slice(start, start + SOME_ROWS)
            y, weight = self.source.y[at], self.source.weight
            moved = scores[at] + length * change[at]
            alpha = self.dual_loss.alpha(y, moved, self.center[at], self.penalty_parameter)
            slopes = np.sum(self.dual_loss.neg_slope(y, alpha) * change[at], axis=1)
            total += float(slopes.sum() if weight is None else weight[at] @ slopes)
        return steep - total / self.weight_sum

    def _direction(self) -> tuple[Array, float]:
        """Newton's direction, and the slope along it."""
        direction = NewtonSystem(
            self.objective, self.dual_loss, self.at.scores, self.alpha(), self.at.gradient,
            self.penalty_parameter, self.weight_sum,
        ).direction()  # fmt: skip
        return direction, float(np.vdot(direction, self.at.gradient))
