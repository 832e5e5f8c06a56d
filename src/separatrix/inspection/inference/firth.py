"""Tests and intervals by the likelihood with Firth's penalty.

A coefficient is held at a value, and the penalised likelihood is maximised over the others; the
penalty is that of all coefficients (Heinze and Schemper, Statistics in Medicine 21, 2002). As the
coefficient goes to infinity the penalised likelihood falls without bound, so both ends of every
interval are finite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from scipy.stats import chi2

from ...numeric.lazy import cached_property
from ...numeric.types import AnyArray, Array, Ints
from ...objective.firth import FirthLikelihood, FirthObjective
from ...solvers.fisher_scoring import ScoringStep, scoring_steps
from .fitted import FittedLikelihood

SHORT = 1e-7  # length of a gradient, in standard errors: then the likelihood has all its digits
LONGEST = 1e-3  # at which rounding may leave it
MOST_STEPS, MOST_TRIALS = 500, 60  # of Fisher scoring, and of values of a coefficient
CLOSE = 1e-9  # of an end, relative to the width of the interval
LOST = (
    "the penalised likelihood could not be maximised with a coefficient held: rounding hides its "
    "maximum; standardise or rescale the features"
)


@dataclass(frozen=True)
class FirthProfile:
    """The penalised likelihood as a function of some coefficients."""

    likelihood: FirthLikelihood
    estimate: Array
    """Weights of the fit, (1, d + 1)."""

    @classmethod
    def of(cls, found: FittedLikelihood) -> FirthProfile:
        objective = found.objective
        if not isinstance(objective, FirthObjective):
            raise TypeError("the fit has no penalised likelihood")
        return cls(objective.likelihood, found.weights)

    @cached_property
    def best(self) -> ScoringStep:
        """The maximum over all coefficients."""
        return self._maximum(self.likelihood.variables(self.estimate), None)

    def ratio(self, features: Ints) -> float:
        """The likelihood-ratio statistic that the coefficients of these features are 0."""
        free = np.ones(self.likelihood.size, dtype=np.bool_)
        free[features] = False
        u = np.where(free, self.best.at.u, 0.0)
        return max(2.0 * (self._maximum(u, free).at.value - self.best.at.value), 0.0)

    def intervals(self, at: Ints, level: float) -> Array:
        """Ends of the intervals of some coefficients, (m, 2), for the features as given."""
        drop = 0.5 * float(chi2.ppf(level, 1))
        return np.array([[self._end(int(j), side, drop) for side in (-1.0, 1.0)] for j in at])

    def _end(self, j: int, side: float, drop: float) -> float:
        """Where the maximum with coefficient j held is ``drop`` below the maximum of all.

        Newton's method on the square root of the difference, which is nearly linear, between
        bounds. Its derivative is that of the likelihood by the coefficient (envelope theorem).
        """
        own = self if j < self.likelihood.source.n_features else self._uncentred
        best, scale = own.best, own.likelihood.standardization.scale[j]
        errors = np.sqrt(np.linalg.inv(best.at.information)[j, j])
        free = np.arange(own.likelihood.size) != j
        inner, outer = best.at.u[j], side * np.inf
        u, value = best.at.u.copy(), inner + side * errors * np.sqrt(2.0 * drop)
        for _ in range(MOST_TRIALS):
            u[j] = value
            step = own._maximum(u, free)
            u = step.at.u.copy()
            fall = max(step.at.value - best.at.value, 0.0)
            inner, outer = (inner, value) if fall > drop else (value, outer)
            slope = -side * step.score[j]  # of the fall, away from the estimate
            rest = np.sqrt(drop) - np.sqrt(fall)
            newton = rest * 2.0 * np.sqrt(fall) / slope if slope > 0.0 else 0.0
            following = value + side * newton
            if not min(inner, outer) < following < max(inner, outer):
                following = 0.5 * (inner + outer) if np.isfinite(outer) else value + side * errors
            if abs(following - value) <= CLOSE * abs(following - best.at.u[j]):
                return float(following / scale)
            value = following
        return np.nan

    @cached_property
    def _uncentred(self) -> FirthProfile:
        """The same with the intercept for the features as given as a variable."""
        own = self.likelihood.standardization
        plain = replace(own, mean=np.zeros_like(own.mean))
        return FirthProfile(replace(self.likelihood, standardization=plain), self.estimate)

    def _maximum(self, u: Array, free: AnyArray | None) -> ScoringStep:
        if free is not None and not free.any():
            at = self.likelihood.at(u)
            if at is None:
                raise ValueError(LOST)
            return ScoringStep(at, self.likelihood.score(at), 0.0, u[None][:0], u[None][:0])
        last: ScoringStep | None = None
        for step in islice(scoring_steps(self.likelihood, u, free), MOST_STEPS):
            stuck = last is not None and np.array_equal(last.at.u, step.at.u)
            if step.length <= (LONGEST if stuck else SHORT):
                return step
            if stuck:
                break
            last = step
        raise ValueError(LOST)
