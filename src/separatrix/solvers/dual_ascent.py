"""Ascent of the dual: for losses with a kink, with a proof of how near the minimum it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data import ArraySource
from ..losses import Joint, Loss
from ..losses.base import REGISTRY
from ..numeric.types import Array
from ..objective import Objective
from .base import Solver, State, Step, lowest
from .dual.coordinate_ascent import Coordinates
from .dual.interior_point import STATE, Interior
from .dual.losses import MarginResponse, Response, SimplexResponse, has_response, response_of
from .dual.multiclass_interior_point import STATE as JOINT_STATE
from .dual.multiclass_interior_point import JointInterior, affordable
from .dual.newton_system import DIRECT
from .dual.proximal_point import Ascent

PATIENCE = 10  # rounds of single alphas in which the gap halves, or else they are left
FEW_ROWS = 15  # per feature: so few are climbed between their bounds
MANY_FEATURES = 100  # with fewer, either way is quick
FEW_ROWS_PER_WEIGHT = 3  # of more than two classes
TOLD = ("weights", "objective", "mistakes", "bound")
NEWTON = ("W", "anchor", "sharpness", "travel")
FUTILITY = ("lowest", "highest", "futile", "polishes")
MOST_UNTOLD = 30  # Newton's steps for one anchor that bring nothing to tell
FUTILE = 9  # such steps in a row, after which the middle of the simplices is tried
COORDINATES = ("alpha", "center", "seed", "rounds", "passes", "quick",
               "products", "safe", "moved", "moved_weights", "visited", "lowest", "highest",
               "gaps")  # fmt: skip


@dataclass(frozen=True, repr=False)
class DualAscent(Solver):
    """Climbs the dual of J while the weights come down: the two meet at the minimum.

    For the hinge (Crammer and Singer's for more than two classes), and for two classes also the
    squared hinge and the logistic loss; with a penalty, which the dual divides by. Each step
    tells J exactly and a lower bound on its minimum, from alphas that
    meet the condition of the free bias.

    The steps are proximal in the alphas, and each is solved by Newton's method on the weights: the
    bias is then free as it is in J, and no scale of the features slows it down. See
    :mod:`separatrix.solvers.dual.proximal_point` on why not one alpha, or two, at a time. Where
    there are two classes and few rows per feature, those at a kink change with every such step:
    then the alphas of the hinge and its square are moved between their bounds, see
    :mod:`separatrix.solvers.dual.interior_point`; for more classes those of few rows per weight, or
    where Newton's steps prove futile, see :mod:`separatrix.solvers.dual.multiclass_interior_point`.
    Where there are two classes and more than 1500 features and rows, the systems would be too
    large: then come passes of single alphas, for the hinge helped by planes that they span, or by
    conjugate gradients over those inside their bounds, see
    :mod:`separatrix.solvers.dual.coordinate_ascent`. They begin at alpha = 0, wherever W is, and
    are left for Newton's steps, with systems solved by products, when they crawl.
    """

    def check(self, objective: Objective) -> None:
        """A penalty, a loss whose dual is known, and rows in memory."""
        loss = objective.loss
        if not has_response(loss):
            remedy = "LBFGS() or Newton()" if loss.smooth else "GradientDescent(batch_size=1)"
            many = f" for {objective.shape[0]} classes" if objective.shape[0] > 1 else ""
            raise ValueError(
                f"DualAscent knows the dual of 'hinge', and for two classes of 'squared_hinge' "
                f"and 'logistic', not of {named(loss)}{many}; use {remedy}"
            )
        if not objective.penalty.l2 > 0.0:
            raise ValueError(
                "DualAscent needs l2 > 0: without a penalty the dual has no quadratic to climb; "
                "give a small one such as l2=1e-8, or use LinearProgram() for the hinge, else "
                "GradientDescent(batch_size=1)"
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
        """One step after another; the weights told are those of the lowest J so far.

        The start is the first of them, or zeros where J is lower. Of Newton's steps towards a new
        anchor those are told that bring a lower J or a higher bound, and the last.
        """
        if state is not None:
            best, J, mistakes, bound = (state[name] for name in TOLD)
        else:
            (best, J, mistakes, start), bound = lowest(objective, W), 0.0
            W = W if np.isfinite(start) else best
        untold = 0
        for at, new in _climb(objective, W, rng, state):
            untold += 1
            told = at.told or at.objective < J or at.bound > bound or untold >= MOST_UNTOLD
            if at.objective < J:
                best, J, mistakes = at.weights, at.objective, at.mistakes
            # Where the two meet, rounding may put the bound above.
            bound = min(max(bound, at.bound), J)
            if told:
                known = dict(zip(TOLD, (best, J, mistakes, bound), strict=True))
                yield Step(best, new | known, J, mistakes, lower_bound=bound, alpha=at.alpha)
                untold = 0


def named(loss: Loss) -> str:
    """As its user calls it: a loss of another's name by what it is."""
    own = loss.binary if isinstance(loss, Joint) else loss
    return repr(own.name if REGISTRY.get(own.name) is type(own) else own)


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
    told: bool = True
    """Whether this ends something, even if it is no progress."""
    alpha: Callable[[], Array] | None = None
    """The dual variables, until the next step."""


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
    if isinstance(response, SimplexResponse) and affordable(objective):
        if not few_rows_for_classes(objective) and (state is None or "slack" not in state):
            for at, state in _newton(objective, response, W, state):  # noqa: B020
                yield at, state
                if state["futile"] >= FUTILE and not state["polishes"]:
                    state = None
                    break
        if state is None or "slack" in state:
            for at, state in _joint_interior(objective, response, state):  # noqa: B020
                yield at, state
    yield from _newton(objective, response, W, state)


def few_rows(objective: Objective) -> bool:
    """Whether rows can nearly be separated, so that those at a bound are not soon known."""
    n, d = objective.source.n_rows, objective.source.n_features
    return d >= MANY_FEATURES and n <= FEW_ROWS * d and min(n, d) <= DIRECT


def few_rows_for_classes(objective: Objective) -> bool:
    """The same of more than two classes: each has weights of its own."""
    k, d = objective.shape
    return objective.source.n_rows <= FEW_ROWS_PER_WEIGHT * k * d


def crawls(gaps: Array) -> bool:
    """Whether single alphas, which are best where each has features of its own, get nowhere."""
    return len(gaps) > PATIENCE and bool(gaps[-1] > 0.5 * gaps[-1 - PATIENCE])


def _newton(
    objective: Objective, response: Response, W: Array, state: State | None
) -> Iterator[tuple[Reached, State]]:
    """For ever; futile steps in a row are counted. After another way they only polish."""
    rows = len(objective.in_memory.y)
    known: State = {"W": W, "anchor": np.zeros((rows, response.columns))}
    lowest, highest, futile, polishes = np.inf, 0.0, 0, False
    if state is not None and "gaps" in state:  # on from single alphas
        known = {"W": state["weights_now"], "anchor": state["alpha"][:, None].copy()}
    elif state is not None and "slack" in state:
        anchor = state["shares"] if "shares" in state else state["alpha"][:, None]
        known, polishes = {"W": state["W"], "anchor": anchor}, True
    elif state is not None:
        known = {name: state[name] for name in NEWTON}
        lowest, highest, futile, polishes = (state[name] for name in FUTILITY)
    run = Ascent(objective, response, **known)
    while True:
        anchor, smooth = run.anchor, run.at.smooth
        with np.errstate(all="ignore"):
            at = run.step()
        progress = at.objective < lowest or at.bound > highest
        futile = 0 if progress else futile + 1
        lowest, highest = min(lowest, at.objective), max(highest, at.bound)
        counts = dict(zip(FUTILITY, (lowest, highest, futile, polishes), strict=True))
        ended = polishes or run.anchor is not anchor or not at.smooth < smooth
        yield (
            Reached(at.W, at.objective, at.mistakes, at.bound, ended, run.alpha),
            counts | {name: getattr(run, name) for name in NEWTON},
        )


def _joint_interior(
    objective: Objective, response: SimplexResponse, state: State | None
) -> Iterator[tuple[Reached, State]]:
    """Until rounding ends it."""
    known: State = {} if state is None else {name: state[name] for name in JOINT_STATE}
    run = JointInterior(objective, response, **known)
    while run.went():
        at = Reached(run.W, run.objective_value, run.mistakes, run.bound, told=False)
        yield at, run.state | {"W": run.W, "shares": run.shares}


def _interior(
    objective: Objective, response: MarginResponse, W: Array, state: State | None
) -> Iterator[tuple[Reached, State]]:
    """Until rounding ends it."""
    known: State = {"W": W} if state is None else {name: state[name] for name in STATE}
    run = Interior(objective, response, **known)
    while run.went():
        at = Reached(
            run.W, run.objective_value, run.mistakes, run.bound, alpha=lambda: run.alpha[:, None]
        )
        yield at, run.state


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
        with np.errstate(all="ignore"):
            run.round()
        told = Reached(
            run.weights, run.objective_value, run.mistakes, run.bound,
            alpha=lambda: run.alpha[:, None],
        )  # fmt: skip
        state = {name: getattr(run, name) for name in COORDINATES}
        yield told, state | {"alpha": run.alpha.copy(), "weights_now": run.weights}
