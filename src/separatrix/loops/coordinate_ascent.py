"""Passes of dual coordinate ascent: one row at a time, maximising over its alpha."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..losses import MarginLoss
from ..numeric.rows import RowArrays
from ..numeric.types import Array, Ints
from ._compiled import _loops
from .dispatch import number_of


class EpochResult(NamedTuple):
    """Result of one pass of dual coordinate ascent, each row measured before its update."""

    n_active: int
    """Number of rows to visit again, now at the front of ``order``."""
    projected_gradient: float
    """Sum of the dual's absolute slopes over the kept rows whose alpha can move along them."""
    gap: float
    """Part of the kept rows in the duality gap; for the logistic loss, its quadratic model."""


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
    """Visit rows in the given order and maximise the dual over each alpha.

    For the hinge, the squared hinge and the logistic loss. ``w`` (d + 1,) is updated by ``inv_2l2``
    times change times row, its bias by ``bias_inv_penalty`` times change. ``row_norm2`` is |x|^2
    of every row, ``inv_weight_sum`` 1 over the sum of the weights. Rows whose alpha is at a bound
    and whose margin is beyond 1 by more than ``shrink_margin`` become inactive.
    """
    return EpochResult(
        *_loops.coordinate_epoch(
            rows, number_of(loss), y, weight, inv_weight_sum, row_norm2, inv_2l2,
            bias_inv_penalty, order, alpha, w, shrink_margin,
        )
    )  # fmt: skip
