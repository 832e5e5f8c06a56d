"""Weights of standardised features, in which a run goes on, as weights of the features as given."""

from __future__ import annotations

from ..numeric.standardization import Standardization
from ..numeric.types import Array
from ..solvers import Step


def standardized_weights(W: Array, standardization: Standardization | None) -> Array:
    """Weights of the features as given in place of those of standardised ones, if these are."""
    return W if standardization is None else standardization.from_weights(W)


def original_weights(W: Array, standardization: Standardization | None) -> Array:
    """The way back: the same scores for the features as they were given."""
    return W if standardization is None else standardization.to_weights(W)


def original_step(step: Step, standardization: Standardization | None) -> Step:
    """A step for others to look at, with weights of the features as they were given.

    What the solver goes on from, its ``state``, stays as it is; a gradient by other weights and
    the variables of the solver are left out.
    """
    if standardization is None:
        return step
    average = None if step.average is None else original_weights(step.average, standardization)
    weights = original_weights(step.weights, standardization)
    return step._replace(weights=weights, average=average, gradient=None, variables=None)
