"""The minimum of a problem: a fit that starts from the model's weights, and its proof."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...numeric.types import Array
from ...objective import Objective
from ...proofs.rounding import SUMS, lost_loss
from ...proofs.units import seen_weights
from ...separation import decide
from ...solvers import choose
from ...training.ending import CONVERGED
from ...training.interrupt import passed_on
from ...training.minimize import Result, minimize
from ...training.no_minimum import column_sources
from ...training.stopping import Stop
from .problems import Problem

TOL = 1e-6  # of the objective: tolerance of the fit
MOST_PASSES = 1000  # of the fit: one that needs more is reported as not proven
MOST_READS = 1000  # of the data, to decide whether it can be separated
HARDEST_FIRST = ("overlapping", "quasi-separable", "separable")


@dataclass(frozen=True)
class Minimum:
    """What is known about the minimum of one problem."""

    value: float  # the objective at the model's weights
    bound: float  # a lower bound for all weights; if not ``proven``, the lowest value found
    gap: float
    """Upper bound on the distance of the model from the minimum, with the rounding of ``value``."""
    proven: bool
    tight: bool = True  # whether the fit reached the tolerance
    weights: Array | None = None
    """At the minimum, for the features as given; None if there is no useful minimum."""
    exists: bool | None = True
    """Whether some weights reach the infimum; None if this was not decided."""
    verdict: str | None = None  # separability, if there is no penalty, or for the perceptron's loss

    @property
    def zero(self) -> bool:
        """Whether the infimum is known to be 0."""
        return self.proven and self.weights is None


def minimum(problem: Problem) -> Minimum:
    """By duality if there is a penalty; else by the verdict on separability and a fit."""
    objective, value = problem.objective, problem.units.value(problem.weights)
    if objective.loss.homogeneous:  # least at zero weights, which have learned nothing
        return Minimum(value, 0.0, value, proven=True, verdict=_verdict(objective))
    if not objective.penalty.absent:
        return _fitted(problem, value)
    # Separable classes need not each be separable from the rest.
    falls = objective.loss.dual_range is not None and objective.loss.dual_range[0] == 0.0
    each = objective.shape[0] > 1 and objective.loss.column_loss is not None
    if not falls or each:
        return _fitted(problem, value, None if not objective.loss.attained else True)
    verdict, attained = _verdict(objective), objective.loss.attained
    if verdict == "separable":
        return Minimum(value, 0.0, value, proven=True, exists=attained, verdict=verdict)
    exists = True if attained or verdict == "overlapping" else None if verdict is None else False
    return replace(_fitted(problem, value, exists), verdict=verdict)


def _verdict(objective: Objective) -> str | None:
    """Whether the classes can be separated, if this many passes decide it.

    Of several labels, the verdict on the one that is hardest to separate.
    """
    source, verdicts = objective.source, set()
    for one in column_sources(source) if source.multilabel else [source]:
        found = decide(one, intercept=objective.intercept, most_reads=MOST_READS)
        if found is None:
            return None
        verdicts.add(found.verdict)
    return min(verdicts, key=HARDEST_FIRST.index)


def _fitted(problem: Problem, value: float, exists: bool | None = True) -> Minimum:
    """Compare with a fit: its lower bound, or without one its objective."""
    objective = problem.objective
    result = _fit(problem, value)
    rounding, proof = SUMS * value + lost_loss(objective), result.proof
    if proof is not None and proof.waits and proof.lower_bound == 0.0:
        proof = None  # nothing is known without a penalty unless the classes overlap
    if proof is not None:
        bound, tight = proof.lower_bound, proof.proven
    else:
        reached = value if result.objective is None else result.objective
        bound, tight = min(reached, value), result.stop in CONVERGED
    gap = max(value - bound, 0.0) + rounding
    if result.stop == "no minimum":
        exists = False
    elif exists is None and result.stop in CONVERGED and objective.loss.convex:
        exists = True
    weights = problem.units.weights(result.weights) if exists else None
    return Minimum(value, bound, gap, proof is not None, tight, weights, exists)


def _fit(problem: Problem, value: float) -> Result:
    """Start from the model, unless zeros are better."""
    objective, units = problem.objective, problem.units
    W = seen_weights(problem.weights, units.features)
    start = W if value < objective.at_zeros().value else np.zeros(objective.shape)
    solver = choose(objective)
    with passed_on(), np.errstate(over="ignore", invalid="ignore"):
        return minimize(
            objective, solver, stop=Stop(MOST_PASSES, tol=TOL), start=start,
            features=units.features, given=units.given,
        )  # fmt: skip
