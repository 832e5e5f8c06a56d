"""Classifiers by online rules: what passive-aggressive, AROW and Winnow share."""

from __future__ import annotations

import math
from typing import Any, Self

from ..losses import Hinge
from ..numeric import checks
from ..objective import Objective
from ..penalties import L2
from ..solvers import OnlineRule, Solver
from ..training.minimize import Result
from ..training.stopping import Stop
from .base import AllOrNothing, FitSettings
from .partial_fit import StreamModel
from .sources import FiniteScores


class OnlineRuleModel(StreamModel):
    """A linear classifier that learns by an online rule, row by row."""

    # Set by subclasses' __init__.
    max_iter: int
    tol: float | None
    patience: int | None
    shuffle: bool
    keep: str

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on all rows, X and y or a source, until a rule stops it.

        A row of weight c is visited c times in succession; the rest of a weight that is not whole
        is one more visit, which counts for that part.
        """
        with AllOrNothing(self):
            self._finish(*self._fit(X, y, sample_weight))
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Make one pass over these rows, continuing from the previous calls.

        Ctrl-C raises KeyboardInterrupt, so that a loop of calls ends; a pass that was complete by
        then is kept, else the model is unchanged.
        """
        with AllOrNothing(self):
            self._check_stream()
            self._finish(*self._partial_fit(X, y, classes, sample_weight))
        self._pass_on_interrupt()
        return self

    def _check_stream(self) -> None:
        """Raise an error for parameters that ``partial_fit`` does not support."""

    def _rule_and_parameter(self) -> tuple[str, float]:
        """The rule and its parameter, after validation."""
        raise NotImplementedError

    def _finish(self, objective: Objective, result: Result) -> None:
        """Refuse overflow, after which it is not known which rows are mistakes."""
        objective.source.total(FiniteScores(result.last))
        for info in result.infos:
            if info.objective is not None and not math.isfinite(info.objective):
                raise ValueError(
                    f"the scores overflowed floating point in pass {info.iteration}: scale the "
                    "features (e.g. with sklearn's StandardScaler)"
                )

    def _settings(self) -> FitSettings:
        self._rule_and_parameter()
        checks.flag("shuffle", self.shuffle)
        keep = checks.choice("keep", self.keep, ("last", "best", "average"))
        stop = Stop(
            max_iter=checks.whole("max_iter", self.max_iter),
            tol=checks.optional_number("tol", self.tol),
            patience=checks.optional_whole("patience", self.patience),
            prove=False,  # it returns the result of the algorithm
        )
        return FitSettings(Hinge(), L2(0.0), stop, keep)

    def _solver(self, objective: Objective, partial: bool) -> Solver:
        rule, parameter = self._rule_and_parameter()
        return OnlineRule(rule, parameter, self.shuffle, self.keep == "average")
