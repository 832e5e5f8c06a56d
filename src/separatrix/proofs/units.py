"""Weights in the units of the given features, and J at exactly these weights.

Problem: a solver may use standardised features, while weights are returned for the features as
given: ``w / scale``, with a bias that corrects for the means. This rounds: with means of 1e8
standard deviations the scores change by 1e-8, and so does J. Input: an objective, and the map to
its features. Output: J at the returned weights, from the rows as given, and tangents of the losses
there, in twice the working precision. The penalty applies to the weights of the solver's features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Source
from ..data.feature_map import FeatureMap
from ..numeric.dot import dot
from ..numeric.standardization import Standardization
from ..numeric.tolerances import EPS
from ..numeric.types import Array
from ..objective import Objective
from ..rows import space_of
from ..rows.exact_standardization import exact_gradient
from .rounding import (
    ExactMistakes,
    ExactTangents,
    ExactValue,
    Pair,
    Tangents,
    by_differences,
    sum_rounding,
)


def seen_weights(W: Array, features: FeatureMap | None) -> Array:
    """Convert weights of the given features to those of the solver, if these differ."""
    return W if features is None else features.from_weights(W)


def original_weights(W: Array, features: FeatureMap | None) -> Array:
    """Convert the solver's weights to weights of the given features, with the same scores."""
    return W if features is None else features.to_weights(W)


def canonical(objective: Objective, W: Array) -> Array:
    """Normalise the biases to sum to 0; all scores shift by the same amount.

    For softmax without a penalty, also choose the smallest of all equivalent weights.
    """
    if not objective.loss.shifts:
        return W
    W = W.copy()
    W[:, -1] -= W[:, -1].sum() / len(W)
    if objective.loss.smooth and objective.penalty.absent:
        W[:, :-1] -= W[:, :-1].mean(axis=0)
    return W


@dataclass(frozen=True)
class GivenUnits:
    """J in the units of the features as given."""

    objective: Objective
    features: FeatureMap | None = None
    """Map from the given features to those of the objective; None: they are the same."""
    given: Source | None = None  # the rows before standardisation; None: not standardised

    @property
    def standardization(self) -> Standardization | None:
        """The standardisation of the rows, which may round."""
        return None if self.features is None else self.features.standardization

    @property
    def without_offset(self) -> GivenUnits:
        given = None if self.given is None else self.given.without_offset
        return GivenUnits(self.objective.without_offset, self.features, given)

    @property
    def rounds_rows(self) -> bool:
        """Whether the rows of the objective have rounding errors."""
        return self.standardization is not None

    def weights(self, W: Array) -> Array:
        """The returned weights for weights of the objective."""
        return original_weights(W, self.features)

    def rounding_of_rows(self, of_sums: float, value: float) -> float:
        """Additional rounding of sums over standardised rows, for J or for a bound.

        The rows and the weights are rounded as often as the products. The part of them that is
        relative to the value does not increase.
        """
        if self.standardization is None:
            return 0.0
        return 2.0 * (of_sums - sum_rounding(self.objective) * abs(value))

    def rounding_of_weights(self, W: Array, value: float) -> float:
        """Bound on the change of J from W to the returned weights, whose bias is rounded."""
        scaling, features = self.standardization, self.features
        if scaling is None or features is None:
            return 0.0
        W = space_of(W, self.objective.source.vectors).to_host(W)
        size = features.left(np.append(np.abs(scaling.mean) / scaling.scale[:-1], 1.0)[None])[0]
        sizes = np.array([dot(np.abs(w), size) for w in W])
        joint = by_differences(self.objective.loss)
        unit = EPS * self.objective.loss.steepness(value)
        return unit * float(2.0 * sizes.max() if joint else np.hypot.reduce(sizes))

    def value(self, V: Array) -> float:
        """J at returned weights, in one read of the data."""
        source, W, low = self._exactly(V)
        (loss_sum,) = source.total(ExactValue(self.objective.loss, W, low))
        return self.objective.mean(loss_sum, self._seen(V))

    def mistakes(self, V: Array) -> float:
        """Weighted mistakes at returned weights, with exact signs of the margins."""
        source, W, low = self._exactly(V)
        (mistakes,) = source.total(ExactMistakes(self.objective.loss, W, low))
        return float(mistakes)

    def separates(self, W: Array) -> bool:
        """Whether the weights returned for W classify every row correctly, strictly."""
        return self.mistakes(self.weights(canonical(self.objective, W))) == 0.0

    def tangents(self, V: Array, alpha: Array | None = None) -> Tangents:
        """Tangents with slopes -alpha (n, 1), or those of the loss at V, in two reads of the data.

        The gradient is that of the objective.
        """
        source, W, low = self._exactly(V)
        objective, C, seen = self.objective, self.objective.source.weight_sum, self._seen(V)
        asked = ExactTangents(objective.loss, W, alpha, low)
        loss_sum, conjugates, sums = source.total(asked)
        if source is self.given:
            sums = self._gradient(sums)
        gradient = sums.high / C + sums.low / C + objective.penalty.gradient(seen)
        if not objective.intercept:
            gradient[:, -1] = 0.0
        return Tangents(objective.mean(loss_sum, seen), gradient, conjugates / C)

    def _seen(self, V: Array) -> Array:
        return seen_weights(V, self.features)

    def _exactly(self, V: Array) -> tuple[Source, Array, Array | None]:
        """Rows and weights with the scores of the weights V, and the low part of these weights.

        Copies of float32 rows are standardised to float32, and J is defined on the result. Other
        rows are standardised in double precision, so that those as given have the same scores.
        """
        source = self.objective.source
        if self.features is None or self.standardization is None:
            return source, self._seen(V), None
        if self.given is not None and source.dtype == np.float64:
            return self.given, V, None
        return source, *self.features.exactly_from_weights(V)

    def _gradient(self, sums: Pair) -> Pair:
        """Convert a gradient with respect to weights of the given features to the objective's."""
        scaling, features = self.standardization, self.features
        if scaling is None or features is None:
            return sums
        high, low = exact_gradient(scaling, sums.high, sums.low)
        return Pair(features.left(high), features.left(low))
