"""The logistic likelihood of two classes with Firth's penalty, in passes over blocks of rows.

Problem     maximise  l(u) + log|I(u)| / 2,  I = sum c_i p_i (1 - p_i) z_i z_i'.
Input       rows z_i, which are standardised, weights c_i that are numbers of rows, and u.
Output      the penalised likelihood, its gradient, and I.
Algorithm   One pass sums the losses and I, a few rows at a time. With I = R'R, a second pass sums
            the gradient, ``sum (c_i (y_i - p_i) + h_i (1/2 - p_i)) z_i``, from the hat values
            ``h_i = c_i p_i (1 - p_i) |R'^-1 z_i|^2``. No matrix has a side of the number of rows.
Papers      Firth, Bias reduction of maximum likelihood estimates, Biometrika 80 (1993);
            Heinze and Schemper, A solution to the problem of separation in logistic regression,
            Statistics in Medicine 21 (2002);
            Zietkiewicz and Kosmidis, Bounded-memory adjusted scores estimation in generalized
            linear models with large data sets, arXiv 2307.07342 (2023).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.special import expit

from ..data import Block, Source, Sum
from ..numeric.standardization import Standardization
from ..numeric.threads import one_blas_thread
from ..numeric.types import AnyArray, Array
from .objective import Objective

VALUES_OF_PART = 1 << 18  # of standardised rows in memory at a time: 2 MB
FEWEST_ROWS = 64  # of a part: products of fewer are slow
MOST_SHIFTS, LONGEST_SHIFT = 200, 10.0  # of an intercept
BALANCED = 1e-13  # a shift that is as good as none


@dataclass(frozen=True)
class FirthLikelihood:
    """The penalised likelihood of rows in standardised variables."""

    source: Source
    standardization: Standardization
    intercept: bool

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.source.n_features + self.intercept

    def variables(self, W: Array) -> Array:
        """The variables of weights (1, d + 1)."""
        u: Array = self.standardization.from_weights(W)[0, : self.size].copy()
        return u

    def weights(self, u: Array) -> Array:
        """Weights of the features as given, (1, d + 1)."""
        whole = np.zeros((1, self.source.n_features + 1))
        whole[0, : self.size] = u
        return self.standardization.to_weights(whole)

    @property
    def units(self) -> float:
        """What the penalty is larger by in the units of the features as given."""
        return float(np.sum(np.log(self.standardization.scale[: self.size])))

    def information(self, u: Array) -> Array:
        return self._sums(u)[2]

    def _sums(self, u: Array) -> tuple[float, float, Array]:
        with one_blas_thread(self.source.n_rows * float(self.size) ** 2):
            return self.source.total(Information(u, self.standardization))

    def at(self, u: Array) -> FirthPoint | None:
        """The negative penalised log-likelihood and I; None where I is singular."""
        loss, mistakes, information = self._sums(u)
        factor, failed = lapack.dpotrf(information, lower=0, clean=1)
        if failed or not np.all(np.isfinite(factor)):
            return None
        value = float(loss) - float(np.sum(np.log(np.diag(factor)))) - self.units
        return FirthPoint(u, value, float(mistakes), information, factor)

    def score(self, at: FirthPoint) -> Array:
        """The gradient of the penalised log-likelihood."""
        with one_blas_thread(self.source.n_rows * float(self.size) ** 2):
            inverse = lapack.dtrtri(at.factor, lower=0)[0]
            (score,) = self.source.total(FirthScore(at.u, self.standardization, inverse))
        return score


class FirthPoint(NamedTuple):
    """The penalised likelihood at some variables."""

    u: Array
    value: float  # the negative penalised log-likelihood, for the features as given
    mistakes: float
    information: Array
    factor: Array  # R with I = R'R, upper triangular


def standardized_parts(
    block: Block, standardization: Standardization, size: int, width: int = 1
) -> Iterator[tuple[Array, Array, AnyArray, Array]]:
    """The first ``size`` standardised columns, offsets, labels and weights of a few rows at a time.

    ``width`` is the number of values that the caller computes for each row.
    """
    n = len(block.y)
    step = max(FEWEST_ROWS, VALUES_OF_PART // max(size, width, 1))
    for start in range(0, n, step):
        part = block.part(start, min(start + step, n))
        rows, offset = part.rows.without_offset, part.rows.offset
        z = rows.standardized(standardization)[:, :size]
        yield z, np.zeros(len(z)) if offset is None else offset[:, 0], part.y, part.weights


@dataclass(frozen=True)
class Information(Sum[tuple[float, float, Array]]):
    """Losses, mistakes and the expected information, (p, p)."""

    u: Array
    standardization: Standardization

    def of(self, block: Block) -> tuple[float, float, Array]:
        p = len(self.u)
        loss, mistakes, information = 0.0, 0.0, np.zeros((p, p))
        for z, offset, y, weight in standardized_parts(block, self.standardization, p):
            s = z @ self.u + offset
            m = y * s
            loss += float(weight @ np.logaddexp(0.0, -m))
            mistakes += float(weight[m <= 0.0].sum())
            scaled = z * np.sqrt(weight * expit(s) * expit(-s))[:, None]
            information += scaled.T @ scaled
        return loss, mistakes, information


@dataclass(frozen=True)
class FirthScore(Sum[tuple[Array]]):
    """The gradient of the penalised log-likelihood."""

    u: Array
    standardization: Standardization
    inverse: Array  # R^-1 with I = R'R at u

    def of(self, block: Block) -> tuple[Array]:
        score = np.zeros(len(self.u))
        for z, offset, y, weight in standardized_parts(block, self.standardization, len(self.u)):
            s, q = z @ self.u + offset, z @ self.inverse
            h = weight * expit(s) * expit(-s) * np.einsum("ij,ij->i", q, q)
            score += (weight * y * expit(-y * s) - 0.5 * h * np.tanh(0.5 * s)) @ z
        return (score,)


@dataclass(frozen=True)
class ShiftedSlopes(Sum[tuple[float, float]]):
    """First and second derivative of the losses by a number that is added to all scores."""

    u: Array
    standardization: Standardization
    shift: float

    def of(self, block: Block) -> tuple[float, float]:
        first = second = 0.0
        for z, offset, y, weight in standardized_parts(block, self.standardization, len(self.u)):
            s = z @ self.u + offset + self.shift
            first -= float(weight @ (y * expit(-y * s)))
            second += float(weight @ (expit(s) * expit(-s)))
        return first, second


def balancing_shift(likelihood: FirthLikelihood, u: Array) -> float:
    """What to add to all scores so that probabilities sum to the weight of the larger class.

    Firth's penalty pulls probabilities towards 1/2, in the mean too. With this shift of the
    intercept (FLIC) their mean is that of the labels: R. Puhr and others, Firth's logistic
    regression with rare events, Statistics in Medicine 36 (2017). It is the minimum of the losses
    along the intercept, found by Newton's method between bounds.
    """
    shift, low, high = 0.0, -np.inf, np.inf
    for _ in range(MOST_SHIFTS):
        first, second = likelihood.source.total(ShiftedSlopes(u, likelihood.standardization, shift))
        low, high = (low, shift) if first > 0.0 else (shift, high)
        if abs(first) <= BALANCED * second or first == 0.0:
            break
        step = -first / second if second > 0.0 else np.copysign(np.inf, -first)
        following = shift + float(np.clip(step, -LONGEST_SHIFT, LONGEST_SHIFT))
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == shift:
            break
        shift = following
    return shift


@dataclass(frozen=True)
class FirthObjective(Objective):
    """The logistic loss with Firth's penalty, divided by the sum of the weights.

    Its sums are those of the losses alone; ``likelihood`` has the penalty.
    """

    @property
    def likelihood(self) -> FirthLikelihood:
        """The penalised likelihood in standardised variables."""
        return FirthLikelihood(self.source, self.standardization, self.intercept)

    def value(self, W: Array) -> tuple[float, float]:
        """The objective at W, infinite where the information is singular, and the mistakes."""
        likelihood = self.likelihood
        at = likelihood.at(likelihood.variables(W))
        if at is None:
            return np.inf, super().value(W)[1]
        return at.value / self.source.weight_sum, at.mistakes
