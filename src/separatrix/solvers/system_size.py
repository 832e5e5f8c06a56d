"""How large the systems of equations of an objective are, and whether they keep the penalty."""

from __future__ import annotations

import numpy as np

from ..objective import Objective
from . import thresholds


def drowns_penalty(objective: Objective) -> bool:
    """Whether features are so large that products of rows lose what the penalty adds to them.

    Then systems in the space of rows lose all smaller features as well.
    """
    square = objective.mean_square
    most = 2.0 * objective.penalty.l2 * thresholds.MOST_CURVATURE_OF_PRODUCTS
    return most < square < np.inf  # where squares overflow, no system is exact


def in_feature_space(objective: Objective) -> bool:
    """Whether systems of two classes are those of the features, even where rows are fewer."""
    fits = objective.source.n_features <= thresholds.AFFORDABLE_UNKNOWNS
    return fits and drowns_penalty(objective)


def unknowns(objective: Objective) -> int:
    """The number of unknowns of an interior point's systems."""
    k, n, d = objective.shape[0], objective.source.n_rows, objective.source.n_features
    if k > 1:  # the weights of all classes, in the space that the rows span
        return k * (min(n, d) + 1)
    return d if in_feature_space(objective) else min(n, d)


def affordable(objective: Objective) -> bool:
    """Whether systems of all classes are small enough, and rows few enough to be multiplied."""
    size, n = unknowns(objective), objective.source.n_rows
    return size <= thresholds.AFFORDABLE_UNKNOWNS and n * size <= thresholds.AFFORDABLE_VALUES
