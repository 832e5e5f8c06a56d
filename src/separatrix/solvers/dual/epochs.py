"""Epochs of dual coordinate ascent: each alpha in turn is set to its best value.

Problem: ``max_alpha -sum_i p_i phi*(-alpha_i) - |sum_i p_i alpha_i y_i x_i|^2 / (4 l2)``, with the
bias kept near a value by a penalty, as one more feature. Input: rows to visit, alphas and the
corresponding weights. Output: both updated, and which rows to visit again.
Algorithm: each alpha in turn maximises the dual with the others fixed, in random order; rows that
are at a bound and will stay there are skipped (shrinking). Soon a few rows account for most of the
duality gap: they are visited again between two epochs, until they have clearly less than the
others. If epochs are slow, all alphas inside their bounds are solved for together.
Paper: C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan, A dual coordinate
descent method for large-scale linear SVM, ICML 2008; for the logistic loss H.-F. Yu, F.-L. Huang
and C.-J. Lin, Dual coordinate descent methods for logistic regression and maximum entropy models,
Machine Learning 85 (2011); for rows by their part of the gap C. Dünner, T. Parnell and M. Jaggi,
Efficient use of limited-memory accelerators for linear learning on heterogeneous systems, NIPS
2017.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...data import InMemory, Shuffle
from ...loops import StepHistory
from ...numeric.dot import dot
from ...numeric.linear_systems import conjugate_gradients
from ...numeric.tolerances import SAFE_DIVISOR
from ...numeric.types import Array, Ints
from ...objective import Objective
from ...proofs.binary_dual import BinaryDualLoss

MIXED_STRETCHES = 16  # runs of neighbouring rows that are shuffled together: about a cache full
STANDS_OUT = 3.0  # times the mean part of the gap: rows above it are visited again
IDENTIFIED = 1.8  # active rows per free alpha, below which the free alphas count as known
AIM = 0.7  # of the required gap: skipped rows add to the measured gap, and a miss costs a round
FEWEST_PRODUCTS, MOST_PRODUCTS = 10, 100  # conjugate gradient steps over the free alphas
LITTLE = 0.002  # of the gain of the free alphas so far: a product that adds less is the last
HALVINGS = 6  # of a step: a shorter one gains nothing
CAREFUL = 6.0  # times the mean slope: distance to its kink up to which a row is visited
# For a smooth loss: rows with large curvature relative to the penalty take many epochs, and a
# stiff bias, as one more feature of all rows, would double that; if it is small, a soft one
# would take many rounds. Measured on text.
SOFT_BIAS, SOFTEST_BIAS = 0.25, 0.1


def bias_inverse_penalty(objective: Objective) -> float:
    """Strength of the bias penalty: that of the weight of a typical feature present in all rows.

    A feature as long as the rows themselves would couple them all: on text with two classes it
    made the hinge two to four times as slow, with eight classes up to ten.
    """
    if not objective.intercept:
        return 0.0
    source = objective.in_memory
    square = dot(source.weights, objective.row_norm2) / source.weight_sum or 1.0
    return 0.5 / objective.penalty.l2 * square / max(1.0, source.row_values)


@dataclass
class CoordinateEpochs:
    """Every row's alpha, the corresponding weights, and what epochs have found out."""

    objective: Objective
    dual_loss: BinaryDualLoss
    alpha: Array
    seed: int
    active: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), init=False)
    """Rows to visit in the next epoch, sorted: those that may change."""
    epochs: int = 0
    shrink_margin: float = np.inf
    """Distance beyond its kink from which a row at a bound need not be visited again."""
    gap: float = np.inf  # the duality gap as measured in the last epoch: each row before its update
    subspace: bool = True  # whether epochs are accelerated by subspace steps: if there is no bias
    visits: float = 0.0
    """Updates since the weights were computed from the alphas; infinite if either was changed
    otherwise."""
    step_history: Array = field(default_factory=lambda: np.empty((2, 0)))
    """The last two steps of the alphas, newest first: (2, n), if they are useful."""
    weight_history: Array = field(default_factory=lambda: np.empty((2, 0)))
    """The effect of these steps on the weights."""

    def __post_init__(self) -> None:
        self.source = source = self.objective.in_memory
        self.row_norm2 = self.objective.row_norm2
        self.inv_weight_sum = 1.0 / source.weight_sum
        self.inv_2l2 = 0.5 / self.objective.penalty.l2
        self.bias_inv_penalty = bias_inverse_penalty(self.objective)
        if self.objective.intercept and not self.dual_loss.nonsmooth:
            of_row = self.bias_inv_penalty * max(1.0, source.row_values)
            most = self.dual_loss.loss.max_curvature or 1.0
            soft = SOFT_BIAS / (most * of_row * self.inv_weight_sum)
            self.bias_inv_penalty = of_row * min(1.0, max(SOFTEST_BIAS, soft))
        self.subspace = self.subspace and not self.objective.intercept
        if self.subspace and self.epochs == 0:
            self.step_history = np.zeros((2, len(source.y)))
            self.weight_history = np.zeros((2, self.objective.shape[1]))
        self.W = np.zeros(self.objective.shape)

    def _climb(self, most: int, enough: float) -> bool:
        """Run epochs on the active rows, and return whether the gap is small enough."""
        history = StepHistory(self.step_history, self.weight_history) if self.subspace else None
        active = self.active
        found = self.source.ascent_round(
            self.dual_loss.loss, self.alpha, self.W[0], active, Shuffle(self.seed, self.epochs),
            MIXED_STRETCHES, inv_weight_sum=self.inv_weight_sum, row_norm2=self.row_norm2,
            inv_2l2=self.inv_2l2, bias_inv_penalty=self.bias_inv_penalty, gap=self.gap,
            shrink_margin=self.shrink_margin, most_epochs=most, enough=enough, careful=CAREFUL,
            identified=IDENTIFIED, stands_out=STANDS_OUT, history=history,
        )  # fmt: skip
        self.visits += found.visits if found.subspace_steps == 0 else np.inf
        self.active, self.epochs = active[: found.n_active], self.epochs + found.epochs
        self.gap, self.shrink_margin = found.gap, found.shrink_margin
        self.subspace = self.subspace and found.subspace
        return found.reached

    def _shares(self, rows: Ints) -> Array:
        """Shares of these rows in the total weight."""
        weight = self.source.weight
        shares = np.full(len(rows), self.inv_weight_sum)
        return shares if weight is None else shares * weight[rows]


