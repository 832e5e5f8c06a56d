"""Why a run ended, stated for the weights it returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numeric.types import Array
from ..objective import Objective
from ..objective.smallest_margin import smallest_margin
from ..proofs.free_features import free_features
from ..proofs.gap import LEAST, GapTracker
from ..proofs.rounding import EXACT, rounding
from ..proofs.screening import proven_zeros
from ..proofs.units import GivenUnits, canonical
from ..solvers import GradientDescent, Solver
from .no_minimum import Runaway, existence

CONVERGED = ("no mistakes", "tol", "optimal", "closed form", "stationary", "certified")
"""Ends of runs that have reached their goal."""
SPECKS = 1e-12, 1e-14  # of J: possible cost of a weight left by rounding; tried in turn
MOST_CHANGES = 5  # of weights proven to be 0: each change may prove more of them
ABOVE_KINK = 1.0 + 1e-6  # a margin at which the squared hinge is 0 despite rounding
USER_STOPS = ("callback", "interrupted", "seconds", "validation")  # user-requested stops


@dataclass(frozen=True)
class Ending:
    """Result for the weights that a run returns."""

    weights: Array
    stop: str
    value: float  # J at the weights
    runaway: Runaway | None = None
    """Without a penalty: whether a minimum exists, if that is in doubt."""


@dataclass(frozen=True)
class Passes:
    """The passes that led to the weights."""

    solver: Solver
    start: Array
    moved: Array | None  # the last step, if known
    norms: Array  # history of the weights, pass by pass
    reads: int  # reads of the data, at least


def ending(
    objective: Objective,
    passes: Passes,
    W: Array,
    at: int | None,
    stop: str,
    gap: GapTracker | None,
    units: GivenUnits,
) -> Ending:
    """The weights to return, and the reason for the end that holds for them.

    ``at`` is the pass that ended with them, if any, and ``stop`` the rule that ended the run. Rules
    only see steps: a step that is too long may move the weights so far away that nothing changes
    any more, which looks like convergence.
    """
    kept, W = W, canonical(objective, W)
    if gap is not None:
        gap.close(kept, W, at)
        W = _without_proven_zeros(_without_specks(W, gap), gap)
        lossless = None if gap.proven else _without_loss(W, objective, gap.given)
        if lossless is not None:
            W, gap.value, gap.error = lossless, 0.0, 0.0
        value = gap.value
    else:
        value, mistakes = objective.value(W)
        value = _returned_value(units, W, value)
        if stop in CONVERGED and not mistakes and value > LEAST * objective.value_at_zeros:
            lossless = _without_loss(W, objective, units)
            W, value = (W, value) if lossless is None else (lossless, 0.0)
    if stop in USER_STOPS:
        return Ending(W, stop, value)
    if objective.loss.convex and not objective.loss.homogeneous:
        at_zeros = objective.value_at_zeros
        if _above_start(objective, passes, value, at_zeros):
            return _back(passes, W, value, gap, units)
        if _above(objective, W, value, at_zeros):
            return Ending(W, "no progress" if stop in CONVERGED else stop, value)
    if not np.isfinite(value):
        return Ending(W, "diverged", value)
    if gap is not None and stop in ("optimal", "no progress", "max_iter", "tol"):
        # The last proof is more exact than earlier ones.
        unproven = "no progress" if stop == "optimal" else stop
        stop = "optimal" if gap.proven else unproven
    if stop == "tol" and gap is None and _may_rest_at_a_kink(objective, passes.solver):
        stop = "no progress"
    proven = objective.penalty.coercive or (objective.loss.attained and stop != "tol")
    if proven or objective.loss.homogeneous or (gap is not None and gap.attained):
        return Ending(W, stop, value)
    at_rest = stop in (*CONVERGED, "no progress")
    known = existence(units, W, at_rest, passes.moved, passes.norms, passes.reads)
    if known.runaway is not None:
        unsettled = "max_iter" if stop == "max_iter" else "no progress"
        stop = "no minimum" if known.runaway.settled else unsettled
    elif not known.resolved and stop in CONVERGED:
        stop = "no progress"
    return Ending(W, stop, value, known.runaway)


def _may_rest_at_a_kink(objective: Objective, solver: Solver) -> bool:
    """Whether subgradient steps may fail to find a descent direction that exists."""
    kink = not objective.loss.smooth and not objective.loss.homogeneous
    return kink and isinstance(solver, GradientDescent) and solver.chooses_step


def _returned_value(units: GivenUnits, W: Array, value: float) -> float:
    """J at the weights returned for W; its value at W unless rounding may have changed it."""
    of_sums = rounding(units.objective, W, value)
    of_rows = units.rounding_of_rows(of_sums, value)
    if of_sums + of_rows + units.rounding_of_weights(W, value) <= EXACT * value:
        return value
    return units.value(units.weights(W))


def _back(
    passes: Passes, W: Array, value: float, gap: GapTracker | None, units: GivenUnits
) -> Ending:
    """The end of a run that rose: given step sizes have diverged, others return to the start."""
    if not passes.solver.chooses_step:
        return Ending(W, "diverged", value)
    start = passes.start.copy()
    if gap is None:
        return Ending(start, "no progress", units.value(units.weights(start)))
    gap.close(start, start, None)
    return Ending(start, "no progress", gap.value)


def _without_specks(W: Array, gap: GapTracker) -> Array:
    """W without weights so small that removing them changes no sum over rows.

    A feature whose gradient equals its threshold is within rounding of 0. It is
    reported as 0 if J there is the same and the proof is no weaker.
    """
    penalty = gap.objective.penalty
    if penalty.smooth or not W[:, :-1].any():
        return W
    lengths = penalty.by_feature(penalty.lengths(W[:, :-1]))
    rise = 0.5 * (gap.objective.standardization.scale[:-1] * lengths) ** 2  # of J, at most
    penalised = penalty.by_feature(penalty.thresholds) > 0.0
    most, proven = gap.value * (1.0 + LEAST), gap.proven
    for small in SPECKS:
        specks = (W[:, :-1] != 0.0) & (rise <= small * gap.value) & penalised
        if not specks.any():
            break
        V, known = W.copy(), gap.to_state()
        V[:, :-1][specks] = 0.0
        gap.close(V, V, None)
        if gap.value <= most and (gap.proven or not proven):
            return V
        gap.restore(known)
    return W


def _without_proven_zeros(W: Array, gap: GapTracker) -> Array:
    """W with weights set to 0 that are provably 0 in every minimum, and the gap at the result.

    J falls if the gradient is inside their thresholds there, as at the minimum. If J rises, so
    that the proof is weaker than for W and than required, W is kept.
    """
    for _ in range(MOST_CHANGES):
        superfluous = proven_zeros(gap) & (W[:, :-1] != 0.0)
        if not superfluous.any():
            break
        V, before, known = W.copy(), gap.gap, gap.to_state()
        V[:, :-1][superfluous] = 0.0
        gap.close(V, V, None)
        if not (gap.proven or gap.gap <= before):
            gap.restore(known)
            break
        W = V
    return W


def _without_loss(W: Array, objective: Objective, units: GivenUnits) -> Array | None:
    """W scaled up until no row has a loss, or None if the unpenalised features do not allow that.

    J is then exactly 0, its minimum, which no finite number of steps need reach: no margin is below
    1, and no weight is penalised.
    """
    has_offset = objective.source.has_offset
    if not objective.loss.spares or (objective.penalty.coercive and not has_offset):
        return None
    some = [*free_features(objective), -1]
    V = np.zeros_like(W)
    V[:, some] = W[:, some]
    least = smallest_margin(objective, V)
    if not least > 0.0:
        return None
    if not has_offset:  # which does not grow with the weights: the biases alone may be enough
        V = V * (ABOVE_KINK / least)
    return V if units.value(units.weights(V)) == 0.0 else None


def _above_start(objective: Objective, passes: Passes, value: float, at_zeros: float) -> bool:
    """Whether a run ended above its start; for a non-zero start that may take a read."""
    if not passes.start.any():
        return _above(objective, passes.start, value, at_zeros)
    if passes.solver.monotone:
        return False
    return _above(objective, passes.start, value, objective.value(passes.start)[0])


def _above(objective: Objective, W: Array, value: float, other: float) -> bool:
    """Whether J at W exceeds another value of it, beyond rounding."""
    if value <= other:
        return False
    return not value <= other + 2.0 * rounding(objective, W, other) + EXACT * abs(other)
