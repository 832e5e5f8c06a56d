"""Gradient descent over all rows for a penalty that makes weights 0.

Problem     min J(W) = smooth(W) + rest(W), the rest known by its proximal operator.
Input       J and the gradient of its smooth part; step sizes, unless they are to be found.
Output      W after every step, J and the mistakes.
Algorithm   W <- prox(W - step * gradient, step): weights are drawn nearer to 0, and no further.
            Where no step is given: Barzilai and Borwein's length, shortened until J falls below its
            recent values, in variables in which features are centred and of one scale.
Paper       Wright, Nowak and Figueiredo, Sparse reconstruction by separable approximation, IEEE
            Transactions on Signal Processing 57 (2009).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..numeric.types import Array
from ..objective import Objective
from .base import State, Step

MOST_HALVINGS = 60
SUFFICIENT_DECREASE = 1e-4  # of the squared length of the step, over twice its size
MEMORY = 10  # recent values of J that a searched step may not exceed


def proximal_gradient(
    objective: Objective, W: Array, state: State | None, average: bool
) -> Iterator[Step]:
    """Steps of a length that is found on the way."""
    standardization = objective.checked_standardization()
    scale = standardization.scale
    if state is None:
        at = objective.value_and_gradient(W)
        state = {
            "weights": W, "gradient": at.gradient, "step": 1.0, "recent": np.array([at.value]),
            "t": 0, "sum": np.zeros(W.shape),
        }  # fmt: skip
    W, gradient, step, recent, t, total = (
        state[name] for name in ("weights", "gradient", "step", "recent", "t", "sum")
    )
    u, g = standardization.from_weights(W), standardization.gradient(gradient)
    while True:
        for _ in range(MOST_HALVINGS):
            moved = scale * objective.penalty.prox((u - step * g) / scale, step / scale**2)
            there, square = standardization.to_weights(moved), float(np.sum((moved - u) ** 2))
            at = objective.value_and_gradient(there)
            if at.value <= recent.max() - SUFFICIENT_DECREASE * square / (2.0 * step):
                break
            step *= 0.5 if np.isfinite(at.value) else 0.01
        else:  # rounding leaves no way down, and to go on blindly might lead anywhere
            there, moved, step, square = W, u, 1.0, 0.0
            at = objective.value_and_gradient(W)
        then = standardization.gradient(at.gradient)
        remaining, along = 0.5 * square / step, float(np.sum((moved - u) * (then - g)))
        longer = square / along if along > 0.0 else step
        step = longer if 0.0 < longer < np.inf else 1.0
        W, u, g, recent = there, moved, then, np.append(recent, at.value)[-MEMORY:]
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
