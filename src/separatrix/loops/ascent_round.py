"""Rounds of dual coordinate ascent: epochs in random orders until the gap is small enough."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..losses import MarginLoss
from ..numeric.rows import RowArrays
from ..numeric.types import Array, Ints
from ._compiled import _loops
from .dispatch import number_of


class EpochOrders(NamedTuple):
    """The random orders of a round: of groups of blocks of neighbouring rows."""

    seed: int
    first: int
    block_rows: int
    blocks_per_group: int


class StepHistory(NamedTuple):
    """The last two steps, the newer first, and what they did to the weights."""

    alphas: Array  # (2, n)
    weights: Array  # (2, d + 1)


class RoundResult(NamedTuple):
    """The state at the end of a round."""

    n_active: int  # rows to visit again: they are now at the front of ``active``
    epochs: int
    gap: float  # the duality gap measured during the last epoch
    shrink_margin: float
    subspace: bool  # whether subspace steps still gain more than rounding errors
    reached: bool  # whether the gap is small enough; False if the epochs ran out
    subspace_steps: int  # number of subspace steps taken
    visits: int  # number of row visits


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
    """Run epochs over the active rows until the gap is ``enough`` of the dual, or ``most_epochs``.

    For the hinge, the squared hinge and the logistic loss. Each epoch visits the rows in its own
    random order and maximises the dual over each alpha: ``w`` (d + 1,) is updated by ``inv_2l2``
    times change times row, its bias by ``bias_inv_penalty`` times change. ``row_norm2`` is |x|^2
    of every row, ``inv_weight_sum`` 1 over the sum of the weights. Rows whose alpha is at a bound
    and whose margin is beyond 1 by more than ``shrink_margin``, afterwards ``careful`` times the
    mean slope, become inactive. Rows that hold more than ``stands_out`` (at least 3) times the
    mean part of the gap are visited again until they no longer do, unless epochs are fast. With a
    history, slow epochs are accelerated by steps in the space of the last three while most active
    alphas (all but ``identified`` per free one) are inside their bounds. The ``offset`` (n,) is
    added to the scores. Writes ``alpha``, ``w``, ``active`` (increasing) and the history.
    """
    steps, moves = (None, None) if history is None else history
    return RoundResult(
        *_loops.ascent_round(
            rows, number_of(loss), y, weight, inv_weight_sum, row_norm2, inv_2l2,
            bias_inv_penalty, active, alpha, w, shrink_margin, *orders, most_epochs, enough,
            careful, identified, stands_out, gap, steps, moves, offset,
        )
    )  # fmt: skip
