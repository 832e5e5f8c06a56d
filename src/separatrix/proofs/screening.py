"""Weights that are proven to be 0 in every minimum.

Problem: a weight of 0 at the end of a run may be an accident of where it ended. Input: the lower
bound of a run, the dual variables alpha behind it, and the duality gap. Output: which weights are
0 at every minimum. Algorithm: phi* is strongly convex with 1 / L, L the largest curvature of the
loss, so the best alphas are within ``sqrt(2 L gap)`` of these in the weighted root mean square.
Then ``mean of alpha * y * x_j`` is nearer to that of the best alphas than this radius times the
deviation of x_j (its root mean square, if there is no bias for which alphas must balance). If it
stays strictly inside ``l1 * p_j`` even so, w_j is 0. Of a group of weights likewise: the length of
its means, the root of the sum of the squared deviations, and its threshold.

Ndiaye, Fercoq, Gramfort and Salmon, Gap safe screening rules for sparsity enforcing penalties, JMLR
18 (2017).
"""

from __future__ import annotations

import numpy as np

from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray
from .gap import GapTracker

ROUNDING = 100 * EPS  # of a mean of products with a feature, in units of its size
CANCELLED = 1e-7  # of a feature's size: a deviation that is less may be rounding


def proven_zeros(proof: GapTracker) -> AnyArray:
    """Which weights (k, d) are 0 at every minimum, by what is proven."""
    objective = proof.objective
    penalty, curvature = objective.penalty, objective.loss.max_curvature
    nothing = np.zeros((objective.shape[0], objective.shape[1] - 1), dtype=np.bool_)
    if penalty.smooth or proof.dual is None or curvature is None:
        return nothing
    deviation, size = objective.moments.deviation, objective.feature_sizes
    spread = np.hypot(deviation, CANCELLED * size) if objective.intercept else size
    radius = np.sqrt(2.0 * curvature * proof.gap)
    if not np.isfinite(radius):
        return nothing
    # Of a group over the classes the mean of each is as far off as the alphas of its class are.
    spread, size = (penalty.lengths(of_features[None]) for of_features in (spread, size))
    rounding = ROUNDING + penalty.rounding_of_lengths
    nearest = penalty.lengths(proof.dual) + rounding * np.sqrt(len(nothing)) * size
    strictly = (1.0 + rounding) * (nearest + radius * spread) < penalty.thresholds
    proven: AnyArray = np.broadcast_to(penalty.by_feature(strictly), nothing.shape)
    return proven
