"""Many questions about a likelihood with Firth's penalty, answered together.

The penalty costs a matrix of p x p at every point, the losses only a product. So the penalty is
replaced by a quadratic model around a point of each question: with its value and gradient there,
and one second derivative for all, which is that at the maximum. The questions are answered for
these models by chord steps, each of which takes one pass over the rows for all; then the penalty is
computed again at the answers. The penalty is nearly quadratic, so two times are enough.

Nothing is proven about the answers: the likelihood is not concave in general. A question whose
steps do not shrink is left open.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.linalg import cholesky, lapack

from ...data.source import InMemory
from ...numeric.lazy import cached_property
from ...numeric.threads import one_blas_thread
from ...numeric.types import AnyArray, Array, Ints
from ...objective.firth import FirthLikelihood
from .firth_sums import InformationMatrices, LogisticLosses, MetricRows, PenaltyBends, PenaltySlopes
from .profile.likelihood import Losses
from .profile.questions import Move, Questions

ACCURACY = 1e-9  # of f at an answer, relative to its unit
SHARE = 1e-4  # of the error of a model: the chords need not be better
SLOW = 0.5  # the factor by which an error must shrink from step to step
MOST_CHORDS, MOST_MODELS = 30, 12  # steps for one model; models
MOST_BYTES = 2**26  # of the matrices of one kind at a time; there are about six kinds
MOST_KEPT = 2**22  # products of pairs: of so few the rows in memory are kept
WORTH = 4  # as many variables as that for each question pay for the second derivative


class FirthAnswers(NamedTuple):
    """Where the questions are answered."""

    theta: Array
    """(m, p)."""
    value: Array
    """The negative penalised log-likelihood at the answer, (m,)."""
    found: AnyArray
    """Which questions are answered, (m,)."""


class PenaltyPoints(NamedTuple):
    """The penalty at several points, or its quadratic models around them."""

    at: Array
    value: Array
    gradient: Array

    def model(self, theta: Array, curvature: Array) -> tuple[Array, Array]:
        """Value and gradient of the models, one for each question."""
        change = theta - self.at
        bent = change @ curvature
        value = self.value + np.sum(change * (self.gradient + 0.5 * bent), axis=1)
        return value, self.gradient + bent


@dataclass(frozen=True)
class FirthChords:
    """The likelihood around its maximum."""

    firth: FirthLikelihood
    best: Array
    """(p,)."""

    def answers(self, asked: Questions) -> FirthAnswers:
        """As many questions at a time as there is memory for matrices."""
        m, p = len(asked.A), len(self.best)
        with one_blas_thread(float(m) * p * (self.firth.source.n_rows + p)):
            return self._answers(asked, m, p)

    def _answers(self, asked: Questions, m: int, p: int) -> FirthAnswers:
        bent = WORTH * m >= p and self._rows.pairs.paired
        curvature = self._curvature if bent else np.zeros((p, p))
        if lapack.dpotrf(self.information + curvature)[1]:  # not a maximum, or rounding hides it
            curvature = np.zeros((p, p))
        answered = FirthAnswers(np.empty((m, p)), np.empty(m), np.zeros(m, dtype=np.bool_))
        for start in range(0, m, self._at_once):
            at = np.arange(start, min(start + self._at_once, m))
            with np.errstate(all="ignore"):
                found = _Answering(self, asked.some(at), curvature).answers()
            for whole, part in zip(answered, found, strict=True):
                whole[at] = part
        return answered

    def penalty(self, theta: Array) -> tuple[PenaltyPoints, Array]:
        """The penalty in two passes over the rows, NaN where I is singular; and I in the metric."""
        source, rows, pairs = self.firth.source, self._rows, self._rows.pairs
        value = np.empty(len(theta))
        shift = float(np.sum(np.log(np.diag(self._whitening)))) - self.firth.units
        information = pairs.matrices(source.total(InformationMatrices(rows, theta))[0])
        inverses = np.empty_like(information)
        for number, matrix in enumerate(information):
            factor, failed = lapack.dpotrf(matrix, lower=0)
            value[number] = np.nan if failed else shift - np.log(factor.diagonal()).sum()
            inverses[number] = np.nan if failed else lapack.dpotri(factor, lower=0)[0]
        (gradient,) = source.total(PenaltySlopes(rows, theta, pairs.forms_of(inverses)))
        return PenaltyPoints(theta, value, gradient), information

    def inverses(self, information: Array, curvature: Array) -> Array:
        """Inverses of second derivatives, (m, p, p), from I in the metric; NaN if there is none."""
        T, found = self._whitening, np.full(information.shape, np.nan)
        inside = T.T @ curvature @ T
        for number, matrix in enumerate(information):
            factor, failed = lapack.dpotrf(matrix + inside, lower=0)
            if not failed:
                root = T @ lapack.dtrtri(factor, lower=0)[0]
                found[number] = root @ root.T
        return found

    @cached_property
    def _whitening(self) -> Array:
        whitening: Array = lapack.dtrtri(cholesky(self.information), lower=0)[0]
        return whitening

    @cached_property
    def _rows(self) -> MetricRows:
        rows = MetricRows(self.firth.standardization, self._whitening, None)
        source = self.firth.source
        small = source.n_rows * rows.pairs.width <= MOST_KEPT and isinstance(source, InMemory)
        return replace(rows, kept={}) if small and rows.pairs.paired else rows

    def losses(self, theta: Array) -> Losses:
        """The losses without the penalty, in one pass over the rows."""
        found = self.firth.source.total(LogisticLosses(self._rows, theta))
        return Losses(*found, np.full(len(theta), np.inf))

    @cached_property
    def least(self) -> tuple[Losses, PenaltyPoints]:
        """At the maximum."""
        return self.losses(self.best[None]), self.penalty(self.best[None])[0]

    @cached_property
    def information(self) -> Array:
        """The second derivative of the losses at the maximum."""
        return self.firth.information(self.best)

    @property
    def _at_once(self) -> int:
        return max(MOST_BYTES // (8 * len(self.best) ** 2), 1)

    @cached_property
    def _curvature(self) -> Array:
        """The second derivative of the penalty at the maximum."""
        source, pairs = self.firth.source, self._rows.pairs
        bent, slopes = source.total(PenaltyBends(self._rows, self.best))
        # The inner product of two symmetric matrices is that of one and the form of the other.
        curvature: Array = 0.5 * (slopes @ pairs.forms_of(pairs.matrices(slopes)).T - bent)
        return curvature


@dataclass
class _Answering:
    """Questions that are answered together.

    An error is that of f relative to its unit. It is measured whenever the penalty is computed, and
    so is the factor by which it has shrunk since the last time. The next factor is expected to be
    smaller, since the models are of second order, and the next error at most this one times it.
    """

    chords: FirthChords
    asked: Questions
    curvature: Array
    theta: Array = field(init=False)
    value: Array = field(init=False)
    inverse: Array = field(init=False)
    """Of the second derivative at the maximum, then where the penalty was computed first."""

    def __post_init__(self) -> None:
        m = len(self.asked.A)
        self.theta = np.repeat(self.chords.best[None], m, axis=0)
        self.value = np.full(m, np.nan)
        at_best = self.chords.inverses(np.eye(self.theta.shape[1])[None], self.curvature)
        self.inverse = np.repeat(at_best, m, axis=0)

    def answers(self) -> FirthAnswers:
        """New models until their answers do not change."""
        m, (losses, penalty) = len(self.theta), self.chords.least
        open_, error, found = np.arange(m), np.full(m, np.inf), np.zeros(m, dtype=np.bool_)
        every = np.zeros(m, dtype=np.int64)
        models = _some(penalty, every)
        self.theta += self._step(open_, _some(losses, every), models).change
        for _ in range(MOST_MODELS):
            near, losses = self._chords(open_, models, np.minimum(error[open_], 1.0) * SHARE)
            open_ = open_[near]
            if not len(open_):
                break
            models, information = self.chords.penalty(self.theta[open_])
            first = np.isinf(error[open_])
            self.inverse[open_[first]] = self.chords.inverses(information[first], self.curvature)
            step = self._step(open_, _some(losses, near), models)
            size, before = self._size(step), error[open_]
            shrunk = np.where(np.isfinite(before), size / before, 1.0)
            found[open_] = size * shrunk <= ACCURACY  # after this step
            on = ~found[open_] & (size <= SLOW * before)
            error[open_], self.theta[open_] = size, self.theta[open_] + step.change
            open_, models = open_[on], _some(models, on)
        return FirthAnswers(self.theta, self.value, found)

    def _chords(self, open_: Ints, models: PenaltyPoints, aim: Array) -> tuple[AnyArray, Losses]:
        """Steps for the models: which questions reach the aim, and the losses there."""
        m, p = len(open_), self.theta.shape[1]
        near, going, last = np.zeros(m, dtype=np.bool_), np.arange(m), np.full(m, np.inf)
        found = Losses(np.empty(m), np.empty((m, p)), np.empty(m))
        for _ in range(MOST_CHORDS):
            if not len(going):
                break
            at = open_[going]
            losses = self.chords.losses(self.theta[at])
            for whole, part in zip(found, losses, strict=True):
                whole[going] = part
            step = self._step(at, losses, _some(models, going))
            size = self._size(step)
            near[going] = size <= aim[going]
            on = ~near[going] & (size <= SLOW * last[going])
            self.theta[at[on]] += step.change[on]
            last[going], going = size, going[on]
        return near, found

    def _step(self, at: Ints, losses: Losses, models: PenaltyPoints) -> Move:
        """The step for the models, and the values there, to second order."""
        value, gradient = models.model(self.theta[at], self.curvature)
        whole = losses._replace(value=losses.value + value, gradient=losses.gradient + gradient)
        least = float(self.chords.least[0].value[0] + self.chords.least[1].value[0])
        step = self.asked.some(at).step(whole, self.theta[at], self.inverse[at], least)
        self.value[at] = whole.value - 0.5 * step.decrement
        return step

    def _size(self, step: Move) -> Array:
        """The error of f, relative to its unit."""
        return np.asarray((step.miss + step.decrement) / self.asked.unit)


T = TypeVar("T", Losses, PenaltyPoints)


def _some(given: T, at: Ints | AnyArray) -> T:
    """Some entries of every array."""
    return type(given)(*(each[at] for each in given))
