"""How a run ended, in words that hold of the weights it leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .accuracy import EXACT, exact_value, rounding
from .gap import Prover
from .losses import JointPerceptron, PerceptronLoss, Softmax
from .no_minimum import Runaway, runaway
from .objective import Objective
from .solvers import Solver
from .typing import Array

CONVERGED = ("no mistakes", "tol", "optimal", "closed form")
"""Ends at which a run has what it was after."""
TOLD = ("callback", "interrupted")  # ends that somebody asked for: they stay


@dataclass(frozen=True)
class Ending:
    """What is to be said of the weights that a run leaves."""

    weights: Array
    stop: str
    value: float
    """J at the weights."""
    runaway: Runaway | None = None
    """Without a penalty: what is known of a minimum, if there may be none."""


@dataclass(frozen=True)
class Run:
    """What led to the weights."""

    solver: Solver
    start: Array
    moved: Array | None
    """The last step, if it is known."""
    norms: Array
    """Of the weights, pass by pass."""
    reads: int
    """Of the data, at least."""


def ending(objective: Objective, run: Run, W: Array, stop: str, prover: Prover | None) -> Ending:
    """The weights to be returned, and words that are true of them.

    ``stop`` is the rule that ended the run. A rule sees steps: one that is too long may carry the
    weights so far that nothing moves any more, which looks like rest.
    """
    kept, W = W, canonical(objective, W)
    if prover is not None:
        prover.close(kept, W)
        value, mistakes = prover.value, np.nan
    else:
        value, mistakes = objective.value(W)
        if not rounding(objective, W, value) <= EXACT * value:
            value = exact_value(objective, W)
    if stop in TOLD:
        return Ending(W, stop, value)
    if objective.loss.convex and not isinstance(objective.loss, (PerceptronLoss, JointPerceptron)):
        before = _value_before(objective, run, value)
        if before is not None and not run.solver.chooses_step:
            return Ending(W, "diverged", value)
        if before is not None:
            if prover is not None:
                prover.close(run.start, run.start)
            return Ending(run.start.copy(), "no progress", before)
        if stop in CONVERGED and _above(objective, W, value, value_at_zeros(objective)):
            stop = "no progress"
    if not np.isfinite(value):
        return Ending(W, "diverged", value)
    if (
        prover is not None
        and stop in ("optimal", "no progress", "max_iter")
        and (prover.proven != (stop == "optimal"))
    ):  # the last proof is more exact than those on the way
        stop = "optimal" if prover.proven else "no progress"
    if objective.penalty.strength == 0.0 and not objective.loss.attained:
        found = runaway(objective, W, mistakes, run.moved, run.norms, run.reads)
        if found is not None:
            stop = "no minimum" if found.settled else "max_iter" if stop == "max_iter" else (
                "no progress")  # fmt: skip
            return Ending(W, stop, value, found)
    return Ending(W, stop, value)


def canonical(objective: Objective, W: Array) -> Array:
    """The same scores, up to a shift of all classes together, from biases whose sum is 0.

    Of weights that softmax without a penalty cannot tell apart, the smallest.
    """
    if not getattr(objective.loss, "shifts", False):
        return W
    W = W.copy()
    W[:, -1] -= W[:, -1].sum() / len(W)
    if isinstance(objective.loss, Softmax) and objective.penalty.strength == 0.0:
        W[:, :-1] -= W[:, :-1].mean(axis=0)
    return W


def value_at_zeros(objective: Objective) -> float:
    """J at weights of 0, where all rows are alike."""
    k = objective.shape[0]
    y = np.ones(1) if k == 1 else np.zeros(1, np.int64)
    return float(objective.loss.value(y, np.zeros((1, k)))[0])


def _value_before(objective: Objective, run: Run, value: float) -> float | None:
    """J at the start, if the run ended above it."""
    if not run.start.any():
        start = value_at_zeros(objective)
    elif run.solver.monotone:
        return None
    else:
        start = objective.value(run.start)[0]
    return start if _above(objective, run.start, value, start) else None


def _above(objective: Objective, W: Array, value: float, other: float) -> bool:
    """Whether J is larger than another value of it, at W, beyond rounding."""
    return not value <= other + 2.0 * rounding(objective, W, other) + EXACT * abs(other)
