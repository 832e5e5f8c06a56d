"""Step sizes and row weights that only rescale a perceptron, kept from rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Block, Source, Sum
from ..losses import JointPerceptron, Loss, PerceptronLoss
from ..numeric.types import Array
from ..objective import Objective
from ..schedules import Constant, LearningRate, as_schedule
from .base import State

EQUAL_WEIGHT_SUMS = 1e-9  # up to rounding


def is_perceptron(loss: Loss) -> bool:
    # By exact class: the loops apply its rule, and a subclass may differ.
    return type(loss) in (PerceptronLoss, JointPerceptron)


def constant_step(learning_rate: object) -> bool:
    """Whether the step is the same at every t."""
    return isinstance(learning_rate, Constant) or not callable(learning_rate)


def unit_step(objective: Objective, learning_rate: LearningRate, W: Array) -> float:
    """The step size to divide out of a perceptron run and to multiply in at its end; 1 if none.

    From zero, with a constant step and no penalty, the step size only rescales the weights in exact
    arithmetic. With a step size such as 0.1, rounding would change such a run, so it uses step 1.
    """
    schedule = as_schedule(learning_rate, objective.penalty.l2)
    if isinstance(schedule, Constant) and only_rescales(objective, schedule, W):
        return schedule.step
    return 1.0


def only_rescales(objective: Objective, learning_rate: LearningRate, W: Array) -> bool:
    """Whether scaling a perceptron's steps scales its weights by the same factor."""
    schedule = as_schedule(learning_rate, objective.penalty.l2)
    scales = not objective.penalty.l2 and not objective.source.has_offset and not W.any()
    return isinstance(schedule, Constant) and scales


def common_weight(source: Source) -> float | None:
    """The common weight of all rows, if it is not 1; rows of weight 0 are ignored.

    Such rows count as exactly 1 each: ``weight * (rows / sum of weights)`` would be rounded.
    """
    if source.weight_sum == source.n_rows:
        return None
    least, most = source.total(WeightRanges())
    return max(most) if min(least) == max(most) else None


@dataclass(frozen=True)
class WeightRanges(Sum[tuple[list[float], list[float]]]):
    """Smallest and largest positive weight of each block."""

    def of(self, block: Block) -> tuple[list[float], list[float]]:
        some = block.weights[block.weights != 0.0]
        return [float(some.min(initial=np.inf))], [float(some.max(initial=0.0))]


def weight_scale(source: Source, state: State | None, common: float | None) -> float:
    """Number of rows divided by the sum of their weights, including earlier rows of a stream."""
    rows, weights = (0, 0.0) if state is None else (state["rows_before"], state["weight_before"])
    if common is None:
        return float((rows + source.n_rows) / (weights + source.weight_sum))
    if abs(weights - rows * common) <= EQUAL_WEIGHT_SUMS * weights:
        return 1.0
    return float(common * (rows + source.n_rows) / (weights + source.weight_sum))


def near_power(scale: float) -> float:
    """A power of two near a scale: multiplying by it is exact."""
    return float(2.0 ** np.round(np.log2(scale)))
