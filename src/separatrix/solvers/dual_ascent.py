"""Maximises the dual with a suitable method, and proves how close it is to the minimum.

Problem: ``max_alpha D(alpha)``, the dual of ``J(W) = sum_i p_i phi_i(W) + l2 |w|^2``.
Input: rows, a loss whose dual is known, l2 > 0. Output: weights, dual variables, J and a lower
bound on its minimum after every step.
Algorithm: one of the three methods in :mod:`separatrix.solvers.dual` begins, and hands its weights
and alphas on to another where it gets slow or rounding ends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ..data import InMemory
from ..losses import Loss
from ..numeric.expected import Check
from ..numeric.types import Array
from ..objective import Objective
from ..proofs.binary_dual import has_dual
from . import thresholds
from .base import State
from .dual import (
    coordinate_ascent,
    predictor_corrector,
    proximal_point,
    separate_ascents,
    working_set,
)
from .dual.coordinate_ascent import CoordinateAscent
from .dual.interior_point import (
    InteriorPoint,
    dual_variables,
    interior_iterates,
    interior_run,
)
from .dual.proximal_point import from_zeros, proximal_iterates, proximal_state, start_state
from .dual.separate_ascents import Iterates, separate_iterates, separate_state
from .dual.solver import HANDED_ON, DualIterate, DualSolver, kept_text
from .dual.working_set import working_set_iterates, working_set_state
from .system_size import affordable, drowns_penalty


@dataclass(frozen=True, repr=False)
class DualAscent(DualSolver):
    """Maximise the dual of J while J decreases; at the minimum both are equal.

    For the hinge (Crammer and Singer's for more than two classes), and for two classes also the
    squared hinge and the logistic loss; with a penalty, which the dual divides by. Sums of these
    over classes or labels are maximised column by column. Each step has the exact J and a lower
    bound on its minimum, from alphas that satisfy the condition of the free bias.

    It chooses among three solvers, each of which may be used alone; after a fit, ``reason`` says
    which of them ran. :class:`ProximalPoint`: the bias is free as in J, and scales of the features
    do not slow it down. With two classes and few rows per feature, the rows at a kink change with
    every such step: then :class:`InteriorPoint` for the hinge and squared hinge, also for features
    so large that rounding hides the penalty, and for the hinge of a small dense table.
    With more than 1500 features and rows systems of equations would be too large, and they are not
    needed on sparse rows with twice as many features or that store few of theirs, nor for more than
    two classes, unless there are few weights, where interior points are quick: then
    :class:`CoordinateAscent`, which begins at alpha = 0, wherever W is. When it crawls it is left:
    for interior points where there are more classes and the systems small enough, else for
    proximal points.

    If rows are not in memory, those near a kink are copied at each read, up to 64 MB with a sample
    of the others (:mod:`separatrix.solvers.dual.working_set`): a few reads reach the minimum. If
    that is too few rows, :class:`ProximalPoint` continues. ``reason`` shows how many bytes.

    See Also
    --------
    ProximalPoint, CoordinateAscent, InteriorPoint : the three that it chooses among.
    LinearProgram : the hinge without a penalty.

    Examples
    --------
    >>> from separatrix import DualAscent, LinearClassifier
    >>> clf = LinearClassifier("hinge", l2=0.5, solver=DualAscent())
    >>> clf.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).solver_
    DualAscent()  # ran interior point
    """

    name = "DualAscent"
    needs_rows_in_memory = False
    words = ("ran",)

    def check(self, objective: Objective) -> None:
        """Like all dual solvers; rows of several classes or labels must be in memory."""
        super().check(objective)
        if has_columns(objective) and not isinstance(objective.source, InMemory):
            raise ValueError(
                f"DualAscent solves {objective.loss!r} column by column and needs the rows in "
                "memory; use GradientDescent(batch_size=1), or load the rows and pass arrays"
            )

    def knows(self, loss: Loss) -> bool:
        """Also sums over columns."""
        return has_dual(loss.column_loss or loss)

    def iterates(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None
    ) -> Iterator[tuple[DualIterate, State]]:
        """Run one method after another; the state names the current one, and all that ran."""
        ran: list[str] = []
        if state is not None and state["phase"] != HANDED_ON:
            ran = state["ran"].split(THEN)
        phases = _phases_of_columns if has_columns(objective) else _phases
        for at, new in phases(objective, W, rng, state):
            if not ran or ran[-1] != new["phase"]:
                ran.append(new["phase"])
            yield at, new | {"ran": THEN.join(ran)}

    def phases(self, objective: Objective) -> dict[str, Check]:
        if has_columns(objective):
            ascents = separate_state(objective, self.phases)
            return CoordinateAscent().phases(objective) | {separate_ascents.PHASE: ascents}
        found = {proximal_point.PHASE: proximal_state(objective)}
        if not isinstance(objective.source, InMemory):
            return found | {working_set.PHASE: working_set_state(objective)}
        return found | CoordinateAscent().phases(objective) | InteriorPoint().phases(objective)

    def handed_on(self, state: State) -> State | None:
        """The warm-start state of coordinate ascent, if that was the last phase."""
        return CoordinateAscent().handed_on(state)

    def after(self, state: State) -> DualAscent:
        """A copy whose reason says which methods ran, and the memory kept for rows on disk."""
        why = f"{self.reason}; ran" if self.reason else "ran"
        return replace(self, reason=f"{why} {state['ran']}{kept_text(state)}")


THEN = ", then "


def has_columns(objective: Objective) -> bool:
    """Whether the loss is a sum over several columns of scores."""
    return objective.shape[0] > 1 and objective.loss.column_loss is not None


def _phases_of_columns(
    objective: Objective, W: Array, rng: np.random.Generator, state: State | None
) -> Iterator[tuple[DualIterate, State]]:
    """Rounds of coordinate ascent over all columns; if these are slow, each with other methods."""
    handed = None
    if state is not None and state["phase"] == HANDED_ON:
        handed, state = state, None
    columns: list[State | None] = [None] * len(W)
    if state is None:
        objective.mean_square  # noqa: B018 (cached for all columns)
        phase = first_phase(objective.column(0))
    else:
        phase = state["phase"]
    if phase == coordinate_ascent.PHASE:
        rounds = CoordinateAscent().iterates(objective, W, rng, handed if state is None else state)
        while state is None or not is_slow(state["gaps"], thresholds.SLOW_ROUNDS):
            at, state = next(rounds)
            yield at, state
        W = state["W"]
        alphas = [state[f"{c} alpha"][:, None].copy() for c in range(len(W))]
        columns = [start_state(W[c, None], alpha) for c, alpha in enumerate(alphas)]
        state = None

    with suppress(ValueError):  # features too large for moments, which not every method needs
        objective.moments  # noqa: B018 (cached for all columns)

    def ascent(own: Objective, start: Array, known: State | None) -> Iterates:
        return _phases(own, start, rng, known)

    yield from separate_iterates(objective, W, state, columns, ascent)


def _phases(
    objective: Objective, W: Array, rng: np.random.Generator, state: State | None
) -> Iterator[tuple[DualIterate, State]]:
    """Coordinate ascent for many classes or large systems, else proximal points; then another."""
    handed = None
    if state is not None and state["phase"] == HANDED_ON:
        handed, state = state, None
    phase = first_phase(objective) if state is None else state["phase"]
    if phase == working_set.PHASE:
        for at, state in working_set_iterates(objective, W, state):  # noqa: B020
            yield at, state
        W = W if state is None else state["best"]
        yield from proximal_iterates(objective, from_zeros(objective, W))
    if phase == coordinate_ascent.PHASE:
        rounds = CoordinateAscent().iterates(objective, W, rng, handed if state is None else state)
        inside = objective.shape[0] > 1 and affordable(objective)
        patience = thresholds.SLOW_ROUNDS_BEFORE_SYSTEMS if inside else thresholds.SLOW_ROUNDS
        while state is None or not is_slow(state["gaps"], patience):
            at, state = next(rounds)
            yield at, state
        if not inside:
            center = state["alpha"].reshape(len(state["alpha"]), -1).copy()
            yield from proximal_iterates(objective, start_state(state["W"], center))
        state = None
    if phase == proximal_point.PHASE:
        state = from_zeros(objective, W) if state is None else state
        yield from proximal_iterates(objective, state)
    for at, state in interior_iterates(interior_run(objective, state)):  # noqa: B020
        yield at, state
    if state is None:
        yield from proximal_iterates(objective, from_zeros(objective, W))
    else:
        alpha = dual_variables(objective, state)
        yield from proximal_iterates(objective, start_state(state["W"], alpha, polishes=True))


def first_phase(objective: Objective) -> str:
    """The method to begin with; for rows that are not in memory, the one that reads blocks."""
    phase = _fastest_phase(objective)
    if phase == coordinate_ascent.PHASE and not objective.source.visitable:
        return proximal_point.PHASE
    return phase


def _fastest_phase(objective: Objective) -> str:
    source = objective.source
    if not isinstance(source, InMemory):
        return proximal_point.PHASE if objective.loss.smooth else working_set.PHASE
    if is_badly_scaled(objective):
        return predictor_corrector.PHASE
    if objective.shape[0] > 1:
        few = np.prod(objective.shape) <= thresholds.FEW_WEIGHTS and affordable(objective)
        return predictor_corrector.PHASE if few else coordinate_ascent.PHASE
    large = min(source.n_rows, source.n_features) > thresholds.FACTORED_UNKNOWNS
    if large or is_wide(objective) or suits_coordinate_ascent(objective):
        return coordinate_ascent.PHASE
    inside = is_small_hinge(objective) or (
        objective.loss.attained and suits_interior_point(objective)
    )
    return predictor_corrector.PHASE if inside else proximal_point.PHASE


def is_small_hinge(objective: Objective) -> bool:
    """Whether the compiled steps of interior points are fastest: a hinge of few dense values."""
    n, d = objective.source.n_rows, objective.source.n_features
    source = objective.source
    dense = objective.shape[0] == 1 and source.storage == "dense" and source.visitable
    small = n * d <= thresholds.SMALL_TABLE and d < n and d <= thresholds.FACTORED_UNKNOWNS
    return dense and small and not objective.loss.smooth


def is_wide(objective: Objective) -> bool:
    """Whether rows are sparse and there are enough features to distinguish them."""
    source = objective.source
    return source.storage == "csr" and source.n_features >= thresholds.WIDE_ROWS * source.n_rows


def suits_coordinate_ascent(objective: Objective) -> bool:
    """Whether rows are so sparse, and the penalty so strong, that a few epochs cost least.

    For the hinge only: ``auto`` has its own rules to send smooth losses here.
    """
    n, d = objective.source.n_rows, objective.source.n_features
    if objective.loss.smooth or d < thresholds.MANY_FEATURES:
        return False
    if objective.source.storage == "dense":
        return False
    values = sum(block.rows.n_values for block in objective.source.blocks())
    curvature = objective.mean_square / (2.0 * objective.penalty.l2 * n)
    few = 0 < values <= thresholds.FEW_VALUES_OF_FEATURES * n * d
    return few and curvature <= thresholds.MOST_HINGE_CURVATURE


def suits_interior_point(objective: Objective) -> bool:
    """Whether rows are nearly separable, so that those at a bound are not identified soon."""
    n, d = objective.source.n_rows, objective.source.n_features
    small = min(n, d) <= thresholds.FACTORED_UNKNOWNS
    return d >= thresholds.MANY_FEATURES and n <= thresholds.FEW_ROWS_PER_FEATURE * d and small


def is_badly_scaled(objective: Objective) -> bool:
    """Whether features dominate the penalty, which systems of the rows near a kink would lose."""
    return objective.loss.attained and affordable(objective) and drowns_penalty(objective)


def is_slow(gaps: Array, rounds: int) -> bool:
    """Whether coordinate ascent, which is best if rows share few features, is stalling."""
    return len(gaps) > rounds and bool(gaps[-1] > 0.5 * gaps[-1 - rounds])
