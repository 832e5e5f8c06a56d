"""Lower bounds where some features are not penalised, and proofs that a minimum exists.

Problem: given W, a number below ``min J``, where features of weight 0 cost nothing (without a
penalty: all of them); and whether J has a minimum at all.
Input: a smooth loss whose conjugate is known; J and its gradient at W.
Output: the bound, its rounding and the dual point behind it; None where there is none.
Algorithm: for the bias and for a free feature the dual variables must balance exactly,
``sum c * alpha * y * x_j = 0``. The slopes at W do not quite. They are corrected by what Newton's
step in the biases and the free features would do to first order, ``phi'' * (change of the score)``:
of all changes that balance, the one whose square weighted by 1 / phi'' is least. Where a corrected
alpha leaves its range, W is too far away for a proof.

What rounding leaves of the balance is bounded, not ignored. Let r be the sum that is left and H the
second derivative by the free variables. One more correction, by the step ``H^-1 r``, would balance
exactly, and it changes alpha_i by at most ``imbalance * sqrt(phi''_i / c_i)``, where ``imbalance =
sqrt(r' H^-1 r)``: c_i phi''_i z_i z_i' is at most H, so ``z_i' H^-1 z_i <= 1 / (c_i phi''_i)``. If
every alpha stays in its range all the same, there are exactly balanced alphas, and the bound for
them follows from that of the computed ones.

Alphas that are all positive and balance exactly also prove that the free features and the bias do
not separate the rows, not even weakly (Stiemke, 1915): so J has a minimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..losses import Loss
from ..numeric.linear_systems import solve
from ..numeric.standardization import Standardization
from ..numeric.threads import one_blas_thread
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array, Ints
from ..objective import Evaluation, Objective
from ..objective.sums import WorkingHessian
from .corrected_tangents import CorrectedTangents
from .dependent_features import independent
from .rounding import SUMS, sum_rounding
from .smooth_bound import LowerBound, scaled_bound

READS = 2  # of the data, for a bound
MOST_STEPS = 3  # of Newton, from weights that are too far from a minimum to prove that there is one
EIGENVALUES = tuple(10.0**-power for power in range(1, 14))
GRAM_ROUNDING = 16 * EPS  # of products of standardised rows, in units of what they are made of


def is_bounded(objective: Objective) -> bool:
    """Whether such bounds exist: some weights are penalised, and the range of the loss is known."""
    penalty = objective.penalty
    some = len(penalty.free_features(objective.source.n_features)) < objective.source.n_features
    return some and _has_known_range(objective.loss)


def _has_known_range(loss: Loss) -> bool:
    return loss.smooth and loss.dual_range is not None


def free_features(objective: Objective) -> Ints:
    """The numbers of the features that cost nothing."""
    return objective.penalty.free_features(objective.source.n_features)


def corrected_lower_bound(
    objective: Objective, W: Array, at: Evaluation, rounded: bool = False
) -> LowerBound | None:
    """A lower bound on the minimum of J, in two reads of the data, or three.

    ``rounded`` if the rows are, as those that were standardised.
    """
    penalty, free = objective.penalty, free_features(objective)
    found = _correction(objective, W, at, free, rounded)
    if found is None or not found.is_feasible:
        return None
    # The alphas that balance exactly have conjugates and a gradient that differ by this.
    off = float(np.linalg.norm(found.imbalance))
    change = off * found.steepness + off**2
    size = np.sqrt(objective.loss.max_curvature or 1.0) * off * _sizes(objective)
    V = found.gradient[:, :-1]
    V = V + np.copysign(size + SUMS * np.abs(V), V)
    V[:, free] = 0.0
    bound, V = scaled_bound(penalty, -found.conjugate - change, V)
    return LowerBound(bound, sum_rounding(objective) * found.conjugate_size, V)


def has_minimum(objective: Objective, W: Array, rounded: bool = False) -> bool | None:
    """Whether a minimum is proven to exist, from weights near it; None where W proves nothing.

    False says that not even Newton's equations have a solution in floating point: what the
    objective does in some direction is lost in rounding.
    """
    if not _has_known_range(objective.loss):
        return None
    free = free_features(objective)
    for _ in range(MOST_STEPS):
        found = _correction(objective, W, objective.value_and_gradient(W), free, rounded)
        if found is None:
            return None
        if found.is_feasible:
            return True if found.exact and found.inside else None
        if not found.balanced:
            return False
        W = W + found.step
    return None


class Correction(NamedTuple):
    """What is known of the corrected alphas."""

    conjugate: float
    """Mean of phi*; infinite or NaN if an alpha is outside its range."""
    conjugate_size: float
    """Mean of its absolute values."""
    gradient: Array
    """Mean of ``-alpha * y * x``, (k, d + 1)."""
    room: Array
    """By column: how much imbalance there may be before an alpha leaves its range."""
    imbalance: Array
    """By column: how much there may be, rounding included."""
    steepness: float
    """How fast the mean conjugate changes with the imbalance."""
    balanced: bool
    """Whether what is left of every sum is no more than rounding."""
    inside: bool
    """Whether no alpha is at an end of its range: of rows far on their side they underflow to 0."""
    exact: bool
    """Whether features that others make superfluous are exactly combinations of them."""
    step: Array
    """Newton's, by which the slopes were corrected."""

    @property
    def is_feasible(self) -> bool:
        """Whether alphas near these are in their ranges and balance exactly."""
        return bool(np.isfinite(self.conjugate) and np.all(self.room >= 2.0 * self.imbalance))


