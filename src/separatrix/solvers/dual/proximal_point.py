"""Proximal point method for the dual, with Newton's method on the weights.

Problem: ``max_alpha D(alpha)``, the dual of ``J(W) = sum_i p_i phi(y_i (w.x_i + b)) + l2 |w|^2``
(or of Crammer and Singer's loss of k classes), with a free bias.
Input: rows x_i, labels y_i, shares p_i of the weight; l2 > 0.
Output: weights W, dual variables alpha, J(W) and the bound D of a feasible alpha: their difference
is the duality gap.

Algorithm: a step maximises ``D(alpha) - sum_i p_i |alpha_i - center_i|^2 / (2 penalty_parameter)``
and moves the center to the maximum. Its own dual is smooth: J with rounded kinks, shifted by the
center. So Newton's method finds the weights, including the bias, which is as free as in J, and
every row's alpha follows from its scores. Only rows near a kink have curvature, so the second
derivative is a sum over few rows. The penalty parameter grows while many rows are near a kink, or
if the centers move slowly.

Updating single alphas or pairs took hundreds of passes with a weak penalty, badly scaled features
made it worse, and a free bias couples all alphas. Here some dozens of steps close the gap to 1e-9
of J for any scales, and threads share reads.

Papers: R. T. Rockafellar, Monotone operators and the proximal point algorithm, SIAM J. Control and
Optimization 14 (1976) 877-898; Newton's method for the steps: O. L. Mangasarian, A finite Newton
method for classification, Optimization Methods and Software 17 (2002) 913-929; X. Li, D. Sun and
K.-C. Toh, A highly efficient semismooth Newton augmented Lagrangian method for solving lasso
problems, SIAM J. Optimization 28 (2018) 433-458.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...data import InMemory
from ...numeric.dot import dot
from ...numeric.expected import Check, array, entries, flag, real
from ...numeric.types import Array
from ...objective import Objective
from ...proofs.binary_dual import dual_loss_of
from ...proofs.dual_loss import DualLoss, DualSums
from ...proofs.dual_sums import SOME_ROWS, joined, present_scores
from ..base import State
from .newton_system import NewtonSystem
from .proximal_steps import (
    FIRST_PENALTY,
    LEVEL,
    MANY_FREE,
    SMOOTH_ROUNDING,
    TOO_STEEP,
    ProximalIterate,
    ProximalSteps,
    SmoothedSums,
)
from .solver import DualIterate, DualSolver
from .streamed_proximal_point import StreamedProximalPointRun

PHASE = "proximal point"
MOST_TRIALS = 60  # lengths of a step: a bisection to the last digit
SHARPEST_START = 1e4  # of the penalty parameter, at most
NOTHING = np.empty((0, 0))


@dataclass(frozen=True, repr=False)
class ProximalPoint(DualSolver):
    """Proximal point method for the dual; each step is solved by Newton's method on the weights.

    For the hinge (Crammer and Singer's for more than two classes), and for two classes also the
    squared hinge and the logistic loss; with a penalty. Each step has J and a lower bound on its
    minimum. It is insensitive to feature scales, and to a weak penalty unless rows are few.

    Rows need not be in memory. If they are not, one number per row is kept for the hinge (k for k
    classes), twice that while these change, and 64 MB of rows near a kink; after a fit,
    ``reason`` shows how many bytes.

    See Also
    --------
    DualAscent : chooses between this and two other methods.

    Examples
    --------
    >>> from separatrix import LinearClassifier, ProximalPoint
    >>> clf = LinearClassifier("hinge", l2=0.5, solver=ProximalPoint())
    >>> clf.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).converged_
    True
    """

    name = "ProximalPoint"
    draws = False
    needs_rows_in_memory = False

    def iterates(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None
    ) -> Iterator[tuple[DualIterate, State]]:
        """Newton steps: those that improve something, and the last towards each center."""
        return proximal_iterates(objective, from_zeros(objective, W) if state is None else state)

    def phases(self, objective: Objective) -> dict[str, Check]:
        return {PHASE: proximal_state(objective)}


def proximal_state(objective: Objective) -> Check:
    """Checks for weights and a center: of all rows, of none yet, or its moves (see below)."""
    source, columns = objective.source, dual_loss_of(objective).columns
    numbers = dict.fromkeys(("penalty_parameter", "proximal_term"), real)
    W = array(*objective.shape)
    known = entries({**numbers, "W": W, "center": array(None, None), "polishes": flag})

    def check(name: str, state: State) -> None:
        known(name, state)
        center, shape = f"{name}.center", state["center"].shape
        moves, width = shape[1] == 1 + state["W"].size, shape[1]
        if not isinstance(source, InMemory) and (not shape[0] or moves):
            array(None, width if moves else columns)(center, state["center"])
        else:
            array(source.length, columns)(center, state["center"])

    return check


def from_zeros(objective: Objective, W: Array) -> State:
    """State for starting at given weights, with all alphas 0."""
    source = objective.source
    rows = len(source.y) if isinstance(source, InMemory) else 0  # none yet, until one is not 0
    return start_state(W, np.zeros((rows, dual_loss_of(objective).columns)))


def start_state(W: Array, center: Array, polishes: bool = False) -> State:
    """State for starting at given weights and alphas; ``polishes`` after another method."""
    return {
        "phase": PHASE, "W": W, "center": center, "penalty_parameter": FIRST_PENALTY,
        "proximal_term": np.inf, "polishes": polishes, "kept_bytes": 0,
    }  # fmt: skip


def proximal_iterates(objective: Objective, state: State) -> Iterator[tuple[DualIterate, State]]:
    """Yield iterates without end."""
    in_memory = isinstance(objective.source, InMemory)
    run = (ProximalPointRun if in_memory else StreamedProximalPointRun)(
        objective, dual_loss_of(objective), state["W"], state["center"],
        state["penalty_parameter"], state["proximal_term"],
    )  # fmt: skip
    polishes = state["polishes"]
    del state  # its center is as long as the data, and soon replaced
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
                "polishes": polishes, "kept_bytes": run.kept_bytes,
            },
        )  # fmt: skip


@dataclass
class ProximalPointRun(ProximalSteps):
    """An ascent with rows in memory, which keeps their scores."""

    def _begin(self) -> ProximalIterate:
        self.source = self.objective.in_memory
        self.scores = NOTHING
        return self._point(self.W)

    def _point(self, W: Array, scores: Array | None = None) -> ProximalIterate:
        """One read of the data; half of one if the scores are known."""
        loss, wrong, smooth, proximal, rows, conjugates, found = self.source.total(
            SmoothedSums(
                self.objective.loss, self.dual_loss, W, self.center, self.penalty_parameter, scores
            )
        )
        self.scores = joined(found) if scores is None else scores
        return self._evaluated(W, (loss, wrong, smooth, proximal), DualSums(rows, conjugates))

    def alpha(self) -> Array:
        """Computed from the scores when needed, to save memory."""
        alpha = np.empty_like(self.center)
        for start in range(0, len(alpha), SOME_ROWS):
            at = slice(start, start + SOME_ROWS)
            alpha[at] = self.dual_loss.alpha(
                self.source.y[at], self.scores[at], self.center[at], self.penalty_parameter
            )
        return alpha

    def _move_center(self) -> None:
        alpha = self.alpha()
        free, weight = self.dual_loss.is_free(alpha), self.source.weight
        free = free if weight is None else free & (weight != 0.0)
        self._sharpen(int(np.count_nonzero(free)))
        self.center = alpha
        self.at = self._point(self.at.W, self.scores)

    # ---- the length of a step

    def _descend(self, direction: Array, slope: float) -> None:
        """The whole step, or the best length along it, for which scores are enough."""
        # A search is rare: reading the scores again costs less than keeping them.
        self.scores, before = NOTHING, self.at
        there = self._point(before.W + direction)
        if abs(dot(there.gradient, direction)) > TOO_STEEP * abs(slope):
            change, self.scores = self.scores, NOTHING
            scores = present_scores(self.source, before.W)
            change -= scores
            length = self._search(direction, scores, change, slope)
            del change, scores
            there = self._point(before.W + length * direction)
        # If it overflows, the point stays unchanged.
        self.at = there if np.isfinite(there.objective) else self._point(before.W)

    def _search(self, direction: Array, scores: Array, change: Array, slope: float) -> float:
        """Where the slope along the step nearly vanishes."""
        low, high, length = 0.0, np.inf, 1.0
        for _ in range(MOST_TRIALS):
            steep = self._slope(direction, scores, change, length)
            if abs(steep) <= LEVEL * abs(slope):
                break
            if steep < 0.0:
                low = length
            else:
                high = length
            length = 2.0 * length if np.isinf(high) else 0.5 * (low + high)
        return length

    def _slope(self, direction: Array, scores: Array, change: Array, length: float) -> float:
        there = self.at.W + length * direction
        steep = dot(self.objective.penalty.gradient(there), direction)
        if self.fixed is not None:
            steep += dot(self.dual_loss.gradient(self.fixed.weighted_rows), direction)
        total = 0.0
        for start in range(0, len(change), SOME_ROWS):
            at = slice(start, start + SOME_ROWS)
            y, weight = self.source.y[at], self.source.weight
            moved = scores[at] + length * change[at]
            alpha = self.dual_loss.alpha(y, moved, self.center[at], self.penalty_parameter)
            slopes = np.sum(self.dual_loss.neg_slope(y, alpha) * change[at], axis=1)
            total += float(slopes.sum() if weight is None else weight[at] @ slopes)
        return steep - total / self.weight_sum

    def _newton_direction(self) -> Array:
        return NewtonSystem(
            self.objective, self.dual_loss, self.scores, self.alpha(), self.at.gradient,
            self.penalty_parameter, self.weight_sum,
        ).direction()  # fmt: skip


def reduced_run(
    objective: Objective, dual_loss: DualLoss, W: Array, rows: InMemory, fixed: DualSums
) -> ProximalPointRun:
    """A run from W over some rows near their kinks; the sums of all others are fixed."""
    scores = rows.scores(W)
    # At first about as many rows are free as there are weights, or some more.
    distance = np.sort(dual_loss.distance_to_kink(rows.y, scores))
    width = float(distance[min(MANY_FREE * W.size, len(distance)) - 1])
    penalty_parameter = min(max(FIRST_PENALTY, 0.5 / max(width, SMOOTH_ROUNDING)), SHARPEST_START)
    middle = np.full((len(scores), dual_loss.columns), 1.0 / (1 + dual_loss.columns))
    center = dual_loss.alpha(rows.y, scores, middle, penalty_parameter)
    part = Objective(objective.loss, objective.penalty, rows, objective.intercept)
    return ProximalPointRun(
        part, dual_loss, W, center, penalty_parameter, fixed=fixed,
        weight_sum=objective.source.weight_sum,
    )  # fmt: skip
