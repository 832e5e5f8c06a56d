"""Epochs of dual coordinate ascent: rows one after another, each alpha to its best value.

Problem: ``max_alpha -sum_i p_i phi*(-alpha_i) - |sum_i p_i alpha_i y_i x_i|^2 / (4 l2)``, with the
bias held near a point by a penalty, as one more feature. Input: rows to visit, alphas and the
weights that follow from them. Output: both moved on, and which rows to visit again.
Algorithm: each alpha in turn maximises the dual over itself alone, in a random order; rows that
sit at a bound and will stay there are left out (shrinking). Soon a few rows hold most of the
duality gap: they come again between two epochs, until they hold clearly less than the others.
Where epochs would crawl, the alphas inside their bounds are solved for together.
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
from ...data.labels_in_memory import LabelsInMemory
from ...loops import StepHistory
from ...numeric.dot import dot
from ...numeric.linear_systems import conjugate_gradients
from ...numeric.tolerances import SAFE_DIVISOR
from ...numeric.types import Array, Ints
from ...objective import Objective
from ...proofs.binary_dual import BinaryDualLoss
from ..thresholds import GATHERED_BYTES

MIXED_STRETCHES = 16  # stretches of neighbouring rows whose order is mixed: about a cache full
STANDS_OUT = 3.0  # times the mean part of the gap: rows that hold more come again
IDENTIFIED = 1.8  # active rows per free alpha, below which these are known
AIM = 0.7  # of the gap wanted: rows left out add to what epochs meet, and a miss costs a round
LITTLE = 0.002  # of the gain of the free alphas so far: a product that adds less is the last
HALVINGS = 6
CAREFUL = 6.0  # times the mean slope: how far beyond its kink a row at a bound may be left out
# Of a smooth loss: rows of large curvature in the units of the penalty take many epochs, of which a
# stiff bias, as one more feature of all rows, would take twice as many; where it is small, a soft
# one would take many rounds. Measured on text.
SOFT_BIAS, SOFTEST_BIAS = 0.25, 0.1


def bias_inverse_penalty(objective: Objective) -> float:
    """How far a bias gives way: as the weight of a feature would that is like others, in all rows.

    A feature as long as the rows themselves would tie them all together: on text of two classes it
    took the hinge two to four times as long, with eight classes up to ten.
    """
    if not objective.intercept:
        return 0.0
    source = objective.in_memory
    square = dot(source.weights, objective.row_norm2) / source.weight_sum or 1.0
    return 0.5 / objective.penalty.l2 * square / max(1.0, source.row_values)


def may_be_taken(source: InMemory, rows: int) -> bool:
    """Whether so many rows may be held at once: always, if all of them are."""
    return not isinstance(source, LabelsInMemory) or rows * source.row_bytes <= GATHERED_BYTES


@dataclass
class CoordinateEpochs:
    """Every row's alpha, the weights that follow from them, and what epochs have found out."""

    objective: Objective
    dual_loss: BinaryDualLoss
    alpha: Array
    seed: int
    active: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), init=False)
    """Rows to visit in the next epoch, increasing: those that may not stay where they are."""
    epochs: int = 0
    shrink_margin: float = np.inf
    """How far beyond its kink a row at a bound need not be visited again."""
    gap: float = np.inf
    """The duality gap as the last epoch met it: each row before its update."""
    subspace: bool = True
    """Whether epochs are helped by steps in a subspace: where there is no bias."""
    visits: float = 0.0
    """Of rows, at most, since the weights were summed from the alphas; infinite if either was
    moved otherwise."""
    step_history: Array = field(default_factory=lambda: np.empty((2, 0)))
    """Of the alphas, the last step and the one before: (2, n), if they are of use."""
    weight_history: Array = field(default_factory=lambda: np.empty((2, 0)))
    """What that did to the weights."""

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
        """At most so many epochs over the active rows: whether the gap is enough, in units of J."""
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
        """Of these rows in the weight of all."""
        weight = self.source.weight
        shares = np.full(len(rows), self.inv_weight_sum)
        return shares if weight is None else shares * weight[rows]


class FreeAlphas(NamedTuple):
    """Alphas, by how much the dual is higher there, and by how much it would be without bounds."""

    alpha: Array
    gain: float
    hoped: float


def solve_free_variables(
    rows: InMemory, alpha: Array, p: Array, W: Array, curvatures: Array, gives: Array, most: int
) -> FreeAlphas:
    """The highest dual over the alphas of some rows, the others fixed, by at most so many products.

    With the weights ``w = w_0 + sum_i p_i y_i (alpha_i - alpha_0i) x_i / (2 l2)`` the dual is a
    quadratic of the alphas in [0, 1]. Conjugate gradients over all of them, in variables in which
    the dual has curvature 1 for each alone, and then a projected line search (the second stage of
    More and Toraldo, On the solution of large quadratic programming problems with bound
    constraints, SIAM J. Optimization 1, 1991). ``p`` are the shares of the rows. A row counted once
    more moves the weights by ``gives`` times it, and its own margin by its entry of ``curvatures``.
    """
    y = rows.y
    scale = 1.0 / (p * np.sqrt(np.maximum(curvatures, SAFE_DIVISOR)))
    lack = 1.0 - y * rows.scores(W)[:, 0]

    def moved(change: Array) -> Array:
        out: Array = rows.transpose_product((p * y * change)[:, None]) * gives
        return out

    def product(u: Array) -> Array:
        out: Array = scale * p * y * rows.scores(moved(scale * u))[:, 0]
        return out

    u, hoped = conjugate_gradients(product, scale * p * lack, gain=LITTLE, most=most)
    length = 1.0
    for _ in range(HALVINGS):
        there = np.clip(alpha + length * scale * u, 0.0, 1.0)
        change = there - alpha
        # The dual falls by half of what the changes themselves do to the margins.
        gain = float((p * change) @ (lack - 0.5 * y * rows.scores(moved(change))[:, 0]))
        if gain >= 0.1 * length * hoped:
            break
        length *= 0.5
    return FreeAlphas(there, gain, hoped)
