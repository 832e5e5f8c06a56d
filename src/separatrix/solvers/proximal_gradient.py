"""Proximal gradient descent over all rows with a step size search.

Problem     min J(W) = smooth(W) + rest(W), the rest known by its proximal operator, or none.
Input       J and the gradient of its smooth part.
Output      W after every step, J and the mistakes.
Algorithm   W <- prox(W - step * gradient, step): weights are drawn nearer to 0, and no further;
            without a rest the prox leaves them where they are. The step is Barzilai and Borwein's,
            shortened until J falls below its recent values, in variables in which features are
            centred and of one scale.
Paper       Barzilai and Borwein, IMA Journal of Numerical Analysis 8 (1988); Grippo, Lampariello
            and Lucidi, SIAM Journal on Numerical Analysis 23 (1986), for the recent values; Wright,
            Nowak and Figueiredo, Sparse reconstruction by separable approximation, IEEE
            Transactions on Signal Processing 57 (2009), for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..numeric.dot import dot
from ..numeric.standardization import Standardization
from ..numeric.types import Array
from ..objective import Objective
from ..penalties import Penalty
from .base import State, Step
from .line_search import SUFFICIENT_DECREASE

MOST_HALVINGS = 60  # 2^-60 of a step is below rounding
MEMORY = 10  # recent values of J that a step may not exceed


class ProximalStep(NamedTuple):
    """Result of a step: ``factor * direction`` further in the variables."""

    weights: Array
    factor: float
    direction: Array

    @property
    def square(self) -> float:
        """Its squared length."""
        return self.factor * self.factor * dot(self.direction, self.direction)


def moved(
    penalty: Penalty, standardization: Standardization, W: Array, g: Array, step: float
) -> ProximalStep:
    """A step from W; g is the gradient of the smooth part in the standardised variables."""
    if penalty.smooth:
        return ProximalStep(W - step * standardization.to_weights(g), -step, g)
    u, scale = standardization.from_weights(W), standardization.scale
    near = penalty.prox((u - step * g) / scale, step / scale**2)
    there = scale * near
    V = standardization.to_weights(there)
    if penalty.constrains:  # without the rounding of a change of variables
        V[:, :-1] = near[:, :-1]
    return ProximalStep(V, 1.0, there - u)


def proximal_gradient(
    objective: Objective, W: Array, state: State | None, average: bool
) -> Iterator[Step]:
    """Steps with a length that is chosen automatically.

    Barzilai and Borwein (1988) use ``|s|^2 / s.y`` with the last step s and change of gradient y;
    J may rise temporarily, so the search compares with the largest of its recent values (Grippo,
    Lampariello and Lucidi, 1986).
    """
    penalty, standardization = objective.penalty, objective.checked_standardization()
    if state is None:
        at = objective.value_and_gradient(W)
        state = {
            "weights": W, "gradient": at.gradient, "step": 1.0, "recent": np.array([at.value]),
            "t": 0, "sum": np.zeros(W.shape),
        }  # fmt: skip
    W, gradient, step, recent, t, total = (
        state[name] for name in ("weights", "gradient", "step", "recent", "t", "sum")
    )
    g = standardization.gradient(gradient)
    while True:
        for _ in range(MOST_HALVINGS):
            move = moved(penalty, standardization, W, g, step)
            at = objective.value_and_gradient(move.weights)
            if at.value <= recent.max() - SUFFICIENT_DECREASE * move.square / step:
                break
            step *= 0.5 if np.isfinite(at.value) else 0.01
        else:  # rounding leaves no descent direction, and going on might lead anywhere
            step = 1.0
            move = moved(penalty, standardization, W, g, step)._replace(weights=W)
            at = objective.value_and_gradient(W)
        remaining, then = 0.5 * move.square / step, standardization.gradient(at.gradient)
        along = move.factor * dot(move.direction, then - g)
        longer = move.square / along if along > 0.0 else step
        step = longer if 0.0 < longer < np.inf else 1.0
        W, g, recent = move.weights, then, np.append(recent, at.value)[-MEMORY:]
        t, total = t + 1, total + W
        state = {
            "weights": W, "gradient": at.gradient, "step": step, "recent": recent, "t": t,
            "sum": total,
        }  # fmt: skip
        mean = total / t if average else None
        yield Step(
            W, state, at.value, at.mistakes, predicted_decrease=remaining, gradient=at.gradient,
            average=mean,
        )  # fmt: skip
