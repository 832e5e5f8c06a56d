"""Mehrotra's predictor-corrector method, for problems whose optimality is a set of pairs.

Problem: find numbers ``a_j >= 0, b_j >= 0`` with ``a_j b_j = 0`` for every pair j that satisfy
linear equations. Input: a point at which all are positive, and a method for Newton's direction
there. Output: points whose mean product, the complementarity, decreases to 0.
Algorithm: a predictor aims at products of 0; the length it can go determines the product at which
the corrected step aims, which also accounts for its second-order error; a step ends short of the
first bound. Near the end, rows at a kink have so much curvature that the rounding of a step keeps
their alphas from matching the weights, which weakens the bound a lot for large features: then only
the alphas are fitted to the weights, each by at most a share of its distance from its bounds.
Paper: S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J.
Optimization 2 (1992) 575-601.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ...numeric.threads import one_blas_thread
from ...numeric.tolerances import SMALLEST_NORMAL
from ...numeric.types import Array
from ..base import State

PHASE = "interior point"
SHORT_OF = 0.995  # share of the way to a bound
SHORTEST = 1e-8  # length of a move: below it, rounding is the limit
NEAR_END = 1e-6  # of J: if the gap does not decrease with such products, rounding is the limit
LARGE_MISFIT = 0.1  # of the gap: the cost of alphas that do not match the weights
MOST_FITS = 2  # of the alphas, per step

P = TypeVar("P", bound=NamedTuple)  # a point: weights and pairs
M = TypeVar("M", bound=NamedTuple)  # a change of the whole point
T = TypeVar("T")  # required changes of the products of the pairs


class PredictorCorrector(ABC, Generic[P, M, T]):
    """State of an ascent, with values computed there."""

    at: P
    W: Array
    objective_value: float
    mistakes: float
    bound: float
    misfit: float  # improvement of the bound if the alphas matched the weights
    ended = False
    """Whether steps are no longer useful. The state is then the one before the last step."""

    def step(self) -> None:
        """One predictor step, and a corrected step based on its result."""
        now = self._complementarity(self.at)
        before, gap = self.at, self.objective_value - self.bound
        near = now <= NEAR_END * self.objective_value
        with one_blas_thread(self._multiplications()):
            newton, wish = self._newton(), self._to_zero()
            move = newton(wish)
            reached = self._complementarity(self._moved(move, self._length(move)))
            move = newton(self._corrected(wish, move, now * (reached / now) ** 3))
        length = min(1.0, SHORT_OF * self._length(move))
        self.at = self._moved(move, length)
        self._evaluate_gap()
        self._fit_alphas()
        closer = self.objective_value - self.bound < gap
        now = self._complementarity(self.at)
        if not length > SHORTEST or not np.isfinite(now) or (near and not closer):
            self.ended, self.at = True, before
            self._evaluate_gap()

    def _fit_alphas(self) -> None:
        """Fit the alphas to the weights, if they differ only because of rounding."""
        for _ in range(MOST_FITS):
            gap, before = self.objective_value - self.bound, self.at
            near = self._complementarity(self.at) <= NEAR_END * self.objective_value
            if not near or not self.misfit > LARGE_MISFIT * gap:
                return
            with one_blas_thread(self._multiplications()):
                self.at = self._fitted()
            self._evaluate_gap()
            if not self.objective_value - self.bound < gap:
                self.at = before
                self._evaluate_gap()
                return

    def advance(self) -> bool:
        """One step, unless no further progress is possible."""
        self.ended = self.ended or self.objective_value < SMALLEST_NORMAL  # too few digits are left
        with np.errstate(all="ignore"):
            if not self.ended:
                self.step()
        return not self.ended

    def _length(self, move: M) -> float:
        """Distance to the first bound along a move, 1 at most."""
        return float(min(np.min(at / np.maximum(-to, at)) for at, to in self._bounded(move)))

    @abstractmethod
    def state(self) -> State:
        """State to continue from."""

    @abstractmethod
    def _multiplications(self) -> float:
        """Approximate number of multiplications per step."""

    @abstractmethod
    def _complementarity(self, at: P) -> float:
        """The mean product of the pairs."""

    @abstractmethod
    def _bounded(self, move: M) -> Iterable[tuple[Array, Array]]:
        """All values that must stay positive, and their changes."""

    @abstractmethod
    def _moved(self, move: M, length: float) -> P:
        """The point after a part of a move."""

    @abstractmethod
    def _newton(self) -> Callable[[T], M]:
        """Factorise Newton's system; the result solves for the move with given product changes."""

    @abstractmethod
    def _to_zero(self) -> T:
        """Product changes that make all products 0."""

    @abstractmethod
    def _corrected(self, wish: T, move: M, aim: float) -> T:
        """Product changes to ``aim``, minus the second-order effect of the move."""

    @abstractmethod
    def _fitted(self) -> P:
        """The point with alphas that match its weights as closely as their bounds allow."""

    @abstractmethod
    def _evaluate_gap(self) -> None:
        """Compute weights, J there, the bound and the misfit."""


AnyRun = PredictorCorrector[Any, Any, Any]
