"""A run on other features than those that were given, seen in weights of these."""

from __future__ import annotations

from ..data.feature_map import FeatureMap
from ..numeric.types import Array
from ..solvers import Step


def seen_weights(W: Array, features: FeatureMap | None) -> Array:
    """Weights of the features as given as those that the solver sees, if these are others."""
    return W if features is None else features.from_weights(W)


def original_weights(W: Array, features: FeatureMap | None) -> Array:
    """The way back: the same scores for the features as they were given."""
    return W if features is None else features.to_weights(W)


def original_step(step: Step, features: FeatureMap | None) -> Step:
    """A step for others to look at, with weights of the features as they were given.

    What the solver goes on from, its ``state``, stays as it is; the variables of the solver are
    left out, and so is a gradient by weights of standardised features.
    """
    if features is None:
        return step
    average = None if step.average is None else features.to_weights(step.average)
    weights, gradient = features.to_weights(step.weights), step.gradient
    if gradient is not None:
        gradient = None if features.standardization else features.to_weights(gradient)
    return step._replace(weights=weights, average=average, gradient=gradient, variables=None)
