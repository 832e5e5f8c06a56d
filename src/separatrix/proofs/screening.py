"""Weights that are provably 0 at every minimum.

Problem: a weight that is 0 at the end of a run may be so by accident. Input: the lower bound of a
run, the dual variables alpha that prove it, and the duality gap. Output: which weights are 0 at
every minimum. Algorithm: phi* is strongly convex with 1 / L, L the largest curvature of the loss,
so the optimal alphas are within ``sqrt(2 L gap)`` of these in weighted root mean square. Then
``mean of alpha * y * x_j`` is within this radius times the standard deviation of x_j (its root mean
square without a bias) of its optimal value. If it is strictly inside ``l1 * p_j`` even so, w_j is
0. For a group of weights: the length of its means, the root of the sum of squared deviations, and
its threshold.

Ndiaye, Fercoq, Gramfort and Salmon, Gap safe screening rules for sparsity enforcing penalties, JMLR
18 (2017).
"""

from __future__ import annotations

import numpy as np

from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array
from ..penalties import Penalty
from .gap import GapTracker

ROUNDING = 100 * EPS  # of a mean of products with a feature, relative to its size
CANCELLED = 1e-7  # of a feature's size: a smaller deviation may be rounding


def proven_zeros(proof: GapTracker) -> AnyArray:
    """Which weights (k, d) are provably 0 at every minimum."""
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
    if penalty.constrains:
        error = radius * spread + ROUNDING * np.sqrt(len(nothing)) * size
        return penalty.zero_within(-proof.dual, (1.0 + ROUNDING) * error)
    # For groups over the classes, the error of each class's mean follows from its own alphas.
    moves = radius * penalty.lengths(spread[None])
    strictly = (1.0 + _rounding(penalty)) * (_pulls(proof, proof.dual) + moves) < penalty.thresholds
    proven: AnyArray = np.broadcast_to(penalty.by_feature(strictly), nothing.shape)
    return proven


def slack(proof: GapTracker) -> Array:
    """By how much the pull of every feature is below its threshold in the proof, at least: (k, d).

    At every minimum the sum of these times the weights, or lengths of groups, is at most the gap.
    """
    objective, penalty = proof.objective, proof.objective.penalty
    shape = objective.shape[0], objective.shape[1] - 1
    if penalty.smooth or proof.dual is None:
        return np.zeros(shape)
    left = penalty.thresholds - (1.0 + _rounding(penalty)) * _pulls(proof, proof.dual)
    found: Array = np.broadcast_to(penalty.by_feature(np.maximum(left, 0.0)), shape)
    return found


def _rounding(penalty: Penalty) -> float:
    return ROUNDING + penalty.rounding_of_lengths


def _pulls(proof: GapTracker, dual: Array) -> Array:
    """Upper bounds on the lengths of the means of ``alpha * y * x``, by block of weights."""
    objective, penalty = proof.objective, proof.objective.penalty
    size = penalty.lengths(objective.feature_sizes[None])
    pulls: Array = penalty.lengths(dual) + _rounding(penalty) * np.sqrt(objective.shape[0]) * size
    return pulls
