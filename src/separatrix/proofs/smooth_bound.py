"""Lower bounds on the minimum of J by duality, at any weights.

Problem: given W, find a number below ``min J`` that is as close to it as W permits.
Input: an objective with l2 > 0 and a loss with a known conjugate phi*; weights W, or the gradient
of J there. Output: the bound, and its rounding error or the dual variables alpha that prove it.

Every convex loss is above its tangents, ``phi(m) >= -alpha * m - phi*(-alpha)``. Inserting this
into J, with any alphas that balance (``sum c * alpha * y = 0``, because the bias is free), and
minimising over w gives

    D(alpha) = -mean of phi*(-alpha)  -  |mean of alpha * y * x|^2 / (4 l2)   <=   min J

(Fenchel and Rockafellar's duality; Rockafellar, Convex Analysis, 1970, section 31.)

Smooth losses: the slopes at some weights give such alphas, except for the balance. They are
balanced by mixing with alphas that depend on the class only: phi* is convex, so the conjugate of
the mixture is at most the mixture of conjugates, and both are known from J, its gradient and the
class sums. A bound thus costs no read of the data once the gradient is known. Softmax is the same
with probabilities for alpha, which must match the class counts.

For losses with a kink, slopes do not determine alpha at the minimum: see ``nonsmooth_bound``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import entr

from ..losses import MarginLoss
from ..numeric.dot import dot
from ..numeric.tolerances import EPS, SMALLEST_NORMAL
from ..numeric.types import Array
from ..objective import Evaluation, Objective
from ..penalties import Penalty
from ..rows import HOST, VectorSpace, space_of
from .rounding import SUMS, rounding, sum_rounding

TWICE = 2.0 ** np.arange(10)  # shares of a mixture to try, in units of the smallest


class PenaltyAt(NamedTuple):
    """The penalty and its gradient at some weights, which every part of a bound needs."""

    value: float
    gradient: Array

    @classmethod
    def of(cls, objective: Objective, W: Array) -> PenaltyAt:
        return cls(objective.penalty.value(W), objective.penalty.gradient(W))


class LowerBound(NamedTuple):
    """A lower bound on J over all weights."""

    value: float
    allowance: float  # rounding error: how much too high the bound may be
    dual: Array | None = None
    """``-mean of alpha * y * x`` of the dual variables that prove it, up to the sign: (k, d)."""


def smooth_lower_bound(objective: Objective, W: Array, at: Evaluation) -> LowerBound:
    """A lower bound on the minimum of J from its value and gradient at W."""
    penalty = PenaltyAt.of(objective, W)
    conjugate = mean_conjugate(W, at, penalty)
    allowance = conjugate_rounding(objective, W, at, penalty, conjugate)
    allowance += rounding_of_scale(objective, at)
    return feasible_lower_bound(objective, at.gradient, conjugate, penalty, allowance)


def mean_conjugate(W: Array, at: Evaluation, penalty: PenaltyAt) -> float:
    """Mean conjugate of the slopes at W: phi*(slope) = m * slope - phi(m)."""
    G = at.gradient[:, :-1] - penalty.gradient[:, :-1]
    along = dot(G, W[:, :-1]) + dot(at.gradient[:, -1], W[:, -1])
    return along - (at.value - penalty.value)


def conjugate_rounding(
    objective: Objective, W: Array, at: Evaluation, penalty: PenaltyAt, conjugate: float
) -> float:
    """Rounding error of the mean conjugate.

    J and its gradient are rounded relative to the penalty, which is subtracted from both.
    """
    loss_mean = at.value - penalty.value
    sizes = loss_mean + abs(conjugate + loss_mean)
    of_penalty = 2.0 * EPS * penalty.value
    return sum_rounding(objective) * sizes + of_penalty + rounding(objective, W, loss_mean)


def feasible_lower_bound(
    objective: Objective, gradient: Array, conjugate: float, at: PenaltyAt, allowance: float
) -> LowerBound:
    """The bound from tangents, given the gradient of J with their slopes and their mean conjugate.

    ``at`` is the penalty where the gradient was computed, ``allowance`` the rounding error of the
    conjugate.
    """
    penalty = objective.penalty
    G = gradient[:, :-1] - at.gradient[:, :-1]
    allowance += EPS * at.value  # the gradient is rounded relative to the penalty's
    if not penalty.smooth and objective.loss.column_loss is not None:
        found, V = _bound_of_columns(objective, G, gradient[:, -1], conjugate)
        allowance += SUMS * abs(found + conjugate)
        return LowerBound(found, allowance, V) if found > 0.0 else LowerBound(0.0, allowance)

    def dual(gain: float, V: Array) -> tuple[float, Array]:
        if penalty.smooth:
            return gain - penalty.conjugate(V), V
        return scaled_bound(penalty, gain, V)

    best, (alone, _), before = LowerBound(0.0, 0.0), dual(-conjugate, G), -np.inf
    allowance += SUMS * abs(alone + conjugate)
    mixtures = Mixtures.of(objective, gradient[:, -1]) if objective.intercept else UNMIXED
    for share, level in zip(mixtures.shares, mixtures.levels, strict=True):
        found, V = dual(-(1.0 - share) * conjugate - share * level, mixtures.mixed(G, share))
        if found > best.value:
            best = LowerBound(found, allowance, V)
        # Nearly balanced: the effect of another share would be lost to rounding. And the bound is
        # concave in the share: past its maximum, larger shares need not be tried.
        if abs(found - alone) <= allowance or found < before:
            break
        before = found
    return best._replace(allowance=allowance)


def _bound_of_columns(
    objective: Objective, G: Array, bias: Array, conjugate: float
) -> tuple[float, Array]:
    """The best bound over shares and scales, and the gradient of its alphas; 0 if there is none.

    If class-wise alphas balance the biases, the mixtures for all shares are multiples t of one
    vector, and so is their gradient. The remaining 1 - t is best given to the class-wise alphas:
    phi* is convex with phi*(0) = 0, so a larger share has a smaller sum. One number remains to be
    chosen, and features only enter through the conjugate of t times one gradient.
    """
    penalty, least = objective.penalty, 0.0
    if objective.intercept:
        least, light = _light_sides(objective, bias)
    if least >= 1.0:
        return 0.0, G
    if least < SMALLEST_NORMAL:  # already balanced
        return scaled_bound(penalty, -conjugate, G)
    loss, count = _binary(objective), light[:, -1]
    V = G + _missing_gradient(bias, light, HOST)
    shares = np.append(_shares(least)[:, 0], least)
    most, curved = penalty.dual_scale(-V), penalty.l2 or penalty.constrains
    best_scale = penalty.dual_scale(-V, -conjugate) if curved else most
    scales = np.append(1.0 - shares[:-1], best_scale)
    scales = np.minimum(scales, min(most, 1.0 - least))
    shares = np.maximum(shares, 1.0 - scales)
    alpha = _missing_alpha(shares[:, None], bias, count)
    levels = loss.conjugate(alpha) @ count + _levels_of_offset(objective, bias, alpha)
    found = -scales * conjugate - shares * levels - penalty.conjugates(-V, scales)
    best = int(np.argmax(found))
    return float(found[best]), scales[best] * V


def scaled_bound(penalty: Penalty, gain: float, G: Array) -> tuple[float, Array]:
    """The largest ``s * gain - conjugate(-s * G)`` for s up to 1, and ``s * G`` there.

    phi* is convex with phi*(0) = 0, so a share s of alphas gains at least s times ``gain``. With
    absolute values in the penalty, G may leave their box only as far as the squared terms pay for
    it (Ndiaye, Fercoq, Gramfort and Salmon, Gap safe screening rules for sparsity enforcing
    penalties, 2017).
    """
    s = penalty.dual_scale(-G, gain)
    return s * gain - penalty.conjugate(-s * G), s * G


def rounding_of_scale(objective: Objective, at: Evaluation) -> float:
    """Error of a bound due to the rounding of the gradient.

    With absolute values and no squares, the scale must move the gradient into their box, so its
    error is an error of the scale. With squares it has the same effect as an error of the scores.
    Between bounds and without squares, it is multiplied by the largest weight.
    """
    penalty = objective.penalty
    reach = penalty.reach
    if not reach.any():
        return 0.0
    try:
        size = objective.feature_sizes
    except ValueError:  # squares overflow: nothing is known
        return np.inf
    unit = EPS * objective.loss.steepness(at.value)
    bounded = np.broadcast_to(np.where(np.isfinite(reach), reach, 0.0), size.shape)
    of_weights = unit * len(at.gradient) * dot(bounded, size)
    # Blocks are expanded to their features.
    pull = penalty.by_feature(penalty.lengths(at.gradient[:, :-1]))
    threshold = np.broadcast_to(penalty.by_feature(penalty.thresholds), pull.shape)
    near = (threshold > 0.0) & (pull >= 0.5 * threshold) & np.isinf(reach)
    sizes = np.broadcast_to(size, (len(at.gradient), len(size)))
    sizes = np.broadcast_to(penalty.by_feature(penalty.lengths(sizes)), pull.shape)
    share = np.max(sizes[near] / threshold[near], initial=0.0)
    return float(unit * share * at.value + of_weights)


class Mixtures(NamedTuple):
    """Alphas of the rows mixed with class-wise alphas so that they balance for the biases.

    Class-wise alphas times their share are affine in it, and so is the gradient; their conjugates
    times it are perspectives of convex functions.
    """

    shares: list[float]
    levels: list[float]  # for each share, the mean conjugate of the class-wise alphas
    missing: Array | float  # (k, d): what the gradient of the rows' alphas lacks
    rest: Array | float  # what the class-wise alphas add to that, times their share

    def mixed(self, G: Array, share: float) -> Array:
        """The gradient at a share, from the gradient of the rows' alphas."""
        mixed: Array = G + self.missing
        mixed *= 1.0 - share  # in place: with many classes these are as large as the data
        mixed += share * self.rest
        return mixed

    @classmethod
    def of(cls, objective: Objective, bias: Array) -> Mixtures:
        """Mixtures for a gradient with these derivatives with respect to the biases."""
        if objective.loss.column_loss is None and objective.loss.log_likelihood:
            return _of_probabilities(objective, bias)
        return _of_columns(objective, bias)


