"""Losses with each row left out in turn, on tables so small that this takes about a second.

Losses for several penalties use the method of ``LinearClassifierCV(cv="loo")``; the rows of largest
influence are those of ``leave_one_out``.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ...estimators.cv import leave_one_out as search
from ...estimators.left_out import leave_one_out
from ...numeric.types import Array, Ints
from ...objective import Objective
from ...penalties import is_l2
from ...solvers.least_squares import is_squared
from ...training.stopping import Stop
from .comparison import fitted

MOST_ROWS, MOST_WORK = 1000, 1e7
"""Rows, and rows times the square of the number of features, or of the rows if these are fewer."""
CLOSE = Stop(max_iter=200, tol=1e-12, prove=False)


def is_cheap(objective: Objective) -> bool:
    """Whether single rows can be left out, at little cost."""
    source, loss = objective.in_memory, objective.loss
    n, d = len(source.y), source.n_features
    equal = source.weight is None or bool(np.ptp(source.weight) == 0.0)
    smooth = objective.shape[0] == 1 and loss.has_curvature and loss.convex
    plain = is_l2(objective.penalty) and objective.penalty.l2 > 0.0
    fits = n <= MOST_ROWS and n * min(n, d + 1) ** 2 <= MOST_WORK
    return plain and fits and (is_squared(loss) or (equal and smooth))


MOST_LISTED = 10  # most influential rows


def influential_rows(
    clf: Any, objective: Objective, numbers: Ints | None
) -> list[dict[str, Any]] | None:
    """The rows whose removal changes the scores most, the first most; None if that is expensive.

    Scales and class weights are those of all rows. ``numbers`` are those of the rows as given.
    """
    n, (k, d) = len(objective.in_memory.y), objective.shape
    loss = objective.loss
    smooth = loss.convex and (is_squared(loss) or loss.log_likelihood)
    if not smooth or n > MOST_ROWS or n * (k * d) ** 2 > MOST_WORK or not clf.converged_:
        return None
    plain = copy(clf)
    plain.class_weight, plain.standardize, plain._features = None, False, None
    try:
        found = leave_one_out(plain, objective.source)
    except ValueError:  # which says why rows cannot be left out of this fit
        return None
    return [
        {
            "row": row if numbers is None else int(numbers[row]),
            "influence": float(found.influence[row]),
            "label": found.labels.tolist()[row], "held_out_score": found.scores[row].tolist(),
            "score_change": found.score_change[row].tolist(),
        }
        for row in found.most_influential(MOST_LISTED).tolist()
    ]  # fmt: skip


def losses(objective: Objective, l2s: Array) -> Array:
    """The loss of each row by the fit to all others: (n, len(l2s)), from large to small l2."""

    def fit(other: Objective, start: Array) -> Array:
        return fitted(other, CLOSE, start)

    found, _ = search.scores(objective, l2s, "loss", fit, fit)
    each: Array = -found
    return each
