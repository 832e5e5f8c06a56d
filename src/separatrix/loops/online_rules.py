"""Online passes of rules whose step depends on the row: passive-aggressive, AROW, Winnow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numeric.rows import RowArrays
from ..numeric.types import AnyArray, Array, Ints
from ._compiled import _loops
from .online import EVERY_UPDATE, PassResult


@dataclass
class RuleWeights:
    """Weights (k, d + 1) during a pass, bias last; for AROW with the variances, in the same shape.

    The sum of the weights over the visits since the last fold is ``area * v - lag``, so that a
    visit without an update takes no time.
    """

    v: Array
    variances: Array | None
    sum: Array | None
    lag: Array | None
    area: float = 0.0  # visits since the last fold

    @classmethod
    def start(cls, W: Array, variances: Array | None, sum: Array | None) -> RuleWeights:
        """Start from copies of weights, and of the variances and the sum so far if given."""
        variances = None if variances is None else variances.copy()
        lag = None if sum is None else np.zeros(W.shape)
        sum = None if sum is None else sum.copy()
        return cls(W.copy(), variances, sum, lag)

    def fold(self) -> None:
        """Fold area and lag into the sum."""
        if self.sum is not None and self.lag is not None:
            self.sum += self.area * self.v - self.lag
            self.lag.fill(0.0)
        self.area = 0.0


def loss_of_rule(rule: str) -> tuple[str, dict[bool, int]]:
    """The loss that a rule looks at: its name, and its number for two classes (True) and for more.

    A number that is missing is not supported.
    """
    if rule == "winnow":
        return "perceptron", {True: _loops.loss_ids["perceptron"]}
    return "hinge", {True: _loops.loss_ids["hinge"], False: _loops.joint_ids["crammer_singer"]}


def online_rule(
    rows: RowArrays,
    y: AnyArray,
    rule: str,
    parameter: float,
    weights: RuleWeights,
    *,
    weight: Array | None = None,
    order: Ints | None = None,
    intercept: bool = True,
    max_updates: int = EVERY_UPDATE,
    log: Ints | None = None,
) -> PassResult:
    """Visit rows in the given order and update the weights by the rule after each of them.

    A row of weight c is visited c times in succession; a fraction is a last visit that counts for
    that part. The parameter is C for "passive_aggressive_1" and "passive_aggressive_2", the noise
    r for "arow" and the factor for "winnow". Updated rows are written to ``log``.
    """
    loss_sum, mistakes, updates, position, weights.area = _loops.online_rule(
        rows, _loops.rule_ids[rule], y, weight, order, parameter, intercept, max_updates,
        weights.v, weights.variances, weights.lag, weights.area, log,
    )  # fmt: skip
    return PassResult(loss_sum, mistakes, updates, position)
