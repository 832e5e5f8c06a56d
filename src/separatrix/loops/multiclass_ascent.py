"""Multiclass dual coordinate ascent: one row at a time, maximising over all its alphas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numeric.rows import RowArrays
from ..numeric.types import Array, Ints
from ._compiled import _loops


class MulticlassEpochResult(NamedTuple):
    """Result of one pass of dual coordinate ascent, each row measured before its update."""

    n_active: int  # number of rows to visit again, now at the front of ``order``
    gap: float  # part of the visited rows in the duality gap
    violation: float  # sum of the active rows' violations of the optimality conditions


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
    """Visit rows in the given order and maximise the dual over each row's alphas (n, k).

    For Crammer and Singer's loss, whose alphas are shares in the classes. ``lines`` (d + 1,
    ``line_width(k)``) are the weights, feature by feature, the biases last. They are updated by
    ``inv_2l2`` times change times row, biases by ``bias_inv_penalty`` times change. Rows whose
    alphas are at bounds and would not move within ``shrink_margin`` become inactive. The ``offset``
    (n, k) is added to the scores.
    """
    return MulticlassEpochResult(
        *_loops.multiclass_epoch(
            rows, y, weight, inv_weight_sum, row_norm2, inv_2l2, bias_inv_penalty, order,
            alpha, lines, shrink_margin, offset,
        )
    )  # fmt: skip
