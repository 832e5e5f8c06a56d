"""The door to the compiled module, each loop beside its plain-Python twin.

A twin (``..._twin``) says in NumPy what its loop computes. It is the oracle of the tests, and
what a user's own loss runs on: in batch sums only the loss itself is then called per block,
online every row. The loops of kernels have a door of their own, ``kernel_loops``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .compiled import _loops
from .layout import CsrRows, Rows, dense, shape
from .losses import (
    Columns,
    CrammerSinger,
    Hinge,
    Joint,
    JointPerceptron,
    Logistic,
    Loss,
    MarginLoss,
    PerceptronLoss,
    Softmax,
    Squared,
    SquaredHinge,
    TanhSquared,
)
from .typing import AnyArray, Array, Ints

# In the order of LossId and JointId in cpp/views.hpp. By exact type: a subclass may compute
# otherwise.
COMPILED: dict[type[Loss], int] = {
    loss: number
    for number, loss in enumerate(
        (PerceptronLoss, Logistic, Squared, TanhSquared, Hinge, SquaredHinge)
    )
}

JOINT: tuple[type[Joint], ...] = (Softmax, JointPerceptron, CrammerSinger)
COMPILED |= {loss: number for number, loss in enumerate(JOINT)}


def compiled(loss: Loss) -> int | None:
    """The number of a loss in the compiled loops, or None."""
    if isinstance(loss, Columns):
        inner = COMPILED.get(type(loss.binary))
        return None if inner is None else len(JOINT) + inner
    return COMPILED.get(type(loss))


Interrupted = _loops.Interrupted
request_stop = _loops.request_stop
clear_stop = _loops.clear_stop
stop_requested = _loops.stop_requested
levels = _loops.levels
level = _loops.level
use_level = _loops.use_level
compiler = _loops.compiler

SMALLEST_SCALE, SMALLEST_SCALE_OF_SUM = 1e-9, 1e-3  # as in cpp/online.hpp
EVERY_UPDATE = 2**62
SPAN, UPKEEP, LEAST_ROOM = 4, 0.03, 4
NEAR_ROOT, MOST_ROOT_STEPS = 0.05, 50  # as in cpp/dual.hpp

if "SEPARATRIX_SIMD" in os.environ:
    if os.environ["SEPARATRIX_SIMD"] not in levels():
        raise ImportError(
            f"SEPARATRIX_SIMD={os.environ['SEPARATRIX_SIMD']!r} is not usable on this machine; "
            f"choose one of {', '.join(levels())} or unset it"
        )
    use_level(os.environ["SEPARATRIX_SIMD"])


# ---- online ------------------------------------------------------------------------------


@dataclass
class OnlineWeights:
    """Weights (k, d + 1) while rows go by: ``scale * v`` (bias apart), and their running sum.

    The decay of all weights is then one multiplication. With the area A = sum of the scales,
    the sum of the weights since the last fold is ``A * v - lag``.
    """

    v: Array
    scalars: Array  # scale, area
    sum: Array | None = None
    lag: Array | None = None

    @classmethod
    def start(cls, W: Array, sum: Array | None) -> OnlineWeights:
        """From plain weights (k, d + 1), and the sum so far if it is wanted."""
        lag = None if sum is None else np.zeros(W.shape)
        return cls(W.copy(), np.array([1.0, 0.0]), None if sum is None else sum.copy(), lag)

    @property
    def weights(self) -> Array:
        """Plain weights (k, d + 1)."""
        if self.scalars[0] == 1.0:
            return self.v.copy()
        W: Array = self.scalars[0] * self.v
        W[:, -1] = self.v[:, -1]
        return W

    def fold(self) -> None:
        """Put scale, area and lag into v and sum."""
        if self.sum is None and self.scalars[0] == 1.0:
            return
        if self.sum is not None and self.lag is not None:
            self.sum[:, :-1] += self.scalars[1] * self.v[:, :-1] - self.lag[:, :-1]
            self.lag[:, :-1] = 0.0
        if self.scalars[0] != 1.0:
            self.v[:, :-1] *= self.scalars[0]
        self.scalars[:] = 1.0, 0.0


class PassResult(NamedTuple):
    """What one online pass met, each row scored before its update."""

    loss_sum: float
    mistakes: float
    updates: int
    position: int


def draw_orders(
    n: int, block_rows: int, blocks_per_group: int, seed: int, number: int = 0, count: int = 1
) -> Ints:
    """Random orders of n rows, (count, n): those from a number on that a seed stands for.

    Groups of random blocks of neighbours, each group shuffled: so the rows of a page of memory
    are read close together in time. Rows that fit into one group get a uniform permutation.
    """
    orders = np.empty((count, n), dtype=np.int64)
    _loops.draw_orders(orders, block_rows, blocks_per_group, seed, number)
    return orders


def draw_order_twin(
    n: int, block_rows: int, blocks_per_group: int, seed: int, number: int = 0
) -> Ints:
    """One of ``draw_orders`` in Python."""
    word, step = (1 << 64) - 1, 0x9E3779B97F4A7C15  # SplitMix64

    def mixed(z: int) -> int:
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & word
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & word
        return z ^ (z >> 31)

    state = mixed((seed + (number + 1) * step) & word)

    def below(most: int) -> int:
        nonlocal state
        state = (state + step) & word
        return (mixed(state) >> 32) * most >> 32

    def shuffle(items: list[int]) -> None:
        for i in range(len(items) - 1, 0, -1):
            j = below(i + 1)
            items[i], items[j] = items[j], items[i]

    blocks = list(range(-(-n // block_rows)))
    if len(blocks) > blocks_per_group:
        shuffle(blocks)
    order: list[int] = []
    for first in range(0, len(blocks), blocks_per_group):
        starts = [block_rows * b for b in blocks[first : first + blocks_per_group]]
        group = [i for start in starts for i in range(start, min(n, start + block_rows))]
        shuffle(group)
        order += group
    return np.array(order, dtype=np.int64)


RowMemory = _loops.RowMemory


def row_memory(rows: Rows, k: int) -> RowMemory | None:
    """What online passes of the perceptron may remember of these rows, for k rows of weights.

    Weights are kept at the begin of epochs, enough of them for the last SPAN passes; an epoch is
    long enough that to compare them all costs little against reading its rows. None where even
    a few of them take too much memory.
    """
    n, d = shape(rows)
    size = k * (d + 1)
    if isinstance(rows, CsrRows):
        values, of_rows = len(rows.data), rows.data.nbytes + rows.indices.nbytes
    else:
        values, of_rows = rows.size, rows.nbytes
    shortest = math.sqrt(SPAN * n * size / (UPKEEP * (k * values / max(n, 1) + 1)))
    epoch_rows = min(max(int(shortest), 1), max(n, 1))
    most = (of_rows // 20 + 4 * n) // (8 * (size + 2)) - 1
    if most < LEAST_ROOM:
        return None
    room = max(LEAST_ROOM, min(SPAN * n // epoch_rows, most))
    return RowMemory(n, size, 1 << (room.bit_length() - 1), epoch_rows)


def online_pass(
    rows: Rows,
    y: AnyArray,
    loss: Loss,
    weights: OnlineWeights,
    *,
    steps: Array,
    weight: Array | None = None,
    weight_scale: float = 1.0,
    order: Ints | None = None,
    l2: float = 0.0,
    batch: int = 1,
    intercept: bool = True,
    max_updates: int = EVERY_UPDATE,
    log: Ints | None = None,
    memory: RowMemory | None = None,
    ends: Array | None = None,
) -> PassResult:
    """Visit rows in the given order and update the weights after every batch of them.

    ``steps`` has one step size per batch, or a single one. ``weight_scale`` is the number of
    rows over the sum of their weights. Updated rows are written to ``log``.
    A ``memory`` of these rows, kept from pass to pass, lets the perceptron leave rows unread; it
    changes no bit of a result.

    With ``ends`` the order is that of as many passes as it has rows, and each leaves what
    stands at its end there: loss, mistakes, updates, the weights and, if there is one, their
    sum. A pass without an update is the last. Only for compiled losses.
    """
    number = compiled(loss)
    if number is None:
        return online_pass_twin(
            rows, y, loss, weights, steps=steps, weight=weight, weight_scale=weight_scale,
            order=order, l2=l2, batch=batch, intercept=intercept, max_updates=max_updates, log=log,
        )  # fmt: skip
    return PassResult(
        *_loops.online_pass(
            rows, number, y, weight, weight_scale, order, steps, l2, batch, intercept,
            max_updates, weights.v, weights.scalars, weights.sum, weights.lag, log, memory, ends,
        )
    )  # fmt: skip


def online_pass_twin(
    rows: Rows,
    y: AnyArray,
    loss: Loss,
    weights: OnlineWeights,
    *,
    steps: Array,
    weight: Array | None = None,
    weight_scale: float = 1.0,
    order: Ints | None = None,
    l2: float = 0.0,
    batch: int = 1,
    intercept: bool = True,
    max_updates: int = EVERY_UPDATE,
    log: Ints | None = None,
) -> PassResult:
    """``online_pass`` in Python."""
    V, scalars = weights.v, weights.scalars
    least = SMALLEST_SCALE if weights.sum is None else SMALLEST_SCALE_OF_SUM
    visits = np.arange(shape(rows)[0]) if order is None else order
    loss_sum = mistakes = 0.0
    updates = position = 0
    while position < len(visits) and updates < max_updates:
        if stop_requested():
            raise Interrupted("the loop was asked to stop before its end")
        now = visits[position : position + batch]
        step = float(steps[0 if len(steps) == 1 else position // batch])
        slopes = []
        for i in now:
            at, x = _row(rows, i)
            scores = (scalars[0] * (V[:, :-1][:, at] @ x) + V[:, -1])[None]
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
            at, x = _row(rows, i)
            change = -step * weight_scale * slope / len(now)
            V[:, :-1][:, at] += np.outer(change / scalars[0], x)
            if weights.lag is not None:
                weights.lag[:, :-1][:, at] += np.outer(scalars[1] * (change / scalars[0]), x)
            if intercept:
                V[:, -1] += change
            if log is not None:
                log[updates] = i
            updates += 1
        if weights.sum is not None:
            scalars[1] += scalars[0]
            weights.sum[:, -1] += V[:, -1]
        position += len(now)
    return PassResult(loss_sum, mistakes, updates, position)


def _row(rows: Rows, i: int) -> tuple[slice | AnyArray, Array]:
    """Where a row's values stand, and the values."""
    if isinstance(rows, CsrRows):
        at = slice(rows.indptr[i], rows.indptr[i + 1])
        return rows.indices[at], rows.data[at].astype(np.float64)
    return slice(None), rows[i].astype(np.float64)


