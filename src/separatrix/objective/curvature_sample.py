"""Random rows for estimating the second derivative of J."""

from __future__ import annotations

from .objective import Objective
from .thresholds import (
    ENOUGH_ROWS,
    FEWEST_PER_FEATURE,
    SAMPLE_COST,
    SAMPLE_PER_FEATURE,
    SAMPLE_ROWS,
    SAMPLE_SHARE,
)


def hessian_sample(objective: Objective, max_features: int) -> Objective | None:
    """A sample for estimating the second derivative; None if it should not be factored."""
    loss, source, d = objective.loss, objective.source, objective.source.n_features
    if not loss.has_curvature or not loss.convex or d > max_features:
        return None
    share = min(SAMPLE_SHARE, SAMPLE_COST / d)
    most = max(FEWEST_PER_FEATURE * d, int(ENOUGH_ROWS / d * source.n_rows))
    least = min(SAMPLE_PER_FEATURE * d, most)
    return objective.sample(max(SAMPLE_ROWS, least, int(share * source.n_rows)))
