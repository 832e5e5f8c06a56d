"""Minimises a loss with a kink over rows that are not in memory, in a few reads.

Problem: ``min_W J(W) = sum_i p_i phi_i(W) + l2 |w|^2`` for the hinge, or Crammer and Singer's, if
rows are read block by block. Input: blocks of rows, the same ones at each read. Output: weights, J
and a lower bound on its minimum.

Algorithm: a read at W copies to memory, up to ``GATHERED_BYTES``, the rows nearest to their kinks
and a sample of the others; for all others it sums the tangents at W. Rows near a kink have full
weight, and the sample corrects the tangents: it represents the other rows, minus its own tangents.
This model of J is minimised in memory by proximal points, and the next read is made at its minimum.
If no row of the sample has left its tangent, the model is a sum of lower bounds, and its minimum a
proof. As W converges fewer rows cross their kinks, until all that do are among the near rows: then
the model's minimum is that of J. It starts at the minimum of a sample. If a model predicts more
than twice the decrease that the next read finds, there are too few rows, and other methods
continue.

Papers: the model's correction is that of stochastic variance reduction, R. Johnson and T. Zhang,
Accelerating stochastic gradient descent using predictive variance reduction, NeurIPS 2013, and of
O. Shamir, N. Srebro and T. Zhang, Communication-efficient distributed optimization using an
approximate Newton-type method, ICML 2014; working sets for the hinge: T. Joachims, Making
large-scale SVM learning practical, in Advances in Kernel Methods, MIT Press 1999.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...data import Block, Source, Sum
from ...data.blocks import concatenated, random_rows, taken
from ...losses import Loss
from ...numeric.expected import Check, array, entries, flag, real
from ...numeric.types import Array
from ...objective import Objective
from ...proofs.binary_dual import dual_loss_of
from ...proofs.dual_loss import DualLoss, DualSums
from ...proofs.dual_sums import TangentSums, scores_of
from .. import thresholds
from ..base import State
from .proximal_point import ProximalPointRun, reduced_run
from .proximal_steps import ProximalIterate
from .solver import DualIterate

PHASE = "working sets"
ENOUGH = 1e-13  # of J: accuracy to which a model is solved
SOLVED = 1e-3  # of the decrease that it predicts, likewise
MOST_STEPS = 100  # proximal point steps per model
STALLED = 30  # steps without gain
KEPT_PROMISE = 0.5  # of the predicted decrease that must be found
NO_ROWS = np.empty(0, dtype=np.int64)


def working_set_iterates(
    objective: Objective, W: Array, state: State | None
) -> Iterator[tuple[DualIterate, State]]:
    """One iterate per read, while models predict well; the last state has the best W."""
    dual_loss = dual_loss_of(objective)
    if state is None:
        with np.errstate(all="ignore"):
            W = W if W.any() else _sampled_minimum(objective)
        state = {
            "W": W, "best": W, "lowest": np.inf, "promised": np.inf, "ended": False,
        }  # fmt: skip
    while not state["ended"]:
        W, best, lowest, promised = (state[name] for name in ("W", "best", "lowest", "promised"))
        with np.errstate(all="ignore"):
            found = _read(objective, dual_loss, W)
            model = _minimised(objective, dual_loss, W, found)
        value, promise = found.objective, found.objective - model.lowest
        broken = np.isfinite(lowest) and not lowest - value > KEPT_PROMISE * promised
        if value < lowest:
            best, lowest = W, value
        state = {
            "phase": PHASE, "W": model.W, "best": best, "lowest": lowest, "promised": promise,
            "ended": bool(broken or not promise > ENOUGH * lowest), "kept_bytes": found.size,
        }  # fmt: skip
        yield DualIterate(W, value, found.mistakes, model.bound), state


def working_set_state(objective: Objective) -> Check:
    W = array(*objective.shape)
    return entries({"W": W, "best": W, "lowest": real, "promised": real, "ended": flag})


class Gathered(NamedTuple):
    """J at some weights, copied rows, and the mean tangents of rows that are not near a kink."""

    objective: float
    mistakes: float
    far: DualSums
    near_rows: Block
    sampled_rows: Block  # sample of the others, weighted to represent all of them
    size: int  # bytes of the rows


class Model(NamedTuple):
    """Minimum of a model of J, its value there, and a bound on J if it is one, else 0."""

    W: Array
    lowest: float
    bound: float


def _sampled_minimum(objective: Objective) -> Array:
    """Weights that minimise J over as many random rows as may be copied."""
    source = objective.source
    size = max(1, int(thresholds.GATHERED_BYTES / max(source.row_bytes, 1.0)))
    if size >= source.n_rows:
        return np.zeros(objective.shape)  # the first read copies them all
    part = objective.on_rows(source.sample(size))
    dual_loss = dual_loss_of(part)
    run = ProximalPointRun(
        part, dual_loss, np.zeros(objective.shape), np.zeros((size, dual_loss.columns))
    )
    return _climb(run, lambda _: 0.1 / math.sqrt(size)).W


def _climb(
    run: ProximalPointRun,
    enough: Callable[[ProximalIterate], float],
    seen: Callable[[ProximalIterate], None] = lambda _: None,
) -> ProximalIterate:
    """Steps until the gap is small enough or stops decreasing: the lowest point."""
    best, highest, stale = run.at, run.at.bound, 0
    for _ in range(MOST_STEPS):
        if best.objective - highest <= enough(best) or stale >= STALLED:
            break
        at = run.step()
        stale = 0 if at.objective < best.objective or at.bound > highest else stale + 1
        best, highest = at if at.objective < best.objective else best, max(highest, at.bound)
        seen(at)
    return best


def _read(objective: Objective, dual_loss: DualLoss, W: Array) -> Gathered:
    source, C = objective.source, objective.source.weight_sum
    share = 0.5 * thresholds.GATHERED_BYTES / max(1.0, source.row_bytes * source.n_rows)
    asked = WorkingSetSums(objective.loss, dual_loss, W, min(share, 1.0))
    loss_sum, mistakes, rows, conjugates, near, sampled = source.total(asked)
    return Gathered(
        objective.mean(loss_sum, W), mistakes, DualSums(rows / C, conjugates / C),
        concatenated(near), concatenated(sampled),
        int(source.row_bytes * sum(len(block.y) for block in near + sampled)),
    )  # fmt: skip


def _minimised(objective: Objective, dual_loss: DualLoss, W: Array, found: Gathered) -> Model:
    """Minimum of the model of J made at W."""
    classes, C = objective.source.classes, objective.source.weight_sum
    sampled = Source.gathered(found.sampled_rows, classes)
    fixed = found.far
    if len(sampled.y):
        asked = TangentSums(objective.loss, dual_loss, W, NO_ROWS)
        _, rows, conjugates, _ = sampled.total(asked)
        fixed = fixed.plus(DualSums(-rows / C, -conjugates / C))
    gathered = Source.gathered(concatenated([found.near_rows, found.sampled_rows]), classes)
    run = reduced_run(objective, dual_loss, W, gathered, fixed)
    tangents = dual_loss.subgradient(sampled.y, sampled.scores(W))
    J, bounds = found.objective, [0.0]

    def enough(best: ProximalIterate) -> float:
        return max(ENOUGH * J, SOLVED * (J - best.objective))

    def seen(at: ProximalIterate) -> None:
        # A bound of the model is a bound of J if the sample stays on its tangents.
        near = len(found.near_rows.y)
        if at.bound > bounds[-1] and np.array_equal(run.alpha()[near:], tangents):
            bounds.append(at.bound)

    best = _climb(run, enough, seen)
    return Model(best.W, best.objective, bounds[-1])


WorkingSet = tuple[float, float, Array, Array, list[Block], list[Block]]


@dataclass(frozen=True)
class WorkingSetSums(Sum[WorkingSet]):
    """Losses and mistakes at W; tangents of rows that are not near a kink; copies of some rows."""

    loss: Loss
    dual_loss: DualLoss
    W: Array
    share: float
    """Rows per block to copy because they are near a kink, and as a sample of the others."""

    def of(self, block: Block) -> WorkingSet:
        y, s, c = block.y, scores_of(block, self.W), block.weights
        near = present = np.flatnonzero(c)
        most = math.ceil(self.share * len(present))
        if most < len(present):
            distance = self.dual_loss.distance_to_kink(y[present], s[present])
            near = np.sort(present[np.argpartition(distance, most)[:most]])
        far = np.setdiff1d(present, near, assume_unique=True)
        counted = np.zeros(len(y))
        counted[far] = c[far]
        slopes, conjugates = self.dual_loss.tangents(block, self.dual_loss.subgradient(y, s))
        rows = np.zeros((self.dual_loss.groups, block.rows.shape[1] + 1))
        block.rows.transpose_product(counted[:, None] * slopes, rows)
        some = far[random_rows(len(far), most)]
        sampled = taken(block, some)
        if len(some) < len(far):
            sampled = sampled._replace(weight=sampled.weights * (c[far].sum() / c[some].sum()))
        return (
            float(c @ self.loss.value(y, s)), float(c @ self.loss.mistakes(y, s)), rows,
            counted @ conjugates, [taken(block, near)], [sampled],
        )  # fmt: skip
