"""Passes of dual coordinate ascent for many classes in Python."""

from __future__ import annotations

import numpy as np

from separatrix.loops.dispatch import Interrupted, stop_requested
from separatrix.loops.multiclass_ascent import MulticlassEpochResult
from separatrix.numeric.rows import RowArrays, row_nonzeros
from separatrix.numeric.types import Array, Ints


def multiclass_epoch(
    rows: RowArrays,
    y: Ints,
    alpha: Array,
    lines: Array,
    order: Ints,
    *,
    inv_weight_sum: float,
    row_norm2: Array,
    inv_2l2: float,
    bias_inv_penalty: float = 0.0,
    weight: Array | None = None,
    shrink_margin: float = np.inf,
    offset: Array | None = None,
) -> MulticlassEpochResult:
    k = alpha.shape[1]
    gap = violation = 0.0
    kept = []
    for i in order.copy():
        if stop_requested():
            raise Interrupted("the loop was asked to stop before its end")
        p = inv_weight_sum if weight is None else inv_weight_sum * weight[i]
        at, x = row_nonzeros(rows, i)
        scores = x @ lines[:-1, :k][at] + lines[-1, :k]
        scores = scores if offset is None else scores + offset[i]
        curvature = p * (row_norm2[i] * inv_2l2 + bias_inv_penalty)
        best, neg_slope, of_row, lacks = _best_shares(
            scores, int(y[i]), alpha[i], curvature, shrink_margin
        )
        if best is None:
            continue
        kept.append(i)
        gap += p * of_row
        violation += lacks
        alpha[i] = best
        lines[:-1, :k][at] += inv_2l2 * p * np.outer(x, neg_slope)
        lines[-1, :k] += bias_inv_penalty * p * neg_slope
    order[: len(kept)] = kept
    return MulticlassEpochResult(len(kept), gap, violation)


_Visit = tuple["Array | None", Array, float, float]


def _best_shares(
    scores: Array, label: int, alpha: Array, curvature: float, shrink_margin: float
) -> _Visit:
    """Crammer and Singer: the nearest point of the simplex, found by sorting."""
    entries = scores - scores[label] + 1.0
    entries[label] = 0.0
    two = np.sort(entries)[-2:]
    held = alpha > 0.0
    settled = np.count_nonzero(held) == 1 and alpha[int(np.argmax(entries))] > 0.0
    if settled and two[1] - two[0] > shrink_margin:
        return None, np.zeros_like(alpha), 0.0, 0.0
    gap, violation = float(two[1] - alpha @ entries), float(two[1] - entries[held].min())
    if settled or not violation > 0.0:
        return alpha.copy(), np.zeros_like(alpha), gap, violation
    if curvature > 0.0:
        point = alpha + (entries - two[1]) / curvature
        falling = -np.sort(-point)
        cuts = (np.cumsum(falling) - 1.0) / np.arange(1, len(point) + 1)
        best = np.maximum(point - cuts[np.flatnonzero(falling > cuts)[-1]], 0.0)
    else:
        best = (np.arange(len(alpha)) == np.argmax(entries)).astype(np.float64)
    return best, alpha - best, gap, violation