def _correction(
    objective: Objective, W: Array, at: Evaluation, free: Ints, rounded: bool
) -> Correction | None:
    some, C = np.append(free, -1), objective.source.weight_sum
    whole = objective.standardization
    own = Standardization(whole.mean[free], whole.scale[some])
    hessian = _hessian(objective, W, own, free)
    if not np.all(np.isfinite(hessian)):
        return None
    g = whole.gradient(at.gradient)[:, some]
    u = solve(hessian, -g.reshape(len(hessian), -1)).reshape(g.shape)
    step = np.zeros_like(W)
    step[:, some] = own.to_weights(u)
    asked = CorrectedTangents(objective.loss, W, step, C)
    conjugates, sizes, sums, rooms, squares, distances = objective.source.total(asked)
    gradient = (sums.high + sums.low) / C
    if not objective.intercept:
        gradient[:, -1] = 0.0
    left = np.abs(own.gradient(gradient[:, some]))
    size = np.append(_sizes(objective), 1.0)[some]
    size = (size + np.append(np.abs(own.mean), 0.0)) / own.scale
    unsure = len(some) * GRAM_ROUNDING * (size.max() ** 2 if _is_sparse(objective) else size.max())
    rounding = sum_rounding(objective) * objective.loss.steepness(max(at.value, 0.0)) * size
    balanced = left <= rounding + unsure * min(1.0, np.abs(u).max())
    basis = independent(objective, hessian[0, : len(some), : len(some)], own, free)
    most = (1.0 + SUMS) * left + (1.0 if rounded else EPS) * rounding
    imbalance = np.full(len(W), np.inf)
    if basis is not None:
        imbalance = _imbalance(objective.loss, hessian, most, basis.kept, unsure)
    return Correction(
        conjugates / C, sizes / C, gradient, np.min(rooms, axis=0), imbalance,
        float(np.sqrt(squares / C)), bool(np.all(balanced)), bool(np.min(distances) > 0.0),
        basis is not None and basis.exact, step,
    )  # fmt: skip


def _hessian(objective: Objective, W: Array, own: Standardization, free: Ints) -> Array:
    """By the biases and the free features, all other weights as they are."""
    m = len(free) + 1
    with one_blas_thread(objective.source.n_rows * float(m) ** 2):
        (hessian,) = objective.source.total(WorkingHessian(objective.loss, W, free, own))
    hessian /= objective.source.weight_sum
    if not objective.intercept:
        biases = slice(len(free), None, m)
        hessian[:, biases] = hessian[:, :, biases] = 0.0
        hessian[:, biases, biases] = np.eye(hessian[0, biases, biases].shape[0])
    return hessian


def _imbalance(loss: Loss, hessian: Array, left: Array, kept: AnyArray, rounding: float) -> Array:
    """At most ``sqrt(r' H^-1 r)`` for every r within what may be left of the sums, by column."""
    if loss.shifts:  # what all classes share changes nothing: the last one is at 0
        count = len(left) - 1
        matrices = [hessian[0, : -len(kept), : -len(kept)]]
        rests, kept = [left[:-1].ravel()], np.tile(kept, count)
    else:
        matrices, rests = list(hessian), list(left)
    found = [
        _norm(H[np.ix_(kept, kept)], r[kept], rounding)
        for H, r in zip(matrices, rests, strict=True)
    ]
    return np.broadcast_to(found, len(left))


def _norm(hessian: Array, left: Array, rounding: float) -> float:
    scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
    size = float(np.linalg.norm(scale * left))
    if size == 0.0:
        return 0.0
    least = _least_eigenvalue(scale[:, None] * hessian * scale) - rounding
    return size / np.sqrt(least) if least > 0.0 else np.inf


def _least_eigenvalue(matrix: Array) -> float:
    """A power of ten that no eigenvalue is below; 0 if none is found.

    What is left after it is subtracted has a Cholesky factor, which costs much less than the
    eigenvalues themselves.
    """
    with one_blas_thread(float(len(matrix)) ** 3):
        for least in EIGENVALUES:
            _, failed = lapack.dpotrf(matrix - least * np.eye(len(matrix)))
            if not failed:
                return least
    return 0.0


def _sizes(objective: Objective) -> Array:
    """Root mean square of every feature as it is summed."""
    far_off = objective.source.far_off
    return objective.feature_sizes + (0.0 if far_off is None else 2.0 * far_off)


def _is_sparse(objective: Objective) -> bool:
    """Whether products of rows are centred after they are summed."""
    return objective.source.storage == "csr"
