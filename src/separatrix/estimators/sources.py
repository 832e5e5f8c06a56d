"""Rows of a source: checks of other arguments, class weights, scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..data import Block, InMemory, Source, Sum
from ..data.class_weighted import ClassWeightedSource
from ..data.indicator import LabelColumns
from ..data.labels import check_labels, class_numbers, encoded
from ..data.scoring import scores, small_scores
from ..data.validation import (
    ClassWeight,
    check_scores,
    check_weights,
    class_weights,
    weighed_classes,
    within_reach,
)
from ..losses.rivals import predicted_numbers
from ..numeric.types import AnyArray, Array, Ints
from ..rows import RowsLike, rows_of


def refuse_labels_beside(y: Any, sample_weight: Any) -> None:
    """Refuse y or sample_weight with a source, which has its own."""
    if y is not None or sample_weight is not None:
        other = "y" if y is not None else "sample_weight"
        raise TypeError(
            f"a source has labels and weights of its own, but {other} was also given: pass the "
            "source alone, or arrays with y and sample_weight"
        )


def check_features(source: Source, n_features: int, name: str) -> None:
    """Check for the number of features of the fit."""
    if source.n_features != n_features:
        raise ValueError(
            f"X has {source.n_features} features, but {name} is expecting {n_features} features "
            "as input"
        )


def same_features(before: AnyArray, now: AnyArray) -> None:
    """Raise an error that names a feature, unless the features of both fits are equal."""
    if lost := sorted({*before} ^ {*now}):
        raise ValueError(
            f"warm_start=True, but {lost[0]!r} is a feature of only one of this fit and the "
            "previous one, as each category is a feature; set warm_start=False, or read with "
            "categorical='hash'"
        )


def reweighted(source: Source, class_weight: ClassWeight) -> Source:
    """The same rows, with class weights applied too."""
    if not isinstance(source, InMemory):
        # As if each class had one row with the weight of all its rows.
        classes, sums = source.classes, source.class_weight_sums()
        per_class, _ = within_reach(class_weights(class_weight, classes, classes, sums))
        if not per_class.all():
            raise ValueError(
                f"class_weight={class_weight!r} leaves out the class "
                f"{classes[per_class == 0.0].tolist()[0]!r}; expected weights above 0 for rows "
                "that are not in memory: exclude its rows when reading"
            )
        return ClassWeightedSource(source, per_class)
    labels = labels_of(source)
    classes, weight, _ = weighed_classes(labels, None, source.weight, class_weight)
    result = source.with_weight(weight)
    if len(classes) < len(source.classes):  # all rows of the others now have weight 0
        result = result.with_labels(encoded(labels, classes), classes)
    return result


def labels_of(source: InMemory) -> AnyArray:
    """The label of every row."""
    labels: AnyArray = source.classes[class_numbers(source.y, len(source.classes))]
    return labels


def indicator_of(source: InMemory) -> AnyArray:
    """The matrix of 0 and 1 of all labels, also of those that do not vary."""
    matrix: AnyArray = source.labels.of_rows(source.y).astype(np.int64)
    return matrix


def labelled(X: Any, y: Any, sample_weight: Any) -> tuple[AnyArray, Array]:
    """The label and the weight of every row, of X and y or of a source as X alone.

    ``sample_weight`` replaces the weights of a source.
    """
    if not isinstance(X, Source):
        labels = check_labels(y)
        weights = check_weights(sample_weight, len(labels))
        return labels, np.ones(len(labels)) if weights is None else weights
    if y is not None:
        refuse_labels_beside(y, None)
    if not len(X.classes):
        raise ValueError("this source has no labels: name their column, read(..., target='...')")
    each = [(class_numbers(block.y, len(X.classes)), block.weights) for block in X.blocks()]
    found: AnyArray = X.classes[np.concatenate([number for number, _ in each])]
    weights = check_weights(sample_weight, len(found))
    return found, np.concatenate([own for _, own in each]) if weights is None else weights


@dataclass(frozen=True)
class LinearScores:
    """Computes ``w.x + b`` of rows, (n, k); refuses overflow that makes a score uncertain."""

    W: Array

    def __call__(self, X: RowsLike) -> Array:
        found = rows_of(X).scores(self.W)
        if not np.all(np.isfinite(found)):
            check_scores(found, lambda: small_scores(X, self.W))
        return found


def scores_of(source: Source, W: Array, n_jobs: int | None = None) -> Array:
    """``w.x + b`` of every row of a source, (n, k), including rows of weight 0."""
    found = [np.empty((0, len(W)))]
    for block in source.blocks():
        some = scores(block.X, W, n_jobs)
        if not np.all(np.isfinite(some)):
            check_scores(some, partial(small_scores, block.X, W, n_jobs))
        found.append(some)
    return np.concatenate(found)


@dataclass(frozen=True)
class FiniteScores(Sum[tuple[()]]):
    """An empty sum that raises an error if scores overflow."""

    W: Array

    def of(self, block: Block) -> tuple[()]:
        LinearScores(self.W)(block.X)
        return ()


@dataclass(frozen=True)
class Correct(Sum[tuple[float]]):
    """The weight of the rows that are classified correctly."""

    scores: Callable[[RowsLike], Array]  # scores of some rows, (n, 1) for two classes, else (n, k)
    numbers: Ints  # index of each class of the source among the classes of the scores; -1: none
    decide: Callable[[Array], Ints] = predicted_numbers

    def of(self, block: Block) -> tuple[float]:
        if not len(block.y):
            return (0.0,)
        predicted = self.decide(self.scores(block.X))
        own = self.numbers[class_numbers(block.y, len(self.numbers))]
        return (float(block.weights[predicted == own].sum()),)


@dataclass(frozen=True)
class AllCorrect(Sum[tuple[float]]):
    """The weight of the rows all of whose labels are predicted correctly."""

    scores: Callable[[RowsLike], Array]
    labels: LabelColumns

    def of(self, block: Block) -> tuple[float]:
        if not len(block.y):
            return (0.0,)
        right = np.all((self.scores(block.X) >= 0.0) == self.labels.of_rows(block.y), axis=1)
        return (float(block.weights[right].sum()),)


def label_accuracy(
    source: Source, labels: LabelColumns | None, scores: Callable[[RowsLike], Array]
) -> float:
    """Weighted share of the rows all of whose labels are predicted correctly."""
    own = source.labels
    if labels is None or own is None or not np.array_equal(own.names, labels.names):
        raise ValueError(
            "the rows have other labels than the model: expected "
            f"{'classes' if labels is None else labels.names.tolist()}, got "
            f"{'classes' if own is None else own.names.tolist()}"
        )
    (weight,) = source.total(AllCorrect(scores, own))
    return weight / source.weight_sum


def check_kind(labels: AnyArray, classes: AnyArray) -> None:
    """Refuse to mix strings and numbers in labels and classes, because 1 is not "1"."""
    words = [values.dtype.kind in "OU" for values in (labels, classes)]
    if len(labels) and words[0] != words[1]:
        kinds = ["words" if word else "numbers" for word in words]
        raise ValueError(
            f"the labels are {kinds[0]}, such as {labels.tolist()[0]!r}, and the classes of the "
            f"fit {kinds[1]}, such as {classes.tolist()[0]!r}; expected labels of one kind: write "
            f"them as {kinds[1]}, or fit to labels that are {kinds[0]}"
        )


def accuracy(
    source: Source,
    classes: AnyArray,
    scores: Callable[[RowsLike], Array],
    decide: Callable[[Array], Ints] = predicted_numbers,
) -> float:
    """Weighted accuracy of the predictions by scores for these classes."""
    check_kind(source.classes, classes)
    known = classes.tolist()
    numbers = [known.index(label) if label in known else -1 for label in source.classes.tolist()]
    (weight,) = source.total(Correct(scores, np.array(numbers, dtype=np.int64), decide))
    return weight / source.weight_sum
