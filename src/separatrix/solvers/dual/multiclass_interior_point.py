"""Ascent of Crammer and Singer's dual through the middle of its simplices.

As :mod:`separatrix.solvers.dual.interior_point` for more than two classes. With xi the loss of a
row and ``slack = xi - (s_c + [c != d] - s_d)`` for every class c, the loss is the least xi that
leaves no slack below 0, and the row's shares alpha are the prices of that. At the minimum one of
each pair ``alpha, slack`` is 0; here both stay positive, and Newton's method aims at pairs that all
have one product, which falls towards 0. Which classes share in which rows, on which a method that
asks just that spends hundreds of steps where rows are few or the penalty weak, does not matter
here.

All unknowns are scores, so that the rows may be turned: where they are fewer than the features,
they are as many coordinates of the space that they span.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ... import loops
from ...numeric.linear_systems import cholesky_solver
from ...numeric.rows import row_products, shape_of, take_rows
from ...numeric.threads import one_blas_thread
from ...numeric.tolerances import EPS
from ...numeric.types import AnyArray, Array
from ...objective import Objective
from .free_variables import pulls_of
from .losses import SimplexResponse

SHORT_OF = 0.995  # of the way to a bound is gone
SHORTEST = 1e-8  # of a move: then rounding stands in the way
NEAR = 1e-6  # of J: if with such products the gap does not fall, rounding is in the way
STATE = ("U", "alpha", "slack")
ROWS = 256  # times all classes, multiplied at a time
MOST_UNKNOWNS = 3000
MOST_VALUES = 30_000_000  # in rows times classes


def affordable(objective: Objective) -> bool:
    """Whether its systems are small enough, and the rows few enough to be multiplied for each."""
    n, k = objective.source.n_rows, objective.shape[0]
    r = min(n, objective.source.n_features)
    return k * (r + 1) <= MOST_UNKNOWNS and n * k * (r + 1) <= MOST_VALUES


class Move(NamedTuple):
    """Of the variables, and of every row's pairs."""

    U: Array
    alpha: Array
    slack: Array