UNMIXED = Mixtures([0.0], [0.0], 0.0, 0.0)


def _shares(least: float) -> Array:
    """The shares to try, from the smallest on, (m, 1)."""
    return np.array([share for share in least * TWICE if share < 1.0]).reshape(-1, 1)


def _of_probabilities(objective: Objective, bias: Array) -> Mixtures:
    """Softmax: probabilities q, the same for all rows, that match the class counts."""
    space, total = space_of(bias, objective.source.vectors), objective.source.weight_sum
    sums, offset = space.kept(objective.class_sums) / total, objective.offset_sums[:2]
    counts, means = space.to_host(sums[:, -1]), sums[:, :-1]
    here, bias = bias, space.to_host(bias)
    least = float(np.max(np.where(bias > 0.0, bias / (counts + np.abs(bias)), 0.0)))
    if least < SMALLEST_NORMAL:  # already balanced
        return UNMIXED
    shares, mean = _shares(least), np.sum(means, axis=0)
    q = np.maximum(counts - (1.0 - shares) / shares * bias, 0.0)
    levels = -entr(q).sum(axis=1)
    if objective.source.has_offset:  # of which the slopes, q less 1 for the own class, are factors
        own, total = np.array(offset) / total
        levels += _up(own.sum() - q @ total, np.abs(own).sum() + q @ np.abs(total))
    missing, rest = -here[:, None] * mean, sums[:, -1:] * mean - means
    return Mixtures(shares[:, 0].tolist(), levels.tolist(), missing, rest)


