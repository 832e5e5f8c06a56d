"""Size of the linear systems of an objective, and whether they resolve the penalty."""

from __future__ import annotations

import numpy as np

from ..objective import Objective
from . import thresholds


def drowns_penalty(objective: Objective) -> bool:
    """Whether features are so large that products of rows lose the penalty to rounding.

    Systems in the space of rows then lose all smaller features as well.
    """
    square = objective.mean_square
    most = 2.0 * objective.penalty.l2 * thresholds.MOST_CURVATURE_OF_PRODUCTS
    return most < square < np.inf  # where squares overflow, no system is exact


def in_feature_space(objective: Objective) -> bool:
    """Whether two-class systems have one unknown per feature, even if there are fewer rows."""
    fits = objective.source.n_features <= thresholds.AFFORDABLE_UNKNOWNS
    return fits and drowns_penalty(objective)


def unknowns(objective: Objective) -> int:
    """Number of unknowns in the systems of an interior point."""
    k, n, d = objective.shape[0], objective.source.n_rows, objective.source.n_features
    if k > 1:  # the weights of all classes, in the space that the rows span
        return k * (min(n, d) + 1)
    return d if in_feature_space(objective) else min(n, d)


def affordable(objective: Objective) -> bool:
    """Whether systems of all classes are small enough, and the rows few enough to be multiplied."""
    size, n = unknowns(objective), objective.source.n_rows
    return size <= thresholds.AFFORDABLE_UNKNOWNS and n * size <= thresholds.AFFORDABLE_VALUES
