"""What only rescales a run of the perceptron: steps and weights of rows, kept from rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Block, Source, Sum
from ..losses import JointPerceptron, Loss, PerceptronLoss
from ..numeric.types import Array
from ..objective import Objective
from ..schedules import Constant, LearningRate, as_schedule
from .base import State

EQUAL_WEIGHT_SUMS = 1e-9  # but for rounding


def is_perceptron(loss: Loss) -> bool:
    """Whether a loss is the perceptron's."""
    # By exact class: the loops apply its rule, and a subclass may differ.
    return type(loss) in (PerceptronLoss, JointPerceptron)


def constant_step(learning_rate: object) -> bool:
    """Whether the step is the same at every t."""
    return isinstance(learning_rate, Constant) or not callable(learning_rate)


def unit_step(objective: Objective, learning_rate: LearningRate, W: Array) -> float:
    """The step to leave out of a perceptron run and multiply in at its end; 1 if none.

    From zero, with a constant step and no penalty, the step only rescales the weights in exact
    arithmetic. With a step such as 0.1 rounding would lead such a run astray: so it is done
    with step 1.
    """
    schedule = as_schedule(learning_rate, objective.penalty.l2)
    if isinstance(schedule, Constant) and only_rescales(objective, schedule, W):
        return schedule.step
    return 1.0


def only_rescales(objective: Objective, learning_rate: LearningRate, W: Array) -> bool:
    """Whether a perceptron's steps, multiplied by a number, give as many times the weights."""
    schedule = as_schedule(learning_rate, objective.penalty.l2)
    return isinstance(schedule, Constant) and not objective.penalty.l2 and not W.any()


def common_weight(source: Source) -> float | None:
    """The weight of every row, if they are equal but not 1; rows of weight 0 are absent.

    Such rows count as 1 each, exactly: ``weight * (rows / sum of weights)`` would be rounded.
    """
    if source.weight_sum == source.n_rows:
        return None
    least, most = source.total(WeightRanges())
    return max(most) if min(least) == max(most) else None


@dataclass(frozen=True)
class WeightRanges(Sum[tuple[list[float], list[float]]]):
    """Smallest and largest weight above 0 of each block."""

    def of(self, block: Block) -> tuple[list[float], list[float]]:
        """Of one block."""
        some = block.weights[block.weights != 0.0]
        return [float(some.min(initial=np.inf))], [float(some.max(initial=0.0))]


def weight_scale(source: Source, state: State | None, common: float | None) -> float:
    """Number of rows over the sum of their weights, with those of a stream before."""
    rows, weights = (0, 0.0) if state is None else (state["rows_before"], state["weight_before"])
    if common is None:
        return float((rows + source.n_rows) / (weights + source.weight_sum))
    if abs(weights - rows * common) <= EQUAL_WEIGHT_SUMS * weights:
        return 1.0
    return float(common * (rows + source.n_rows) / (weights + source.weight_sum))


def near_power(scale: float) -> float:
    """A power of two near a scale: to multiply by it leaves all digits as they are."""
    return float(2.0 ** np.round(np.log2(scale)))