@dataclass
class JointInterior:
    """Where an ascent stands: variables U (k, r), of the bias last, and pairs (n, k)."""

    objective: Objective
    response: SimplexResponse
    U: Array = field(default_factory=lambda: np.empty((0, 0)))
    alpha: Array = field(default_factory=lambda: np.empty((0, 0)))
    slack: Array = field(default_factory=lambda: np.empty((0, 0)))
    ended: bool = field(default=False, init=False)
    """Whether steps are no use any more. Then it stands where it stood before the last one."""

    def __post_init__(self) -> None:
        self.source = source = self.objective.in_memory
        n, k = len(source.y), self.objective.shape[0]
        self.present = np.arange(n) if source.present is None else source.present
        weight = np.ones(n) if source.weight is None else source.weight
        self.share = weight[self.present] / source.weight_sum
        self.spanned = len(self.present) < shape_of(source.X)[1]
        self.rows, self.penalty = self._turned() if self.spanned else self._framed()
        if not len(self.U):
            self.U = np.zeros((k, self.rows.shape[1]))
            self.alpha = np.full((len(self.present), k), 1.0 / k)
            self.slack = 1.0 + (source.y[self.present][:, None] == np.arange(k))
        self._measure()

    def _framed(self) -> tuple[Array, Array]:
        """The rows in variables of one scale, and what the penalty bends each of those by."""
        standardization = self.objective.standardization
        rows = standardization.rows(take_rows(self.source.X, self.present))
        rows[:, -1] *= self.objective.intercept
        bends: Array = (
            self.objective.penalty.diagonal((1, len(standardization.scale)))[0]
            / standardization.scale**2
        )
        return rows, bends

    def _turned(self) -> tuple[Array, Array]:
        """The rows in coordinates of the space that they span."""
        products = row_products(take_rows(self.source.X, self.present))
        with one_blas_thread(len(products) ** 3):
            squares, vectors = scipy.linalg.eigh(products, check_finite=False)
        keep = squares > EPS * len(squares) * squares[-1]
        bias = np.full((len(products), 1), float(self.objective.intercept))
        rows = np.column_stack([vectors[:, keep] * np.sqrt(squares[keep]), bias])
        bends = np.full(rows.shape[1], 2.0 * self.objective.penalty.l2)
        bends[-1] = 0.0
        self.back = vectors[:, keep] / np.sqrt(squares[keep])
        return rows, bends

    def step(self) -> None:
        """One prediction, and a move that is corrected by what it shows."""
        now = self._product()
        before, gap = self.state, self.objective_value - self.bound
        near = now <= NEAR * self.objective_value
        with one_blas_thread(len(self.rows) * float(self.U.size) ** 2):
            bend = self.alpha / self.slack
            solve = self._system(bend)
            wish = -self.alpha * self.slack
            move = self._move(solve, bend, wish)
            aim = now * (self._product(move, self._length(move)) / now) ** 3
            move = self._move(solve, bend, wish + aim - move.alpha * move.slack)
        length = min(1.0, SHORT_OF * self._length(move))
        self.U = self.U + length * move.U
        self.alpha = self.alpha + length * move.alpha
        self.slack = self.slack + length * move.slack
        self._measure()
        closer = self.objective_value - self.bound < gap
        if not length > SHORTEST or not np.isfinite(self._product()) or (near and not closer):
            self.ended = True
            for name, value in before.items():
                setattr(self, name, value)
            self._measure()

    def went(self) -> bool:
        """One step, unless there is no more to be had from them."""
        with np.errstate(all="ignore"):
            self.step()
        return not self.ended

    @property
    def state(self) -> dict[str, Array]:
        """From which it goes on."""
        return {name: getattr(self, name) for name in STATE}

    @property
    def shares(self) -> Array:
        """Of every row of the source, on its simplex; those without weight pull at nothing."""
        k = self.alpha.shape[1]
        shares: Array = (self.source.y[:, None] == np.arange(k)).astype(np.float64)
        shares[self.present] = self.alpha / self.alpha.sum(axis=1, keepdims=True)
        return shares

    def _product(self, move: Move | None = None, length: float = 0.0) -> float:
        """Of the pairs, the mean over all, now or after a move."""
        alpha, slack = self.alpha, self.slack
        if move is not None:
            alpha, slack = alpha + length * move.alpha, slack + length * move.slack
        return float(self.share @ np.mean(alpha * slack, axis=1))

    def _length(self, move: Move) -> float:
        """How far the first pair gets to one of its bounds, 1 at most."""
        pairs = ((self.alpha, move.alpha), (self.slack, move.slack))
        return float(min(np.min(at / np.maximum(-to, at)) for at, to in pairs))

    def _move(self, solve: Callable[[Array], Array], bend: Array, wish: Array) -> Move:
        """Newton's, to where the pairs' products are changed by what is wished.

        With D = alpha / slack, ``d alpha = wish / slack - D * (d xi - d s)``, and as shares add up
        to 1 whatever happens, d xi is what makes these changes add up to 0.
        """
        lead = np.arange(len(bend)), bend.argmax(axis=1)
        hoped = wish / self.slack
        total = bend.sum(axis=1, keepdims=True)
        alone = _balanced(hoped - bend * (hoped.sum(axis=1, keepdims=True) / total), lead)
        own = np.arange(len(bend)), self.source.y[self.present]
        pull: Array = self.share[:, None] * (_balanced(self.alpha.copy(), own) + alone)
        U = solve(-(pull.T @ self.rows + self.penalty * self.U))
        turn = self.rows @ U.T
        xi = (hoped + bend * turn).sum(axis=1, keepdims=True) / total
        slack = xi - turn
        alpha = _balanced(hoped - bend * slack, lead)
        slack[lead] = (wish[lead] - self.slack[lead] * alpha[lead]) / self.alpha[lead]
        return Move(U, alpha, slack)

    def _system(self, bend: Array) -> Callable[[Array], Array]:
        """Of all variables of all classes, factored.

        A row bends by ``diag(D) - D D' / sum(D)`` by its scores: for two classes by one product,
        and for a class by what it does together with all others, without a difference.
        """
        (n, k), r = bend.shape, self.rows.shape[1]
        system = np.zeros((k * r, k * r))
        root = np.sqrt(self.share / bend.sum(axis=1))[:, None] * bend
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
        inverse = cholesky_solver(system, noise=0.0)
        return lambda right: inverse(right.ravel()).reshape(right.shape)

    def _measure(self) -> None:
        """Weights, J there, and the bound by the shares."""
        source, objective = self.source, self.objective
        shares = self.shares
        pulls = pulls_of(source, self.response, shares)
        l2 = objective.penalty.l2
        self.bound = self.response.bound(pulls, l2, objective.intercept)
        self.W = self._weights()
        self.objective_value, self.mistakes = objective.value(self.W)

    def _weights(self) -> Array:
        """That the variables stand for."""
        if self.spanned:
            W = np.zeros(self.objective.shape)
            picked = take_rows(self.source.X, self.present)
            loops.transpose_product(picked, np.ascontiguousarray(self.back @ self.U[:, :-1].T), W)
            W[:, -1] = self.U[:, -1]
        else:
            W = self.objective.standardization.to_weights(self.U)
        W[:, -1] *= self.objective.intercept
        return W


def _balanced(changes: Array, at: tuple[AnyArray, AnyArray]) -> Array:
    """Changes that add up to 0 in every row: one of them as the others tell it, more exactly."""
    changes[at] = 0.0
    changes[at] = -changes.sum(axis=1)
    return changes
