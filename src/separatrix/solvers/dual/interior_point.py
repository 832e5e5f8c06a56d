"""Ascent of the dual through the middle of its bounds: for few rows per feature, or fewer.

With xi the losses and s what they are above ``1 - m``, the hinge is the least sum of xi with
xi >= 0 and s >= 0, and alpha and 1 - alpha are the prices of the two. At the minimum one of each
pair ``alpha, s`` and ``1 - alpha, xi`` is 0. Here all four stay positive: Newton's method aims at
pairs that all have one product, which falls towards 0 (the predictor and corrector of Mehrotra,
1992, for support vector machines: Ferris and Munson, 2002). The squared hinge has
``xi = alpha / 2`` and only the first pair.

Where rows are few, so that they can nearly be separated, and the penalty is weak, which rows sit
at a bound changes with every step of a method that asks just that, and hundreds of its steps led
nowhere. Here about twenty do, whatever the penalty and the scales. Each takes all rows into one
system, of the features or of the rows, whichever is smaller. Near the minimum differences of
nearly equal numbers are divided by small ones: the last digits are left to Newton's steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...numeric.linear_systems import cholesky_solver
from ...numeric.rows import row_products, shape_of, slice_rows
from ...numeric.threads import one_blas_thread
from ...numeric.types import Array
from ...objective import Objective
from ...objective.standardization import gram_blocked
from .free_variables import combined, pulls_of, scores
from .losses import MarginResponse

SHORT_OF = 0.995  # of the way to a bound is gone
SHORTEST = 1e-8  # of a move: then rounding stands in the way
NEAR = 1e-6  # of J: if with such products the gap does not fall, rounding is in the way
STATE = ("W", "alpha", "room", "slack", "excess")
ROWS = 2048  # copied at a time, of those whose products are summed


class Move(NamedTuple):
    """Of the weights, and of what every row has."""

    W: Array
    alpha: Array
    slack: Array
    excess: Array


@dataclass
class Interior:
    """Where an ascent stands, for the hinge or its square."""

    objective: Objective
    response: MarginResponse
    W: Array
    alpha: Array = field(default_factory=lambda: np.empty(0))
    room: Array = field(default_factory=lambda: np.empty(0))
    """1 - alpha, where that is a bound."""
    slack: Array = field(default_factory=lambda: np.empty(0))
    excess: Array = field(default_factory=lambda: np.empty(0))
    ended: bool = field(default=False, init=False)
    """Whether steps are no use any more. Then it stands where it stood before the last one."""

    def __post_init__(self) -> None:
        self.source = source = self.objective.in_memory
        n, d = shape_of(source.X)
        self.share = (np.ones(n) if source.weight is None else source.weight) / source.weight_sum
        self.l2 = self.objective.penalty.l2
        if not len(self.alpha):
            self.W = np.zeros_like(self.W)
            self.alpha = np.full(n, 0.5 if self.response.kinked else 3.0)
            self.room = 1.0 - self.alpha
            self.excess = np.full(n, 2.0 if self.response.kinked else 1.5)
            self.slack = self.excess - 1.0
        self.products = row_products(source.X) / (2.0 * self.l2) if n <= d else np.empty(0)
        self._measure()

    def step(self) -> None:
        """One prediction, and a move that is corrected by what it shows."""
        now = self._product()
        before, gap = self.state, self.objective_value - self.bound
        near = now <= NEAR * self.objective_value
        n, d, kinked = len(self.alpha), self.W.shape[1], self.response.kinked
        with one_blas_thread(float(n) * d * min(n, d)):
            bend = self.slack / self.alpha + (self.excess / self.room if kinked else 0.5)
            solve = self._by_rows(bend) if len(self.products) else self._by_weights(bend)
            first = -self.alpha * self.slack
            second = -self.room * self.excess
            move = self._move(solve, bend, first, second)
            aim = now * (self._product(move, self._length(move)) / now) ** 3
            first += aim - move.alpha * move.slack
            second += aim + move.alpha * move.excess
            move = self._move(solve, bend, first, second)
        length = min(1.0, SHORT_OF * self._length(move))
        self.W = self.W + length * move.W
        self.alpha = self.alpha + length * move.alpha
        self.room = self.room - length * move.alpha
        self.slack = self.slack + length * move.slack
        self.excess = self.excess + length * move.excess
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

    def _product(self, move: Move | None = None, length: float = 0.0) -> float:
        """Of the pairs, the mean over all rows, now or after a move."""
        alpha, slack, room, excess = self.alpha, self.slack, self.room, self.excess
        if move is not None:
            alpha, room = alpha + length * move.alpha, room - length * move.alpha
            slack, excess = slack + length * move.slack, excess + length * move.excess
        first = float(self.share @ (alpha * slack))
        if not self.response.kinked:
            return first
        return 0.5 * (first + float(self.share @ (room * excess)))

    def _length(self, move: Move) -> float:
        """How far the first row gets to one of its bounds, 1 at most."""
        pairs = [(self.alpha, move.alpha), (self.slack, move.slack)]
        if self.response.kinked:
            pairs += [(self.room, -move.alpha), (self.excess, move.excess)]
        return float(min(np.min(at / np.maximum(-to, at)) for at, to in pairs))

    def _move(
        self, solve: Callable[[Array], Array], bend: Array, first: Array, second: Array
    ) -> Move:
        """Newton's, to where the pairs' products are changed by so much."""
        wish = first / self.alpha - (second / self.room if self.response.kinked else 0.0)
        y, p = self.source.y, self.share
        direction = solve(self.gradient - combined(self.source, p * y * wish / bend))
        turn = self._margins(direction)
        alpha = (wish - turn) / bend
        excess = (second + self.excess * alpha) / self.room if self.response.kinked else 0.5 * alpha
        return Move(direction, alpha, excess + turn, excess)

    def _margins(self, W: Array) -> Array:
        """Of all rows, 0 of those without weight."""
        margins: Array = np.where(self.share > 0.0, self.source.y * scores(self.source, W), 0.0)
        return margins

    def _by_weights(self, bend: Array) -> Callable[[Array], Array]:
        """The system of the features, factored."""
        source, standardization = self.source, self.objective.standardization
        weight = self.share / bend
        parts = (
            (slice_rows(source.X, start, min(start + ROWS, len(bend))), weight[start:][:ROWS])
            for start in range(0, len(bend), ROWS)
        )
        hessian = gram_blocked(parts, standardization, np.float64, source.threads)
        self.objective.add_penalty(hessian, standardization)
        self.objective.regularise_biases(hessian)
        inverse = cholesky_solver(hessian, noise=0.0)

        def solve(gradient: Array) -> Array:
            if not self.objective.intercept:
                gradient[:, -1] = 0.0
            return standardization.to_weights(inverse(-standardization.gradient(gradient)[0])[None])

        return solve

    def _by_rows(self, bend: Array) -> Callable[[Array], Array]:
        """The system of the rows, as in :mod:`separatrix.solvers.dual.newton_system`."""
        root, twice = np.sqrt(self.share / bend), 2.0 * self.l2
        system = root[:, None] * self.products * root
        np.einsum("ii->i", system)[:] += 1.0
        inverse = cholesky_solver(system, noise=0.0)
        by_bias = inverse(root)

        def solve(gradient: Array) -> Array:
            flat = gradient.copy()
            flat[:, -1] = 0.0
            q, bias = inverse(-root * scores(self.source, flat) / twice), 0.0
            if self.objective.intercept:
                bias = -(gradient[0, -1] + root @ q) / (root @ by_bias)
                q = q + bias * by_bias
            direction = -(gradient + combined(self.source, root * q)) / twice
            direction[0, -1] = bias
            return direction

        return solve

    def _measure(self) -> None:
        """J and the bound, and the gradient that the alphas leave to the weights."""
        source, objective = self.source, self.objective
        pulls = pulls_of(source, self.response, np.clip(self.alpha, 0.0, self.response.most))
        self.bound = self.response.bound(pulls, self.l2, objective.intercept)
        self.gradient = self.response.gradient(pulls.sums) + objective.penalty.gradient(self.W)
        margins, weight = self._margins(self.W), self.share * source.weight_sum
        total = float(weight @ self.response.loss.phi(margins))
        self.objective_value = objective.mean(total, self.W)
        self.mistakes = float(weight @ (margins <= 0.0))
