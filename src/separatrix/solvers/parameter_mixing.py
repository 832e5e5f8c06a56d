"""Row-by-row training on partitions: iterative parameter mixing.

Problem     Row-by-row training if rows are in partitions that cannot be visited in sequence.
Input       Weights W; partitions of the rows on their workers; step sizes.
Output      W after every pass, and J and the mistakes measured on all partitions.
Algorithm   Every partition is passed over once, row by row, from the same W, giving weights W_i.
            Then W <- W + sum_i mu_i (W_i - W). For the perceptron mu_i is the share of part i in
            the mistakes of the pass; with a penalty, and for other losses, all are equal: so the
            step is to first order the one along the gradient of J, however uneven the parts.
            If the step is adapted to J, it uses J of the mixed W, which is known one pass later.
Paper       McDonald, Hall and Mann, Distributed training strategies for the structured perceptron,
            NAACL 2010. Theorem 3: on rows within R of the origin and with a margin gamma, the sum
            of mu_i k_i over all parts and passes, k_i the mistakes of part i, is at most
            (R / gamma)^2. By mistakes mu_i = k_i / k, and so all mistakes are at most parts times
            as many; once the bound is used up there comes a pass without any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import loops
from ..data import Block, Shuffle, Sum
from ..data.blocks import random_order
from ..losses import Loss
from ..numeric.types import Array, Ints
from ..objective.sums import Value
from ..schedules import Schedule, step_sizes


class Passed(NamedTuple):
    """What a pass over parts came to, added up."""

    loss_sum: float
    mistakes: float
    updates: int
    shares: float  # what the changes were multiplied by before they were added
    change: Array
    sum: Array | float  # of the weights after every batch, if it is wanted
    batches: list[int]  # of every part
    rows: list[Ints]  # that were updated, in order, unless all were
    at_start: float  # the loss at the weights from which the pass went out, if that is wanted
    received: Array | float = 0.0  # what the weights received of an L1 penalty, times their share
    cumulative: float = 0.0  # what they could have received, likewise

    @property
    def longest(self) -> int:
        """Steps that were taken one after another."""
        return max(self.batches)

    def mixed(self, work: loops.OnlineWeights, total: Array | None) -> loops.OnlineWeights:
        """What a pass from these weights leads to: they, and the penalty they have received.

        A weight that is 0 in some parts alone may still be due some of it.
        """
        if not self.shares:
            return loops.OnlineWeights.start(work.v, total, work.received, work.cumulative)
        W, received = work.v + self.change / self.shares, work.received
        if received is not None:
            received = received + self.received / self.shares
        cumulative = work.cumulative + self.cumulative / self.shares
        mixed = loops.OnlineWeights.start(W, total, received, cumulative)
        mixed.receive()
        return mixed

    def summed(self) -> Array | float:
        """What the pass adds to a sum of weights step by step: its mean, once for each step."""
        return self.sum * (self.longest / sum(self.batches))


@dataclass(frozen=True)
class PartPass(Sum[Passed]):
    """A pass over each part by itself, from the same weights."""

    loss: Loss
    W: Array
    schedule: Schedule | Callable[[int], float]
    first: int  # number of the first step: that of every part, for they are taken at the same time
    step_scale: float
    shuffle: Shuffle | None
    row_bytes: float
    batch: int
    l1: float
    l2: float
    intercept: bool
    weight_scale: float
    weighted: bool  # false: every row that counts, counts as 1
    by_mistakes: bool
    average: bool
    tells_start: bool
    received: Array | None
    cumulative: float
    whole_parts = True  # rows are visited one after another

    def of(self, block: Block) -> Passed:
        """One partition; mistakes and loss are measured on each row before its update."""
        order = block.present
        count = len(block.y) if order is None else len(order)
        if not count:
            return Passed(0.0, 0.0, 0, 0.0, np.zeros(self.W.shape), 0.0, [0], [], 0.0)
        if self.shuffle is not None:
            drawn = random_order(count, self.shuffle.of_block(block.start), self.row_bytes)
            order = drawn if order is None else order[drawn]
        batches = -(-count // self.batch)
        weights = loops.OnlineWeights.start(
            self.W, np.zeros(self.W.shape) if self.average else None, self.received,
            self.cumulative,
        )  # fmt: skip
        log = None if self.loss.smooth else np.empty(count, dtype=np.int64)
        at_start = Value(self.loss, self.W).of(block)[0] if self.tells_start else 0.0
        result = block.rows.visits.online_pass(
            block.y, self.loss, weights,
            steps=self.step_scale * step_sizes(self.schedule, self.first, batches),
            weight=block.weight if self.weighted else None, weight_scale=self.weight_scale,
            order=order, l1=self.l1, l2=self.l2, batch=self.batch, intercept=self.intercept,
            log=log,
        )  # fmt: skip
        weights.fold()
        share = result.mistakes if self.by_mistakes else 1.0
        return Passed(
            result.loss_sum, result.mistakes, result.updates, share,
            share * (weights.weights - self.W), 0.0 if weights.sum is None else weights.sum,
            [batches], [] if log is None else [block.numbers(log[: result.updates])],
            at_start,
            *self._penalty(weights, share),
        )  # fmt: skip

    def _penalty(self, weights: loops.OnlineWeights, share: float) -> tuple[Array | float, float]:
        """What weights received of an L1 penalty, and could have."""
        received: Array | float = 0.0
        if weights.received is not None and self.received is not None:
            received = share * (weights.received - self.received)
        return received, share * (weights.cumulative - self.cumulative)
