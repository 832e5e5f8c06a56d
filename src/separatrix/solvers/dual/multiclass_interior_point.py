"""Interior point method for Crammer and Singer's dual.

Problem: ``max_alpha D(alpha)``, the dual of ``J(W) = sum_i p_i xi_i + l2 |w|^2`` with
``xi_i = max_c (s_c + [c != y_i]) - s_y`` the loss of row i with scores s, for k > 2 classes.
Input: rows x_i in memory, labels y_i, shares p_i of the weight; l2 > 0.
Output: weights W (k, d + 1), every row's alpha on the simplex, J and the bound D.

Algorithm: as in :mod:`separatrix.solvers.dual.interior_point` for two classes. With
``slack = xi - (s_c + [c != y] - s_y)`` for every class c, the loss is the smallest xi for which no
slack is negative, and the row's shares alpha are the multipliers. At the minimum one of each pair
``alpha, slack`` is 0; here both stay positive, and their products decrease to 0: see
:mod:`separatrix.solvers.dual.predictor_corrector`. Active-set methods spend hundreds of steps on
which classes share which rows if rows are few or the penalty is weak; that does not matter here.
All unknowns enter through scores, so the rows may be rotated: if they are fewer than the features,
they are replaced by coordinates in the space that they span.

Papers: K. Crammer and Y. Singer, On the algorithmic implementation of multiclass kernel-based
vector machines, JMLR 2 (2001) 265-292; S. Mehrotra, On the implementation of a primal-dual interior
point method, SIAM J. Optimization 2 (1992) 575-601.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...numeric.dot import dot
from ...numeric.expected import Check, array, entries
from ...numeric.linear_systems import cholesky_solver
from ...numeric.threads import one_blas_thread
from ...numeric.tolerances import EPS, SMALLEST_NORMAL
from ...numeric.types import AnyArray, Array
from ...objective import Objective
from ...proofs.dual_sums import dual_sums
from ..base import State
from .multiclass_dual import crammer_singer_dual_loss
from .predictor_corrector import PHASE, PredictorCorrector

ROWS = 256  # times all classes, multiplied at a time
COPIED_ROWS = 4096  # standardised at a time


def multiclass_run(objective: Objective, state: State | None) -> CrammerSingerRun:
    """A run from the center of all simplices, or continuing another run of the same problem."""
    if state is None:
        return CrammerSingerRun(objective)
    return CrammerSingerRun(objective, MulticlassPoint(state["U"], state["alpha"], state["slack"]))


def multiclass_state(objective: Objective) -> Check:
    """Checks for a point; the number of variables in U depends on the rank of the rows."""
    (k, width), source = objective.shape, objective.in_memory
    present, most = source.n_rows, max(width, source.n_rows + 1)
    known = entries({
        "U": array(k, None), "alpha": array(present, k), "slack": array(present, k),
        "W": array(k, width), "shares": array(len(source.y), k),
    })  # fmt: skip

    def check(name: str, state: State) -> None:
        known(name, state)
        if state["U"].shape[1] > most:
            raise ValueError(f"{name}.U has more than {most} columns")

    return check


class MulticlassPoint(NamedTuple):
    """Variables U (k, r), with the biases last, and pairs (n, k)."""

    U: Array
    alpha: Array
    slack: Array


class CrammerSingerRun(PredictorCorrector[MulticlassPoint, MulticlassPoint, Array]):
    """State of an ascent; a move consists of the same arrays as a point."""

    def __init__(self, objective: Objective, at: MulticlassPoint | None = None) -> None:
        self.objective, self.source = objective, objective.in_memory
        self.dual_loss = crammer_singer_dual_loss(objective)
        present, k = self.source.present, objective.shape[0]
        self.present = np.arange(len(self.source.y)) if present is None else present
        self.counted = self.source if present is None else self.source.take(present)
        self.share = self.counted.weights / self.source.weight_sum
        self.spanned = len(self.present) < self.source.n_features
        self.rows, self.penalty = self._turned() if self.spanned else self._standardized()
        if at is None:
            alpha = np.full((len(self.present), k), 1.0 / k)
            U = np.zeros((k, self.rows.shape[1]))
            U[:, -1] = objective.zeros[:, -1]
            lifted = (self.counted.y[:, None] != np.arange(k)).astype(np.float64)
            if self.source.has_offset:
                lifted += self.counted.scores(objective.zeros)
            slack = 1.0 + lifted.max(axis=1, keepdims=True) - lifted
            at = MulticlassPoint(U, alpha, slack)
        if at.U.shape[1] != self.rows.shape[1]:
            raise ValueError(f"the state is of {at.U.shape[1]} variables, not {self.rows.shape[1]}")
        self.at = at
        self._evaluate_gap()

    def _standardized(self) -> tuple[Array, Array]:
        """The rows in variables of one scale, and the penalty's curvature along each of these."""
        standardization = self.objective.standardization
        rows = np.concatenate(
            [
                block.rows.standardized(standardization)
                for block in self.counted.batches(COPIED_ROWS)
            ]
        )
        rows[:, -1] *= self.objective.intercept
        scale = standardization.scale
        curvatures: Array = self.objective.penalty.diagonal((1, len(scale)))[0] / scale**2
        return rows, curvatures

    def _turned(self) -> tuple[Array, Array]:
        """The rows in coordinates of the space that they span."""
        products = self.counted.gram()
        with one_blas_thread(len(products) ** 3):
            squares, vectors = scipy.linalg.eigh(products, check_finite=False)
        keep = squares > EPS * len(squares) * squares[-1]
        bias = np.full((len(products), 1), float(self.objective.intercept))
        rows = np.column_stack([vectors[:, keep] * np.sqrt(squares[keep]), bias])
        curvatures = np.full(rows.shape[1], 2.0 * self.objective.penalty.l2)
        curvatures[-1] = 0.0
        self.back = vectors[:, keep] / np.sqrt(squares[keep])
        return rows, curvatures

    def state(self) -> State:
        """The point, and derived values for methods that continue from it."""
        return {"phase": PHASE, **self.at._asdict(), "W": self.W, "shares": self.shares}

    @property
    def shares(self) -> Array:
        """Shares of every row of the source; all to the true class without weight."""
        alpha = self.at.alpha
        shares: Array = (self.source.y[:, None] == np.arange(alpha.shape[1])).astype(np.float64)
        shares[self.present] = alpha / alpha.sum(axis=1, keepdims=True)
        return shares

    def _multiplications(self) -> float:
        return len(self.rows) * float(self.at.U.size) ** 2

    def _complementarity(self, at: MulticlassPoint) -> float:
        return dot(self.share, np.mean(at.alpha * at.slack, axis=1))

    def _bounded(self, move: MulticlassPoint) -> list[tuple[Array, Array]]:
        return [(self.at.alpha, move.alpha), (self.at.slack, move.slack)]

    def _moved(self, move: MulticlassPoint, length: float) -> MulticlassPoint:
        U, alpha, slack = self.at
        return MulticlassPoint(
            U + length * move.U, alpha + length * move.alpha, slack + length * move.slack
        )

    def _to_zero(self) -> Array:
        wish: Array = -self.at.alpha * self.at.slack
        return wish

    def _corrected(self, wish: Array, move: MulticlassPoint, aim: float) -> Array:
        return wish + aim - move.alpha * move.slack

    def _newton(self) -> Callable[[Array], MulticlassPoint]:
        """With D = alpha / slack, ``d alpha = wish / slack - D * (d xi - d s)``.

        Shares always sum to 1, so d xi is chosen to make these changes sum to 0.
        """
        U, alpha, slack = self.at
        curvature: Array = alpha / slack
        solve = self._system(curvature)
        lead = np.arange(len(curvature)), curvature.argmax(axis=1)
        own = np.arange(len(curvature)), self.counted.y
        total = curvature.sum(axis=1, keepdims=True)

        def move(wish: Array) -> MulticlassPoint:
            hoped = wish / slack
            held = hoped - curvature * (hoped.sum(axis=1, keepdims=True) / total)
            descent = _balanced(alpha.copy(), own) + _balanced(held, lead)
            descent = self.share[:, None] * descent
            change = solve(-(descent.T @ self.rows + self.penalty * U))
            turn = self.rows @ change.T
            xi = (hoped + curvature * turn).sum(axis=1, keepdims=True) / total
            slack_change = xi - turn
            alpha_change = _balanced(hoped - curvature * slack_change, lead)
            slack_change[lead] = (wish[lead] - slack[lead] * alpha_change[lead]) / alpha[lead]
            return MulticlassPoint(change, alpha_change, slack_change)

        return move

    def _fitted(self) -> MulticlassPoint:
        """By a Newton step as if the shares were those of a softmax."""
        U, alpha, _ = self.at
        own = np.arange(len(alpha)), self.counted.y
        descent = self.share[:, None] * _balanced(alpha.copy(), own)
        change = self._system(alpha)(-(descent.T @ self.rows + self.penalty * U))
        turn = self.rows @ change.T
        turn -= np.sum(alpha * turn, axis=1, keepdims=True)
        # No share reaches 0: the required change is small, or impossible.
        turn *= min(1.0, 0.5 / max(float(np.abs(turn).max()), SMALLEST_NORMAL))
        lead = np.arange(len(alpha)), alpha.argmax(axis=1)
        return self.at._replace(alpha=alpha + _balanced(alpha * turn, lead))

    def _system(self, curvature: Array) -> Callable[[Array], Array]:
        """Factorise the system of all variables of all classes.

        The curvature of a row with respect to its scores is ``diag(D) - D D' / sum(D)``: for two
        classes one product, and for a class its product with the sum of all others.
        """
        (n, k), r = curvature.shape, self.rows.shape[1]
        system = np.zeros((k * r, k * r))
        root = np.sqrt(self.share / curvature.sum(axis=1))[:, None] * curvature
        for start in range(0, n, ROWS):
            at = slice(start, start + ROWS)
            both = (root[at, :, None] * self.rows[at, None, :]).reshape(-1, k * r)
            system -= both.T @ both
        blocks = system.reshape(k, r, k, r)
        for c in range(k):
            blocks[c, :, c] = 0.0
            blocks[c, :, c] = -blocks[c].sum(axis=1)
        np.einsum("ii->i", system)[:] += np.tile(self.penalty, k)
        biases = slice(r - 1, None, r)
        if self.objective.intercept:  # a shift of all biases costs nothing
            system[biases, biases] += np.trace(system[biases, biases]) / k**2
        else:
            system[biases, biases] += np.eye(k)
        inverse = cholesky_solver(system, min_pivot=0.0)
        return lambda right: inverse(right.ravel()).reshape(right.shape)

    def _evaluate_gap(self) -> None:
        objective = self.objective
        sums = dual_sums(self.source, self.dual_loss, self.shares)
        self.bound = self.dual_loss.bound(sums, objective.penalty.l2, objective.intercept)
        self.W = self._weights()
        off = self.dual_loss.gradient(sums.weighted_rows) + objective.penalty.gradient(self.W)
        self.misfit = float(np.sum(off[:, :-1] ** 2)) / (4.0 * objective.penalty.l2)
        self.objective_value, self.mistakes = objective.value(self.W)

    def _weights(self) -> Array:
        U = self.at.U
        if self.spanned:
            W = self.counted.transpose_product(np.ascontiguousarray(self.back @ U[:, :-1].T))
            W[:, -1] = U[:, -1]
        else:
            W = self.objective.standardization.to_weights(U)
        W[:, -1] *= self.objective.intercept
        return W


def _balanced(changes: Array, at: tuple[AnyArray, AnyArray]) -> Array:
    """Make changes sum to 0 in every row: one is computed from the others, more accurately."""
    changes[at] = 0.0
    changes[at] = -changes.sum(axis=1)
    return changes
