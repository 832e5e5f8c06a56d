"""Lower bounds where some features are not penalised, and proofs that a minimum exists.

Problem: given W, find a number below ``min J`` when features of weight 0 are unpenalised (without
a penalty, with ``l2=0``, these are all features), and decide whether J has a minimum.
Input: a smooth loss with a known conjugate; J and its gradient at W.
Output: the bound, its rounding and the dual point that proves it; None if there is none.
Algorithm: for the bias and for a free feature the dual variables must balance exactly,
``sum c * alpha * y * x_j = 0``. The slopes at W nearly do. They are corrected by the first-order
effect of a Newton step in the biases and free features, ``phi'' * (change of the score)``: among
all corrections that balance, it has the least squares weighted by 1 / phi''. If a corrected
alpha leaves its range, W is too far from the minimum for a proof.

Rounding leaves a small imbalance, which is bounded, not ignored. Let r be this imbalance and H the
second derivative with respect to the free variables. One more correction, by the step ``H^-1 r``,
would balance exactly and changes alpha_i by at most ``imbalance * sqrt(phi''_i / c_i)``, where
``imbalance = sqrt(r' H^-1 r)``: c_i phi''_i z_i z_i' is at most H, so ``z_i' H^-1 z_i <= 1 / (c_i
phi''_i)``. If every alpha stays in its range even so, exactly balanced alphas exist, and their
bound follows from the bound of the computed alphas.

Positive alphas that balance exactly also prove that the free features and the bias do not
separate the rows, not even weakly (Stiemke, 1915), so that J has a minimum.
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
from .units import GivenUnits

READS = 2  # of the data, per bound
MOST_STEPS = 3  # Newton steps from weights that are too far from a minimum for a proof of existence
FEW_VARIABLES, MOST_VARIABLES = 2000, 4000  # whose second derivative is used for a proof
VARIABLES_A_READ = 40  # of the fit: a second derivative of this size costs as much as ten reads
FELL = 1e-3  # share of J by which such a step lowers it only from weights that had not converged
EIGENVALUES = tuple(10.0**-power for power in range(1, 14))
GRAM_ROUNDING = 16 * EPS  # of products of standardised rows, relative to their terms


def is_bounded(loss: Loss) -> bool:
    """Whether such bounds exist: the loss is smooth and the range of its dual variables known."""
    return loss.smooth and loss.dual_range is not None


def affordable(objective: Objective, reads: int) -> bool:
    """Whether a second derivative in the biases and free features is small for a fit of so long."""
    most = min(max(FEW_VARIABLES, VARIABLES_A_READ * reads), MOST_VARIABLES)
    return objective.shape[0] * (len(free_features(objective)) + 1) <= most


def free_features(objective: Objective) -> Ints:
    return objective.penalty.free_features(objective.source.n_features)


def lower_bound(objective: Objective, found: Correction) -> LowerBound:
    """The lower bound on the minimum of J that feasible corrected alphas prove."""
    # The exactly balanced alphas have conjugates and a gradient that differ by this.
    off = float(np.linalg.norm(found.imbalance))
    change = off * found.steepness + off**2
    size = np.sqrt(objective.loss.max_curvature or 1.0) * off * objective.feature_sizes
    V = found.gradient[:, :-1]
    V = V + np.copysign(size + SUMS * np.abs(V), V)
    V[:, free_features(objective)] = 0.0
    bound, V = scaled_bound(objective.penalty, -found.conjugate - change, V)
    return LowerBound(bound, sum_rounding(objective) * found.conjugate_size, V)


def has_minimum(units: GivenUnits, W: Array) -> bool | None:
    """Whether a minimum provably exists, given weights near it; None if W proves nothing.

    False means that W is not near a minimum as far as floating point can tell: Newton's equations
    have no solution there, so that changes of the objective along some direction are lost to
    rounding, or their solution lowers the objective.
    """
    objective, least = units.objective, np.inf
    if not is_bounded(objective.loss):
        return None
    for _ in range(MOST_STEPS):
        at = objective.value_and_gradient(W)
        if at.value < (1.0 - FELL) * least < np.inf:
            return False
        found, least = correction(units, W, at), min(at.value, least)
        if found is None:
            return None
        if found.is_feasible:
            return found.proves_minimum or None
        if not found.balanced:
            return False
        W = W + found.step
    return None


class Correction(NamedTuple):
    """Properties of the corrected alphas."""

    conjugate: float  # mean of phi*; infinite or NaN if an alpha is outside its range
    conjugate_size: float  # mean of the absolute values of phi*
    gradient: Array  # mean of ``-alpha * y * x``, (k, d + 1)
    room: Array  # by column: the imbalance at which an alpha would leave its range
    imbalance: Array  # by column: the imbalance there may be, including rounding
    steepness: float  # derivative of the mean conjugate with respect to the imbalance
    balanced: bool  # whether the imbalance of every sum is within rounding
    inside: bool
    """Whether no alpha is at an end of its range; for large margins they underflow to 0."""
    exact: bool  # whether redundant features are exact combinations of others
    step: Array  # Newton step used to correct the slopes

    @property
    def is_feasible(self) -> bool:
        """Whether feasible alphas that balance exactly exist near these."""
        return bool(np.isfinite(self.conjugate) and np.all(self.room >= 2.0 * self.imbalance))

    @property
    def proves_minimum(self) -> bool:
        """Whether these alphas are feasible and positive, so that J has a minimum."""
        return self.is_feasible and self.exact and self.inside


def correction(units: GivenUnits, W: Array, at: Evaluation) -> Correction | None:
    """The corrected alphas, in two or three reads; None if the second derivative overflows."""
    objective = units.objective
    free = free_features(objective)
    some, C = np.append(free, -1), objective.source.weight_sum
    whole = objective.standardization
    own = whole.of_features(free)
    hessian = _hessian(objective, W, own, free)
    if not np.all(np.isfinite(hessian)):
        return None
    g = whole.gradient(at.gradient)[:, some]
    u = solve(hessian, -g.reshape(len(hessian), -1)).reshape(g.shape)
    step = np.zeros_like(W)
    step[:, some] = own.to_weights(u)
    asked = CorrectedTangents(objective.loss, W, step, C)
    conjugates, sizes, sums, slack, squares, distances = objective.source.total(asked)
    gradient = (sums.high + sums.low) / C
    if not objective.intercept:
        gradient[:, -1] = 0.0
    left = np.abs(own.gradient(gradient[:, some]))
    size = np.append(objective.feature_sizes, 1.0)[some]
    size = (size + np.append(np.abs(own.mean), 0.0)) / own.scale
    unsure = len(some) * GRAM_ROUNDING * (size.max() ** 2 if _is_sparse(objective) else size.max())
    rounding = sum_rounding(objective) * objective.loss.steepness(max(at.value, 0.0)) * size
    balanced = left <= rounding + unsure * min(1.0, np.abs(u).max())
    basis = independent(units, hessian[0, : len(some), : len(some)], own, free)
    most = (1.0 + SUMS) * left + (1.0 if units.rounds_rows else EPS) * rounding
    imbalance = np.full(len(W), np.inf)
    if basis is not None and basis.exact:
        imbalance = _imbalance(objective.loss, hessian, most, basis.kept, unsure)
    return Correction(
        conjugates / C, sizes / C, gradient, np.min(slack, axis=0), imbalance,
        float(np.sqrt(squares / C)), bool(np.all(balanced)), bool(np.min(distances) > 0.0),
        basis is not None and basis.exact, step,
    )  # fmt: skip


def _hessian(objective: Objective, W: Array, own: Standardization, free: Ints) -> Array:
    """Second derivative with respect to the biases and free features, other weights fixed."""
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
    """Bound on ``sqrt(r' H^-1 r)`` over all possible imbalances r, by column."""
    if loss.shifts:  # a shift of all classes has no effect: fix the last at 0
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
    """A power of ten that is a lower bound on the eigenvalues; 0 if none is found.

    The matrix minus this bound has a Cholesky factor, which is much cheaper than computing
    eigenvalues.
    """
    with one_blas_thread(float(len(matrix)) ** 3):
        for least in EIGENVALUES:
            _, failed = lapack.dpotrf(matrix - least * np.eye(len(matrix)))
            if not failed:
                return least
    return 0.0


def _is_sparse(objective: Objective) -> bool:
    """Whether products of rows are centred only after summation."""
    return objective.source.storage == "csr"
