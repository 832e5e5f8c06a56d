"""Passes of dual coordinate ascent: rows one after another, each alpha to its best value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..losses import Logistic, MarginLoss, SquaredHinge
from ..numeric.rows import Rows, row_nonzeros
from ..numeric.types import Array, Ints
from ._compiled import _loops
from .dispatch import COMPILED, Interrupted, stop_requested

NEAR_ROOT, MOST_ROOT_STEPS = 0.05, 50  # as in cpp/dual/coordinate_ascent.hpp


class DualResult(NamedTuple):
    """What one pass of dual coordinate ascent met, each row before its update."""

    kept: int
    """Rows to visit again: they are now at the front of ``order``."""
    slope: float
    """Sum of the dual's slopes, without sign, over the kept rows whose alpha could follow."""


def dual_pass(
    rows: Rows,
    y: Array,
    loss: MarginLoss,
    alpha: Array,
    w: Array,
    order: Ints,
    *,
    share: float,
    square: Array,
    give: float,
    bias_give: float = 0.0,
    weight: Array | None = None,
    safe: float = np.inf,
) -> DualResult:
    """Visit rows in the given order, each alpha of the dual to its best value.

    For the hinge, the squared hinge and the logistic loss. ``w`` (d + 1,) follows: by ``give``
    for a pull of 1, its bias by ``bias_give``; ``square`` has |x|^2 of every row and ``share`` is
    1 over the sum of the weights. Rows that sit at a bound with a margin beyond 1 by more than
    ``safe`` are left out of those kept.
    """
    return DualResult(
        *_loops.dual_pass(
            rows, COMPILED[type(loss)], y, weight, share, square, give, bias_give, order,
            alpha, w, safe,
        )
    )  # fmt: skip


def dual_pass_twin(
    rows: Rows,
    y: Array,
    loss: MarginLoss,
    alpha: Array,
    w: Array,
    order: Ints,
    *,
    share: float,
    square: Array,
    give: float,
    bias_give: float = 0.0,
    weight: Array | None = None,
    safe: float = np.inf,
) -> DualResult:
    """``dual_pass`` in Python."""
    slope, kept = 0.0, []
    top = np.inf if isinstance(loss, SquaredHinge) else 1.0
    for i in order.copy():
        if stop_requested():
            raise Interrupted("the loop was asked to stop before its end")
        p = share if weight is None else share * weight[i]
        at, x = row_nonzeros(rows, i)
        m = y[i] * (w[:-1][at] @ x + w[-1])
        bend = p * (square[i] * give + bias_give)
        if isinstance(loss, Logistic):
            best = _logistic_alpha(loss, alpha[i], m, bend)
        else:
            if (alpha[i] <= 0.0 and m > 1.0 + safe) or (alpha[i] >= top and m < 1.0 - safe):
                continue
            own = 0.0 if top == 1.0 else 0.5  # what the conjugate itself bends by
            lack = 1.0 - m - own * alpha[i]
            if (alpha[i] > 0.0 or lack > 0.0) and (alpha[i] < top or lack < 0.0):
                slope += abs(lack)
            bend += own
            best = np.clip(alpha[i] + lack / bend, 0.0, top) if bend else float(lack > 0.0)
        kept.append(i)
        pull = p * (best - alpha[i]) * y[i]
        w[:-1][at] += pull * give * x
        w[-1] += pull * bias_give
        alpha[i] = best
    order[: len(kept)] = kept
    return DualResult(len(kept), float(slope))


def _logistic_alpha(loss: MarginLoss, alpha: float, m: float, bend: float) -> float:
    """Newton's steps, kept inside a bracket, to the margin m + t at which alpha is its slope."""
    if not bend > 0.0:
        return -float(loss.slope(np.asarray(m)))
    low, high, t = -2.0 * bend, 2.0 * bend, 0.0
    for _ in range(MOST_ROOT_STEPS):
        at = np.asarray(m + t)
        over = t + bend * (float(loss.slope(at)) + alpha)
        low, high = (low, t) if over > 0.0 else (t, high)
        step = -over / (1.0 + bend * float(loss.curvature(at)))
        inside = low < t + step < high
        t = t + step if inside else 0.5 * (low + high)
        if inside and abs(step) < NEAR_ROOT:
            break
    return min(max(alpha + t / bend, 0.0), 1.0)
