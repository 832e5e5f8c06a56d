"""The fits of all folds for one penalty after another."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...numeric.linear_systems import NotFinite, solve
from ...numeric.types import AnyArray, Array, Ints
from ...penalties import L2
from .folds import Folds

MOST_STEPS, MOST_HALVINGS = 30, 10
MOST_OWN_READS = 3  # of the data, for a fold by itself
DECREASE = 1e-4
LEAST = 1e-200  # as if no step had less to gain
SETTLED = 0.1  # of the tolerance: when all rows have no more to gain, a fold is read for alone
CAUTION = 2.0  # what a step leaves may be so many times as much for a fold


class Fit(NamedTuple):
    """What is found for one penalty."""

    weights: Array
    """For all rows, (k, d + 1)."""
    folds: Array
    """For each fold, (folds, k, d + 1)."""
    near: AnyArray
    """Which folds are believed to be within the tolerance of their minimum."""


class Path:
    """The fits for one penalty after another; neighbours should be near each other.

    ``tol`` is how much lower J may be believed to get, as a share of it.
    """

    def __init__(self, folds: Folds, tol: float) -> None:
        self.folds, self.tol = folds, tol
        self.W = np.zeros(folds.objective.shape)
        self.means = folds.means(self.W)
        self.left = 1.0  # of a decrease, perhaps, after the step that is to bring it

    def fit(self, l2: float) -> Fit | None:
        """The next penalty; None from where on the path cannot be followed."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return self._follow(L2(l2))
        except (
            NotFinite
        ):  # in units of the features alone; a fold's own standardization knows the penalty
            return None

    def _follow(self, penalty: L2) -> Fit | None:
        before = None
        for _ in range(MOST_STEPS):
            value = self.means.value[-1] + penalty.value(self.W)
            (step,), (decrease,) = self._newton(slice(-1, None), penalty)
            self.left = self.left if before is None else self._left(before, decrease)
            settled = decrease <= SETTLED * self.tol * value
            if self.left * decrease <= self.tol * value:
                fit = self._fit(penalty, self.W + step, alone=settled)
                if settled or fit.near.all():
                    return fit
            if not self._go(step, decrease, value, penalty):
                break
            before = decrease
        return None

    def _left(self, before: float, after: float) -> float:
        """What the next step may leave of its decrease, after one that was followed by a read."""
        return min(max(CAUTION * after / before, self.folds.noise), 1.0)

    def _fit(self, penalty: L2, weights: Array, alone: bool) -> Fit:
        steps, decreases = self._newton(slice(0, -1), penalty)
        values = self.means.value[:-1] + penalty.value(self.W)
        enough = self.tol * values / decreases
        near = self._near(np.arange(len(steps)), steps, penalty, self.left, enough)
        found = self.W + steps
        if alone:  # a read for each of the others
            for i in np.flatnonzero(~near).tolist():
                found[i], near[i] = self._alone(i, penalty, values[i], steps[i], decreases[i])
        return Fit(weights, found, near)

    def _near(self, folds: Ints, steps: Array, penalty: L2, left: float, enough: Array) -> AnyArray:
        """Whether steps leave no more of their decreases than shares that are enough.

        ``left`` is what steps may leave, with second derivatives of a sample. How they change
        on the way is bounded, as no third derivative is larger than the second: for a row whose
        score changes by r, by e^r. Where r is seen on the sample only, this is an estimate; rows
        much longer than others are not left to it (see ``Folds.cheap``).
        """
        bound = self.folds.change_bound(steps)
        near: AnyArray = _leaves(left, bound, bound) <= enough
        if not near.all():
            changes = self.folds.changes(self.W, folds, steps, penalty)
            near = _leaves(left, *changes) <= enough
        return near

    def _newton(
        self, which: slice, penalty: L2, gradient: Array | None = None
    ) -> tuple[Array, Array]:
        """Steps of some folds, and the decreases of J expected from them: more than nothing."""
        if gradient is None:
            gradient = self.means.gradient[which] + penalty.gradient(self.W)
        standardization, hessians = self.folds.standardization, self.means.hessian[which].copy()
        extra = penalty.diagonal(self.W.shape) / standardization.scale**2
        np.einsum("fii->fi", hessians)[:] += extra.ravel()
        right = -standardization.gradient(gradient).reshape(len(hessians), -1)
        steps = standardization.to_weights(solve(hessians, right).reshape(gradient.shape))
        decreases = -0.5 * np.einsum("fcj,fcj->f", gradient, steps)
        return steps, np.maximum(decreases, LEAST)

    def _go(self, step: Array, decrease: float, value: float, penalty: L2) -> bool:
        """Move the weights of all rows, as far as J falls; false if it does not."""
        for _ in range(MOST_HALVINGS):
            there = self.W + step
            means = self.folds.means(there)
            if means.value[-1] + penalty.value(there) <= value - 2.0 * DECREASE * decrease:
                self.W, self.means = there, means
                return True
            step, decrease = 0.5 * step, 0.5 * decrease
        return False

    def _alone(
        self, fold: int, penalty: L2, value: float, step: Array, decrease: float
    ) -> tuple[Array, bool]:
        """Weights of a fold by reads of its own, from its step; and whether they are near."""
        W, which = self.W, slice(fold, fold + 1)
        own = self.folds.without(fold).with_penalty(penalty.l2)
        for _ in range(MOST_OWN_READS):
            at = own.value_and_gradient(W + step)
            if not at.value <= value - 2.0 * DECREASE * decrease:
                break
            W, value, before = W + step, at.value, decrease
            (step,), (decrease,) = self._newton(which, penalty, at.gradient[None])
            left, enough = self._left(before, decrease), np.array([self.tol * value / decrease])
            moved = (W + step - self.W)[None]
            if self._near(np.array([fold]), moved, penalty, left, enough).all():
                return W + step, True
        return W, False


def _leaves(left: float, most: Array, mean: Array) -> Array:
    """What steps leave of their decreases, if scores change by so much at most and on average."""
    r = np.clip(most, 1e-8, 1.0)
    bends = mean * (np.expm1(r) - r) / r**2 * np.exp(0.5 * r)
    leaves: Array = np.where(most < 1.0, (math.sqrt(left) + bends) ** 2, np.inf)
    return leaves
