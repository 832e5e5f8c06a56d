"""Rounds of dual coordinate ascent in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.loops._compiled import _loops
from separatrix.loops.ascent_round import EpochOrders, RoundResult, StepHistory
from separatrix.losses import Logistic, MarginLoss, SquaredHinge
from separatrix.numeric.rows import RowArrays, row_nonzeros
from separatrix.numeric.types import AnyArray, Array, Ints

from .coordinate_ascent import coordinate_epoch
from .online import draw_order

SURPRISE = _loops.surprise
CRAWLING, LEFT_BY_FAST, SETTLED = _loops.crawling, _loops.left_by_fast, _loops.settled
GAIN_ROUNDING, DEPENDENT = _loops.gain_rounding, _loops.dependent
NEAREST_END = _loops.nearest_end


def ascent_round(
    rows: RowArrays,
    y: Array,
    loss: MarginLoss,
    alpha: Array,
    w: Array,
    active: Ints,
    *,
    inv_weight_sum: float,
    row_norm2: Array,
    inv_2l2: float,
    bias_inv_penalty: float = 0.0,
    weight: Array | None = None,
    shrink_margin: float = np.inf,
    orders: EpochOrders,
    most_epochs: int,
    enough: float,
    careful: float,
    identified: float,
    stands_out: float = np.inf,
    gap: float = np.inf,
    history: StepHistory | None = None,
    offset: Array | None = None,
) -> RoundResult:
    at, epochs, crawls, reached, subspace = active.copy(), 0, False, False, history is not None
    subspace_steps, visits = 0, 0
    numbers: dict[str, Any] = {
        "inv_weight_sum": inv_weight_sum, "row_norm2": row_norm2, "inv_2l2": inv_2l2,
        "bias_inv_penalty": bias_inv_penalty, "weight": weight, "offset": offset,
    }  # fmt: skip
    pull = np.zeros(len(y)) if offset is None else y * offset  # of the dual, for every alpha
    p = inv_weight_sum * (np.ones(len(y)) if weight is None else weight)
    top = np.inf if isinstance(loss, SquaredHinge) else 1.0
    while epochs < most_epochs and not reached:
        before, start, start_w = gap, alpha.copy(), w.copy()
        free = np.count_nonzero((alpha[at] > 0.0) & (alpha[at] < top))
        remembered = history if subspace and len(at) < identified * free else None
        if remembered is not None and not (crawls or remembered.alphas.any()):
            remembered = None
        order, row_gap = shuffled(at, orders, epochs), np.empty(len(at))
        found = coordinate_epoch(
            rows, y, loss, alpha, w, order, **numbers, shrink_margin=shrink_margin, row_gap=row_gap
        )
        epochs, visits, gap = epochs + 1, visits + len(at), found.gap
        known = 0.0 < before < np.inf
        fall = min(1.0, gap / before) if known else 1.0
        dual = dual_estimate(loss, alpha, w, p, inv_2l2) - float(p @ (pull * alpha))
        most = dual if offset is not None else min(1.0, dual)
        reached = bool(gap * min(1.0, SURPRISE * fall) <= enough * most)
        if not reached and known and fall > LEFT_BY_FAST:
            visits += visit_again(
                rows, y, loss, alpha, w, order[: found.n_active], row_gap[: found.n_active],
                stands_out, orders._replace(first=orders.first + epochs), **numbers,
            )  # fmt: skip
        if not isinstance(loss, Logistic):
            shrink_margin = careful * found.projected_gradient / (found.n_active or 1)
        again = np.isin(at, order[: found.n_active])
        if remembered is not None:
            subspace = subspace_step(
                rows, y, loss, alpha, w, start, start_w, remembered, p, inv_2l2, pull
            )
        if remembered is not None and subspace:
            again |= remembered.alphas[1, at] != 0.0
            subspace_steps += 1
        elif history is not None:
            history.alphas[:] = history.weights[:] = 0.0
        at = at[again]
        crawls = known and fall > CRAWLING
    active[: len(at)] = at
    return RoundResult(
        len(at), epochs, gap, shrink_margin, subspace, reached, subspace_steps, visits
    )


def dual_estimate(loss: MarginLoss, alpha: Array, w: Array, p: Array, inv_2l2: float) -> float:
    """The dual objective at the alphas."""
    return float(-(p @ loss.conjugate(alpha)) - 0.5 * w[:-1] @ w[:-1] / inv_2l2)


def shuffled(rows: Ints, orders: EpochOrders, number: int) -> Ints:
    """The rows in one of the orders, counted from the first."""
    drawn = draw_order(
        len(rows), orders.block_rows, orders.blocks_per_group, orders.seed, orders.first + number
    )
    return rows[drawn]


def visit_again(
    rows: RowArrays,
    y: Array,
    loss: MarginLoss,
    alpha: Array,
    w: Array,
    kept: Ints,
    row_gap: Array,
    stands_out: float,
    orders: EpochOrders,
    **numbers: Any,
) -> int:
    """Rows that stand out by their part of the gap, until they no longer do: how many visits."""
    out = row_gap > stands_out * row_gap.sum() / len(kept)
    theirs, others, visits, number = row_gap[out].sum(), row_gap[~out].sum(), 0, 1
    while theirs > SETTLED * others and visits < len(kept):
        order = shuffled(kept[out], orders, number << 32)
        theirs = coordinate_epoch(rows, y, loss, alpha, w, order, **numbers).gap
        visits, number = visits + len(order), number + 1
    return visits


def subspace_step(
    rows: RowArrays,
    y: Array,
    loss: MarginLoss,
    alpha: Array,
    w: Array,
    start: Array,
    start_w: Array,
    history: StepHistory,
    p: Array,
    inv_2l2: float,
    pull: Array,
) -> bool:
    """On to the highest point in the space of three steps, back into the bounds; or no gain."""
    top = np.inf if isinstance(loss, SquaredHinge) else 1.0
    free = (alpha > 0.0) & (alpha < top)
    slope, own = conjugate_derivatives(loss, alpha, free)
    steps = np.vstack([alpha - start, history.alphas])
    moves = np.vstack([w - start_w, history.weights])[:, :-1]
    slopes = steps @ (p * (slope - pull)) - moves @ w[:-1] / inv_2l2
    curvatures = moves @ moves.T / inv_2l2 + (steps * p * own) @ steps.T
    least = GAIN_ROUNDING * float(w[:-1] @ w[:-1]) / inv_2l2
    lengths = step_lengths(curvatures, slopes, least)
    if 0.5 * lengths @ slopes <= least:
        return False
    wanted = alpha + lengths @ steps
    low, high = np.zeros_like(alpha), np.full_like(alpha, top)
    if isinstance(loss, Logistic):
        low, high = NEAREST_END * alpha, 1.0 - NEAREST_END * (1.0 - alpha)
    there = np.where(free, np.clip(wanted, low, high), alpha)
    change = lengths @ moves
    for i in np.flatnonzero(there != wanted):
        columns, x = row_nonzeros(rows, int(i))
        change[columns] += p[i] * y[i] * (there - wanted)[i] * inv_2l2 * x
    gain = p @ (loss.conjugate(alpha) - loss.conjugate(there) + pull * (alpha - there))
    if gain > change @ (w[:-1] + 0.5 * change) / inv_2l2:
        alpha[:] = there
        w[:-1] += change
    history.alphas[1], history.weights[1] = history.alphas[0], history.weights[0]
    history.alphas[0], history.weights[0] = alpha - start, w - start_w
    return True


def conjugate_derivatives(loss: MarginLoss, alpha: Array, free: AnyArray) -> tuple[Array, Array]:
    """Slope of ``-phi*(-alpha)``, and minus its second derivative; 0 where they are infinite."""
    if not isinstance(loss, Logistic):
        own = 0.5 if isinstance(loss, SquaredHinge) else 0.0
        return 1.0 - own * alpha, np.full_like(alpha, own)
    inside = np.where(free, alpha, 0.5)
    curvature = np.where(free, 1.0 / (inside * (1.0 - inside)), 0.0)
    return np.log((1.0 - inside) / inside), curvature


def step_lengths(curvatures: Array, slopes: Array, least: float) -> Array:
    """Of three directions, to the highest point that they span.

    0 for one that adds nothing new, or has no more than the least curvature.
    """
    size = np.sqrt(np.diag(curvatures))
    new: list[int] = []
    for a in np.flatnonzero(size**2 > least):
        among = [*new, int(a)]
        scaled = curvatures[np.ix_(among, among)] / np.outer(size[among], size[among])
        # How much of this direction is outside of the space of those before it.
        inside = np.linalg.solve(scaled[:-1, :-1], scaled[:-1, -1]) if new else np.empty(0)
        if 1.0 - scaled[-1, :-1] @ inside > DEPENDENT:
            new.append(int(a))
    lengths = np.zeros(len(slopes))
    lengths[new] = np.linalg.solve(curvatures[np.ix_(new, new)], slopes[new])
    return lengths
