"""Losses with each row left out in turn, on tables so small that this takes about a second.

The machinery is that of ``LinearClassifierCV(cv="loo")``: Newton steps from the fit to all rows.
"""

from __future__ import annotations

import numpy as np

from ...estimators.cv import leave_one_out
from ...numeric.types import Array
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


def losses(objective: Objective, l2s: Array) -> Array:
    """The loss of each row by the fit to all others: (n, len(l2s)), from large to small l2."""

    def fit(other: Objective, start: Array) -> Array:
        return fitted(other, CLOSE, start)

    found, _ = leave_one_out.scores(objective, l2s, "loss", fit, fit)
    each: Array = -found
    return each