class FreeAlphas(NamedTuple):
    """Alphas, the gain of the dual there, and its gain if there were no bounds."""

    alpha: Array
    gain: float
    hoped: float

    def next_products(self, products: int) -> int:
        """Limit on the products of the next solution: higher if the bounds were hardly active."""
        if self.gain > 0.8 * self.hoped:
            return min(2 * products, MOST_PRODUCTS)
        return max(products // 2, FEWEST_PRODUCTS) if self.gain < 0.5 * self.hoped else products


def solve_free_variables(
    rows: InMemory, alpha: Array, p: Array, W: Array, curvatures: Array, gives: Array, most: int
) -> FreeAlphas:
    """Maximise the dual over the alphas of some rows, the others fixed, with limited products.

    With the weights ``w = w_0 + sum_i p_i y_i (alpha_i - alpha_0i) x_i / (2 l2)`` the dual is a
    quadratic in the alphas in [0, 1]. Conjugate gradients over all of them, scaled so that the
    dual has curvature 1 along each, are followed by a projected line search (the second stage of
    More and Toraldo, On the solution of large quadratic programming problems with bound
    constraints, SIAM J. Optimization 1, 1991). ``p`` are the shares of the rows. Counting a row
    once more moves the weights by ``gives`` times it, and its own margin by ``curvatures``.
    """
    y, linear = rows.y, rows.without_offset
    scale = 1.0 / (p * np.sqrt(np.maximum(curvatures, SAFE_DIVISOR)))
    lack = 1.0 - y * rows.scores(W)[:, 0]

    def moved(change: Array) -> Array:
        out: Array = linear.transpose_product((p * y * change)[:, None]) * gives
        return out

    def product(u: Array) -> Array:
        out: Array = scale * p * y * linear.scores(moved(scale * u))[:, 0]
        return out

    u, hoped = conjugate_gradients(product, scale * p * lack, gain=LITTLE, most=most)
    length = 1.0
    for _ in range(HALVINGS):
        there = np.clip(alpha + length * scale * u, 0.0, 1.0)
        change = there - alpha
        # The dual decreases by half the effect of the changes on the margins.
        gain = float((p * change) @ (lack - 0.5 * y * linear.scores(moved(change))[:, 0]))
        if gain >= 0.1 * length * hoped:
            break
        length *= 0.5
    return FreeAlphas(there, gain, hoped)
