"""Gradients and steps that balance the biases, which have no penalty.

A bound from slopes needs derivatives of 0 with respect to the biases: its error is linear in these.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ..numeric.types import Array
from ..objective import Evaluation, Objective
from ..rows import space_of
from .smooth_bound import PenaltyAt, mean_conjugate, scaled_bound

MANY_CLASSES = 100  # a factor takes a tenth of the time of singular values


def gradient_without_bias(objective: Objective, gradient: Array) -> Array:
    """The approximate gradient with respect to w once the biases are at their optimum."""
    row_sum = space_of(gradient, objective.source.vectors).kept(objective.row_sum)
    mean = row_sum[:-1] / objective.source.weight_sum
    without: Array = gradient[:, :-1] - gradient[:, -1:] * mean
    return without


def gap_without_bias(objective: Objective, W: Array, at: Evaluation) -> float:
    """The approximate gap of a bound from W if the biases were at their optimum."""
    penalty = objective.penalty
    if penalty.smooth:
        return penalty.conjugate(gradient_without_bias(objective, at.gradient))
    mean = objective.row_sum[:-1] / objective.source.weight_sum
    there = PenaltyAt.of(objective, W)
    G = at.gradient[:, :-1] - there.gradient[:, :-1] - at.gradient[:, -1:] * mean
    return at.value - scaled_bound(penalty, -mean_conjugate(W, at, there), G)[0]


def newton_in_bias(objective: Objective, W: Array, bias: Array) -> Array:
    moved, space = W.copy(), space_of(W, objective.source.vectors)
    curvature, shifts = objective.bias_curvature(W), objective.loss.shifts
    moved[:, -1] -= space.asarray(_least_step(curvature, space.to_host(bias), shifts))
    return moved


def _least_step(curvature: Array, bias: Array, shifts: bool) -> Array:
    """The shortest solution; for many classes by a Cholesky factor if there is one."""
    k = len(curvature)
    if k >= MANY_CLASSES and shifts:  # J does not depend on the sum of the biases
        try:
            definite = curvature + float(np.trace(curvature)) / k**2
            factor = scipy.linalg.cho_factor(definite)
            return np.asarray(scipy.linalg.cho_solve(factor, bias), dtype=np.float64)
        except np.linalg.LinAlgError:
            pass
    return np.asarray(np.linalg.lstsq(curvature, bias, rcond=1e-12)[0], dtype=np.float64)
