"""Whether a loss without a penalty has a minimum, or runs off along a separating direction.

The logistic loss, softmax and the squared tanh fall for ever as margins grow. If some direction
gives no row a negative margin and one a positive (data that is separable or quasi-separable), J
falls along it from any weights: there is no minimum, and where a solver stops is an accident. That
this is the only way not to have one was shown by A. Albert and J. A. Anderson, On the existence of
maximum likelihood estimates in logistic regression models, Biometrika 71 (1984).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..data import InMemory, Source
from ..data.labels_in_memory import LabelsInMemory
from ..losses import OneVsRest
from ..numeric.types import Array, Ints
from ..objective import Objective
from ..objective.accuracy import exact_mistakes
from ..separation import decide

TIMES = 10  # the reads of the fit that the verdict may cost
LAST_STEP = 1e-2  # in variables of one scale: weights that have arrived move less
PASSES_TO_GROWTH, GROWTH = 20, 1.01  # of the norm, in the later half of so many passes or more
RUNS_OFF = 1e-3  # of the largest: coefficients of a direction that run off with it


@dataclass(frozen=True)
class Runaway:
    """Why there is no minimum, or that it was not settled."""

    settled: bool
    verdict: str = ""
    """``"separable"`` or ``"quasi-separable"``."""
    features: tuple[int, ...] = ()
    """Features whose coefficients run off, the fastest first."""
    intercept: bool = False
    """Whether a bias does."""

    def with_features(self, numbers: Ints) -> Runaway:
        """The same with other numbers for the features."""
        return replace(self, features=tuple(numbers[list(self.features)].tolist()))


def runaway(
    objective: Objective,
    W: Array,
    mistakes: float,
    moved: Array | None,
    norms: Array,
    reads: int,
) -> Runaway | None:
    """What keeps J from having a minimum; None if nothing does.

    Rows that are all right settle it. Else the verdict on separability does, and is asked for only
    if the weights still grew at the end of the run.
    """
    try:
        objective.standardization  # noqa: B018 (to be remembered)
    except ValueError:  # squares overflow: nothing can be told
        return Runaway(settled=False)
    if mistakes == 0.0 and exact_mistakes(objective, W) == 0.0:
        return _along(objective, W, "separable")
    if not _grows(objective, moved, norms):
        return None
    for source in _sources(objective):
        found = decide(source, intercept=objective.intercept, most_reads=TIMES * reads)
        if found is None:
            return Runaway(settled=False)
        if found.direction is not None:  # which data that overlaps has not
            return _along(objective, found.direction, found.verdict)
    # What is not convex may run off all the same, and nobody can tell.
    return None if objective.loss.convex else Runaway(settled=False)


def _grows(objective: Objective, moved: Array | None, norms: Array) -> bool:
    """Whether the weights had not come to rest."""
    if moved is None:
        return True
    if len(norms) >= PASSES_TO_GROWTH and norms[-1] > GROWTH * norms[len(norms) // 2]:
        return True
    return bool(np.abs(objective.standardization.from_weights(moved)).max() > LAST_STEP)


def _sources(objective: Objective) -> list[Source]:
    """The data; where every class has a loss of its own, once for each class."""
    source = objective.source
    if not isinstance(objective.loss, OneVsRest):
        return [source]
    if not isinstance(source, InMemory):
        source = LabelsInMemory.of(source)
    two = np.array([0, 1])
    each = range(len(source.classes))
    return [source.with_labels(np.where(source.y == c, 1.0, -1.0), two) for c in each]


def _along(objective: Objective, direction: Array, verdict: str) -> Runaway:
    sizes = np.abs(objective.standardization.from_weights(direction)).max(axis=0)
    order = np.argsort(-sizes[:-1], kind="stable")
    fast = tuple(int(j) for j in order if sizes[j] > RUNS_OFF * sizes.max())
    bias = bool(np.abs(direction[:, -1]).max() > RUNS_OFF * np.abs(direction).max())
    return Runaway(True, verdict, fast, bias)
