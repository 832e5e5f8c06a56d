"""Probabilities fitted to held-out scores, for losses that define none."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import InMemory, Source
from ..losses import Loss
from ..numeric import checks
from ..numeric.types import Array
from ..objective import Objective
from ..penalties import Penalty
from ..solvers import Solver
from .base import FitSettings
from .label_columns import loss_for
from .left_out import leave_one_out, refusal
from .sigmoid import fitted_sigmoids
from .sparse import SparseModel

NEEDS_COMPLETE_FIT = (
    "probability='loo' leaves out rows of a complete fit, which partial_fit does not make: call "
    "fit, or set probability=None"
)


class HeldOutProbability(SparseModel):
    """A minimiser of a loss that may fit probabilities to the scores of rows left out."""

    sigmoid_: Array

    def _check_probability(self, loss: Loss, penalty: Penalty) -> None:
        """Refuse ``probability="loo"`` where rows cannot be left out, before the fit."""
        checks.choice("probability", self.probability, ("loo",))
        problem = ""
        if hasattr(loss, "probability"):
            problem = f"loss={loss.name!r} defines probabilities: leave it out"
        problem = problem or refusal(self, loss, penalty)
        if problem:
            raise ValueError(f"probability='loo': {problem}")

    def _posed(
        self, settings: FitSettings, source: Source, seed: int
    ) -> tuple[FitSettings, Objective, Solver, Array]:
        if self.probability is not None:
            self._check_probability(loss_for(settings.loss, source, None), settings.penalty)
            if not isinstance(source, InMemory):
                raise TypeError(
                    "probability='loo' takes rows in memory: fit to source.sample(100_000), or "
                    "leave it out"
                )
        return super()._posed(settings, source, seed)

    def _fit_sigmoids(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> None:
        """With ``probability="loo"``, fit a sigmoid to the held-out scores of each column."""
        if self.probability is None:
            return
        found = leave_one_out(self, X, y, sample_weight=sample_weight, offset=offset)
        numbers, scores = found.numbers, found.scores
        positive = numbers[:, None] == np.arange(len(self.classes_))
        if scores.ndim == 1:
            positive, scores = positive[:, 1:], scores[:, None]
        fitted = fitted_sigmoids(found.loss, positive, scores, found.weights)
        self.sigmoid_ = fitted.coefficients
