"""Lower bounds where some features are not penalised.

Problem: given W, a number below ``min J``, where features of weight 0 cost nothing.
Input: an objective with such a penalty and a loss whose conjugate is known; J and its gradient.
Output: the bound, its rounding and the dual point behind it; None where there is none.
Algorithm: for a feature that costs nothing the dual variables must balance as for the bias,
``sum c * alpha * y * x_j = 0``. The slopes at W do not quite. They are corrected by what Newton's
step in the biases and these features would do to first order, ``phi'' * (change of the score)``:
of all changes that balance, the one whose square weighted by 1 / phi'' is least. Where a corrected
alpha leaves its range, W is too far away for a proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import entr

from ... import loops
from ...data import Block, Sum
from ...losses import Logistic, Loss, MarginLoss, OneVsRest, Softmax, Squared, SquaredHinge
from ...losses.one_vs_rest import signs
from ...numeric.linear_systems import solve
from ...numeric.standardization import Standardization
from ...numeric.threads import one_blas_thread
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Evaluation, Objective
from ...objective.accuracy import SUMS
from ...objective.sums import Given, WorkingHessian
from ...penalties import SparsityInducing
from .bounds import LowerBound, conjugate_rounding, rounding_of_scale, scaled_bound

READS = 2  # of the data, for a bound
BALANCED = 1e-12  # of a feature's size: what is left of its sum is rounding


def is_bounded(objective: Objective) -> bool:
    """Whether such bounds exist: some features are free, and the range of the loss is known."""
    penalty, loss = objective.penalty, objective.loss
    binary = loss.binary if isinstance(loss, OneVsRest) else loss
    known = isinstance(loss, Softmax) or type(binary) in (Logistic, Squared, SquaredHinge)
    return isinstance(penalty, SparsityInducing) and penalty.l1 + penalty.l2 > 0.0 and known


def corrected_lower_bound(objective: Objective, W: Array, at: Evaluation) -> LowerBound | None:
    """A lower bound on the minimum of J, in two reads of the data."""
    penalty = objective.penalty
    if not isinstance(penalty, SparsityInducing):
        raise TypeError(f"{penalty!r} leaves no feature free")
    free = np.flatnonzero(penalty.feature_weights == 0.0)
    step = _newton_step(objective, W, at, free)
    asked = CorrectedTangents(objective.loss, W, step)
    conjugates, gradient = objective.source.total(asked)
    C = objective.source.weight_sum
    conjugate, gradient = conjugates / C, gradient / C
    size = np.append(objective.feature_sizes, 1.0)
    balanced = np.append(free, -1) if objective.intercept else free
    left = np.abs(gradient[:, balanced]) / size[balanced].clip(np.finfo(float).tiny)
    if not np.isfinite(conjugate) or left.max(initial=0.0) > BALANCED:
        return None
    V = gradient[:, :-1].copy()
    V[:, free] = 0.0
    allowance = conjugate_rounding(objective, W, at) + SUMS * abs(conjugate)
    allowance += float(np.sum(np.abs(gradient[:, balanced] * W[:, balanced])))
    allowance += rounding_of_scale(objective, at)
    bound, V = scaled_bound(penalty, -conjugate, V)
    return LowerBound(bound, allowance, V)


def _newton_step(objective: Objective, W: Array, at: Evaluation, free: Ints) -> Array:
    """By the biases and the features that are free, all other weights as they are."""
    whole, some = objective.standardization, np.append(free, -1)
    own = Standardization(whole.mean[free], whole.scale[some])
    with one_blas_thread(objective.source.n_rows * float(len(some)) ** 2):
        (hessian,) = objective.source.total(WorkingHessian(objective.loss, W, free, own))
    hessian /= objective.source.weight_sum
    biases = slice(len(free), None, len(some))
    if not objective.intercept:
        hessian[:, biases] = hessian[:, :, biases] = 0.0
        hessian[:, biases, biases] = np.eye(hessian[0, biases, biases].shape[0])
    g = whole.gradient(at.gradient)[:, some]
    u = solve(hessian, -g.reshape(len(hessian), -1)).reshape(g.shape)
    step = np.zeros_like(W)
    step[:, some] = own.to_weights(u)
    return step


@dataclass(frozen=True)
class CorrectedTangents(Sum[tuple[float, Array]]):
    """Conjugates of slopes that a step of the weights corrects to first order, and their gradient.

    The first is infinite or NaN if a slope leaves its range.
    """

    loss: Loss
    W: Array
    step: Array

    def of(self, block: Block) -> tuple[float, Array]:
        """Of the rows that count."""
        scores, turn = loops.scores(block.X, self.W), loops.scores(block.X, self.step)
        conjugates, slopes = _corrected(self.loss, block.y, scores, turn)
        weight = block.weights
        present = weight > 0.0
        gradient = np.zeros(self.W.shape)
        coefficients = np.where(present[:, None], weight[:, None] * slopes, 0.0)
        loops.transpose_product(block.X, coefficients, gradient)
        return float(weight[present] @ conjugates[present]), gradient

    def of_given(self, standardization: Standardization) -> Given[CorrectedTangents]:
        """By other weights, and back as a gradient is."""
        W, step = standardization.to_weights(self.W), standardization.to_weights(self.step)

        def back(sums: tuple[float, Array]) -> tuple[float, Array]:
            return sums[0], standardization.gradient(sums[1])

        return CorrectedTangents(self.loss, W, step), back


def _corrected(loss: Loss, y: AnyArray, scores: Array, turn: Array) -> tuple[Array, Array]:
    """Conjugate of every row, (n,), and the slopes by its scores, (n, k)."""
    if isinstance(loss, Softmax):
        q = loss.probability(scores) + loss.curvature_product(y, scores, turn)
        conjugates = -entr(q).sum(axis=1)  # entr is -inf below 0
        q[np.arange(len(y)), y] -= 1.0
        return conjugates, q
    binary = loss.binary if isinstance(loss, OneVsRest) else loss
    if not isinstance(binary, MarginLoss):
        raise TypeError(f"no conjugate of {loss!r} is known here")
    sign = signs(y, scores) if isinstance(loss, OneVsRest) else y[:, None]
    m = sign * scores
    alpha = -binary.slope(m) - binary.curvature(m) * sign * turn
    conjugates = binary.conjugate(alpha)
    if not isinstance(binary, Squared):
        conjugates = np.where(alpha >= 0.0, conjugates, np.inf)
    return conjugates.sum(axis=1), -sign * alpha
