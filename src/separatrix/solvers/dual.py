"""Ascent of the dual: for losses with a kink, with a proof of how near the minimum it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..ascent import DIRECT, Ascent, response_of
from ..coordinates import Coordinates
from ..data import ArraySource
from ..objective import Objective
from ..response import MarginResponse, has_response
from ..typing import Array
from .base import Solver, State, Step

TOLD = ("weights", "objective", "mistakes", "bound")


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
        """One step after another; the weights told are those of the lowest J so far."""
        best, J, mistakes, bound = W, np.inf, 0.0, 0.0
        if state is not None:
            best, J, mistakes, bound = (state[name] for name in TOLD)
        for at, state in _climb(objective, W, rng, state):
            if at.objective < J:
                best, J, mistakes = at.weights, at.objective, at.mistakes
            # Where the two meet, rounding may put the bound above.
            bound = min(max(bound, at.bound), J)
            state |= dict(zip(TOLD, (best, J, mistakes, bound), strict=True))
            yield Step(best, state, J, mistakes, bound=bound)


def takes(objective: Objective) -> bool:
    """Whether ``DualAscent`` has nothing to refuse."""
    try:
        DualAscent().check(objective)
    except ValueError:
        return False
    return True


class Reached(NamedTuple):
    """Weights, and what is known there."""

    weights: Array
    objective: float
    mistakes: float
    bound: float


def _climb(
    objective: Objective, W: Array, rng: np.random.Generator, state: State | None
) -> Iterator[tuple[Reached, State]]:
    """One alpha at a time where systems would be too large, else Newton's steps."""
    source, response = objective.source, response_of(objective)
    assert isinstance(source, ArraySource)
    n, d = source.n_rows, source.n_features
    if isinstance(response, MarginResponse) and response.kinked and min(n, d) > DIRECT:
        names = ("center", "seed", "rounds", "products", "safe", "visited")
        known = {name: state[name] for name in names} if state is not None else {
            "center": float(W[0, -1]) * objective.intercept, "seed": int(rng.integers(2**62)),
        }  # fmt: skip
        alpha = np.zeros(len(source.y)) if state is None else state["alpha"].copy()
        run = Coordinates(objective, response, alpha, **known)
        while True:
            run.round()
            told = Reached(run.weights, run.objective_value, run.mistakes, run.bound)
            yield told, {name: getattr(run, name) for name in names} | {"alpha": run.alpha.copy()}
    names = ("sharpness", "travel", "anchor", "W")
    known = {name: state[name] for name in names} if state is not None else {
        "W": W, "anchor": np.zeros((len(source.y), response.columns)),
    }  # fmt: skip
    ascent = Ascent(objective, response, **known)
    while True:
        at = ascent.step()
        told = Reached(at.W, at.objective, at.mistakes, at.bound)
        yield told, {name: getattr(ascent, name) for name in names}
