"""``bias_reduction``: estimates that are finite whatever the data, in place of a penalty.

"mdypl" maximises the likelihood of labels that are pulled towards 1/2, ``a y + (1 - a) / 2`` with
``a = m / (m + p)`` for m rows and p coefficients (P. Sterzinger and I. Kosmidis, Diaconis-Ylvisaker
prior penalized likelihood for p/n -> kappa in (0, 1) logistic regression, arXiv 2311.07419, 2023).
"firth" maximises the likelihood with Firth's penalty (``objective/firth.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..data import Source
from ..data.weighted_copies import SmoothedLabels, WeightedCopies
from ..losses import Loss
from ..numeric.dependent import Dependence, dependences
from ..numeric.types import Array
from ..objective import Objective
from ..objective.firth import FirthObjective, balancing_shift
from ..penalties import L2, Penalty
from ..solvers import FisherScoring, Solver
from ..training.minimize import Result
from .base import FitSettings
from .minimizer import LossModel
from .penalty_parameters import DEFAULT_L2
from .soft_labels import refuse_labelled_rows, soft_rows

METHODS = ("mdypl", "firth")
MOST_COEFFICIENTS = 4000  # whose information is in memory
NAMED = 5  # features in a sentence
NEEDS_ALL_ROWS = (
    "partial_fit is not for soft_labels or bias_reduction, which need all rows: call fit"
)


class BiasReduced(LossModel):
    """A classifier that may be fitted to probabilities, or with a reduced bias."""

    l1: Any
    l2: Any
    soft_labels: bool
    bias_reduction: Any

    @property
    def _own_objective(self) -> bool:
        return bool(self.soft_labels) or self.bias_reduction is not None

    @property
    def _firth(self) -> bool:
        return bool(self.bias_reduction == "firth")

    @property
    def _labelled_rows(self) -> Callable[[Any, Any, Any], Source]:
        return partial(soft_rows, self) if self.soft_labels else super()._labelled_rows

    def _given_source(self, source: Source, y: Any, sample_weight: Any) -> Source:
        if self.soft_labels:
            refuse_labelled_rows(source)
        return super()._given_source(source, y, sample_weight)

    def _as_trained(self, source: Source) -> Source:
        if self.bias_reduction is None:
            return source
        check_two_classes(source, self.bias_reduction)
        return source if self._firth else smoothed(source, self.fit_intercept)

    def _loss_settings(self, loss: Loss, penalty: Penalty) -> FitSettings:
        settings = super()._loss_settings(loss, penalty)
        if self.bias_reduction != "firth":
            return settings
        return replace(settings, stop=replace(settings.stop, prove=False))  # J is not convex

    def _asks_by_row(self) -> bool:
        # Firth: a feature that no row stores is an error, and is not left out.
        return self._firth or super()._asks_by_row()

    def _standardized(self, settings: FitSettings, source: Source) -> tuple[FitSettings, Source]:
        """Fisher scoring standardises by itself, and its result does not depend on it."""
        return (settings, source) if self._firth else super()._standardized(settings, source)

    def _objective(self, settings: FitSettings, source: Source) -> Objective:
        found = super()._objective(settings, source)
        if self.bias_reduction != "firth":
            return found
        objective = FirthObjective(found.loss, found.penalty, source, found.intercept)
        self._check_rank(objective)
        return objective

    def _solver(self, objective: Objective, partial: bool) -> Solver:
        if self.bias_reduction != "firth":
            return super()._solver(objective, partial)
        if isinstance(self.solver, FisherScoring):
            return self.solver
        if self.solver != "auto":
            raise ValueError(
                f"bias_reduction='firth' has a solver of its own, got solver={self.solver!r}: "
                "leave it out"
            )
        return FisherScoring(reason="the likelihood has Firth's penalty")

    def _check_rank(self, objective: FirthObjective) -> None:
        """Refuse rows that do not determine all coefficients: the information is singular."""
        likelihood, source = objective.likelihood, objective.source
        p, n = likelihood.size, source.n_rows
        if getattr(source, "weight_power", 0):
            raise ValueError(
                "bias_reduction='firth' takes sample weights as numbers of rows, and these are "
                "beyond 1e-120 or 1e120: scale them"
            )
        if p > MOST_COEFFICIENTS:
            raise ValueError(
                f"bias_reduction='firth' keeps a matrix of {p} x {p} numbers in memory; expected "
                f"at most {MOST_COEFFICIENTS} coefficients: use bias_reduction='mdypl', or l2 > 0"
            )
        if n < p:
            raise ValueError(
                f"{n} rows cannot determine {p} coefficients: bias_reduction='firth' needs rows "
                "of full rank; use bias_reduction='mdypl', or l2 > 0"
            )
        information = likelihood.information(np.zeros(p))
        mean, deviation = objective.moments
        constant = np.flatnonzero(
            deviation == 0.0 if objective.intercept else np.hypot(mean, deviation) == 0.0
        )
        information[constant] = information[:, constant] = 0.0  # of these the rest is rounding
        if bad := dependences(information):
            raise ValueError(self._of_dependence(bad[0], source.n_features))

    def _of_dependence(self, bad: Dependence, d: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        encoding = getattr(self.__dict__.get("_reading"), "encoding", None)
        names = names if encoding is None else encoding.coef_names
        names = [f"x{j}" for j in range(d)] if names is None else [str(name) for name in names]
        words = [*map(repr, names), "the intercept"]
        of = [words[at] for at in bad.others.tolist()]
        more = f" and {len(of) - NAMED} more" if len(of) > NAMED else ""
        alone = "constant" if self.fit_intercept else "0 in every row"
        text = f"a combination of {', '.join(of[:NAMED])}{more}" if of else alone
        return (
            f"the coefficient of {words[bad.variable]} is not determined: it is {text}; leave the "
            "feature out, or use bias_reduction='mdypl' or l2 > 0"
        )

    def _finish(self, objective: Objective, result: Result) -> None:
        super()._finish(objective, result)
        if isinstance(objective, FirthObjective) and self.fit_intercept:
            likelihood = objective.likelihood
            shift = balancing_shift(likelihood, likelihood.variables(result.weights))
            self.intercept_flic_: Array = self.intercept_ + shift


def check_bias_reduction(clf: Any, loss: Loss) -> None:
    """Check the method, and the parameters that do not go with it."""
    method: Any = clf.bias_reduction
    allowed = " or ".join(map(repr, METHODS))
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"bias_reduction must be None, {allowed}, got {method!r}")
    name = f"bias_reduction={method!r}"
    # Both methods correct the maximum likelihood estimate of this one model.
    if loss.name != "logistic":
        raise ValueError(f"{name} is for loss='logistic', got loss={clf.loss!r}")
    given = {
        "l1": clf.l1 != 0.0, "l2": clf.l2 not in (0.0, DEFAULT_L2),
        "penalty_weights": clf.penalty_weights is not None, "groups": clf.groups is not None,
        "penalty": clf.__dict__.get("penalty") is not None,
    }  # fmt: skip
    if wrong := [what for what, is_given in given.items() if is_given]:
        raise ValueError(
            f"{name} takes the place of a penalty, so {wrong[0]} must be left out; l2 is then 0"
        )
    if clf.class_weight is not None:
        raise ValueError(
            f"{name} is for rows that count alike, and class_weight={clf.class_weight!r} changes "
            "the likelihood: fit without it, and choose a threshold (tune_threshold)"
        )
    if clf.soft_labels:
        raise ValueError(f"{name} and soft_labels=True exclude each other: labels are 0 or 1")
    if clf.device is not None:
        raise ValueError(f"{name} is for rows in main memory: leave out device={clf.device!r}")


def no_penalty() -> Penalty:
    """The penalty of a fit with bias reduction."""
    return L2(0.0)


def check_two_classes(source: Source, method: str) -> None:
    """Refuse anything but two classes."""
    if source.labels is not None or len(source.classes) != 2:
        what = "several labels" if source.labels is not None else f"{len(source.classes)} classes"
        raise ValueError(
            f"bias_reduction={method!r} is for two classes, and the rows have {what}: use l2 > 0, "
            "or fit each class against the rest by itself"
        )
    if not source.without_offset.visitable:
        raise ValueError(
            f"bias_reduction={method!r} is for rows in main memory, and X is on a GPU: copy it "
            "first"
        )


def smoothed(source: Source, intercept: bool) -> Source:
    """The rows with their labels pulled towards 1/2."""
    rows = math.ldexp(source.weight_sum, -getattr(source, "weight_power", 0))
    p = source.n_features + intercept
    return WeightedCopies(source, SmoothedLabels(0.5 * p / (rows + p)))


def refuse_own_objective(clf: Any, what: str) -> None:
    """Refuse a model whose rows were not trained on with the labels as given."""
    if getattr(clf, "_own_objective", False):
        method = "soft_labels=True" if clf.soft_labels else f"bias_reduction={clf.bias_reduction!r}"
        raise ValueError(
            f"{what} compares a fit with its objective on labelled rows, and {method} has another "
            "objective: fit without it"
        )
