"""Margins of rows from scores, and losses for plots."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.labels import refuse_several
from ...losses import MarginLoss, known_loss
from ...losses.rivals import best_rival
from ...numeric.types import AnyArray, Array


def margins(y: Any, scores: Any, classes: AnyArray | None = None) -> Array:
    """Margin of each row: y * score for two classes, where y is +1 for the larger; else own less
    best rival.

    ``classes`` are the classes of the scores, in order; None: those of y.
    """
    refuse_several(y)
    y, scores = np.asarray(y), np.asarray(scores, dtype=np.float64)
    classes = np.unique(y) if classes is None else np.asarray(classes)
    k = 2 if scores.ndim == 1 else scores.shape[-1]
    if y.ndim != 1 or scores.shape[: scores.ndim - 1 or 1] != y.shape or scores.ndim > 2:
        raise ValueError(
            f"scores have shape {scores.shape} and y has {y.shape}: expected one score per label, "
            "or one row of scores per label, one for each class"
        )
    if len(classes) != k or not np.all(np.isin(y, classes)):
        raise ValueError(
            f"the labels are {np.unique(y)[:5].tolist()!r} and the scores are those of {k} "
            f"classes: expected labels out of {classes[:5].tolist()!r}, one class per score"
        )
    number = np.searchsorted(classes, y)
    if scores.ndim == 1:
        found: Array = np.where(number == 1, scores, -scores)
        return found
    own, _, best = best_rival(number, scores)
    return np.asarray(own - best)


def margins_of(estimator: Any, X: Any, y: Any) -> Array:
    """Margins of the rows of a fitted classifier with scores."""
    if not hasattr(estimator, "decision_function"):
        raise TypeError(
            f"{type(estimator).__name__} has no decision_function, so its rows have no margin"
        )
    return margins(y, estimator.decision_function(X), estimator.classes_)


def margin_loss(loss: str | MarginLoss) -> MarginLoss:
    """A loss to plot, by name or as an object; includes the 0-1 loss, which cannot be fitted."""
    asked = known_loss(loss)
    found = asked.column_loss
    if found is None or found is not asked:
        raise TypeError(f"{loss!r} is not a function of one margin: expected a MarginLoss")
    return found
