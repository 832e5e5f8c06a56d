"""Probabilities without the effect of class weights: a shift of the intercept after the fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Source
from ..losses import Loss
from ..numeric.types import Array


def class_factors(weighed: Source, given: Source) -> Array:
    """The class weight of each class that has rows of positive weight, up to a common factor."""
    kept = np.isin(given.classes, weighed.classes)
    before = np.asarray(given.class_weight_sums())[kept]
    return np.asarray(weighed.class_weight_sums(), dtype=np.float64) / before


def prior_shift(factors: Array) -> Array:
    """What to add to the intercepts: minus the logarithms of the class weights.

    Weights v_c of the classes multiply the probabilities of a model that is right by v_c, up to a
    common factor. For two classes (1,), for more (k,) with sum 0.
    """
    logs = np.log(factors)
    return logs[:1] - logs[1:] if len(logs) == 2 else logs.mean() - logs


def check_correctable(model: Any, loss: Loss) -> None:
    """Check that class weights shift only the intercepts of a model that is right."""
    if model._has_labels:
        raise ValueError(
            "prior_correction=True is for classes that exclude each other, and y has several "
            "labels per row: leave it out"
        )
    if not model.fit_intercept:
        raise ValueError(
            "prior_correction=True shifts the intercept, but fit_intercept=False: fit an "
            "intercept, or leave out class_weight"
        )
    if not loss.log_likelihood:
        raise ValueError(
            f"prior_correction=True needs the logistic loss, got loss={model.loss!r}: class "
            "weights change the weights of other losses, not only the intercept; use "
            "loss='logistic', or leave out class_weight"
        )
