"""Labelled rows with the scores, probabilities and predictions of a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...data import Source
from ...estimators.minimizer import LossModel
from ...estimators.predictor import LinearPredictor
from ...estimators.sources import check_kind, labelled
from ...numeric.types import AnyArray, Array


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The rows of positive weight."""

    classes: AnyArray  # the classes of the model
    labels: AnyArray
    weights: Array
    predicted: AnyArray
    scores: Array  # (n, 1) for two classes, higher for the larger one; else (n, k)
    probabilities: Array | None  # (n, k), if the model defines them

    def scores_of(self, number: int) -> Array:
        """Scores that are higher for the class with this number."""
        if self.scores.shape[1] == 1:
            return self.scores[:, 0] if number else -self.scores[:, 0]
        column: Array = self.scores[:, number]
        return column


def scored_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> ScoredRows:
    """Score labelled rows; those of a source are read block by block."""
    _check_model(model)
    if isinstance(X, Source) and not type(model).__module__.startswith("separatrix."):
        raise TypeError(
            f"{type(model).__name__} cannot read a source: pass X and y as arrays or frames"
        )
    if not isinstance(X, Source) and y is None:
        raise TypeError(
            "labels are missing: pass X and y, or a source with labels, for example "
            "separatrix.read('new.csv', like=model)"
        )
    labels, weights = labelled(X, y, sample_weight)
    rows = weights > 0.0
    if not rows.any():
        raise ValueError("no row has a weight above 0: there is nothing to measure")
    check_kind(labels, model.classes_)
    scores, probabilities, predicted = _scored(model, X)
    if len(scores) != len(labels):
        raise ValueError(f"X has {len(scores)} rows and y {len(labels)} labels")
    return ScoredRows(
        model.classes_, labels[rows], weights[rows], predicted[rows], scores[rows],
        None if probabilities is None else probabilities[rows],
    )  # fmt: skip


def _check_model(model: Any) -> None:
    check_is_fitted(model)
    if not hasattr(model, "classes_") or not hasattr(model, "predict"):
        raise TypeError(f"{type(model).__name__} is not a classifier: expected one, fitted")
    if getattr(model, "multilabel_", False) or isinstance(model.classes_, list):
        raise TypeError("a report is for one label per row; this model predicts several")


def _scored(model: Any, X: Any) -> tuple[Array, Array | None, AnyArray]:
    """Scores (n, 1) or (n, k), probabilities and predictions."""
    if isinstance(model, LinearPredictor):  # the rows may be in files: read them once
        found = model.decision_function(X)
        scores = found[:, None] if found.ndim == 1 else found
        known = isinstance(model, LossModel) and hasattr(model, "predict_proba")
        shares = model._probability_at(found) if known else None
        predicted = model.classes_[model._rule()(scores)]
        if scores.shape[1] > 1:  # in most losses only differences of scores have a meaning
            scores = _above_rivals(scores) if shares is None else shares
        return scores, shares, predicted
    shares = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    k = len(model.classes_)
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
    elif shares is not None:
        scores = shares[:, 1] if k == 2 else shares
    else:
        raise TypeError(
            f"{type(model).__name__} has neither decision_function nor predict_proba: there is "
            "nothing to rank rows by"
        )
    scores = scores[:, None] if scores.ndim == 1 else scores
    if scores.shape[1] != (1 if k == 2 else k):
        raise TypeError(
            f"the scores have {scores.shape[1]} columns for {k} classes; expected one per class"
        )
    return scores, shares, np.asarray(model.predict(X))


def _above_rivals(scores: Array) -> Array:
    """The score of every class minus the largest of the others."""
    ordered = np.sort(scores, axis=1)
    largest, second = ordered[:, -1:], ordered[:, -2:-1]
    return scores - np.where(scores == largest, second, largest)
