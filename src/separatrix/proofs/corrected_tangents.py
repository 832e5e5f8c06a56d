"""Dual variables, corrected to first order for a step of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, xlog1py

from ..data import Block, Sum
from ..losses import Loss
from ..numeric.types import AnyArray, Array
from .rounding import Pair

Sums = tuple[float, float, Pair, list[Array], float, list[Array]]
NEARBY = 2.0  # added to the logarithm of an alpha that may still change by up to half


class Corrected(NamedTuple):
    """Corrected dual variables, (n, k); a margin loss has one column."""

    conjugates: Array  # (n,); infinite or NaN where an alpha is outside its range
    slopes: Array  # derivatives with respect to the scores
    distances: Array
    """From the dual variable to the nearest end of its range; infinite if the range has no end."""
    curvatures: Array  # phi'', the weight of the correction
    conjugate_slopes: Array
    """Bounds on the absolute derivative of the conjugate near the dual variable."""


@dataclass(frozen=True)
class CorrectedTangents(Sum[Sums]):
    """Sums over the corrected dual variables.

    These are the conjugates (infinite or NaN if one leaves its range), their absolute values, the
    gradient, the smallest ``distance * sqrt(c / (C * phi''))`` by column, the squares of
    ``sum_columns |phi*'| * sqrt(phi'')``, and the smallest distance by column.
    """

    loss: Loss
    W: Array
    step: Array
    weight_sum: float

    def of(self, block: Block) -> Sums:
        rows = block.rows
        scores, turn = rows.scores(self.W), rows.without_offset.scores(self.step)
        weight = block.weights
        present = weight > 0.0
        with np.errstate(all="ignore"):  # non-finite values prove nothing
            found = corrected(self.loss, block.y, scores, turn)
            conjugates, sizes, steepness = of_scores(found, rows.offset)
            share = np.sqrt(weight[:, None] / self.weight_sum / found.curvatures)
            slack = np.where(found.curvatures > 0.0, found.distances * share, np.inf)[present]
            steep = np.sum(steepness * np.sqrt(found.curvatures), axis=1)
        coefficients = np.where(present[:, None], weight[:, None] * found.slopes, 0.0)
        gradient = Pair(*rows.compensated_transpose_product(coefficients))
        weight = weight[present]
        return (
            float(weight @ conjugates[present]),
            float(weight @ sizes[present]),
            gradient,
            [np.min(slack, axis=0, initial=np.inf)],
            float(weight @ steep[present] ** 2),
            [np.min(found.distances[present], axis=0, initial=np.inf)],
        )


def of_scores(found: Corrected, offset: Array | None) -> tuple[Array, Array, Array]:
    """Conjugates, the size of their terms, and their derivatives, by scores without the offset.

    ``phi(s + o) >= slope * (s + o) - phi*(slope)``: the offset adds ``-slope * o``.
    """
    if offset is None:
        return found.conjugates, np.abs(found.conjugates), found.conjugate_slopes
    added = found.slopes * offset
    return (
        found.conjugates - added.sum(axis=1),
        np.abs(found.conjugates) + np.abs(added).sum(axis=1),
        found.conjugate_slopes + np.abs(offset),
    )


def corrected(loss: Loss, y: AnyArray, scores: Array, turn: Array) -> Corrected:
    """Dual variables at these scores, corrected for a change ``turn`` of the scores."""
    binary = loss.column_loss
    if binary is None:
        return _of_softmax(loss, y, scores, turn)
    sign = loss.signs(y, scores)
    m, turn = sign * scores, sign * turn
    curvature = binary.curvature(m)
    alpha = -binary.slope(m) - curvature * turn
    conjugates = binary.conjugate(alpha)
    if binary.log_likelihood:
        rest = -binary.slope(-m) + curvature * turn  # 1 - alpha, without cancellation
        # By the smaller of the two: the other is 1 up to rounding, whose logarithm has no digits.
        small = np.minimum(alpha, rest)
        conjugates = np.where(small >= 0.0, xlog1py(1.0 - small, -small) - entr(small), np.inf)
        distances = np.minimum(alpha, rest)
        steepness = np.abs(np.log(alpha / rest)) + NEARBY
    else:
        distances = np.full_like(alpha, np.inf)
        if binary.spares:
            conjugates, distances = np.where(alpha >= 0.0, conjugates, np.inf), alpha
        steepness = np.abs(0.5 * alpha - 1.0)
    if loss.weighs_columns:  # of a loss c * phi: c * alpha, whose conjugate is c * phi*
        c = loss.column_weights(y)
        conjugates, alpha, distances = c * conjugates, c * alpha, c * distances
        curvature = c * curvature
    return Corrected(conjugates.sum(axis=1), -sign * alpha, distances, curvature, steepness)


def _of_softmax(loss: Any, y: AnyArray, scores: Array, turn: Array) -> Corrected:
    """Class probabilities; the true class gets 1 minus the sum of the others."""
    own = np.arange(len(y)), y
    p = loss.probability(scores)
    q = p + loss.curvature_product(y, scores, turn)
    curvatures, slopes = p * (1.0 - p), q.copy()
    q[own] = 0.0
    miss = q.sum(axis=1)
    slopes[own] = -miss
    conjugates = -entr(q).sum(axis=1) + xlog1py(1.0 - miss, -miss)
    steepness = np.abs(np.log(q)) + NEARBY
    steepness[own] = np.abs(np.log1p(-miss)) + NEARBY
    distances = q
    distances[own] = 1.0 - miss
    return Corrected(conjugates, slopes, distances, curvatures, steepness)
