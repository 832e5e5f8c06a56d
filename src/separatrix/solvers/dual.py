"""Ascent of the dual: for losses with a kink, with a proof of how near the minimum it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..ascent import Ascent, response_of
from ..data import ArraySource
from ..objective import Objective
from ..response import has_response
from ..typing import Array
from .base import Solver, State, Step


@dataclass(frozen=True, repr=False)
class DualAscent(Solver):
    """Climbs the dual of J while the weights come down: the two meet at the minimum.

    For the hinge (Crammer and Singer's for more than two classes), and for two classes also the
    squared hinge and the logistic loss; with a penalty, which the dual divides by. Each step
    reads the data once and tells J exactly and a lower bound on its minimum, from alphas that
    meet the condition of the free bias.

    The steps are proximal in the alphas, and each is solved by Newton's method on the weights:
    the bias is then free as it is in J, and no scale of the features slows it down. See
    :mod:`separatrix.ascent` on why not one alpha, or two, at a time. Up to 1500 weights, or rows
    near a kink, systems are factored; beyond, conjugate gradients read the rows near a kink.
    """

    def check(self, objective: Objective) -> None:
        """A penalty, a loss whose dual is known, and rows in memory."""
        loss = objective.loss
        if not has_response(loss):
            remedy = "LBFGS() or Newton()" if loss.smooth else "GradientDescent(batch_size=1)"
            raise ValueError(
                f"DualAscent knows the dual of 'hinge', and for two classes of 'squared_hinge' "
                f"and 'logistic', not of {loss!r}; use {remedy}"
            )
        if not objective.penalty.strength > 0.0:
            raise ValueError(
                "DualAscent needs l2 > 0: without a penalty the dual has no quadratic to climb; "
                "give a small one such as l2=1e-8, or use GradientDescent(batch_size=1)"
            )
        if not isinstance(objective.source, ArraySource):
            raise ValueError(
                "DualAscent keeps a number beside every row and needs the rows in memory; use "
                "GradientDescent(batch_size=1)"
            )

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One Newton step after another; the weights told are those of the lowest J so far."""
        response = response_of(objective)
        n = len(objective.source.y)  # type: ignore[attr-defined]
        if state is None:
            state = {
                "iterate": W, "anchor": np.zeros((n, response.columns)), "bound": 0.0,
                "weights": W, "objective": np.inf, "mistakes": 0.0,
            }  # fmt: skip
        names = ("sharpness", "travel")
        ascent = Ascent(objective, response, state["iterate"], state["anchor"],
                        **{name: state[name] for name in names if name in state})  # fmt: skip
        best, J, mistakes, bound = (
            state[name] for name in ("weights", "objective", "mistakes", "bound")
        )
        bound = max(bound, ascent.at.bound)
        while True:
            at = ascent.step()
            if at.objective < J:
                best, J, mistakes = at.W, at.objective, at.mistakes
            # Where the two meet, rounding may put the bound above.
            bound = min(max(bound, at.bound), J)
            state = {
                "iterate": at.W, "anchor": ascent.anchor, "sharpness": ascent.sharpness,
                "travel": ascent.travel, "weights": best, "objective": J, "mistakes": mistakes,
                "bound": bound,
            }  # fmt: skip
            yield Step(best, state, J, mistakes, bound=bound)
