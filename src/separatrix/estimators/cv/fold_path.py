"""The fits of all folds for one penalty after another.

Problem: for every l2 of a path and every fold F, minimise the mean loss of the rows outside of F
plus ``l2 |w|^2``. Input: :class:`Folds`, the tolerance, and l2 from large to small. Output: the
weights of all rows and of each fold, and which of these are known to be close to their minimum.
Algorithm: Newton's method on all rows along the path; one more step from each iterate leads to
every fold's minimum. What such a step leaves to gain is bounded by self-concordance.

Bach, Self-concordant analysis for logistic regression, 2010.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...numeric.expected import Check, array, at_least_0, entries
from ...numeric.linear_systems import NotFinite, solve
from ...numeric.types import AnyArray, Array, Ints
from ...penalties import L2
from ...solvers import State
from .folds import Folds, Means

MOST_NEWTON_STEPS, MOST_HALVINGS = 30, 10  # per penalty, and per step
MOST_OWN_READS = 3  # of the data, for a single fold
ARMIJO = 1e-4  # required share of the decrease predicted by the gradient
LEAST_DECREASE = 1e-200  # lower limit of a step's decrease
SETTLED = 0.1  # of the tolerance: if all rows have less to gain, single folds are fitted
CAUTION = 2.0  # factor on what a step may leave to gain for a fold


class Fit(NamedTuple):
    """The result for one penalty."""

    weights: Array  # weights for all rows, (k, d + 1)
    folds: Array  # weights for each fold, (folds, k, d + 1)
    is_converged: AnyArray  # which folds are estimated to be within the tolerance of their minimum


class FoldPath:
    """The fits for one penalty after another; neighbours should be close to each other.

    ``tol`` is the estimated share of J that may be left to gain.
    """

    def __init__(self, folds: Folds, tol: float) -> None:
        self.folds, self.tol = folds, tol
        self.W = np.zeros(folds.objective.shape)
        self._means: Means | None = None
        self.contraction = 1.0  # share of a decrease that its step may leave

    @property
    def means(self) -> Means:
        """Sums at the weights of all rows: one pass, unless they are cached."""
        if self._means is None:
            self._means = self.folds.means(self.W)
        return self._means

    def to_state(self) -> State:
        """State from which the next penalty starts."""
        return {"weights": self.W, "contraction": self.contraction}

    def expected_state(self) -> Check:
        """Check for the result of ``to_state``."""
        weights = array(*self.W.shape, finite=True)
        return entries({"weights": weights, "contraction": at_least_0})

    def expected_fit(self) -> Check:
        """Check for a fit as a dictionary."""
        shape, folds = self.W.shape, len(self.folds.splits)
        of_folds, converged = array(folds, *shape, finite=True), array(folds, dtype=bool)
        weights = array(*shape, finite=True)
        return entries({"weights": weights, "folds": of_folds, "is_converged": converged})

    def restore(self, state: State) -> None:
        """Start the next penalty from the state of another path of the same folds."""
        if state["weights"] is not self.W:
            self.W, self._means = state["weights"], None
        self.contraction = state["contraction"]

    def fit(self, l2: float) -> Fit | None:
        """Fit the next penalty; None as soon as the path cannot be followed."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return self._follow(L2(l2))
        except NotFinite:  # standardised without the penalty, unlike in a single fold's fit
            return None

    def _follow(self, penalty: L2) -> Fit | None:
        before = None
        for _ in range(MOST_NEWTON_STEPS):
            value = self.means.value[-1] + penalty.value(self.W)
            (step,), (decrease,) = self._newton(slice(-1, None), penalty)
            if before is not None:
                self.contraction = self._contraction(before, decrease)
            settled = decrease <= SETTLED * self.tol * value
            if self.contraction * decrease <= self.tol * value:
                fit = self._fit(penalty, self.W + step, alone=settled)
                if settled or fit.is_converged.all():
                    return fit
            if not self._go(step, decrease, value, penalty):
                break
            before = decrease
        return None

    def _contraction(self, before: float, after: float) -> float:
        """Share of its decrease that the next step may leave, after a step followed by a pass."""
        return min(max(CAUTION * after / before, self.folds.noise), 1.0)

    def _fit(self, penalty: L2, weights: Array, alone: bool) -> Fit:
        steps, decreases = self._newton(slice(0, -1), penalty)
        values = self.means.value[:-1] + penalty.value(self.W)
        enough = self.tol * values / decreases
        every = np.arange(len(steps))
        converged = self._is_converged(every, steps, penalty, self.contraction, enough)
        found = self.W + steps
        if alone:  # a pass for each of the others
            for i in np.flatnonzero(~converged).tolist():
                found[i], converged[i] = self._alone(i, penalty, values[i], steps[i], decreases[i])
        return Fit(weights, found, converged)

    def _is_converged(
        self, folds: Ints, steps: Array, penalty: L2, contraction: float, enough: Array
    ) -> AnyArray:
        """Whether the steps leave sufficiently small shares of their decreases.

        ``contraction`` is the share that steps may leave, with second derivatives of a sample.
        Their change during the step is bounded, because no third derivative exceeds the second: for
        a row whose score changes by r, by e^r. If r is known only on the sample, this is an
        estimate; rows much longer than others are excluded (see ``Folds.applies``).
        """
        bound = self.folds.change_bound(steps)
        converged: AnyArray = _self_concordance_bound(contraction, bound, bound) <= enough
        if not converged.all():
            changes = self.folds.changes(self.W, folds, steps, penalty)
            converged = _self_concordance_bound(contraction, *changes) <= enough
        return converged

    def _newton(
        self, which: slice, penalty: L2, gradient: Array | None = None
    ) -> tuple[Array, Array]:
        """Steps of some folds, and the decreases of J expected from them, above zero."""
        if gradient is None:
            gradient = self.means.gradient[which] + penalty.gradient(self.W)
        standardization, hessians = self.folds.standardization, self.means.hessian[which].copy()
        extra = penalty.diagonal(self.W.shape) / standardization.scale**2
        np.einsum("fii->fi", hessians)[:] += extra.ravel()
        right = -standardization.gradient(gradient).reshape(len(hessians), -1)
        steps = standardization.to_weights(solve(hessians, right).reshape(gradient.shape))
        decreases = -0.5 * np.einsum("fcj,fcj->f", gradient, steps)
        return steps, np.maximum(decreases, LEAST_DECREASE)

    def _go(self, step: Array, decrease: float, value: float, penalty: L2) -> bool:
        """Move the weights of all rows, as far as J decreases; return False if it does not."""
        for _ in range(MOST_HALVINGS):
            there = self.W + step
            means = self.folds.means(there)
            if means.value[-1] + penalty.value(there) <= value - 2.0 * ARMIJO * decrease:
                self.W, self._means = there, means
                return True
            step, decrease = 0.5 * step, 0.5 * decrease
        return False

    def _alone(
        self, fold: int, penalty: L2, value: float, step: Array, decrease: float
    ) -> tuple[Array, bool]:
        """Weights of a fold by its own passes, from its step; and whether they are close enough."""
        W, which = self.W, slice(fold, fold + 1)
        own = self.folds.without(fold).with_penalty(penalty)
        for _ in range(MOST_OWN_READS):
            at = own.value_and_gradient(W + step)
            if not at.value <= value - 2.0 * ARMIJO * decrease:
                break
            W, value, before = W + step, at.value, decrease
            (step,), (decrease,) = self._newton(which, penalty, at.gradient[None])
            contraction = self._contraction(before, decrease)
            enough, moved = np.array([self.tol * value / decrease]), (W + step - self.W)[None]
            if self._is_converged(np.array([fold]), moved, penalty, contraction, enough).all():
                return W + step, True
        return W, False


def _self_concordance_bound(contraction: float, most: Array, mean: Array) -> Array:
    """Share of the decrease that steps leave, for these largest and mean changes of scores.

    No third derivative exceeds the second, so the second changes by a factor of e^r at most if
    scores change by r.
    """
    r = np.clip(most, 1e-8, 1.0)
    change = mean * (np.expm1(r) - r) / r**2 * np.exp(0.5 * r)
    bound: Array = np.where(most < 1.0, (math.sqrt(contraction) + change) ** 2, np.inf)
    return bound
