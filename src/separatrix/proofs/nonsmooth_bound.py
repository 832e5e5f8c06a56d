"""Lower bounds on the minimum of J for losses with a kink, at any weights.

Problem: at a kink the slope of a loss does not determine the alpha of its row, so that no tight
bound follows from weights alone. Input: an objective with l2 > 0 and a known dual; weights W.
Output: J at W, a bound below its minimum, the alphas that prove it, and the number of reads.
Algorithm: rows away from a kink keep the alpha given by their slope; the dual over the rows near a
kink is maximised by proximal points, all others fixed. See ``smooth_bound`` for the bound itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..numeric.types import Array, Ints
from ..objective import Objective
from .binary_dual import dual_loss_of
from .dual_loss import DualLoss, DualSums
from .dual_sums import Subgradients, TangentSums, joined
from .iterates import StartAscent

NEAR_KINK = 4096  # maximum number of rows of the reduced problem
ENOUGH = 1e-11  # of J: the bound need not be closer
MOST_STEPS = 60  # towards the minimum of the reduced problem
NOTHING = np.empty((0, 0))
STEP_READS = 2.0  # for the rows near a kink


class DualBound(NamedTuple):
    """J at some weights, a lower bound on its minimum, and the number of reads it took."""

    value: float
    lower_bound: float
    reads: int
    alpha: Callable[[], Array]
    """Dual variables that prove the bound, (n, columns); computed in another read."""


def nonsmooth_lower_bound(
    objective: Objective,
    W: Array,
    ascent: StartAscent,
    most_reads: float = np.inf,
    enough: float = ENOUGH,
) -> DualBound:
    """J at W, a lower bound on its minimum that is tight if W is near it, and the number of reads.

    Rows away from a kink keep the alpha given by their score; for the rows nearest to one, at
    most ``NEAR_KINK``, a small dual is maximised, starting at W. At least one read is made; then
    it continues until the bound is within ``enough`` of J, relative to J, or reads run out.
    For one-vs-rest losses, J and the bound are sums over the classes.
    """
    if objective.shape[0] > 1 and objective.loss.column_loss is not None:
        columns = [
            nonsmooth_lower_bound(objective.column(c), W[c, None], ascent, most_reads, enough)
            for c in range(len(W))
        ]
        return DualBound(
            sum(own.value for own in columns), sum(own.lower_bound for own in columns),
            max(own.reads for own in columns),
            lambda: np.concatenate([own.alpha() for own in columns], axis=1),
        )  # fmt: skip
    dual_loss, no_rows = dual_loss_of(objective), np.empty(0, dtype=np.int64)
    loss_sum, sums, distance = _tangent_sums(objective, dual_loss, W, no_rows)
    value = objective.mean(loss_sum, W)
    bound = dual_loss.bound(sums, objective.penalty.l2, objective.intercept)
    bound = bound if np.isfinite(bound) and np.isfinite(value) else 0.0
    known, reads = (no_rows, NOTHING), 1.0
    if dual_loss.nonsmooth and reads + 2.0 <= most_reads and np.isfinite(value):
        near = np.flatnonzero(distance < np.inf)
        share = min(1.0, NEAR_KINK / max(len(near), 1))
        if share < 1.0:
            near = np.sort(np.argpartition(distance, NEAR_KINK)[:NEAR_KINK])
        del distance
        _, fixed, _ = _tangent_sums(objective, dual_loss, W, near)
        run = ascent(objective, dual_loss, W, objective.source.take(near), fixed)
        reads = 2.0
        for _ in range(MOST_STEPS):
            reads += STEP_READS * share
            if run.at.bound > bound:
                bound, known = run.at.bound, (near, run.alpha())
            if run.at.objective - bound <= enough * value:
                break
            if reads + STEP_READS * share > most_reads:
                break
            run.step()

    def alpha() -> Array:
        of_all = joined(objective.source.total(Subgradients(dual_loss, W))[0])
        if len(known[0]):
            of_all[known[0]] = known[1]
        return of_all

    return DualBound(value, max(bound, 0.0), math.ceil(reads), alpha)


def _tangent_sums(
    objective: Objective, dual_loss: DualLoss, W: Array, left_out: Ints
) -> tuple[float, DualSums, Array]:
    """Losses at W, mean of the tangents there, and distance of each row from a kink."""
    C = objective.source.weight_sum
    asked = TangentSums(objective.loss, dual_loss, W, left_out)
    loss_sum, rows, conjugates, distances = objective.source.total(asked)
    return loss_sum, DualSums(rows / C, conjugates / C), joined(distances)
