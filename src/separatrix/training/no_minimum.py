"""Whether a loss without a penalty has a minimum, or runs off along a separating direction.

The logistic loss, softmax and the squared tanh fall for ever as margins grow. If some direction
gives no row a negative margin and one a positive (data that is separable or quasi-separable), J
falls along it from any weights: there is no minimum, and where a solver stops is an accident.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import ArraySource, Source
from ..losses import Columns
from ..numeric.types import Array
from ..objective import Objective
from ..objective.accuracy import exact_mistakes
from ..separation import decide

TIMES = 10  # the reads of the fit that the verdict may cost
MOVES = 1e-2  # by a step in variables of one scale: weights that have arrived move less
LONG, GROWS = 20, 1.01  # passes, and growth of the weights in the later half of them
SHARE = 1e-3  # of the largest: coefficients of a direction that run off with it


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
    left = TIMES * reads
    for source in _sources(objective):
        found = decide(source, intercept=objective.intercept, most_reads=left)
        if found is None:
            return Runaway(settled=False)
        if found.verdict != "overlapping":
            assert found.direction is not None
            return _along(objective, found.direction, found.verdict)
    # What is not convex may run off all the same, and nobody can tell.
    return None if objective.loss.convex else Runaway(settled=False)


def _grows(objective: Objective, moved: Array | None, norms: Array) -> bool:
    """Whether the weights had not come to rest."""
    if moved is None:
        return True
    if len(norms) >= LONG and norms[-1] > GROWS * norms[len(norms) // 2]:
        return True
    return bool(np.abs(objective.standardization.from_weights(moved)).max() > MOVES)


def _sources(objective: Objective) -> list[Source]:
    """The data; where every class has a loss of its own, once for each class."""
    source = objective.source
    if not isinstance(objective.loss, Columns):
        return [source]
    if not isinstance(source, ArraySource):
        return []
    two = np.array([0, 1])
    return [
        ArraySource(source.X, np.where(source.y == c, 1.0, -1.0), two, source.weight, source.n_jobs)
        for c in range(len(source.classes))
    ]


def _along(objective: Objective, direction: Array, verdict: str) -> Runaway:
    sizes = np.abs(objective.standardization.from_weights(direction)).max(axis=0)
    order = np.argsort(-sizes[:-1], kind="stable")
    fast = tuple(int(j) for j in order if sizes[j] > SHARE * sizes.max())
    bias = bool(np.abs(direction[:, -1]).max() > SHARE * np.abs(direction).max())
    return Runaway(True, verdict, fast, bias)
