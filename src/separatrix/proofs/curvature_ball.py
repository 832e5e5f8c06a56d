"""A smaller region for the exact minimum than the ball of the penalty: the losses curve J, too.

Problem: J is more curved than its penalty, so the minimum is nearer than the ball says. Input:
bounds on how far every score of the training rows can be from that at the minimum. Output: an
ellipsoid around the weights and the bias together. Algorithm: on the way from the minimum to the
weights, no score leaves its bounds, so that the curvature of row i is at least ``h_i``, the
smallest second derivative within them. J is then at least ``min J + D'H D / 2`` with ``H = sum_i
p_i h_i z_i z_i' + 2 diag(l2)`` and D the difference of the weights, and a score differs by at most
``sqrt(2 gap x'H^-1 x)``. The smaller region gives better bounds on the scores, and so another H.

``h_i``: constant for a quadratic; ``exp(-t)`` times that at the weights for scores that differ by
at most t, if the third derivative is at most the second; at the largest margin if the second
derivative falls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..losses import MarginLoss
from ..numeric.tolerances import EPS
from ..numeric.types import Array
from .weight_ball import WeightBall

MOST_VARIABLES = 512  # of a class, whose second derivative is computed
MOST_VALUES = 1 << 21  # of the matrices of all classes: 16 MB
CHUNK = 1 << 18  # values of dense rows at a time
SUMMED = 1e-12  # relative error of sums in a second derivative, of the sum of its diagonal
OPERATIONS = 100  # roundings of a factor and of a solution, besides one per variable


def has_least_curvature(loss: MarginLoss) -> bool:
    """Whether bounds on scores give bounds on the second derivative of the loss."""
    known = loss.constant_curvature is not None or loss.log_likelihood or loss.falling_curvature
    return known and loss.has_curvature


def least_curvature(loss: MarginLoss, margins: Array, within: Array) -> Array:
    """The smallest second derivative at margins that differ by at most ``within``."""
    # A second derivative that falls with the margin is smallest at the upper end.
    if loss.falling_curvature:
        return loss.curvature(margins + within)
    curvature = loss.curvature(margins)
    return curvature if loss.constant_curvature is not None else curvature * np.exp(-within)


@dataclass(frozen=True)
class CurvatureBall:
    """Weights and biases with ``sum_c D_c'H_c D_c <= 2 gap``, in units of the reach."""

    ball: WeightBall
    bias_unit: float
    """The feature of every row that the bias multiplies, in these units; 0 without a bias."""
    factors: Array  # lower triangular, (k, m, m): their squares are at most H, including rounding

    def deviations(self, X: Any) -> Array:
        """How far the scores of rows can be from those at the minimum, (n, k)."""
        radius = math.sqrt(2.0) * self.ball.radius * (1.0 + OPERATIONS * EPS)
        found = [self._lengths(Z) for Z in chunks(self.ball, self.bias_unit, X)]
        with np.errstate(invalid="ignore", over="ignore"):
            result: Array = radius * np.concatenate(found)
        result[~np.isfinite(result)] = np.inf
        return result

    def _lengths(self, Z: Array) -> Array:
        finite = np.asarray(np.isfinite(Z).all(axis=1))
        safe = np.where(finite[:, None], Z, 0.0).T
        lengths = np.empty((len(Z), len(self.factors)))
        for c, factor in enumerate(self.factors):
            solved = scipy.linalg.solve_triangular(factor, safe, lower=True, check_finite=False)
            lengths[:, c] = np.sqrt(np.einsum("ij,ij->j", solved, solved))
        lengths[~finite] = np.inf
        return lengths


def chunks(ball: WeightBall, bias_unit: float, X: Any) -> Iterator[Array]:
    """A few rows at a time in units of the reach, with the feature of the bias last."""
    n, d = X.shape
    step = max(1, CHUNK // (d + 1))
    for start in range(0, max(n, 1), step):
        part: Any = X[start : start + step]
        part = part.toarray() if sp.issparse(part) else part
        Z = np.empty((len(part), d + (bias_unit > 0.0)))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            np.multiply(part - ball.centre, ball.reach, out=Z[:, :d])
        Z[:, d:] = bias_unit
        yield Z


def lower_factor(gram: Array, has_bias: bool) -> Array | None:
    """A triangular factor whose square is at most ``gram + 2 I`` despite all rounding.

    A bias, the last variable, has no penalty. None if rounding leaves nothing of the curvature.
    """
    m = len(gram)
    penalty = np.full(m, 2.0)
    penalty[m - has_bias :] = 0.0
    rounding = (SUMMED + 16.0 * (m + OPERATIONS) * EPS) * (float(np.trace(gram)) + 2.0 * m)
    H = gram + np.diag(penalty - rounding)
    if not np.isfinite(H).all():
        return None
    try:
        factor: Array = scipy.linalg.cholesky(H, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return factor
