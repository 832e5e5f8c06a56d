"""Ascent of the dual: for losses with a kink, with a proof of how near the minimum it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..ascent import Ascent, response_of
from ..coordinates import Coordinates
from ..data import ArraySource
from ..direction import DIRECT
from ..interior import STATE, Interior
from ..objective import Objective
from ..response import MarginResponse, Response, has_response
from ..typing import Array
from .base import Solver, State, Step

PATIENCE = 10  # rounds of single alphas in which the gap halves, or else they are left
FEW_ROWS = 15  # per feature: so few are climbed between their bounds
MANY_FEATURES = 100  # with fewer, either way is quick
TOLD = ("weights", "objective", "mistakes", "bound")
NEWTON = ("W", "anchor", "sharpness", "travel")
COORDINATES = ("alpha", "center", "seed", "rounds", "passes", "alone", "caution", "quick",
               "products", "safe", "moved", "moved_weights", "visited", "lowest", "highest",
               "gaps")  # fmt: skip


@dataclass(frozen=True, repr=False)
class DualAscent(Solver):
    """Climbs the dual of J while the weights come down: the two meet at the minimum.

    For the hinge (Crammer and Singer's for more than two classes), and for two classes also the
    squared hinge and the logistic loss; with a penalty, which the dual divides by. Each step
    tells J exactly and a lower bound on its minimum, from alphas that
    meet the condition of the free bias.

    The steps are proximal in the alphas, and each is solved by Newton's method on the weights:
    the bias is then free as it is in J, and no scale of the features slows it down. See
    :mod:`separatrix.ascent` on why not one alpha, or two, at a time. Where there are two classes
    and few rows per feature, those at a kink change with every such step: then the alphas of the
    hinge and its square are moved between their bounds, see :mod:`separatrix.interior`. Where
    there are more than 1500 features and rows, the systems would be too large: then come passes of
    single alphas, for the hinge helped by planes that they span, or by conjugate gradients over
    those inside their bounds, see :mod:`separatrix.coordinates`. They begin at alpha = 0, wherever
    W is, and are left for Newton's steps, with systems solved by products, when they crawl.
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

    @property
    def monotone(self) -> bool:
        """Yes."""
        return True

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One step after another; the weights told are those of the lowest J so far."""
        best, J, mistakes, bound = W, np.inf, 0.0, 0.0
        if state is not None:
            best, J, mistakes, bound = (state[name] for name in TOLD)
        for at, new in _climb(objective, W, rng, state):
            if at.objective < J:
                best, J, mistakes = at.weights, at.objective, at.mistakes
            # Where the two meet, rounding may put the bound above.
            bound = min(max(bound, at.bound), J)
            told = dict(zip(TOLD, (best, J, mistakes, bound), strict=True))
            yield Step(best, new | told, J, mistakes, bound=bound, alpha=at.alpha)


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
    alpha: Callable[[], Array]


def _climb(
    objective: Objective, W: Array, rng: np.random.Generator, state: State | None
) -> Iterator[tuple[Reached, State]]:
    """One alpha at a time where systems would be too large, else all, in the end by Newton."""
    response = response_of(objective)
    n, d = objective.source.n_rows, objective.source.n_features
    two = response if isinstance(response, MarginResponse) else None
    if two and min(n, d) > DIRECT and (state is None or "gaps" in state):
        run = _coordinates(objective, two, W, rng, state)
        while state is None or not crawls(state["gaps"]):
            at, state = next(run)
            yield at, state
    if two and two.bounded and few_rows(objective) and (state is None or "slack" in state):
        for at, state in _interior(objective, two, W, state):  # noqa: B020
            yield at, state
    yield from _newton(objective, response, W, state)


def few_rows(objective: Objective) -> bool:
    """Whether rows can nearly be separated, so that those at a bound are not soon known."""
    n, d = objective.source.n_rows, objective.source.n_features
    return d >= MANY_FEATURES and n <= FEW_ROWS * d and min(n, d) <= DIRECT


def crawls(gaps: Array) -> bool:
    """Whether single alphas, which are best where each has features of its own, get nowhere."""
    return len(gaps) > PATIENCE and bool(gaps[-1] > 0.5 * gaps[-1 - PATIENCE])


def _newton(
    objective: Objective, response: Response, W: Array, state: State | None
) -> Iterator[tuple[Reached, State]]:
    rows = len(objective.in_memory.y)
    known: State = {"W": W, "anchor": np.zeros((rows, response.columns))}
    if state is not None and "gaps" in state:  # on from single alphas
        known = {"W": state["weights_now"], "anchor": state["alpha"][:, None].copy()}
    elif state is not None and "slack" in state:
        known = {"W": state["W"], "anchor": state["alpha"][:, None]}
    elif state is not None:
        known = {name: state[name] for name in NEWTON}
    run = Ascent(objective, response, **known)
    while True:
        at = run.step()
        told = Reached(at.W, at.objective, at.mistakes, at.bound, run.alpha)
        yield told, {name: getattr(run, name) for name in NEWTON}


def _interior(
    objective: Objective, response: MarginResponse, W: Array, state: State | None
) -> Iterator[tuple[Reached, State]]:
    """Until rounding ends it."""
    known: State = {"W": W} if state is None else {name: state[name] for name in STATE}
    run = Interior(objective, response, **known)
    run.step()
    while not run.ended:
        told = Reached(
            run.W, run.objective_value, run.mistakes, run.bound, lambda: run.alpha[:, None]
        )
        yield told, run.state
        run.step()


def _coordinates(
    objective: Objective,
    response: MarginResponse,
    W: Array,
    rng: np.random.Generator,
    state: State | None,
) -> Iterator[tuple[Reached, State]]:
    known: State
    if state is None:
        rows = len(objective.in_memory.y)
        center = float(W[0, -1]) if objective.intercept else 0.0
        known = {"alpha": np.zeros(rows), "center": center, "seed": int(rng.integers(2**62))}
    else:
        known = {name: state[name] for name in COORDINATES} | {"alpha": state["alpha"].copy()}
    run = Coordinates(objective, response, **known)
    while True:
        run.round()
        told = Reached(
            run.weights, run.objective_value, run.mistakes, run.bound, lambda: run.alpha[:, None]
        )
        state = {name: getattr(run, name) for name in COORDINATES}
        yield told, state | {"alpha": run.alpha.copy(), "weights_now": run.weights}
