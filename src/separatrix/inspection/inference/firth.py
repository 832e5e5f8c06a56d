"""Tests and intervals by the likelihood with Firth's penalty.

A coefficient is held at a value, and the penalised likelihood is maximised over the others; the
penalty is that of all coefficients (Heinze and Schemper, Statistics in Medicine 21, 2002). As the
coefficient goes to infinity the penalised likelihood falls without bound, so both ends of every
interval are finite.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy.linalg import null_space
from scipy.stats import chi2

from ...numeric.dot import dot
from ...numeric.lazy import cached_property
from ...numeric.types import Array, Ints
from ...objective.firth import FirthLikelihood
from ...objective.firth_objective import FirthObjective
from ...solvers.fisher_scoring import ScoringStep, SingularInformationError, scoring_steps
from .firth_chords import FirthChords
from .fitted import FittedLikelihood
from .profile.questions import Questions

SHORT = 1e-7  # length of a gradient, in standard errors: then the likelihood has all its digits
LONGEST = 1e-3  # at which rounding may leave it
MOST_STEPS, MOST_TRIALS = 500, 60  # of Fisher scoring, and of values of a coefficient
CLOSE = 1e-9  # of an end, relative to the width of the interval
LOST = (
    "the penalised likelihood could not be maximised: rounding hides its maximum; standardise or "
    "rescale the features"
)


@dataclass(frozen=True)
class FirthProfile:
    """The penalised likelihood as a function of some coefficients."""

    found: FittedLikelihood
    likelihood: FirthLikelihood

    @classmethod
    def of(cls, found: FittedLikelihood) -> FirthProfile:
        objective = found.objective
        if not isinstance(objective, FirthObjective):
            raise TypeError("the fit has no penalised likelihood")
        return cls(found, objective.likelihood)

    @cached_property
    def best(self) -> ScoringStep:
        """The maximum over all coefficients."""
        found = self._maximum(self.likelihood.variables(self.found.weights), None)
        if found is None:
            raise ValueError(LOST)
        return found

    @cached_property
    def chords(self) -> FirthChords:
        """What answers many questions together, for two classes."""
        return FirthChords(self.likelihood, self.best.at.u)

    def _rows(self, at: Ints) -> Array:
        """What maps the variables to coefficients of the features as given, (m, 1, p)."""
        width = self.likelihood.width
        whole = self.found.standardization.to_weights(np.eye(self.found.weights.shape[1])).T
        contrasts = self.likelihood.contrasts(self.found.reference)
        return np.asarray(np.kron(contrasts, whole[:width, :width])[at][:, None], np.float64)

    def ratios(self, features: Ints) -> Array:
        """The likelihood-ratio statistic of each of these features by itself, (m,)."""
        if self.likelihood.several:
            return np.array([self.ratio(features[j : j + 1]) for j in range(len(features))])
        answers = self.chords.answers(Questions(self._rows(features), 1.0))
        statistic = np.maximum(2.0 * (answers.value - self.best.at.value), 0.0)
        for number in np.flatnonzero(~answers.found):
            statistic[number] = self.ratio(features[number : number + 1])
        return statistic

    def ratio(self, features: Ints) -> float:
        """The likelihood-ratio statistic that the coefficients of these features are all 0."""
        size, width = self.likelihood.size, self.likelihood.width
        held = (np.arange(0, size, width)[:, None] + features).ravel()
        basis = np.delete(np.eye(size), held, axis=1)
        u = basis @ (basis.T @ self.best.at.u)
        rest = self._maximum(u, basis)
        if rest is None:
            raise ValueError(LOST)
        return max(2.0 * (rest.at.value - self.best.at.value), 0.0)

    def intervals(self, at: Ints, level: float) -> Array:
        """Ends of the intervals of some coefficients, (m, 2), for the features as given."""
        drop = 0.5 * float(chi2.ppf(level, 1))
        if self.likelihood.several:
            return np.array([[self._end(int(j), side, drop) for side in (-1.0, 1.0)] for j in at])
        rows = self._rows(at)
        sides = np.repeat([-1.0, 1.0], len(at))
        answers = self.chords.answers(Questions(np.concatenate([rows, rows]), drop, sides))
        ends = np.einsum("mp,mp->m", np.tile(rows[:, 0], (2, 1)), answers.theta)
        for number in np.flatnonzero(~answers.found):
            ends[number] = self._end(int(at[number % len(at)]), sides[number], drop)
        found: Array = ends.reshape(2, -1).T
        return found

    def _end(self, j: int, side: float, drop: float) -> float:
        """Where the maximum with coefficient j held is ``drop`` below the maximum of all.

        Newton's method on the square root of the difference, which is nearly linear, between
        bounds. Its derivative is that of the likelihood by the coefficient (envelope theorem).
        """
        best, row = self.best, self._rows(np.array([j]))[0, 0]
        along = np.linalg.solve(best.at.information, row)
        error = np.sqrt(dot(row, along))
        along /= error**2  # one unit of the coefficient
        basis = null_space(row[None])
        inner, outer = dot(row, best.at.u), side * np.inf
        u, value = best.at.u, inner + side * error * np.sqrt(2.0 * drop)
        for _ in range(MOST_TRIALS):
            step = self._maximum(u + along * (value - dot(row, u)), basis)
            if step is None:
                return np.nan
            u = step.at.u
            fall = max(step.at.value - best.at.value, 0.0)
            inner, outer = (inner, value) if fall > drop else (value, outer)
            slope = -side * dot(along, step.score)  # of the fall, away from the estimate
            rest = np.sqrt(drop) - np.sqrt(fall)
            newton = rest * 2.0 * np.sqrt(fall) / slope if slope > 0.0 else 0.0
            following = value + side * newton
            if not min(inner, outer) < following < max(inner, outer):
                following = 0.5 * (inner + outer) if np.isfinite(outer) else value + side * error
            if abs(following - value) <= CLOSE * abs(following - dot(row, best.at.u)):
                return float(following)
            value = following
        return np.nan

    def _maximum(self, u: Array, basis: Array | None) -> ScoringStep | None:
        """Where the likelihood is largest in the span of the basis; None if rounding hides that."""
        if basis is not None and not basis.size:
            at = self.likelihood.at(u)
            if at is None:
                return None
            return ScoringStep(at, self.likelihood.score(at), 0.0, u[None][:0], u[None][:0])
        last: ScoringStep | None = None
        try:
            for step in islice(scoring_steps(self.likelihood, u, basis), MOST_STEPS):
                stuck = last is not None and np.array_equal(last.at.u, step.at.u)
                if step.length <= (LONGEST if stuck else SHORT):
                    return step
                if stuck:
                    break
                last = step
        except SingularInformationError:
            pass
        return None