# ---- dual --------------------------------------------------------------------------------


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
    parts: int = 1,
    weight: Array | None = None,
    safe: float = np.inf,
) -> DualResult:
    """Visit rows in the given order, each alpha of the dual to its best value.

    For the hinge, the squared hinge and the logistic loss. ``w`` (d + 1,) follows: by ``give``
    for a pull of 1, its bias by ``bias_give``; ``square`` has |x|^2 of every row and ``share`` is
    1 over the sum of the weights. Rows that sit at a bound with a margin beyond 1 by more than
    ``safe`` are left out of those kept. Where so many ``parts`` of the rows are climbed at the
    same time, each from a w of its own, that w moves ``parts`` times as far as the alphas say.
    """
    return DualResult(
        *_loops.dual_pass(
            rows, COMPILED[type(loss)], y, weight, share, square, give, bias_give, parts, order,
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
    parts: int = 1,
    weight: Array | None = None,
    safe: float = np.inf,
) -> DualResult:
    """``dual_pass`` in Python."""
    slope, kept = 0.0, []
    top = np.inf if isinstance(loss, SquaredHinge) else 1.0
    for i in order.copy():
        if stop_requested():
            raise Interrupted("the loop was asked to stop before its end")
        p = parts * (share if weight is None else share * weight[i])
        at, x = _row(rows, i)
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


# ---- batch -------------------------------------------------------------------------------


def batch_pass(
    rows: Rows,
    y: AnyArray,
    loss: Loss,
    W: Array,
    *,
    weight: Array | None = None,
    gradient: Array | None = None,
    curvature: Array | None = None,
) -> tuple[float, float]:
    """Weighted sum of the losses and of the mistakes, in one read of the rows.

    The weighted gradient (k, d + 1) is added to ``gradient``; weight times second derivative
    of each row is written to ``curvature`` (n,).
    """
    number = compiled(loss)
    if number is not None:
        return _loops.batch_pass(rows, number, y, weight, W, gradient, curvature)
    return _batch_in_parts(rows, y, loss, W, weight, gradient, curvature, scores, combine)


def batch_pass_twin(
    rows: Rows,
    y: AnyArray,
    loss: Loss,
    W: Array,
    *,
    weight: Array | None = None,
    gradient: Array | None = None,
    curvature: Array | None = None,
) -> tuple[float, float]:
    """``batch_pass`` in NumPy."""
    return _batch_in_parts(rows, y, loss, W, weight, gradient, curvature, scores_twin, combine_twin)


def _batch_in_parts(
    rows: Rows,
    y: AnyArray,
    loss: Loss,
    W: Array,
    weight: Array | None,
    gradient: Array | None,
    curvature: Array | None,
    scores: Callable[[Rows, Array], Array],
    combine: Callable[[Rows, Array, Array], None],
) -> tuple[float, float]:
    s = scores(rows, W)
    # A row of weight 0 is as if absent, even where its value overflows.
    c = np.ones(len(s)) if weight is None else weight
    present = c != 0.0
    value = np.where(present, c * loss.value(y, s), 0.0)
    if gradient is not None:
        combine(rows, np.where(present[:, None], c[:, None] * loss.gradient(y, s), 0.0), gradient)
    if curvature is not None:
        if not isinstance(loss, MarginLoss):
            raise TypeError(f"{loss!r} is not a function of the margin")
        curvature[:] = np.where(present, c * loss.curvature(y * s[:, 0]), 0.0)
    return float(value.sum()), float((c * loss.mistakes(y, s)).sum())


def scores(rows: Rows, W: Array, out: Array | None = None) -> Array:
    """Scores (n, k) of the rows for weights (k, d + 1)."""
    out = np.empty((shape(rows)[0], len(W))) if out is None else out
    _loops.scores(rows, W, out)
    return out


def scores_twin(rows: Rows, W: Array) -> Array:
    """``scores`` in NumPy."""
    scores: Array = dense(rows) @ W[:, :-1].T + W[:, -1]
    return scores


def combine(rows: Rows, coefficients: Array, out: Array) -> None:
    """Add ``coefficients' . (rows, 1)``, for coefficients (n, k), to out (k, d + 1)."""
    _loops.combine(rows, coefficients, out)


def combine_twin(rows: Rows, coefficients: Array, out: Array) -> None:
    """``combine`` in NumPy."""
    out[:, :-1] += coefficients.T @ dense(rows)
    out[:, -1] += coefficients.sum(axis=0)


def hessian_product(rows: Rows, curvature: Array, v: Array, out: Array) -> None:
    """Add ``(rows, 1)' diag(curvature) (rows, 1) v`` to out (d + 1,)."""
    _loops.hessian_product(rows, curvature, v, out)


def hessian_product_twin(rows: Rows, curvature: Array, v: Array, out: Array) -> None:
    """``hessian_product`` in NumPy."""
    scores = scores_twin(rows, v[None])
    combine_twin(rows, curvature[:, None] * scores, out[None])


def moments(
    rows: Rows, weight: Array | None, shift: Array | None, sum: Array, squares: Array
) -> None:
    """Add the weighted column sums of rows - shift, and of their squares, to (d,) arrays.

    A shift near the means keeps large means from drowning small deviations; dense rows only.
    """
    _loops.moments(rows, weight, shift, sum, squares)


def moments_twin(
    rows: Rows, weight: Array | None, shift: Array | None, sum: Array, squares: Array
) -> None:
    """``moments`` in NumPy."""
    x = dense(rows) - (0.0 if shift is None else shift)
    c = np.ones(len(x)) if weight is None else weight
    sum += c @ x
    squares += c @ x**2
