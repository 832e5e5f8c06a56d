"""Passes of dual coordinate ascent for many classes: all alphas of a row to their best values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numeric.rows import RowArrays
from ..numeric.types import Array, Ints
from ._compiled import _loops


class MulticlassEpochResult(NamedTuple):
    """What one pass of dual coordinate ascent met, each row before its update."""

    n_active: int
    """Rows to visit again: they are now at the front of ``order``."""
    gap: float
    """What the rows visited add to the gap between J and its dual."""
    violation: float
    """How far the active rows were from their conditions at the optimum, in sum."""


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
) -> MulticlassEpochResult:
    """Visit rows in the given order, each row's alphas (n, k) of the dual to their best values.

    For Crammer and Singer's loss, whose alphas are shares in the classes. ``lines`` (d + 1,
    ``line_width(k)``) are the weights, those of one feature after another, the biases last. They
    follow: by ``inv_2l2`` times change times row, biases by ``bias_inv_penalty`` times change.
    Rows whose alphas are at bounds, and further than ``shrink_margin`` from where they would move,
    are left out of the active ones.
    """
    return MulticlassEpochResult(
        *_loops.multiclass_epoch(
            rows, y, weight, inv_weight_sum, row_norm2, inv_2l2, bias_inv_penalty, order,
            alpha, lines, shrink_margin,
        )
    )  # fmt: skip
