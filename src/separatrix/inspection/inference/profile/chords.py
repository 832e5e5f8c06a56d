"""The answers to many questions about a likelihood together, each with a proof of its accuracy.

Every pass over the rows evaluates all open questions. They begin with the second derivative at the
estimate, which is right enough for most of them: such chord steps converge fast if the change of
the scores is small. A question whose steps stop shrinking gets a second derivative of its own.

Proof. The third derivative of the loss of a row is at most its second derivative times the change
r of its scores (F. Bach, Self-concordant analysis for logistic regression, Electronic Journal of
Statistics 4, 2010). So the second derivative anywhere is at least ``exp(-r)`` times H, with r the
largest change of scores from the centre where H was computed, and f is at most
``x^2 / (2 R^2 (1 - x))``, x = decrement * R < 1, above its minimum, with R the largest change of a
score along a direction of length 1 in the metric of the second derivative.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ....numeric.tolerances import EPS
from ....numeric.types import AnyArray, Array, Ints
from .likelihood import Likelihood, Losses
from .questions import Move, Questions

ACCURACY = 1e-9  # of an answer, relative to its unit
ROUNDINGS = 10.0  # of a sum of losses
SLOW = 0.5  # the factor by which an error must shrink from step to step
BACK = 0.25  # of a step that leads away is tried
MOST_STEPS, MOST_CHORDS = 200, 30  # of a question, and of them by the shared derivative
STRAY = 4.0  # units above the minimum: from there the search begins anew
MOST_BYTES = 2**28  # of second derivatives at a time


class Answers(NamedTuple):
    """Where the questions are answered, and how well."""

    theta: Array
    """(m, p)."""
    value: Array
    """f there, (m,)."""
    error: Array
    """Bound on the error of f relative to the unit, (m,); infinite if nothing is proven."""


@dataclass(frozen=True)
class BestFit:
    """The minimum of f, and the second derivative there."""

    theta: Array
    """(1, p)."""
    value: float
    inverse: Array
    """Inverse of the second derivative at ``centre``, (p, p)."""
    widest: float
    """The R of the proof for it."""
    gap: float
    """Bound on how far f is above its minimum."""


def minimum(likelihood: Likelihood) -> BestFit:
    """The minimum of f, from the weights of the fit."""
    theta = likelihood.estimate[None]
    nothing = Questions(np.zeros((1, 0, theta.shape[1])), 1.0)
    run = _Run(likelihood, nothing, theta.copy(), 0.0, 0.0)
    run.with_own_derivatives(np.array([0]))
    inverse = np.linalg.inv(likelihood.hessians(run.theta)[0])
    return BestFit(
        run.theta, float(run.value[0]), inverse, likelihood.widest(inverse), float(run.error[0])
    )


def answers(likelihood: Likelihood, least: BestFit, asked: Questions) -> Answers:
    """The answers to all questions."""
    p, m = len(least.inverse), len(asked.A)
    found = Answers(np.empty((m, p)), np.empty(m), np.empty(m))
    size = max(MOST_BYTES // (8 * p * p), 1)
    for start in range(0, m, size):
        at = slice(start, start + size)
        some = asked.some(np.arange(m)[at])
        run = _Run(likelihood, some, _first(least, some), least.value, least.gap)
        with np.errstate(all="ignore"):
            run.with_own_derivatives(run.with_shared_derivative(least), least.theta)
        for whole, part in zip(found, (run.theta, run.value, run.error), strict=True):
            whole[at] = part
    return found


def solved(likelihood: Likelihood, asked: Questions, start: Array, least: float) -> Answers:
    """The answers from a given start, where no minimum is known or exists."""
    run = _Run(likelihood, asked, start.copy(), least, 0.0)
    with np.errstate(all="ignore"):
        run.with_own_derivatives(np.arange(len(start)))
    return Answers(run.theta, run.value, run.error)


def _first(least: BestFit, asked: Questions) -> Array:
    """Where the questions are answered if f is quadratic."""
    m = len(asked.A)
    at = Losses(np.full(m, least.value), np.zeros((m, len(least.inverse))), np.zeros(m))
    theta = np.repeat(least.theta, m, axis=0)
    return theta + asked.step(at, theta, least.inverse, least.value).change


@dataclass
class _Run:
    """Open questions and where they are."""

    likelihood: Likelihood
    asked: Questions
    theta: Array
    least: float
    gap: float
    """Of the minimum itself: part of the error of every answer."""
    value: Array = field(init=False)
    error: Array = field(init=False)

    def __post_init__(self) -> None:
        self.value = np.full(len(self.theta), np.nan)
        self.error = np.full(len(self.theta), np.inf)

    def with_shared_derivative(self, least: BestFit) -> Ints:
        """Chord steps by the second derivative at the minimum; which questions they leave open."""
        open_, last = np.arange(len(self.theta)), np.full(len(self.theta), np.inf)
        slow: list[Ints] = []
        for _ in range(MOST_CHORDS):
            if not len(open_):
                break
            losses = self.likelihood.at(self.theta[open_], least.theta)
            step = self._step(open_, losses, least.inverse)
            done = self._judge(open_, losses, step, np.full(len(open_), least.widest))
            size = self._size(step)
            bad = ~done & (~(size <= SLOW * last[open_]) | self._unproven(step))
            slow.append(open_[bad])
            if self.asked.side is not None:
                stray = open_[bad & ~(losses.value <= self.least + STRAY * self.asked.unit)]
                self.theta[stray] = least.theta
            on = ~done & ~bad
            last[open_] = size
            open_ = open_[on]
            self.theta[open_] += step.change[on]
        return np.concatenate([*slow, open_])

    def with_own_derivatives(self, open_: Ints, anchor: Array | None = None) -> None:
        """The same with second derivatives near each question.

        ``anchor`` is where a search turns back to if rounding hides them: (1, p).
        """
        m, p = self.theta.shape
        inverse, widest = np.zeros((m, p, p)), np.zeros(m)
        centre, base, last = self.theta.copy(), self.theta.copy(), np.full(m, np.inf)
        if anchor is not None:
            base[:] = anchor
        renew = open_
        for _ in range(MOST_STEPS):
            if len(renew):
                inverse[renew] = self._inverses(self.theta[renew])
                widest[renew] = [self.likelihood.widest(one) for one in inverse[renew]]
                flat = ~np.isfinite(widest[renew])
                good, bad = renew[~flat], renew[flat]
                centre[good], base[good], last[good] = self.theta[good], self.theta[good], np.inf
                open_ = open_[~np.isin(open_, bad[(self.theta[bad] == base[bad]).all(axis=1)])]
                self.theta[bad] = base[bad] + BACK * (self.theta[bad] - base[bad])
                renew = bad[np.isin(bad, open_)]
                if len(renew):
                    continue
            if not len(open_):
                return
            losses = self.likelihood.at(self.theta[open_], centre[open_])
            step = self._step(open_, losses, inverse[open_])
            done = self._judge(open_, losses, step, widest[open_])
            size, before = self._size(step), last[open_]
            # A step that leads away is shortened (natural monotonicity test); a chord is given up.
            worse = ~done & ~(size < before)
            first = (base[open_] == centre[open_]).all(axis=1)
            damped, given_up = open_[worse & first], open_[worse & ~first]
            self.theta[damped] = base[damped] + BACK * (self.theta[damped] - base[damped])
            self.theta[given_up] = base[given_up]
            slow = (size > SLOW * before) & np.isfinite(before)
            slow |= self._unproven(step) & (losses.reach > 0.0)
            slow &= ~done & ~worse
            on = ~done & ~worse & ~slow
            going = open_[on]
            base[going], last[going] = self.theta[going], size[on]
            self.theta[going] += step.change[on]
            renew = np.concatenate([open_[slow], given_up])
            open_ = open_[~done]

    def _step(self, at: Ints, losses: Losses, inverse: Array) -> Move:
        return self.asked.some(at).step(losses, self.theta[at], inverse, self.least)

    def _size(self, step: Move) -> Array:
        unit = self.asked.unit
        return np.maximum(step.miss / unit, np.sqrt(step.decrement / unit))

    def _unproven(self, step: Move) -> AnyArray:
        """Which steps are small enough, so that only the distance from the centre is too large."""
        return np.asarray(step.decrement + step.miss <= ACCURACY * self.asked.unit)

    def _judge(self, at: Ints, losses: Losses, step: Move, widest: Array) -> AnyArray:
        """Note the value and its error; which questions are answered."""
        grown = np.exp(losses.reach)
        x = np.sqrt(step.decrement) * widest * grown
        above = np.where(x < 1.0, 0.5 * step.decrement * grown / (1.0 - x), np.inf)
        rounding = ROUNDINGS * EPS * (losses.value + 1.0)
        error = (above + step.miss + self.gap + rounding) / self.asked.unit
        self.value[at], self.error[at] = losses.value, np.where(np.isnan(error), np.inf, error)
        return np.asarray(error <= ACCURACY + 2.0 * (rounding + self.gap) / self.asked.unit)

    def _inverses(self, theta: Array) -> Array:
        hessians = self.likelihood.hessians(theta)
        found = np.full(hessians.shape, np.nan)
        for number, hessian in enumerate(hessians):
            try:
                np.linalg.cholesky(hessian)
                found[number] = np.linalg.inv(hessian)
            except np.linalg.LinAlgError:
                continue
        return found
