"""The claim of a model on its rows, as problems that are solved here.

A penalised bias becomes a column instead of a free bias; one class against the rest is a problem of
two classes for each class, and the distances from their minima add up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Source
from ...data.class_weighted import ClassWeighted
from ...data.feature_map import FeatureMap
from ...data.validation import ClassWeight, class_weights
from ...estimators.label_columns import loss_for
from ...numeric.types import Array
from ...objective import Objective
from ...penalties import L2, ElasticNet, GroupLasso, Penalty
from ...proofs.units import GivenUnits
from .claims import Claim
from .rows import ClassCounts, OneAgainstRest, WithColumn, mapped


@dataclass(frozen=True)
class Problem:
    """An objective of this package, and its role in the model's objective."""

    objective: Objective
    weights: Array  # the model's weights, for the features as given
    factor: float  # the claim is the sum over its problems of this factor times their objectives
    units: GivenUnits  # standardisation from the given features to those of the objective


@dataclass(frozen=True)
class Claimed:
    """A model, its rows, and the problems that it claims to have solved."""

    claim: Claim
    source: Source
    weights: Array  # weights of the model, (1 or k, d + 1), bias last
    problems: tuple[Problem, ...]

    @property
    def k(self) -> int:
        """Number of classes."""
        return len(self.source.classes)

    @property
    def in_words(self) -> str:
        """The claim as a formula."""
        return self.claim.in_words(self.k, self.source.labels is not None)

    def joined(self, found: list[Array]) -> Array:
        """Combine the weights of all problems to the weights of one model."""
        W = np.concatenate(found)
        if self.claim.intercept_scaling is not None:
            W = np.column_stack([W[:, :-2], self.claim.intercept_scaling * W[:, -2]])
        return W


def claimed(claim: Claim, source: Source, W: Array, features: FeatureMap | None = None) -> Claimed:
    """The problems that a model with these weights claims to have solved.

    ``features`` standardises them, if the penalty applies to the weights of such features.
    """
    k = len(source.classes)
    each = _weights_of_classes(claim, source)
    one_vs_rest = claim.one_vs_rest and k > 2
    rows = source
    if each is not None and not one_vs_rest:
        rows = mapped(rows, ClassWeighted(each))
    V, scaling = W, claim.intercept_scaling
    if scaling is not None:
        rows = mapped(rows, WithColumn(scaling), rows.n_features + 1)
        V = np.column_stack([W[:, :-1], W[:, -1] / scaling, np.zeros(len(W))])
    if not one_vs_rest:
        loss = loss_for(claim.loss, source, claim.class_weight)
        return Claimed(claim, source, W, (_problem(claim, loss, rows, V, features),))
    problems = []
    for number in range(k):
        positive = 1.0 if each is None else float(each[number])
        against = mapped(rows, OneAgainstRest(number, positive), classes=np.array([False, True]))
        problems.append(_problem(claim, claim.loss, against, V[number : number + 1], features))
    return Claimed(claim, source, W, tuple(problems))


def _problem(
    claim: Claim, loss: Any, rows: Source, W: Array, features: FeatureMap | None
) -> Problem:
    """``share / n * sum + strength |w|^2 = factor * (mean + l2 |w|^2)``, and |w|_1 likewise."""
    total = math.ldexp(rows.weight_sum, -getattr(rows, "weight_power", 0))
    divisor = {"": 1.0, "rows": float(rows.length), "weights": total}[claim.divided_by]
    factor = claim.share * total / divisor
    free = claim.fit_intercept and claim.intercept_scaling is None
    penalty: Penalty = L2(claim.strength / factor)
    if claim.absolute or claim.feature_weights is not None:
        l1 = claim.absolute / factor
        given = l1, penalty.l2, claim.feature_weights
        penalty = ElasticNet(*given) if claim.groups is None else GroupLasso(*given, claim.groups)
    if features is None:
        objective = Objective(loss, penalty, rows, free)
        return Problem(objective, W, factor, GivenUnits(objective))
    objective = Objective(loss, penalty, features.source(rows), free)
    return Problem(objective, W, factor, GivenUnits(objective, features, rows))


def _weights_of_classes(claim: Claim, source: Source) -> Array | None:
    """The weight of every class, as the model's library defines it."""
    given: ClassWeight = claim.class_weight
    if given is None or source.multilabel:  # then the loss weighs every label
        return None
    sums = source.total(ClassCounts(len(source.classes)))[0]
    if not claim.counts_rows:
        sums = source.class_weight_sums()
    if isinstance(given, Mapping) and (lost := [c for c, weight in given.items() if not weight]):
        raise ValueError(
            f"class_weight={given!r} leaves out the class {lost[0]!r}, so there is nothing to "
            "define its scores; expected weights above 0"
        )
    # As if each class had one row with the weight of all its rows.
    return class_weights(given, source.classes, source.classes, sums)
