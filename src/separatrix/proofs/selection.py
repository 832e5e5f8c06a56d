"""Weights that are provably not 0 at any minimum, with their signs.

Problem: a weight may have been selected because the run ended early. Input: weights W, a bound on
``J(W) - min J`` (the gap), and the weights that are proven to be 0. Output: bounds on the
difference of every weight from that of any minimum; a weight that is larger than its bound is not
0 there, and has the same sign.

Two bounds, of which the smaller counts. Ball: the squares in the penalty bound the distance,
``l2_j (w_j - w*_j)^2 <= gap``. Curvature: W and a minimum differ only in weights that are not
proven to be 0, and in the bias. Let z be the features of these. While no score is more than
``within`` from that at W, the second derivative of J by these is at least ``H = mean of h_i z_i
z_i' + 2 l2``, with ``h_i`` the least curvature of row i within this distance. J is convex: the
difference D has ``D'H D <= 2 gap`` if ``2 gap z_i'H^-1 z_i <= within^2`` for every row. Then
``D_j^2 <= 2 gap (H^-1)_jj``.

If features are combinations of others, H is singular, and some more is used of a minimum. The sum
of ``slack_j |w*_j|`` is at most the gap, with slack_j the distance of the pull from its threshold
t_j: for weights of 0, ``sum of (2 slack_j^2 / gap) D_j^2 <= 2 gap``. And ``sum of t_j |w*_j| <=
J``, so that a ridge adds at most ``ridge * max of (2 J / t_j)^2`` to the 2 gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..numeric.lazy import cached_property
from ..numeric.standardization import Standardization
from ..numeric.threads import one_blas_thread
from ..numeric.tolerances import EPS, SMALLEST_NORMAL
from ..numeric.types import AnyArray, Array, Ints
from ..objective import Objective
from ..penalties.group_lasso import CLASSES
from .curvature_ball import factor_rounding, lower_factor
from .free_features import GRAM_ROUNDING
from .gap import GapTracker
from .least_hessian import FarthestScores, LeastHessian, has_least_hessian
from .screening import slack

FIRST = 20.0  # distance of scores tried first, in roots of twice the gap and of the variables
MARGIN, WIDEST = 1.5, 3.0  # of larger distances: the curvature falls with them
FEW_ROUNDS, MOST_ROUNDS = 2, 4  # of distances: in a fit, and on request
MOST_VARIABLES = 1024  # whose second derivative is computed
ROUNDED = 16 * EPS  # relative rounding of a bound, and of a weight that is returned
RIDGE = 4.0  # in units of the rounding of a second derivative
INVERSE = 1e-3  # largest error of the inverse of a factor


def proven_nonzeros(proof: GapTracker, W: Array, zeros: AnyArray, work: float = np.inf) -> AnyArray:
    """Which weights (k, d) are provably not 0 at any minimum, where they have the signs of W.

    W are the weights of the proof. ``zeros`` are 0 in W and at every minimum. ``work`` is the
    number of products for each row that this may take.
    """
    weights = np.abs(W[:, :-1]) * (1.0 - ROUNDED)
    if not math.isfinite(proof.gap):
        return np.zeros(weights.shape, dtype=np.bool_)
    proven: AnyArray = weights > (1.0 + ROUNDED) * _ball(proof.objective, proof.gap)
    near = NearbyMinimum(proof, W, ~zeros)
    left = (weights > 0.0) & ~proven
    if proof.objective.penalty.smooth or not left.any() or not near.affordable(work):
        return proven
    rounds = MOST_ROUNDS if work == np.inf else FEW_ROUNDS
    return proven | (weights > (1.0 + ROUNDED) * near.bounds(rounds))


def _ball(objective: Objective, gap: float) -> Array:
    """Bounds on the differences of the weights, (d,), from the squares in the penalty."""
    penalty = objective.penalty
    strength = np.sqrt(penalty.l2) * np.sqrt(penalty.feature_weights)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        bounds = np.where(strength > 0.0, math.sqrt(gap) / strength, np.inf)
    return np.broadcast_to(bounds, (objective.shape[1] - 1,))


class Region(NamedTuple):
    """Differences D of some variables for which ``|inverse^-1 D|`` is at most the radius."""

    classes: slice
    at: Ints
    """Numbers of the variables, (m,), among those of all classes."""
    inverse: Array
    """Of a lower triangular factor of the second derivative, (m, m)."""
    radius: float


@dataclass(frozen=True)
class NearbyMinimum:
    """How far the weights of a minimum can be, by the curvature of the losses."""

    proof: GapTracker
    W: Array
    support: AnyArray
    """Weights that may differ from those of a minimum, (k, d)."""

    @cached_property
    def objective(self) -> Objective:
        """That of the proof."""
        return self.proof.objective

    @cached_property
    def features(self) -> Ints:
        """The features of these weights."""
        return np.flatnonzero(self.support.any(axis=0))

    @cached_property
    def variables(self) -> Standardization:
        """Variables for these features and the bias, in which they have the same scale."""
        return self.objective.standardization.of_features(self.features)

    @cached_property
    def joint(self) -> bool:
        """Whether the loss couples the classes."""
        return self.objective.loss.column_loss is None

    def affordable(self, work: float) -> bool:
        """Whether curvature is known, and its products for each row are not more than ``work``."""
        k, m = len(self.W), len(self.features) + 1
        most, products = (k * m, 2 * (k * m) ** 2) if self.joint else (m, 2 * k * m * m)
        return (
            has_least_hessian(self.objective.loss) and most <= MOST_VARIABLES and products <= work
        )

    def bounds(self, rounds: int) -> Array:
        """Bounds on the differences of the weights, (k, d); infinite where nothing is known.

        A round takes two sums over the rows.
        """
        m = len(self.variables.scale)
        within, found = FIRST * math.sqrt(2.0 * self.proof.gap * m), self._by_weight([])
        with one_blas_thread(self.objective.source.n_rows * float(m) ** 2):
            for _ in range(rounds):
                regions = self._regions(within)
                far = self._farthest(regions)
                near = [region for region in regions if far[region.classes].max() <= within]
                found = np.minimum(found, self._by_weight(near))
                within = MARGIN * float(np.max(far, where=far > within, initial=0.0))
                if not 0.0 < within <= WIDEST:
                    break
        return found

    def _regions(self, within: float) -> list[Region]:
        """One for each class, or a joint one; none where a second derivative is singular."""
        objective, m = self.objective, len(self.variables.scale)
        asked = LeastHessian(objective.loss, self.W, self.features, self.variables, within)
        (hessians,) = objective.source.total(asked)
        hessians /= objective.source.weight_sum
        for shifted in self._with_known_sum.tolist():
            hessians[0, shifted::m, shifted::m] += 1.0 / len(self.W)
        found, size = [], len(hessians[0])
        for number, hessian in enumerate(hessians):
            part = slice(number * size, (number + 1) * size)
            at = np.flatnonzero(self._varies[part])
            classes = slice(None) if self.joint else slice(number, number + 1)
            if len(at):
                found += self._region(classes, at + part.start, hessian[np.ix_(at, at)])
        return found

    @cached_property
    def _varies(self) -> AnyArray:
        """Which of the variables of all classes may differ from those of a minimum, (k m,)."""
        varies = self._of_variables(self.support).astype(np.bool_)
        varies[len(self.features) :: len(self.variables.scale)] = self.objective.intercept
        return varies

    @cached_property
    def _with_known_sum(self) -> Ints:
        """For a joint loss, variables whose sum over the classes is known at a minimum.

        The loss does not change if the weights of a feature, or the biases, are shifted for all
        classes. The biases may have the sum of W. Groups over the classes have the sum 0.
        """
        if not self.joint:
            return np.zeros(0, dtype=np.int64)
        penalty, known = self.objective.penalty, np.zeros(len(self.variables.scale), dtype=np.bool_)
        if penalty.groups == CLASSES:
            thresholds = np.broadcast_to(penalty.thresholds, self.support.shape[1:])
            known[:-1] = thresholds[self.features] > 0.0
        known[-1] = self.objective.intercept
        return np.flatnonzero(known)

    @cached_property
    def _square(self) -> float:
        """Twice the gap, and the curvature in directions of a known sum."""
        sums = self._of_variables(self.W[:, :-1], power=1).reshape(len(self.W), -1).sum(axis=0)
        rounding = ROUNDED * np.abs(self._of_variables(self.W[:, :-1], power=1)).sum()
        known = np.abs(sums[self._with_known_sum]) + rounding * self.joint
        return 2.0 * self.proof.gap + float(np.sum(known**2)) / len(self.W)

    @cached_property
    def _squares(self) -> Array:
        """Second derivative of the penalty by the variables of all classes, (k m,)."""
        diagonal = self.objective.penalty.diagonal(self.objective.shape)[:, :-1]
        return self._of_variables(diagonal, power=-2)

    @cached_property
    def _sharp(self) -> Array:
        """What ``sum of these * D^2 <= 2 gap`` allows as second derivatives, (k m,).

        For weights of 0: as the sum of ``slack * |w*|`` is at most the gap.
        """
        left = np.where(self.W[:, :-1] == 0.0, slack(self.proof), 0.0)
        roots = self._of_variables(left, power=-1)
        with np.errstate(over="ignore"):
            found: Array = 2.0 * roots * (roots / max(self.proof.gap, SMALLEST_NORMAL))
        return found

    @cached_property
    def _largest(self) -> Array:
        """Bounds on the differences, (k m,), by the values of J; 0 if there is none.

        Shares of these in the differences sum to at most 1, and so do their squares.
        """
        penalty, J = self.objective.penalty, self.proof.value + self.proof.error
        thresholds = np.broadcast_to(penalty.by_feature(penalty.thresholds), self.support.shape)
        most = np.divide(
            2.0 * J, thresholds, out=np.zeros(thresholds.shape), where=thresholds > 0.0
        )
        return self._of_variables(most, power=1)

    def _of_variables(self, of_weights: AnyArray, power: int = 0) -> Array:
        """Values by weight (k, d) as values by variable, 0 for the biases, times a power of the
        scales: (k m,)."""
        found = np.zeros((len(self.W), len(self.variables.scale)))
        found[:, :-1] = of_weights[:, self.features] * self.variables.scale[:-1] ** power
        return found.ravel()

    @property
    def _unsure(self) -> float:
        """Rounding of products of standardised rows."""
        objective, own = self.objective, self.variables
        size = (objective.feature_sizes[self.features] + np.abs(own.mean)) / own.scale[:-1]
        largest = float(np.max(size, initial=1.0))
        sparse = objective.source.storage == "csr"  # centred after summation
        return len(own.scale) * GRAM_ROUNDING * (largest**2 if sparse else largest)

    def _region(self, classes: slice, at: Ints, hessian: Array) -> list[Region]:
        """The region of some variables, given their second derivative; none if it is singular."""
        squares, sharp, largest = self._squares[at], self._sharp[at], self._largest[at]
        rounding = factor_rounding(hessian, squares, self.objective.source.n_rows) + self._unsure
        factor, square = lower_factor(hessian, squares, rounding), self._square
        if factor is None:  # features are combinations of others, or nearly
            ridge = RIDGE * rounding * (largest > 0.0)
            factor = lower_factor(hessian, squares + sharp + ridge, rounding)
            square += 2.0 * self.proof.gap + RIDGE * rounding * float(np.max(largest)) ** 2
        if factor is None or not math.isfinite(square):
            return []
        inverse, _ = lapack.dtrtri(factor, lower=1)
        error = float(np.linalg.norm(inverse @ factor - np.eye(len(at))))
        if not error <= INVERSE:
            return []
        radius = math.sqrt(square) / (1.0 - 2.0 * error) * (1.0 + ROUNDED)
        return [Region(classes, at, inverse, radius)]

    def _farthest(self, regions: list[Region]) -> Array:
        """By class, the largest distance of a score from that at W; 0 if it does not matter."""
        k, m = len(self.W), len(self.variables.scale)
        if self.objective.loss.constant_curvature is not None or not regions:
            return np.zeros(k)
        factors = [np.zeros((1, m))] * k
        for region in regions:
            rows = np.zeros((len(region.at), k * m))
            rows[:, region.at] = region.radius * region.inverse
            for c in range(k)[region.classes]:
                factors[c] = self.variables.to_weights(rows[:, c * m : (c + 1) * m])
        asked = FarthestScores(
            tuple(factors), self.W, self.features, self.objective.feature_sizes[self.features]
        )
        farthest, roundings = self.objective.source.total(asked)
        by_class: Array = np.max(farthest, axis=0) + max(roundings)
        if self.joint:  # differences of two scores count
            by_class[:] = np.sort(by_class)[-2:].sum()
        return by_class

    def _by_weight(self, regions: list[Region]) -> Array:
        """Bounds on the differences of the weights, (k, d)."""
        of_variables = np.where(self._varies, np.inf, 0.0)
        for region in regions:
            lengths = np.hypot.reduce(region.inverse, axis=0)
            of_variables[region.at] = region.radius * lengths
        bounds = np.zeros(self.support.shape)
        own = of_variables.reshape(len(self.W), -1)[:, :-1] / self.variables.scale[:-1]
        bounds[:, self.features] = own
        return bounds
