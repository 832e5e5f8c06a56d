"""The objective of a fit with Firth's penalty, for any number of classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numeric.types import Array
from .firth import FirthLikelihood
from .firth_classes import FirthSoftmax
from .objective import Objective


@dataclass(frozen=True)
class FirthObjective(Objective):
    """The logistic loss with Firth's penalty, divided by the sum of the weights.

    Its sums are those of the losses alone; ``likelihood`` has the penalty.
    """

    @property
    def likelihood(self) -> FirthLikelihood:
        """The penalised likelihood in standardised variables."""
        two = len(self.source.classes) == 2
        kind = FirthLikelihood if two else FirthSoftmax
        return kind(self.source, self.standardization, self.intercept)

    def value(self, W: Array) -> tuple[float, float]:
        """The objective at W, infinite where the information is singular, and the mistakes."""
        likelihood = self.likelihood
        at = likelihood.at(likelihood.variables(W))
        if at is None:
            return np.inf, super().value(W)[1]
        return at.value / self.source.weight_sum, at.mistakes