def _binary(objective: Objective) -> MarginLoss:
    loss = objective.loss.column_loss
    if loss is None:
        raise TypeError(f"no conjugate of {objective.loss!r} is known here")
    return loss


def _of_columns(objective: Objective, bias: Array) -> Mixtures:
    """One -1/+1 column per class, or a single one: alphas on the side with too little weight."""
    loss, (least, light) = _binary(objective), _light_sides(objective, bias)
    if least < SMALLEST_NORMAL:  # already balanced
        return UNMIXED
    space, shares = space_of(bias, objective.source.vectors), _shares(least)
    bias, count = space.to_host(bias), space.to_host(light[:, -1])
    alpha = _missing_alpha(shares, bias, count)
    levels = loss.conjugate(alpha) @ count + _levels_of_offset(objective, bias, alpha)
    missing = _missing_gradient(bias, light, space)
    return Mixtures(shares[:, 0].tolist(), levels.tolist(), missing, 0.0)


def _light_sides(objective: Objective, bias: Array) -> tuple[float, Array]:
    """The smallest share of class-wise alphas that balances, and the sums over their sides."""
    C, space = objective.source.weight_sum, space_of(bias, objective.source.vectors)
    sums = space.kept(objective.class_sums) / C
    multilabel = objective.source.multilabel
    total = space.kept(objective.row_sum) / C if multilabel else np.sum(sums, axis=0)
    ones = sums[1:] if len(bias) == 1 else sums
    without, having = map(space.asarray, objective.loss.side_weights[:, :, None])
    # A negative derivative with respect to the bias: too much alpha on the +1 side.
    light = np.where((bias < 0.0)[:, None], without * (total - ones), having * ones)
    size, count = np.abs(space.to_host(bias)), space.to_host(light[:, -1])
    least = np.max(size / (count + size), where=size != 0.0, initial=0.0)
    return float(least), light


def _missing_alpha(shares: Array, bias: Array, count: Array) -> Array:
    """Alphas of the light side of each class, where the mean weights are the counts: (m, k)."""
    missing = (1.0 - shares) / shares * np.abs(bias)
    alpha = np.divide(missing, count, out=np.zeros_like(missing), where=missing > 0.0)
    return alpha.clip(0.0, 1.0)


def _levels_of_offset(objective: Objective, bias: Array, alpha: Array) -> Array:
    """What the offset adds to the conjugates of the light sides: the sum of alpha * y * offset."""
    if not objective.source.has_offset:
        return np.zeros(len(alpha))
    own, total, _ = (sums / objective.source.weight_sum for sums in objective.offset_sums)
    without, having = objective.loss.side_weights
    light = np.where(bias < 0.0, without * (own - total), having * own)  # y = -1 on the other side
    return _up(alpha @ light, alpha @ (np.maximum(without, having) * (np.abs(own) + np.abs(total))))


def _up(levels: Array, sizes: Array) -> Array:
    """Larger than exact levels, given the sizes of the terms in their sums."""
    raised: Array = levels + SUMS * sizes
    return raised


def _missing_gradient(bias: Array, light: Array, space: VectorSpace) -> Array:
    """What alphas on the light sides add to a gradient with these derivatives for the biases."""
    count = space.to_host(light[:, -1])
    missing = np.divide(bias, count, out=np.zeros_like(count), where=(bias != 0.0) & (count > 0.0))
    added: Array = -space.asarray(missing)[:, None] * light[:, :-1]
    return added
