"""Newton's method for convex losses with a second derivative.

Problem     min J(W), the weighted mean loss plus the penalty, convex and twice differentiable.
Input       J, its gradient, and its Hessian H or products with it.
Output      W after every step, J and its gradient there.
Algorithm   W <- W + t u with H u = -gradient; t by backtracking. H is formed and factored where
            it is small; where there are few rows, u comes from a system with an unknown for each
            row (Sherman, Morrison and Woodbury's identity); else from conjugate gradients, cut
            short far from the minimum.
Paper       Dembo, Eisenstat and Steihaug, Inexact Newton Methods, SIAM Journal on Numerical
            Analysis 19 (1982).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..numeric.dot import dot
from ..numeric.expected import Check, array, entries
from ..numeric.linear_systems import conjugate_gradients, solve
from ..numeric.standardization import Standardization
from ..numeric.types import Array
from ..objective import Objective
from .base import Solver, State, Step, finite_start
from .line_search import backtrack
from .row_systems import RowNewton, has_row_systems


@dataclass(frozen=True, repr=False)
class Newton(Solver):
    """Each step solves the second-order model of J, then is halved until J decreases.

    Up to ``direct_weights`` features (times the square of the classes, if there are more than
    two) the second derivative is formed and factored. With a penalty, two classes and fewer rows
    than features, an equivalent system with one unknown per row is solved instead. Above that,
    conjugate gradients use products of the second derivative with vectors.

    Parameters
    ----------
    direct_weights : int
        Maximum number of weights, or rows, for which linear systems are solved directly; above
        this, conjugate gradients are used.

    See Also
    --------
    LBFGS : for more features.
    LinearClassifier : ``solver=Newton()``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearClassifier, Newton
    >>> clf = LinearClassifier(l2=1e-3, solver=Newton()).fit(*load_iris(return_X_y=True))
    >>> clf.stop_, round(clf.objective_, 5)
    ('optimal', 0.12234)
    """

    name = "Newton"
    draws = False
    monotone = True

    direct_weights: int = 1500

    def check(self, objective: Objective) -> None:
        """Only convex losses that define their curvature."""
        loss = objective.loss
        if not loss.has_curvature or not loss.convex:
            why = "is not convex" if not loss.convex else "defines no curvature"
            remedy = "LBFGS()" if loss.smooth else "GradientDescent(), or DualAscent()"
            raise ValueError(f"Newton cannot minimise {loss.name!r}, which {why}; use {remedy}")

    def expected_state(self, objective: Objective) -> Check:
        return entries({"weights": array(*objective.shape)})

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        W = finite_start(objective, W) if state is None else state["weights"]
        standardization = objective.checked_standardization()
        by_features = W.size * len(W) <= self.direct_weights
        few_rows = objective.source.n_rows <= self.direct_weights
        by_rows = RowNewton.of(objective) if few_rows and has_row_systems(objective) else None
        while True:
            if by_rows is not None:
                at = objective.value_and_gradient(W)
                direction = by_rows.direction(W, at.gradient)
            elif by_features:
                at, hessian = objective.hessian(W, standardization)
                u = solve(hessian, -standardization.gradient(at.gradient).ravel())
                direction = standardization.to_weights(u.reshape(W.shape))
            else:
                at = objective.value_and_gradient(W)
                direction = truncated_newton_direction(objective, W, at.gradient, standardization)
            slope = dot(at.gradient, direction)
            if not slope < 0.0:  # flat up to rounding
                direction, slope = np.zeros_like(W), 0.0
            length, W, then = backtrack(objective.value_and_gradient, W, at, direction, slope)
            decrease = -0.5 * slope if length > 0.0 else 0.0  # rounding prevents progress
            yield Step(
                W, {"weights": W}, then.value, then.mistakes, predicted_decrease=decrease,
                gradient=then.gradient,
            )  # fmt: skip


def truncated_newton_direction(
    objective: Objective, W: Array, gradient: Array, standardization: Standardization
) -> Array:
    """An approximate Newton direction, in variables in which the curvature is about 1.

    The accuracy increases as the gradient vanishes, so convergence is faster than linear.
    """

    def product(u: Array) -> Array:
        return standardization.gradient(objective.hessian_product(W, standardization.to_weights(u)))

    right = -standardization.gradient(gradient)
    share = min(0.25, float(np.sqrt(dot(right, right))))
    return standardization.to_weights(conjugate_gradients(product, right, share)[0])
