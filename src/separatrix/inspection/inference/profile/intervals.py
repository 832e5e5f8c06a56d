"""Profile likelihood: intervals of coefficients, and tests of single features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2

from ....numeric.lazy import cached_property
from ....numeric.types import Array, Ints
from ..covariance import Covariance
from ..fitted import FittedLikelihood
from ..ratio import LikelihoodRatio, refuse_without_likelihood
from ..reported import Reported
from .chords import BestFit, answers, minimum
from .likelihood import Likelihood
from .questions import Questions

LOOSEST = 1e-6  # relative to the unit: an answer that is less accurate is not given


METHODS = ("wald", "profile")


def profiled(method: Any, found: FittedLikelihood, asked: Covariance) -> bool:
    """Whether intervals are computed from the profile likelihood.

    For the squared loss they are the intervals of Student's distribution: both are exact.
    """
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(
            f"intervals must be one of {', '.join(map(repr, METHODS))}, got {method!r}"
        )
    if method == "wald":
        return False
    if found.squared and asked.kind == "model" and not found.penalised:
        return False
    refuse_without_likelihood(found, asked)
    return True


class Profile:
    """The likelihood of a fit as a function of single coefficients."""

    def __init__(self, found: FittedLikelihood) -> None:
        self.likelihood = Likelihood(found)

    @cached_property
    def minimum(self) -> BestFit:
        """Where the likelihood is largest."""
        return minimum(self.likelihood)

    def intervals(self, at: Ints, level: float) -> Array:
        """Intervals of the reported coefficients with these numbers, (m, 2).

        Values are inside whose likelihood ratio is below the quantile of chi-square. NaN where
        rounding leaves no proof that an end is accurate.
        """
        rows = self.likelihood.coefficients[at]
        sides = np.repeat([-1.0, 1.0], len(rows))
        asked = Questions(
            np.concatenate([rows, rows])[:, None], 0.5 * float(chi2.ppf(level, 1)), sides
        )
        found = answers(self.likelihood, self.minimum, asked)
        ends = np.einsum("mp,mp->m", asked.A[:, 0], found.theta)
        # The likelihood is concave, so errors of it are at least as large as those of an end.
        return np.where(found.error <= LOOSEST, ends, np.nan).reshape(2, -1).T

    def tests(self, reported: Reported) -> tuple[LikelihoodRatio, ...]:
        """Likelihood-ratio tests of every reported feature by itself."""
        names, width = self.likelihood.found.clf.coef_names_, len(self.likelihood.coefficients)
        blocks = max(len(self.likelihood.found.weights) - 1, 1)
        groups = [np.arange(blocks) * (width // blocks) + j for j in reported.features]
        return tuple(
            LikelihoodRatio(statistic, blocks, float(chi2.sf(statistic, blocks)), (str(names[j]),))
            for j, statistic in zip(reported.features, self.ratios(groups).tolist(), strict=True)
        )

    def ratios(self, groups: list[Ints]) -> Array:
        """Likelihood-ratio statistics that the reported coefficients of each group are all 0."""
        rows = np.stack([self.likelihood.coefficients[at] for at in groups])
        found = answers(self.likelihood, self.minimum, Questions(rows, 1.0))
        statistic = np.maximum(2.0 * (found.value - self.minimum.value), 0.0)
        allowed = found.error <= LOOSEST * np.maximum(statistic, 1.0)
        return np.where(allowed, statistic, np.nan)
