"""Newton's direction for a smoothed J: only rows near a kink have curvature.

Problem: ``(sum_i p_i c_i (x_i, 1)(x_i, 1)' + 2 l2 diag(1, ..., 1, 0)) D = -G`` with c_i the
curvature of row i's smoothed loss by its scores (k x k for k classes).
Input: gradient G (k, d + 1), scores and alphas of all rows. Output: the direction D (k, d + 1).
Algorithm: Cholesky in the space of features or, if fewer rows than features have curvature, in the
space of these rows (Sherman-Morrison-Woodbury); if both are large, conjugate gradients (Hestenes
and Stiefel, 1952) with diagonal scaling. Products of rows mix features of different scales: large
ones dominate the others and the penalty, which the space of features avoids by scaling each.
Such data is solved there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data import Block, InMemory, Sum
from ...numeric.linear_systems import conjugate_gradients, solve
from ...numeric.standardization import Standardization
from ...numeric.threads import one_blas_thread
from ...numeric.tolerances import SAFE_DIVISOR
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Objective
from ...objective.hessians import assemble_hessian
from ...proofs.dual_loss import DualLoss
from .. import thresholds
from ..row_systems import RowSpaceSystem
from ..system_size import drowns_penalty

LOOSE = 1e-2  # of the squared residual, for conjugate gradients


@dataclass(frozen=True)
class NewtonSystem:
    """The second derivative of the smoothed J at some weights, and the gradient there."""

    objective: Objective
    dual_loss: DualLoss
    scores: Array
    alpha: Array
    gradient: Array
    penalty_parameter: float
    weight_sum: float

    @property
    def source(self) -> InMemory:
        return self.objective.in_memory

    def direction(self) -> Array:
        """From the smaller of two systems, or by conjugate gradients if both are large."""
        free = self.dual_loss.is_free(self.alpha)
        if self.source.weight is not None:
            free = free & (self.source.weight != 0.0)
        count = int(np.count_nonzero(free))
        k, d = self.gradient.shape
        fits = k * d <= thresholds.FACTORED_UNKNOWNS
        with one_blas_thread(max(count, d) * d**2):
            few = k == 1 and 0 < count < min(d, thresholds.FACTORED_UNKNOWNS)
            if few and not (fits and drowns_penalty(self.objective)):
                return self._in_row_space(np.flatnonzero(free))
            if fits:
                return self._in_feature_space(free)
            return self._by_cg(np.flatnonzero(free))

    def _in_feature_space(self, free: AnyArray) -> Array:
        """From the second derivative with respect to the weights."""
        k, d = self.gradient.shape
        standardization = self.objective.standardization
        (hessian,) = self.source.total(
            SmoothedHessian(
                self.dual_loss, free, self.scores, self.alpha, self.penalty_parameter,
                standardization,
            )
        )  # fmt: skip
        hessian /= self.weight_sum
        self.objective.add_penalty(hessian, standardization)
        biases = slice(d - 1, None, d)
        if not self.objective.intercept:
            self.objective.regularise_biases(hessian)
        elif not free.any():  # no curvature along the bias: any step along its slope
            hessian[biases, biases] += np.eye(k)
        elif k > 1:  # a shift of all biases costs nothing
            hessian[biases, biases] += self.penalty_parameter / k
        u = solve(hessian, -standardization.gradient(self.gradient).ravel())
        return standardization.to_weights(u.reshape(self.gradient.shape))

    def _row_curvature(self, rows: Ints) -> Array:
        """Second derivative of the rows with respect to their scores, weighted, (rows, k, k)."""
        source = self.source
        curvature = self.dual_loss.curvature(
            self.scores[rows], source.y[rows], self.alpha[rows], self.penalty_parameter
        )
        if source.weight is not None:
            curvature = curvature * source.weight[rows][:, None, None]
        curvature /= self.weight_sum
        return curvature

    def _in_row_space(self, rows: Ints) -> Array:
        """From the products of the rows with curvature, if these are fewer than the features."""
        root = np.sqrt(self._row_curvature(rows)[:, 0, 0])
        l2 = self.objective.penalty.l2
        picked = self.source.take(rows).without_offset
        system = root[:, None] * picked.gram() * (root / (2.0 * l2))
        newton = RowSpaceSystem(system, root, picked, l2, self.objective.intercept)
        return newton.solve(self.gradient)

    def _by_cg(self, rows: Ints) -> Array:
        """By conjugate gradients; each product reads the rows with curvature."""
        curvature = self._row_curvature(rows)
        source = self.source.take(rows).with_weight(None)
        total = max(float(np.einsum("icc->", curvature)) / len(self.gradient), SAFE_DIVISOR)
        mean, deviation = self.objective.moments
        twice = 2.0 * self.objective.penalty.l2
        scale = np.sqrt(total * (deviation**2 + mean**2) + twice)
        standardization = Standardization(np.zeros_like(mean), np.append(scale, np.sqrt(total)))

        def product(u: Array) -> Array:
            V = standardization.to_weights(u)
            if not self.objective.intercept:
                V[:, -1] = 0.0
            out = source.total(CurvatureProduct(curvature, V))[0] if len(rows) else 0.0 * V
            out += self.objective.penalty.gradient(V)
            if not self.objective.intercept:
                out[:, -1] = 0.0
            return standardization.gradient(out)

        right = -standardization.gradient(self.gradient)
        return standardization.to_weights(conjugate_gradients(product, right, LOOSE)[0])


@dataclass(frozen=True)
class SmoothedHessian(Sum[tuple[Array]]):
    """Second derivative of the smoothed losses in standardised variables, (kd, kd)."""

    dual_loss: DualLoss
    free: AnyArray
    scores: Array
    alpha: Array
    penalty_parameter: float
    standardization: Standardization

    def of(self, block: Block) -> tuple[Array]:
        k, d = self.scores.shape[1], len(self.standardization.scale)
        rows = np.flatnonzero(self.free[block.at])
        if not len(rows):
            return (np.zeros((k * d, k * d)),)
        at = block.start + rows
        curvature = self.dual_loss.curvature(
            self.scores[at], block.y[rows], self.alpha[at], self.penalty_parameter
        )
        if block.weight is not None:
            curvature = curvature * block.weight[rows][:, None, None]
        picked = block.rows.take(rows)

        def products(c: Array) -> Array:
            some = np.flatnonzero(c)
            return picked.take(some).gram(c[some], self.standardization)

        return (assemble_hessian(k, d, lambda a, b: curvature[:, a, b], products),)


@dataclass(frozen=True)
class CurvatureProduct(Sum[tuple[Array]]):
    """The second derivative of the losses times V, from every row's own (n, k, k)."""

    curvature: Array
    V: Array

    def of(self, block: Block) -> tuple[Array]:
        out = np.zeros_like(self.V)
        change = np.einsum(
            "iab,ib->ia", self.curvature[block.at], block.rows.without_offset.scores(self.V)
        )
        block.rows.transpose_product(change, out)
        return (out,)
