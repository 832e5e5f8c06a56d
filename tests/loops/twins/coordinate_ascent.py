"""One epoch of dual coordinate ascent in Python."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.loops._compiled import _loops
from separatrix.loops.dispatch import Interrupted, stop_requested
from separatrix.losses import Logistic, MarginLoss, SquaredHinge
from separatrix.numeric.rows import RowArrays, row_nonzeros
from separatrix.numeric.types import Array, Ints

NEWTON_LAST_STEP, NEWTON_MAX_ITER = _loops.newton_last_step, _loops.newton_max_iter


class EpochResult(NamedTuple):
    n_active: int
    """Number of rows to visit again, at the front of ``order``."""
    projected_gradient: float
    gap: float


def coordinate_epoch(
    rows: RowArrays,
    y: Array,
    loss: MarginLoss,
    alpha: Array,
    w: Array,
    order: Ints,
    *,
    inv_weight_sum: float,
    row_norm2: Array,
    inv_2l2: float,
    bias_inv_penalty: float = 0.0,
    weight: Array | None = None,
    shrink_margin: float = np.inf,
    row_gap: Array | None = None,
    offset: Array | None = None,
) -> EpochResult:
    slope, gap = 0.0, 0.0
    kept: list[int] = []
    top = np.inf if isinstance(loss, SquaredHinge) else 1.0
    for i in order.copy():
        if stop_requested():
            raise Interrupted("the loop was asked to stop before its end")
        p = inv_weight_sum if weight is None else inv_weight_sum * weight[i]
        at, x = row_nonzeros(rows, i)
        m = y[i] * (w[:-1][at] @ x + w[-1] + (0.0 if offset is None else offset[i]))
        curvature = p * (row_norm2[i] * inv_2l2 + bias_inv_penalty)
        if isinstance(loss, Logistic):
            best = _logistic_alpha(loss, alpha[i], m, curvature)
        else:
            if (alpha[i] <= 0.0 and m > 1.0 + shrink_margin) or (
                alpha[i] >= top and m < 1.0 - shrink_margin
            ):
                continue
            own = 0.0 if top == 1.0 else 0.5  # the conjugate's own curvature
            lack = 1.0 - m - own * alpha[i]
            if (alpha[i] > 0.0 or lack > 0.0) and (alpha[i] < top or lack < 0.0):
                slope += abs(lack)
            curvature += own
            best = (
                np.clip(alpha[i] + lack / curvature, 0.0, top) if curvature else float(lack > 0.0)
            )
        own_gap = p * _gap(loss, alpha[i], m)
        if row_gap is not None:
            row_gap[len(kept)] = own_gap
        kept.append(i)
        gap += own_gap
        change = p * (best - alpha[i]) * y[i]
        w[:-1][at] += change * inv_2l2 * x
        w[-1] += change * bias_inv_penalty
        alpha[i] = best
    order[: len(kept)] = kept
    return EpochResult(len(kept), float(slope), float(gap))


def _gap(loss: MarginLoss, alpha: float, m: float) -> float:
    """``phi(m) + phi*(-alpha) + alpha m``, or nearly so."""
    at = np.asarray(m)
    if isinstance(loss, Logistic):
        off = abs(alpha + float(loss.slope(at)))
        return off**2 / (2.0 * float(loss.curvature(at)) + 0.1 * off) if off else 0.0
    return float(loss.phi(at)) + float(loss.conjugate(np.asarray(alpha))) + alpha * m


def _logistic_alpha(loss: MarginLoss, alpha: float, m: float, curvature: float) -> float:
    """Newton's steps, kept inside a bracket, to the margin m + t at which alpha is its slope."""
    if not curvature > 0.0:
        return -float(loss.slope(np.asarray(m)))
    low, high, t = -2.0 * curvature, 2.0 * curvature, 0.0
    for _ in range(NEWTON_MAX_ITER):
        at = np.asarray(m + t)
        over = t + curvature * (float(loss.slope(at)) + alpha)
        low, high = (low, t) if over > 0.0 else (t, high)
        step = -over / (1.0 + curvature * float(loss.curvature(at)))
        if t + step == t:
            break
        inside = low < t + step < high
        t = t + step if inside else 0.5 * (low + high)
        if inside and abs(step) < NEWTON_LAST_STEP:
            break
    return min(max(alpha + t / curvature, 0.0), 1.0)
