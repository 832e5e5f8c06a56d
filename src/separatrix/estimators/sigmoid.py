"""Probabilities for losses that define none: a sigmoid of the score, fitted to held-out scores.

Problem: a, b with a >= 0 that minimise ``-sum_i c_i (t_i log p_i + (1 - t_i) log(1 - p_i))`` for
``p_i = 1 / (1 + exp(-(a s_i + b)))``. The targets t_i are not 0 and 1, but, with N rows of the
larger class and M of the other by weight, ``(N + 1) / (N + 2)`` and ``1 / (M + 2)``: the
probabilities by Bayes' rule with a uniform prior. They are inside (0, 1), so that a and b are
finite. Input: scores of rows by fits without them. Algorithm: Newton's method with halved steps.

Platt, Probabilistic outputs for support vector machines, 1999. Lin, Lin and Weng, A note on Platt's
probabilistic outputs for support vector machines, 2007.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..losses import Logistic, Loss, OneVsRest
from ..numeric.types import AnyArray, Array

MOST_STEPS = 200  # of Newton's method, which takes about ten
ENOUGH = 1e-14  # relative decrease that Newton's method expects at the end
ROUNDING = 1e-14  # relative deviation of scores: up to this, they are equal
SHORTEST_STEP = 1e-10  # share of a Newton step, before no progress is possible


@dataclass(frozen=True)
class Sigmoids:
    """The probabilities of a fit with ``probability="loo"``, by its scores.

    It has the methods of a loss that give probabilities.
    """

    loss: Loss
    """The loss of the fit."""
    coefficients: Array
    """a and b for each column of scores, (1, 2) or (k, 2)."""

    @property
    def name(self) -> str:
        """The name of the loss."""
        return str(self.loss.name)

    def logits(self, scores: Array) -> Array:
        """``a s + b``, for scores (n,) of two classes or (n, k)."""
        a, b = self.coefficients.T
        found: Array = scores * a + b
        return found

    @property
    def model(self) -> Loss:
        """The loss whose probabilities are those of the logits."""
        return Logistic() if len(self.coefficients) == 1 else OneVsRest(Logistic())

    def probability(self, scores: Array) -> Array:
        """P(larger class), or the probability of every class: sigmoids divided by their sum."""
        of: Callable[[Array], Array] = getattr(self.model, "probability")  # noqa: B009
        return of(self.logits(scores))

    def score_at(self, probability: float) -> float:
        """The score with this probability of the larger class."""
        a, b = self.coefficients[0].tolist()
        if not a > 0.0:
            raise ValueError(
                "the probabilities of this fit do not depend on the score, because held-out scores "
                "say nothing about the class: a threshold of the probability has no score"
            )
        return float((Logistic().score_at(probability) - b) / a)


def fitted_sigmoids(loss: Loss, positive: AnyArray, scores: Array, weights: Array) -> Sigmoids:
    """A sigmoid for each column: which rows are of its class, and their scores, (n, k) both."""
    each = [fitted_sigmoid(positive[:, j], scores[:, j], weights) for j in range(scores.shape[1])]
    return Sigmoids(loss, np.array(each))


def targets(positive: AnyArray, weights: Array) -> Array:
    """The targets of the rows, between 0 and 1."""
    larger = float(weights[positive].sum())
    smaller = float(weights[~positive].sum())
    found: Array = np.where(positive, (larger + 1.0) / (larger + 2.0), 1.0 / (smaller + 2.0))
    return found


def fitted_sigmoid(positive: AnyArray, scores: Array, weights: Array) -> tuple[float, float]:
    """a and b of one column."""
    here = weights > 0.0
    positive, scores, weights = positive[here], scores[here], weights[here]
    t, c = targets(positive, weights), weights / weights.sum()
    mean = float(c @ scores)
    spread = float(np.sqrt(c @ (scores - mean) ** 2))
    constant = Logistic().score_at(float(c @ t))
    if not spread > ROUNDING * float(np.abs(scores).max()):
        return 0.0, constant
    z = np.column_stack([(scores - mean) / spread, np.ones(len(scores))])
    v = _minimum(z, t, c, np.array([0.0, constant]))
    if not v[0] > 0.0:  # convex: the best a >= 0 is 0
        return 0.0, constant
    a = float(v[0]) / spread
    return a, float(v[1]) - a * mean


def _minimum(z: Array, t: Array, c: Array, v: Array) -> Array:
    """Newton's method for two variables, from v."""

    def value(v: Array) -> float:
        s = z @ v
        return float(c @ (np.logaddexp(0.0, s) - t * s))

    at = value(v)
    for _ in range(MOST_STEPS):
        s = z @ v
        p = Logistic().probability(s)
        gradient = z.T @ (c * (p - t))
        hessian = (z * (c * Logistic().curvature(s))[:, None]).T @ z
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        expected, length = float(gradient @ step), 1.0
        if not expected > ENOUGH * at:
            return v - step
        while (
            length > SHORTEST_STEP and not value(v - length * step) <= at - 1e-4 * length * expected
        ):
            length *= 0.5
        if length <= SHORTEST_STEP:
            return v
        v = v - length * step
        at = value(v)
    return v
