"""Online passes: rows are visited in order, with an update after every batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..losses import Loss
from ..numeric.rows import CsrArrays, RowArrays, row_nonzeros, shape_of
from ..numeric.types import AnyArray, Array, Ints
from ._compiled import _loops
from .dispatch import Interrupted, compiled, stop_requested
from .thresholds import SCREENING_ROW_BYTES, SCREENING_SHARE

SMALLEST_SCALE, SMALLEST_SCALE_OF_SUM = _loops.smallest_scale, _loops.smallest_scale_of_sum
EVERY_UPDATE = 2**62  # more updates than a pass can have


@dataclass
class OnlineWeights:
    """Weights (k, d + 1) during a pass: ``scale * v`` (biases unscaled), and their running sum.

    Weight decay is then a single multiplication. With the area A = sum of the scales, the sum of
    the weights since the last fold is ``A * v - lag``.

    With an L1 penalty, ``cumulative`` is the total penalty per weight so far and ``received`` the
    part applied, in units of v; the rest is applied when the weight is next read (Tsuruoka,
    Tsujii and Ananiadou, Stochastic gradient descent training for L1-regularized log-linear models
    with cumulative penalty, 2009).
    """

    v: Array
    scalars: Array  # scale, area, cumulative
    sum: Array | None = None
    lag: Array | None = None
    received: Array | None = None

    @classmethod
    def start(
        cls,
        W: Array,
        sum: Array | None,
        received: Array | None = None,
        cumulative: float = 0.0,
    ) -> OnlineWeights:
        """Start from plain weights (k, d + 1), with the sum so far and the L1 penalty if given."""
        lag = None if sum is None else np.zeros(W.shape)
        sum = None if sum is None else sum.copy()
        received = None if received is None else received.copy()
        return cls(W.copy(), np.array([1.0, 0.0, cumulative]), sum, lag, received)

    @property
    def cumulative(self) -> float:
        """The total L1 penalty per weight so far."""
        return float(self.scalars[2])

    @property
    def weights(self) -> Array:
        """Plain weights (k, d + 1), with the outstanding penalty applied."""
        v = self.v
        if self.received is not None:
            v = v.copy()
            v[:, :-1] = after_penalty(v[:, :-1], self.received[:, :-1], self.cumulative)[0]
        if self.scalars[0] == 1.0:
            return self.v.copy() if v is self.v else v
        W: Array = self.scalars[0] * v
        W[:, -1] = v[:, -1]
        return W

    def fold(self) -> None:
        """Fold scale, area and lag into v and sum, and apply the outstanding penalty."""
        scale, area, _ = self.scalars.tolist()
        if self.received is not None:
            self.receive()
        if self.sum is None and scale == 1.0:
            return
        w = self.v[:, :-1]
        if self.sum is not None and self.lag is not None:
            sum, lag = self.sum[:, :-1], self.lag[:, :-1]
            sum += area * w - lag
            lag.fill(0.0)
        if scale != 1.0:
            w *= scale
            self.scalars[2] *= scale
            if self.received is not None:
                self.received *= scale
        self.scalars[0], self.scalars[1] = 1.0, 0.0

    def receive(self, features: AnyArray | slice = slice(None)) -> None:
        """Apply the outstanding L1 penalty to the weights of some features, or of all."""
        if self.received is not None:
            w, received = self.v[:, :-1], self.received[:, :-1]
            found = after_penalty(w[:, features], received[:, features], self.cumulative)
            w[:, features], received[:, features] = found


def after_penalty(v: Array, received: Array, cumulative: float) -> tuple[Array, Array]:
    """Weights shrunk by the outstanding penalty, at most to 0; and the penalty received."""
    sign = np.where(v < 0.0, -1.0, 1.0)
    due = np.maximum(cumulative + sign * received, 0.0)
    stays = np.abs(v) > due
    nearer = sign * (np.abs(v) - np.where(stays, due, np.abs(v))) + 0.0  # not -0
    return nearer, np.where(stays, -sign * cumulative, received - v)


class PassResult(NamedTuple):
    """Totals of one online pass, each row scored before its update."""

    loss_sum: float
    mistakes: float
    updates: int
    position: int


def draw_orders(
    n: int,
    block_rows: int,
    blocks_per_group: int,
    seed: int,
    number: int = 0,
    count: int = 1,
    room: Ints | None = None,
) -> Ints:
    """Random orders of n rows, (count, n): a seed's orders ``number``, ``number + 1``, ...

    Random blocks of neighbours are grouped and each group is shuffled, so rows of one memory page
    are read close together in time. If all rows fit into one group the permutation is uniform.
    Orders are written to ``room`` if given.
    """
    orders = np.empty((count, n), dtype=np.int64) if room is None else room
    _loops.draw_orders(orders, block_rows, blocks_per_group, seed, number)
    return orders


ScreeningState = _loops.ScreeningState


def screening_state(rows: RowArrays, k: int) -> ScreeningState | None:
    """Screening state of the perceptron for these rows, with k rows of weights.

    One number per row and three copies of the weights; None if the copies take too much memory.
    """
    n, d = shape_of(rows)
    size = k * (d + 1)
    arrays = [rows.data, rows.indices] if isinstance(rows, CsrArrays) else [rows]
    allowed = sum(array.nbytes for array in arrays) // SCREENING_SHARE + SCREENING_ROW_BYTES * n
    return ScreeningState(n, size) if 3 * 8 * size <= allowed else None


def online_pass(
    rows: RowArrays,
    y: AnyArray,
    loss: Loss,
    weights: OnlineWeights,
    screening: ScreeningState | None = None,
    *,
    steps: Array,
    weight: Array | None = None,
    weight_scale: float = 1.0,
    order: Ints | None = None,
    l1: float = 0.0,
    l2: float = 0.0,
    batch: int = 1,
    intercept: bool = True,
    max_updates: int = EVERY_UPDATE,
    log: Ints | None = None,
    ends: Array | None = None,
    offset: Array | None = None,
) -> PassResult:
    """Visit rows in the given order and update the weights after every batch of them.

    ``steps`` has one step size per batch, or a single one. ``weight_scale`` is the number of
    rows over the sum of their weights. Updated rows are written to ``log``. An ``l1`` needs
    weights that were started with ``received``. The ``offset`` (n, k) is added to the scores; with
    it no row is skipped.
    The ``screening`` state of these rows, kept from pass to pass, lets the perceptron skip rows,
    without changing any bit of the result.

    With ``ends``, the order is that of ``len(ends)`` passes, and each pass writes its final state
    to its row: loss, mistakes, updates, the weights and their sum if there is one. A pass without
    an update is the last. Only for compiled losses.
    """
    number = compiled(loss)
    if number is None:
        return online_pass_twin(
            rows, y, loss, weights, steps=steps, weight=weight, weight_scale=weight_scale,
            order=order, l1=l1, l2=l2, batch=batch, intercept=intercept, max_updates=max_updates,
            log=log, offset=offset,
        )  # fmt: skip
    return PassResult(
        *_loops.online_pass(
            rows, number, y, weight, weight_scale, order, steps, l1, l2, batch, intercept,
            max_updates, weights.v, weights.scalars, weights.sum, weights.lag, weights.received,
            log, screening, ends, offset,
        )
    )  # fmt: skip


def online_pass_twin(
    rows: RowArrays,
    y: AnyArray,
    loss: Loss,
    weights: OnlineWeights,
    *,
    steps: Array,
    weight: Array | None = None,
    weight_scale: float = 1.0,
    order: Ints | None = None,
    l1: float = 0.0,
    l2: float = 0.0,
    batch: int = 1,
    intercept: bool = True,
    max_updates: int = EVERY_UPDATE,
    log: Ints | None = None,
    offset: Array | None = None,
) -> PassResult:
    """``online_pass`` in Python, for any loss."""
    V, scalars = weights.v, weights.scalars
    least = SMALLEST_SCALE if weights.sum is None else SMALLEST_SCALE_OF_SUM
    visits = np.arange(shape_of(rows)[0]) if order is None else order
    loss_sum = mistakes = 0.0
    updates = position = 0
    while position < len(visits) and updates < max_updates:
        if stop_requested():
            raise Interrupted("the loop was asked to stop before its end")
        now = visits[position : position + batch]
        step = float(steps[0 if len(steps) == 1 else position // batch])
        slopes = []
        for i in now:
            at, x = row_nonzeros(rows, i)
            weights.receive(at)
            scores = (scalars[0] * (V[:, :-1][:, at] @ x) + V[:, -1])[None]
            if offset is not None:
                scores += offset[i]
            c = 1.0 if weight is None else weight[i]
            loss_sum += c * float(loss.value(y[i : i + 1], scores)[0])
            mistakes += c * bool(loss.mistakes(y[i : i + 1], scores)[0])
            slopes.append(c * loss.gradient(y[i : i + 1], scores)[0])
        if l2:
            scalars[0] *= max(0.0, 1.0 - 2.0 * step * l2)
            if scalars[0] < least:
                weights.fold()
        for i, slope in zip(now, slopes, strict=True):
            if not slope.any():
                continue
            at, x = row_nonzeros(rows, i)
            change = -step * weight_scale * slope / len(now)
            V[:, :-1][:, at] += np.outer(change / scalars[0], x)
            if weights.lag is not None:
                weights.lag[:, :-1][:, at] += np.outer(scalars[1] * (change / scalars[0]), x)
            if intercept:
                V[:, -1] += change
            if log is not None:
                log[updates] = i
            updates += 1
        scalars[2] += step * l1 / scalars[0]
        if weights.sum is not None:
            scalars[1] += scalars[0]
            weights.sum[:, -1] += V[:, -1]
        position += len(now)
    return PassResult(loss_sum, mistakes, updates, position)
