"""Minima without single rows, by Newton steps from the fit to all rows, with proven bounds.

Problem: for row i, the minimum of ``S_i(u) = sum_{j != i} f_ij c_j loss_j(u) + C_i u'D_i u / 2``.
Input: losses whose second derivative is constant, or falls at most by the factor exp(-t) while
scores change by t (logistic, softmax), and the weights u_0 of the fit. Output: u without each row,
the score of the row there, and a bound on its distance from the score at the exact minimum.

Algorithm: H is the second derivative of the sum of all rows and of the penalty at u_0. In a basis
V with ``V'HV = I`` in which the penalty is diagonal, too, another C_i changes a diagonal matrix; to
remove row i changes it by the rank of its scores (Sherman, Morrison and Woodbury). Steps with this
matrix, H_i, and the exact gradient g converge to the minimum, quickly if H_i is close to the second
derivative there. For a quadratic loss, one step is the closed form (PRESS).

The bound: let t be the largest change of a score from u_0 to u, ``|v|`` the norm by H_i, ``lam``
that of g by the inverse of H_i, M the largest norm of a score as a function of u, and q at most the
factors of S_i compared with those of H_i. On the segment to the minimum u + v, the second
derivative is at least ``q exp(-t - M |v| s) H_i``. Integrated, ``q exp(-t) (1 - exp(-M |v|)) / M <=
lam``, so that ``|v| <= -log(1 - M lam exp(t) / q) / M``; for a quadratic ``|v| <= lam / q``. A
score changes by at most its norm times that. ``lam`` includes the rounding of the gradient.

Bach, Self-concordant analysis for logistic regression, 2010. Allen 1974 (PRESS).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...losses import Loss
from ...numeric.threads import one_blas_thread
from ...numeric.tolerances import EPS
from ...numeric.types import AnyArray, Array, Ints
from .problem import HeldOutProblems

MOST_STEPS = 100  # of a row
MIN_CONTRACTION = 0.9  # of the remaining error by a step: slower rows are given up
MIN_REMAINDER = 1e-6  # of the curvature along a row after it is removed: below is rounding
INACCURATE = 1e-6  # error of V'HV = I at which the basis is not used
OPERATIONS = 40  # roundings of a result besides one per added term, at most
BATCH_VALUES = 1 << 21  # scores of all rows without each row of a batch, or its Jacobians


class NewtonResult(NamedTuple):
    """Minima without each row, for the columns of scores of one problem."""

    u: Array
    """Standardised weights, (n, k, m)."""
    scores: Array
    """Of the rows left out, (n, k)."""
    error: Array
    """Proven bounds on their errors, (n, k); infinite if there is none."""


def has_newton_bound(loss: Loss) -> bool:
    """Whether the bound of this module holds for a loss of one column, or a joint one."""
    known = loss.constant_curvature is not None or loss.log_likelihood
    return known and loss.convex and loss.has_curvature and loss.max_curvature is not None


def minima(problem: HeldOutProblems, tol: float) -> NewtonResult:
    """Minima without each row; rows stop at a bound of ``tol``, or if rounding allows no less."""
    n, k, m = len(problem.y), *problem.start.shape
    found = NewtonResult(np.empty((n, k, m)), np.empty((n, k)), np.full((n, k), np.inf))
    with one_blas_thread(float(n) * m * max(m, min(n, BATCH_VALUES // n + 1))):
        removal = _RowRemoval.of(problem)
        if removal is None:
            found.u[:] = problem.start
            found.scores[:] = problem.Z @ problem.start.T + problem.offset
            return found
        for rows in removal.batches():
            found.u[rows], found.scores[rows], found.error[rows] = removal.without(rows, tol)
    return found


@dataclass(frozen=True)
class _RowRemoval:
    """What the removals of all rows share."""

    problem: HeldOutProblems
    scores: Array
    """At the start, (n, k)."""
    gradients: Array
    """Of each row's loss by its scores at the start, (n, k)."""
    roots: Array
    """J with J'J the second derivative of each row's loss times its weight, (n, k, k)."""
    basis: Array
    """V, (km, km)."""
    share: Array
    """V'(C D)V is this diagonal, from 0 to 1: the share of the penalty."""
    steepest: float
    """M for all rows."""

    @classmethod
    def of(cls, problem: HeldOutProblems) -> _RowRemoval | None:
        """None if rounding prevents an accurate basis."""
        loss, Z, c = problem.loss, problem.Z, problem.c
        k, m = problem.start.shape
        scores = Z @ problem.start.T + problem.offset
        curvature = _curvature(loss, problem.y, scores) * c[:, None, None]
        blocks = np.empty((k, m, k, m))
        for a in range(k):
            for b in range(a + 1):
                blocks[a, :, b] = (Z * curvature[:, a, b, None]).T @ Z
                blocks[b, :, a] = blocks[a, :, b].T
        penalty = np.tile(c.sum() * problem.stiffness, k)
        H = blocks.reshape(k * m, k * m)
        H[np.diag_indices(k * m)] += penalty
        if k > 1 and problem.intercept:  # biases may be shifted together: any curvature will do
            biases = np.arange(m - 1, k * m, m)
            H[np.ix_(biases, biases)] += c.sum() / k
        found = _basis(H, penalty)
        if found is None:
            return None
        values, vectors = np.linalg.eigh(curvature)
        roots = np.sqrt(np.maximum(values, 0.0))[:, :, None] * np.swapaxes(vectors, 1, 2)
        gradients = loss.gradient(problem.y, scores)
        removal = cls(problem, scores, gradients, roots, *found, 0.0)
        norms = [removal._steepness(rows) for rows in removal.batches()]
        return cls(problem, scores, gradients, roots, *found, max(norms))

    def batches(self) -> Iterator[Ints]:
        """Yield numbers of rows that are left out, each by itself, at the same time."""
        n, (k, m) = len(self.problem.y), self.problem.start.shape
        size = max(1, BATCH_VALUES // (max(n, k * m) * k))
        for start in range(0, n, size):
            yield np.arange(start, min(start + size, n))

    def jacobians(self, rows: Ints) -> Array:
        """Derivatives of the scores by the variables of the basis, (R, k, km)."""
        k, m = self.problem.start.shape
        V = self.basis.reshape(k, m, k * m)
        found: Array = np.einsum("rm,kmq->rkq", self.problem.Z[rows], V, optimize=True)
        return found

    def _steepness(self, rows: Ints) -> float:
        """The largest norm of the differences of scores that the loss depends on."""
        centred = _contrasts(self.jacobians(rows[self.problem.c[rows] > 0.0]))
        largest = float(np.max(np.sum(centred**2, axis=2), initial=0.0))
        return float(np.sqrt(largest)) * (1.0 if centred.shape[1] == 1 else 2.0)

    def without(self, rows: Ints, tol: float) -> tuple[Array, Array, Array]:
        """Weights, scores and errors of rows that are left out, each by itself."""
        one = _Batch.of(self, rows)
        u = np.repeat(self.problem.start[None], len(rows), axis=0)
        best_u, best = u.copy(), np.full((len(rows), len(self.problem.start)), np.inf)
        at, before = np.flatnonzero(one.steady), np.full(len(rows), np.inf)
        gradient = one.first_gradient()
        for step in range(MOST_STEPS):
            if step:
                gradient, change, rounding = one.gradient(at, u[at])
                error, size, noise = one.error(at, gradient, change, rounding, u[at])
                better = error.max(axis=1) < best[at].max(axis=1)
                best[at[better]], best_u[at[better]] = error[better], u[at[better]]
                going = (error.max(axis=1) > tol) & (size > noise)
                going &= size <= MIN_CONTRACTION * before[at]
                before[at] = size
                at, gradient = at[going], gradient[going]
            if not len(at):
                break
            u[at] -= one.step(at, gradient)
        best_u = one.normalised(best_u)
        scores, rounding = one.own_scores(best_u)
        return best_u, scores, best + rounding


@dataclass(frozen=True)
class _Batch:
    """Some rows, each left out by itself."""

    removal: _RowRemoval
    rows: Ints
    jacobian: Array
    """B, of the scores of each row, (R, k, km)."""
    diagonal: Array
    """E, H_i before the row is removed, in the basis, (R, km)."""
    root: Array
    """J of each row, (R, k, k)."""
    inner: Array
    """The inverse of ``I - J B E^-1 B'J'``, (R, k, k)."""
    left: Array
    """The share of E that H_i is at least, (R,)."""
    steady: AnyArray
    """Rows for which it is above rounding."""
    least: Array
    """q of each row, (R,)."""

    @classmethod
    def of(cls, removal: _RowRemoval, rows: Ints) -> _Batch:
        problem = removal.problem
        B, J = removal.jacobians(rows), removal.roots[rows]
        relative = problem.rest[rows] / problem.c.sum()
        E = 1.0 + (relative - 1.0)[:, None] * removal.share
        JB = J @ B
        N = JB @ np.swapaxes(JB / E[:, None], 1, 2)
        left = 1.0 - np.linalg.eigvalsh(N)[:, -1]
        steady = np.isfinite(left) & (left > MIN_REMAINDER) & ~problem.unsure[rows]
        N[~steady] = 0.0
        inner = np.linalg.inv(np.eye(len(J[0])) - N)
        least = np.ones(len(rows))
        if problem.own_stiffness is not None:
            penalised = problem.stiffness > 0.0
            ratio = problem.own_stiffness[rows][:, penalised] / problem.stiffness[penalised]
            least = np.minimum(1.0, ratio.min(axis=1, initial=1.0))
        return cls(removal, rows, B, E, J, inner, left, steady, least)

    def _stiffness(self, at: Ints) -> Array:
        """C_i D_i, (R, 1, m)."""
        problem, rows = self.removal.problem, self.rows[at]
        D = problem.own_stiffness
        own = np.broadcast_to(problem.stiffness, (len(at), len(problem.stiffness)))
        own = own if D is None else D[rows]
        return (problem.rest[rows, None] * own)[:, None]

    def first_gradient(self) -> Array:
        """Gradients at the start, from sums over the rows of each class."""
        removal, problem, rows = self.removal, self.removal.problem, self.rows
        k, m = problem.start.shape
        sums = np.zeros((int(problem.number.max()) + 1, k, m))
        for a in range(len(sums)):
            of = problem.number == a
            sums[a] = (removal.gradients[of] * problem.c[of, None]).T @ problem.Z[of]
        factor = problem.factor[rows][:, None, None]
        own = (removal.gradients[rows] * problem.c[rows, None])[:, :, None]
        own = own * problem.Z[rows][:, None]
        G = sums.sum(axis=0) + (factor - 1.0) * sums[problem.number[rows]] - factor * own
        found: Array = G + self._stiffness(np.arange(len(rows))) * problem.start
        return found

    def gradient(self, at: Ints, u: Array) -> tuple[Array, Array, Array]:
        """Gradients, the largest change of a score from the start, and what rounding adds.

        The last is a bound on the norm of the error of the gradient, by H_i inverse.
        """
        removal, problem, rows = self.removal, self.removal.problem, self.rows[at]
        (n, m), (R, k, _) = problem.Z.shape, u.shape
        scores = (problem.Z @ u.reshape(R * k, m).T).reshape(n, R, k) + problem.offset[:, None]
        slopes = problem.loss.gradient(np.repeat(problem.y, R), scores.reshape(n * R, k))
        slopes = slopes.reshape(n, R, k)
        weight = np.broadcast_to(problem.c[:, None], (n, R)).copy()
        if np.any(problem.factor[rows] != 1.0):
            same = problem.number[:, None] == problem.number[rows]
            weight *= np.where(same, problem.factor[rows], 1.0)
        weight[rows, np.arange(R)] = 0.0
        steepest = np.abs(slopes).max(axis=(1, 2))
        slopes = slopes * weight[:, :, None]
        G = (slopes.reshape(n, R * k).T @ problem.Z).reshape(R, k, m)
        G += self._stiffness(at) * u
        change = scores - removal.scores[:, None]
        size = np.ptp(change, axis=2) if k > 1 else np.abs(change[:, :, 0])
        largest = np.where(weight > 0.0, size, 0.0).max(axis=0)
        return G, largest, self._rounding(at, u, steepest, float(weight.max(axis=0).max()))

    def _rounding(self, at: Ints, u: Array, steepest: Array, heaviest: float) -> Array:
        """Bounds on the norms of the rounding errors of gradients, by H_i inverse, (R,)."""
        removal, problem = self.removal, self.removal.problem
        n, m = problem.Z.shape
        size, Z = np.abs(u).max(axis=(0, 1)), np.abs(problem.Z)
        curvature = problem.loss.max_curvature or 0.0
        offset = np.abs(problem.offset).max(axis=1)
        each = curvature * (m + OPERATIONS) * (Z @ size + offset) + (n + OPERATIONS) * steepest
        each += OPERATIONS
        in_all = EPS * heaviest * (each @ Z)
        in_all += EPS * OPERATIONS * problem.c.sum() * problem.stiffness * size
        V = np.abs(removal.basis).reshape(len(problem.start), m, -1).sum(axis=0)
        norm = float(np.linalg.norm(in_all @ V))
        found: Array = norm / np.sqrt(self.diagonal[at].min(axis=1) * self.left[at])
        return found

    def _solved(self, at: Ints, g: Array) -> Array:
        """H_i inverse times g, in the basis, (R, km)."""
        x = g / self.diagonal[at]
        J, B = self.root[at], self.jacobian[at]
        v = J @ (B @ x[:, :, None])
        v = np.swapaxes(J, 1, 2) @ (self.inner[at] @ v)
        extra = (np.swapaxes(B, 1, 2) @ v)[:, :, 0]
        solved: Array = x + extra / self.diagonal[at]
        return solved

    def step(self, at: Ints, gradient: Array) -> Array:
        """A Newton step with H_i."""
        V = self.removal.basis
        solved = self._solved(at, gradient.reshape(len(at), -1) @ V)
        return (solved @ V.T).reshape(gradient.shape)

    def error(
        self, at: Ints, gradient: Array, change: Array, rounding: Array, u: Array
    ) -> tuple[Array, Array, Array]:
        """Bounds on the errors of the scores, (R, k); norms of the gradient and of its rounding."""
        removal = self.removal
        g = gradient.reshape(len(at), -1) @ removal.basis
        lam = np.sqrt(np.maximum(np.sum(g * self._solved(at, g), axis=1), 0.0))
        size = (lam + rounding) * (1.0 + INACCURATE)
        if removal.problem.loss.constant_curvature is not None:
            distance = size / self.least[at]
        else:
            M = removal.steepest / np.sqrt(self.diagonal[at].min(axis=1) * self.left[at])
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                x = M * size * np.exp(change) / self.least[at]
                inside = x < 1.0
                distance = np.full(len(at), np.inf)
                distance[inside] = -np.log1p(-x[inside]) / np.maximum(M[inside], EPS)
        norms = self._norms(at)
        with np.errstate(invalid="ignore"):
            error = np.where(norms > 0.0, norms * distance[:, None], 0.0)
        return error * (1.0 + INACCURATE), lam, rounding

    def _norms(self, at: Ints) -> Array:
        """The norm of each score of the row, as a function of the variables, by H_i inverse."""
        B, J = _contrasts(self.jacobian[at]), self.root[at]
        scaled = B / self.diagonal[at][:, None]
        across = J @ self.jacobian[at] @ np.swapaxes(scaled, 1, 2)
        plain = np.sum(B * scaled, axis=2)
        more = np.sum(across * (self.inner[at] @ across), axis=1)
        norms: Array = np.sqrt(np.maximum(plain + more, 0.0))
        return norms

    def normalised(self, u: Array) -> Array:
        """The same with weights and biases that sum to 0 over the classes, if they may."""
        shifts = u.shape[1] > 1
        return u - u.mean(axis=1, keepdims=True) if shifts else u

    def own_scores(self, u: Array) -> tuple[Array, Array]:
        """Scores of the rows, and their rounding, (R, k) both."""
        problem, rows = self.removal.problem, self.rows
        Z, offset = problem.Z[rows][:, None], problem.offset[rows]
        scores = np.sum(Z * u, axis=2) + offset
        size = np.sum(np.abs(Z * u), axis=2) + np.abs(offset)
        return scores, EPS * (OPERATIONS + Z.shape[2]) * size


def _contrasts(B: Array) -> Array:
    """Scores less their mean over the classes: a joint loss depends on no more."""
    return B if B.shape[1] == 1 else B - B.mean(axis=1, keepdims=True)


def _curvature(loss: Loss, y: AnyArray, scores: Array) -> Array:
    """Second derivatives by the scores, (n, k, k)."""
    n, k = scores.shape
    column = loss.column_loss
    if column is not None:
        margins = loss.signs(y, scores)[:, 0] * scores[:, 0]
        return column.curvature(margins)[:, None, None]
    entries, found = loss.curvature_entries(y, scores), np.zeros((n, k, k))
    for a in range(k):
        for b in range(k):
            value = entries(a, b)
            if value is not None:
                found[:, a, b] = value
    return found


def _basis(H: Array, penalty: Array) -> tuple[Array, Array] | None:
    """V with V'HV = I and V' diag(penalty) V diagonal, and that diagonal; None if inaccurate."""
    if not np.isfinite(H).all():
        return None
    try:
        L = scipy.linalg.cholesky(H, lower=True)
    except np.linalg.LinAlgError:
        return None
    half = scipy.linalg.solve_triangular(L, np.diag(np.sqrt(penalty)), lower=True)
    share, Q = np.linalg.eigh(half @ half.T)
    V: Array = scipy.linalg.solve_triangular(L, Q, lower=True, trans="T")
    off = np.abs(V.T @ H @ V - np.eye(len(H))).max()
    return (V, np.clip(share, 0.0, 1.0)) if off <= INACCURATE else None
