"""Newton's method for convex losses with a second derivative."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..numeric.linear_systems import conjugate_gradients, solve
from ..numeric.tolerances import OBJECTIVE_ROUNDING
from ..numeric.types import Array
from ..objective import Evaluation, Objective
from ..objective.standardization import Standardization
from .base import Solver, State, Step

DECREASE = 1e-4
MOST_HALVINGS = 50


@dataclass(frozen=True, repr=False)
class Newton(Solver):
    """Each step solves the second-order model of J, then halves the step until J falls.

    Up to ``direct_weights`` features (times the square of the classes, if there are more than
    two) the second derivative is formed and factored; beyond, its products with vectors feed
    conjugate gradients.
    """

    direct_weights: int = 1500

    def check(self, objective: Objective) -> None:
        """Only convex losses that define their curvature."""
        loss = objective.loss
        if not loss.has_curvature or not loss.convex:
            why = "is not convex" if not loss.convex else "defines no curvature"
            remedy = "LBFGS()" if loss.smooth else "GradientDescent(), or DualAscent()"
            raise ValueError(f"Newton cannot minimise {loss.name!r}, which {why}; use {remedy}")

    @property
    def monotone(self) -> bool:
        """Yes."""
        return True

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One Newton step after another."""
        W = W if state is None else state["weights"]
        if state is None and W.any() and not np.isfinite(objective.value(W)[0]):
            W = np.zeros_like(W)  # from so far away there is no way back
        standardization = objective.checked_standardization()
        while True:
            if W.size * len(W) <= self.direct_weights:
                at, hessian = objective.hessian(W, standardization)
                u = solve(hessian, -standardization.gradient(at.gradient).ravel())
                direction = standardization.to_weights(u.reshape(W.shape))
            else:
                at = objective.value_and_gradient(W)
                direction = by_products(objective, W, at.gradient, standardization)
            slope = float(np.vdot(at.gradient, direction))
            if not slope < 0.0:  # flat up to rounding
                direction, slope = np.zeros_like(W), 0.0
            there, then = descend(objective, W, at, direction, slope)
            remaining = -0.5 * slope if there is not W else 0.0  # it cannot move: rounding
            W = there
            yield Step(
                W, {"weights": W}, then.value, then.mistakes, predicted_decrease=remaining,
                gradient=then.gradient,
            )  # fmt: skip


def descend(
    objective: Objective, W: Array, at: Evaluation, direction: Array, slope: float
) -> tuple[Array, Evaluation]:
    """The whole step, or as much of it as makes J fall.

    Near the minimum the fall is below the rounding of J: the whole step is as good as any then,
    unless J is seen to rise.
    """
    length = 1.0
    for _ in range(MOST_HALVINGS):
        there = W + length * direction
        then = objective.value_and_gradient(there)
        if then.value <= at.value + DECREASE * length * slope:
            return there, then
        if -slope < 1e-13 * abs(at.value):
            if slope < 0.0 and then.value <= at.value + OBJECTIVE_ROUNDING * abs(at.value):
                return there, then
            break
        length *= 0.5
    return W, at


def by_products(
    objective: Objective, W: Array, gradient: Array, standardization: Standardization
) -> Array:
    """An approximate Newton direction, in variables in which curvature is about 1.

    Solved more exactly as the gradient vanishes, so that convergence is faster than linear.
    """

    def product(u: Array) -> Array:
        return standardization.gradient(objective.hessian_product(W, standardization.to_weights(u)))

    right = -standardization.gradient(gradient)
    share = min(0.25, float(np.linalg.norm(right)))
    return standardization.to_weights(conjugate_gradients(product, right, share))
