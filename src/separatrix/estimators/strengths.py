"""The strengths of a path, decreasing from the one that leaves only the bias.

Problem: strengths s that are worth a fit, with ``l1 = l1_ratio * s`` and ``l2 = (1 - l1_ratio) * s
/ 2``. Input: an objective whose penalty has absolute values, or lengths of groups. Output: s from
large to small. Algorithm: the null model has only unpenalised weights, the biases and features of
weight 0. It is the minimum as long as the gradient of no other feature exceeds its threshold ``l1 *
p_j``, so the largest strength is ``max |g_j| / (l1_ratio * p_j)``, g the gradient of the mean loss
there; likewise for groups.

Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via coordinate
descent, Journal of Statistical Software 33 (2010), section 2.5.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from ..numeric import checks
from ..numeric.types import Array
from ..objective import Objective
from ..penalties import ElasticNet, SparsityInducing
from ..solvers import choose
from ..training.minimize import minimize
from ..training.stopping import Stop

SMALLEST, SMALLEST_WIDE = 1e-4, 1e-2  # of the largest; the second for fewer rows than features
TIGHT = Stop(max_iter=1000, tol=1e-16, prove=False)  # until a step expects no decrease
ABOVE = 1.0 + 1e-11  # rounding must not select a feature at the largest
NO_PULL = 1e-14  # of the largest possible gradient: below is rounding
MOST_TRIALS = 60  # each at least four times the last: enough for any float


class NullModel(NamedTuple):
    """The fit of the biases and of unpenalised features."""

    weights: Array
    loss: float  # mean loss of this fit
    largest: float  # the smallest strength that leaves only this fit; 0 if all do


def checked_ratio(l1_ratio: Any, zero: bool = False) -> float:
    """Check for a number above 0, or with ``zero`` at least 0, and at most 1."""
    ratio = checks.number("l1_ratio", l1_ratio, most=1.0)
    if ratio == 0.0 and not zero:
        raise ValueError(
            "l1_ratio=0 means no l1, and without l1 there is no largest strength: for a search of "
            "l2 set l1_ratio=None and l2s, or give an l1_ratio above 0"
        )
    return ratio


def checked_strengths(strengths: Any, smallest: Any = None) -> int | Array:
    """Check for a number of strengths, or values, which are sorted from large to small."""
    wanted = "a whole number of 1 or more, or an array of positive values"
    checks.optional_number("smallest", smallest, strict=True, most=1.0)
    if checks.is_integer(strengths):
        if strengths < 1:
            raise ValueError(f"strengths must be {wanted}, got {strengths!r}")
        return int(strengths)
    try:
        values = np.asarray(strengths, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or not len(values) or not np.all((values > 0.0) & (values < np.inf)):
        raise ValueError(f"strengths must be {wanted}, got {strengths!r}")
    if smallest is not None:
        raise ValueError(
            f"smallest={smallest!r} is the end of a grid, but strengths are given as values: "
            "leave it out, or give the number of strengths"
        )
    return np.unique(values)[::-1].copy()


def at_strength(penalty: SparsityInducing, l1_ratio: float, strength: float) -> SparsityInducing:
    """The same penalty with another strength."""
    return replace(penalty, l1=l1_ratio * strength, l2=(1.0 - l1_ratio) * strength / 2.0)


def null_model(objective: Objective, l1_ratio: float) -> NullModel:
    """Computed as the fit that a sufficiently large l1 leaves."""
    penalty = cast(SparsityInducing, objective.penalty)
    at = objective.value_and_gradient(np.zeros(objective.shape))
    l1 = 2.0 * penalty.largest(at.gradient)
    size = np.append(objective.feature_sizes, 0.0)
    slope = np.broadcast_to(max(at.value, 1.0) * size, objective.shape)
    nothing = NO_PULL * penalty.largest(slope)
    for _ in range(MOST_TRIALS):
        strong = objective.with_penalty(ElasticNet(max(l1, nothing), 0.0, penalty.weights))
        W = minimize(strong, choose(strong), stop=TIGHT).weights
        at = strong.value_and_gradient(W)
        if strong.penalty.value(W) == 0.0:
            break
        l1 = 4.0 * max(l1, strong.penalty.largest(at.gradient))
    largest = penalty.largest(at.gradient)
    largest = ABOVE * largest / l1_ratio if largest > nothing else 0.0
    return NullModel(W, at.value, largest)


def grid(objective: Objective, null: NullModel, count: int, smallest: float | None) -> Array:
    """``count`` strengths at equal ratios, from the largest down to a share of it."""
    if null.largest == 0.0:
        raise ValueError(
            "no feature with a penalty explains y beyond the bias and the features of "
            "weight 0, so every strength leaves all weights at 0: give strengths=[...] to fit "
            "them, or other features"
        )
    if smallest is None:
        wide = objective.source.n_rows < objective.source.n_features
        smallest = SMALLEST_WIDE if wide else SMALLEST
    strengths: Array = null.largest * np.geomspace(1.0, smallest, count)
    return strengths
