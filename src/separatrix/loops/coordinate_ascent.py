"""Passes of dual coordinate ascent: rows one after another, each alpha to its best value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..losses import MarginLoss
from ..numeric.rows import RowArrays
from ..numeric.types import Array, Ints
from ._compiled import _loops
from .dispatch import number_of


class EpochResult(NamedTuple):
    """What one pass of dual coordinate ascent met, each row before its update."""

    n_active: int
    """Rows to visit again: they are now at the front of ``order``."""
    projected_gradient: float
    """Sum of the dual's slopes, without sign, over the kept rows whose alpha could follow."""
    gap: float
    """What the kept rows add to the duality gap; of the logistic loss the square it is nearby."""


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
) -> EpochResult:
    """Visit rows in the given order, each alpha of the dual to its best value.

    For the hinge, the squared hinge and the logistic loss. ``w`` (d + 1,) follows: by ``inv_2l2``
    times change times row, its bias by ``bias_inv_penalty`` times change; ``row_norm2`` has |x|^2
    of every row and ``inv_weight_sum`` is 1 over the sum of the weights. Rows that sit at a bound
    with a margin beyond 1 by more than ``shrink_margin`` are left out of the active ones.
    """
    return EpochResult(
        *_loops.coordinate_epoch(
            rows, number_of(loss), y, weight, inv_weight_sum, row_norm2, inv_2l2,
            bias_inv_penalty, order, alpha, w, shrink_margin,
        )
    )  # fmt: skip
