"""Lower bounds on the minimum of J by duality, at any weights.

Problem: given W, a number below ``min J``, as near to it as W is.
Input: an objective with l2 > 0 and a loss whose conjugate phi* is known; weights W, or the
gradient of J there. Output: the bound, and how far rounding may have put it too high, or the dual
variables alpha that prove it.

Every convex loss lies above its tangents, ``phi(m) >= -alpha * m - phi*(-alpha)``. Put into J, with
any alpha of the rows that balances (``sum c * alpha * y = 0``, as the bias is free), the least over
w is

    D(alpha) = -mean of phi*(-alpha)  -  |mean of alpha * y * x|^2 / (4 l2)   <=   min J

(Fenchel and Rockafellar's duality; Rockafellar, Convex Analysis, 1970, section 31.)

Smooth losses: the slopes at some weights make such an alpha, but for the balance. What is missing
is made up by mixing with alphas that depend on the class alone: phi* is convex, so the mixture's is
at most the mixture of theirs, and both are known from J, its gradient and the class sums. So a
bound costs no read of the data once the gradient is known. Softmax is the same with probabilities
for alpha, which must meet the class counts.

Losses with a kink do not tell alpha by their slopes at the minimum: there the dual of the rows near
a kink is climbed by proximal points, with all other rows fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from ... import loops
from ...data import ArraySource, Block
from ...losses import Columns, Loss, MarginLoss, Softmax
from ...numeric.dot import dot
from ...numeric.rows import shape_of, take_rows
from ...numeric.tolerances import SMALLEST_NORMAL
from ...numeric.types import Array, Ints
from ...objective import Evaluation, Objective
from ...objective.accuracy import SUMS, rounding
from .losses import Pulls, Response, response_of
from .proximal_point import MANY, ROUNDING, WIDE, Ascent, block_scores, block_weight

MIXTURES = 10  # shares of the mixture to try, each twice the one before
SHARPEST = 1e4  # to begin with, in a bound at given weights
NEAR = 4096  # most rows near a kink in a bound at given weights
ENOUGH = 1e-11  # of J: nearer than that a bound need not be
MOST_STEPS = 60
STEP_READS = 2.0  # of the rows near a kink


# ---- losses with a kink


class Proof(NamedTuple):
    """J at some weights, a lower bound on its minimum, and how often the data was read for it."""

    value: float
    bound: float
    reads: int
    alpha: Array
    """That prove the bound, (n, columns)."""


def nonsmooth_lower_bound(
    objective: Objective, W: Array, most_reads: float = np.inf, enough: float = ENOUGH
) -> Proof:
    """J at W, a lower bound on its minimum that is good where W is, and the reads they took.

    Rows away from a kink keep the alpha that their score gives them; for those nearest to one,
    ``NEAR`` at most, a small dual is climbed from W, as far as the reads allow: one is made in any
    case, or until the bound is ``enough`` of J below it. At the minimum it reaches J.
    """
    source, l2 = objective.in_memory, objective.penalty.l2
    response = response_of(objective)
    scores = np.empty((len(source.y), len(W)))
    loss_sum, sums, gains = source.total(
        partial(_tangents, loss=objective.loss, response=response, W=W, scores=scores)
    )
    C, value = source.weight_sum, objective.mean(loss_sum, W)
    bound = response.bound(Pulls(sums / C, gains / C), l2, objective.intercept)
    bound = bound if np.isfinite(bound) and np.isfinite(value) else 0.0
    alpha, reads = response.pure(source.y, scores), 1.0
    if response.kinked and reads + 2.0 <= most_reads and np.all(np.isfinite(scores)):
        present = np.arange(len(source.y)) if source.present is None else source.present
        distance = response.distance(source.y[present], scores[present])
        near = present
        if len(present) > NEAR:
            near = np.sort(present[np.argpartition(distance, NEAR)[:NEAR]])
        ascent = _reduced_problem(objective, response, W, scores, near)
        share, reads = len(near) / len(present), 2.0
        for _ in range(MOST_STEPS):
            reads += STEP_READS * share
            if ascent.at.bound > bound:
                bound, alpha[near] = ascent.at.bound, ascent.alpha()
            if ascent.at.objective - bound <= enough * value:
                break
            if reads + STEP_READS * share > most_reads:
                break
            ascent.step()
    return Proof(value, max(bound, 0.0), math.ceil(reads), alpha)


def _reduced_problem(
    objective: Objective, response: Response, W: Array, scores: Array, near: Ints
) -> Ascent:
    """From W, with the rows that are not near a kink fixed."""
    source = objective.in_memory
    C = source.weight_sum
    far = np.ones(len(source.y), dtype=bool)
    far[near] = False
    sums, gains = source.total(partial(_fixed, response=response, scores=scores, far=far))
    weight = None if source.weight is None else source.weight[near]
    y = source.y[near]
    rows = ArraySource(take_rows(source.X, near), y, source.classes, weight, source.n_jobs)
    # As many rows bend at first as there are weights, or some more.
    distance = np.sort(response.distance(y, scores[near]))
    width = float(distance[min(MANY * W.size, len(near)) - 1])
    sharpness = min(max(WIDE, 0.5 / max(width, ROUNDING)), SHARPEST)
    middle = np.full((len(near), response.columns), 1.0 / (1 + response.columns))
    anchor = response.alpha(y, scores[near], middle, sharpness)
    part = Objective(objective.loss, objective.penalty, rows, objective.intercept)
    return Ascent(
        part, response, W, anchor, sharpness, fixed=Pulls(sums / C, gains / C), weight_sum=C
    )


def _tangents(
    block: Block, loss: Loss, response: Response, W: Array, scores: Array
) -> tuple[float, Array, Array]:
    """Sum of the losses, and the pulls of tangents at the scores, which are written."""
    at = slice(block.start, block.start + len(block.y))
    s = block_scores(block, W, scores[at])
    everywhere = np.ones(len(scores), dtype=bool)
    return float(block_weight(block) @ loss.value(block.y, s)), *_fixed(
        block, response, scores, everywhere
    )


def _fixed(block: Block, response: Response, scores: Array, far: Array) -> tuple[Array, Array]:
    """The pulls of tangents at known scores, of some rows."""
    at = slice(block.start, block.start + len(block.y))
    pull, gain = response.coefficients(block.y, response.pure(block.y, scores[at]))
    c = np.where(far[at], block_weight(block), 0.0)
    sums = np.zeros((response.groups, shape_of(block.X)[1] + 1))
    loops.transpose_product(block.X, c[:, None] * pull, sums)
    return sums, c @ gain


# ---- smooth losses


def gradient_norm2_without_bias(objective: Objective, gradient: Array) -> float:
    """Square of the gradient by w, about as it is once the biases are at their best."""
    mean = objective.class_sums.sum(axis=0)[:-1] / objective.source.weight_sum
    rest = gradient[:, :-1] - gradient[:, -1:] * mean
    return dot(rest, rest)


def newton_in_bias(objective: Objective, W: Array, bias: Array) -> Array:
    """One Newton step in the biases alone."""
    moved = W.copy()
    moved[:, -1] -= np.linalg.lstsq(objective.bias_curvature(W), bias, rcond=1e-12)[0]
    return moved


def smooth_lower_bound(objective: Objective, W: Array, at: Evaluation) -> tuple[float, float]:
    """A lower bound on the minimum of J from its value and gradient at W, and its rounding."""
    loss_mean = at.value - objective.penalty.value(W)
    G = at.gradient[:, :-1] - objective.penalty.gradient(W)[:, :-1]
    along = dot(G, W[:, :-1]) + dot(at.gradient[:, -1], W[:, -1])
    conjugate = along - loss_mean  # phi*(slope) = m * slope - phi(m), the mean over rows
    allowance = SUMS * (loss_mean + abs(along)) + rounding(objective, W, loss_mean)
    return feasible_lower_bound(objective, W, at.gradient, conjugate, allowance)


def feasible_lower_bound(
    objective: Objective, W: Array, gradient: Array, conjugate: float, allowance: float
) -> tuple[float, float]:
    """What tangents prove: their slopes make a gradient at W, and have a mean conjugate.

    ``allowance`` is how far the conjugate may be off.
    """
    l2 = objective.penalty.l2
    G = gradient[:, :-1] - objective.penalty.gradient(W)[:, :-1]

    def dual(share: float, level: float, towards: Array | float) -> float:
        mixed = (1.0 - share) * G + share * towards
        return -(1.0 - share) * conjugate - share * level - dot(mixed, mixed) / (4 * l2)

    mixtures = _feasible_mixtures(objective, gradient[:, -1]) if objective.intercept else [UNMIXED]
    best, alone = 0.0, dual(*UNMIXED)
    allowance += SUMS * abs(alone + conjugate)
    for mixture in mixtures:
        found = dual(*mixture)
        best = max(best, found)
        if abs(found - alone) <= allowance:
            break  # as good as balanced: what another share would change is lost in rounding
    return best, allowance


Mixture = Callable[[float], tuple[float, Array]]
"""For a share: the mean conjugate of class-wise alphas that balance at it, and their gradient."""


UNMIXED = 0.0, 0.0, np.zeros(1)


def _feasible_mixtures(objective: Objective, bias: Array) -> Iterator[tuple[float, float, Array]]:
    """Shares of class-wise alphas that make up for the gradient by the biases."""
    sums = objective.class_sums / objective.source.weight_sum
    if isinstance(objective.loss, Softmax):
        least, mixture = _of_probabilities(sums, bias)
    else:
        loss = objective.loss.binary if isinstance(objective.loss, Columns) else objective.loss
        assert isinstance(loss, MarginLoss)
        least, mixture = _of_columns(loss, sums, bias)
    if least < SMALLEST_NORMAL:  # balanced as it is
        yield UNMIXED
        return
    for share in least * 2.0 ** np.arange(MIXTURES):
        if share < 1.0:
            yield float(share), *mixture(float(share))


def _of_probabilities(sums: Array, bias: Array) -> tuple[float, Mixture]:
    """Softmax: probabilities q, the same for all rows, chosen so that the class counts are met."""
    counts, means = sums[:, -1], sums[:, :-1]
    least = float(np.max(np.where(bias > 0.0, bias / (counts + np.abs(bias)), 0.0)))

    def mixture(share: float) -> tuple[float, Array]:
        q = np.maximum(counts - (1.0 - share) / share * bias, 0.0)
        return -float(entr(q).sum()), q[:, None] * means.sum(axis=0) - means

    return least, mixture


def _of_columns(loss: MarginLoss, sums: Array, bias: Array) -> tuple[float, Mixture]:
    """One -1/+1 column per class, or a single one: alpha on the side that weighs too little."""
    ones = sums[1:] if len(bias) == 1 else sums
    # A negative derivative by the bias: too much alpha on the +1 side.
    light = np.where((bias < 0.0)[:, None], sums.sum(axis=0) - ones, ones)
    sign, count = np.where(bias < 0.0, -1.0, 1.0), light[:, -1]
    least = float(np.max(np.abs(bias) / (count + np.abs(bias)), where=bias != 0.0, initial=0.0))

    def mixture(share: float) -> tuple[float, Array]:
        missing = (1.0 - share) / share * np.abs(bias)
        alpha = np.divide(missing, count, out=np.zeros_like(count), where=missing > 0.0).clip(0, 1)
        return float(count @ loss.conjugate(alpha)), -(sign * alpha)[:, None] * light[:, :-1]

    return least, mixture
