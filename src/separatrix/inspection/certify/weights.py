"""The weights of a fitted linear model, of any library."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data import Source
from ...numeric.dense import dense
from ...numeric.types import Array


def weights_of(clf: Any, k: int) -> Array:
    """(1 or k, d + 1), bias last, for k classes."""
    expected = 1 if k == 2 else k
    coef, bias = _coef_and_bias(clf)
    if len(coef) != expected or len(bias) not in (1, expected):
        raise ValueError(
            f"{coef.shape} weights and {len(bias)} biases do not fit {k} classes: expected "
            f"{expected} rows of weights, and a bias for each"
        )
    return _finite(np.column_stack([coef, np.broadcast_to(bias, expected)]))


def fitted_weights(clf: Any, source: Source) -> Array:
    """The weights that were trained on these rows, without those of constant labels."""
    labels = getattr(clf, "_label_columns", None)
    if labels is None:
        return weights_of(clf, len(source.classes))
    W: Array = _finite(np.column_stack(_coef_and_bias(clf)))[labels.varying]
    return W


def _coef_and_bias(clf: Any) -> tuple[Array, Array]:
    bias = np.ravel(np.asarray(clf.intercept_, dtype=np.float64))
    return dense(clf.coef_), bias - getattr(clf, "prior_shift_", 0.0)


def _finite(W: Array) -> Array:
    if not np.all(np.isfinite(W)):
        raise ValueError("the model has weights that are not finite: its training has diverged")
    return W
