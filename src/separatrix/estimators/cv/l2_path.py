"""The values of l2 that a cross-validation tries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...losses import Loss
from ...numeric import checks
from ...numeric.tolerances import SMALLEST_NORMAL
from ...numeric.types import Array
from ...objective import Objective
from .sums import MaxNorms

DECADES = 8  # from the largest l2 of the grid to the smallest
CONSTANT = 1e-7  # of its mean: a constant feature differs from it by no more, up to rounding


def l2_path(l2s: Any, objective: Objective, smallest: float | None = None) -> Array:
    """The values to try, from the largest; ``smallest`` is the end of the grid as a share of it."""
    wanted = "a whole number of 1 or more, or an array of positive values"
    if checks.is_integer(l2s):
        count = int(l2s)
        if count < 1:
            raise ValueError(f"l2s must be {wanted}, got {l2s!r}")
        decades = DECADES if smallest is None else -math.log10(smallest)
        return _largest_l2(objective) * np.logspace(0.0, -decades, count)
    try:
        values = np.asarray(l2s, dtype=float)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or not len(values) or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"l2s must be {wanted}, got {l2s!r}")
    return np.unique(values)[::-1].copy()


def outweighing_l2(loss: Loss, spread: Array) -> float:
    """The l2 at which the penalty has the curvature of the mean loss along all features together.

    ``spread`` is their root mean square around what the bias absorbs, 0 or their means.
    """
    with np.errstate(over="ignore", under="ignore"):
        return (loss.max_curvature or 1.0) * float(np.sum(spread**2))


def _largest_l2(objective: Objective) -> float:
    """The start of the grid."""
    mean, deviation = objective.moments
    around = deviation if objective.intercept else np.hypot(deviation, mean)
    largest = outweighing_l2(objective.loss, around)
    if largest == 0.0 and not _varies(objective):
        return 1.0
    if not SMALLEST_NORMAL <= largest * 10.0**-DECADES <= largest < np.inf:
        size = "large" if largest > 1.0 else "small"
        raise ValueError(
            f"the features are too {size} for a grid of l2, which depends on their squares: "
            "scale them, e.g. with sklearn.preprocessing.StandardScaler, or give l2s"
        )
    return largest


def _varies(objective: Objective) -> bool:
    """Whether features differ from their mean (without a bias, from 0) by more than rounding.

    Computed in units in which no square underflows.
    """
    mean = objective.moments.mean if objective.intercept else np.zeros(objective.shape[1] - 1)
    unit = np.full(len(mean), 2.0**1000)
    (squares,) = objective.source.total(MaxNorms(mean, unit))
    largest = CONSTANT * float(np.max(np.abs(mean)))
    return math.sqrt(max(squares)) > largest * 2.0**1000
