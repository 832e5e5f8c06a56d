"""Mehrotra's predictor and corrector, for any problem whose optimality is a set of pairs.

Problem: find numbers ``a_j >= 0, b_j >= 0`` with ``a_j b_j = 0`` for every pair j, and linear
equations between them. Input: a point at which all are positive, and how Newton's direction is
found there. Output: points whose mean product, the complementarity, falls towards 0.
Algorithm: a predictor aims at products of 0; how far it gets says at which product the corrected
step aims, and its second-order error is taken into account; a step ends short of the first bound.
Near the end rows at a kink curve by so much that the rounding of a step keeps their alphas from
meeting the weights, which large features make a large loss of the bound: then the alphas alone
are fitted to the weights, each by no more than a share of its distance from its bounds.
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
SHORT_OF = 0.995  # of the way to a bound is gone
SHORTEST = 1e-8  # of a move: then rounding stands in the way
NEAR_END = 1e-6  # of J: if with such products the gap does not fall, rounding is in the way
LARGE_MISFIT = 0.1  # of the gap: what alphas that do not meet the weights may cost
MOST_FITS = 2  # of the alphas, after a step

P = TypeVar("P", bound=NamedTuple)
"""A point: weights and pairs."""
M = TypeVar("M", bound=NamedTuple)
"""A move of all of it."""
T = TypeVar("T")
"""By how much the products of the pairs are to change."""


class PredictorCorrector(ABC, Generic[P, M, T]):
    """Where an ascent stands, and what is known there."""

    at: P
    W: Array
    objective_value: float
    mistakes: float
    bound: float
    misfit: float
    """Improvement of the bound if the alphas matched the weights."""
    ended = False
    """Whether steps are no use any more. Then it stands where it stood before the last one."""

    def step(self) -> None:
        """One prediction, and a move that is corrected by what it shows."""
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
        """To the weights, where they are off and nothing but rounding is to blame."""
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
        """One step, unless there is no more to be had from them."""
        self.ended = self.ended or self.objective_value < SMALLEST_NORMAL  # too few digits are left
        with np.errstate(all="ignore"):
            if not self.ended:
                self.step()
        return not self.ended

    def _length(self, move: M) -> float:
        """How far the first pair gets to one of its bounds, 1 at most."""
        return float(min(np.min(at / np.maximum(-to, at)) for at, to in self._bounded(move)))

    @abstractmethod
    def state(self) -> State:
        """From which to go on."""

    @abstractmethod
    def _multiplications(self) -> float:
        """Of a step, about."""

    @abstractmethod
    def _complementarity(self, at: P) -> float:
        """The mean product of the pairs."""

    @abstractmethod
    def _bounded(self, move: M) -> Iterable[tuple[Array, Array]]:
        """All that must stay positive, and how it moves."""

    @abstractmethod
    def _moved(self, move: M, length: float) -> P:
        """The point at the end of a part of a move."""

    @abstractmethod
    def _newton(self) -> Callable[[T], M]:
        """What finds the move that changes products by so much: its system, factored."""

    @abstractmethod
    def _to_zero(self) -> T:
        """The changes by which all products become 0."""

    @abstractmethod
    def _corrected(self, wish: T, move: M, aim: float) -> T:
        """Changes to products of ``aim``, less what the move itself would add to them."""

    @abstractmethod
    def _fitted(self) -> P:
        """The point with alphas that meet its weights, as nearly as their bounds allow."""

    @abstractmethod
    def _evaluate_gap(self) -> None:
        """Weights, J there, the bound and the misfit."""


AnyRun = PredictorCorrector[Any, Any, Any]
