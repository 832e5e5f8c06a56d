"""Fits to rows with several labels each: what differs from a fit to classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Source
from ..data.indicator import is_indicator, label_names
from ..data.validation import ClassWeight, class_weights
from ..losses import Loss
from ..losses.multilabel import multilabel
from ..numeric import checks
from ..numeric.types import AnyArray, Array
from ..objective import Objective


def loss_for(loss: Loss, source: Source, class_weight: ClassWeight = None) -> Loss:
    """The form of a loss for two classes, for more, or for several labels per row."""
    if not source.multilabel:
        return loss.for_classes(len(source.classes))
    return multilabel(loss, None if class_weight is None else label_weights(source, class_weight))


def label_weights(source: Source, class_weight: ClassWeight) -> Array:
    """Weights of the rows without each label and with it, (q, 2), whose weighted mean is 1."""
    total, classes, found = source.weight_sum, np.array([0, 1]), []
    for having in source.class_weight_sums().tolist():
        sums = np.array([total - having, having])
        # As if there were one row with the label and one without it.
        each = class_weights(class_weight, classes, classes, sums)
        if not each.all():
            raise ValueError(
                f"class_weight={class_weight!r}: expected weights above 0 for rows with several "
                "labels each"
            )
        each /= each.max()
        found.append(each * (total / (each @ sums)))
    return np.array(found)


def note_labels(model: Any, source: Source) -> None:
    """Note the labels of a source whose rows have several each, or that it has classes."""
    labels, before = source.labels, model.__dict__.pop("_labels", None)
    if labels is None:
        return
    name = type(model).__name__
    if not model._takes_labels:
        raise ValueError(
            f"{name} does not take rows with several labels each: use LinearClassifier, or fit to "
            "one label at a time"
        )
    if model.class_weight is not None and not model._weighs_labels:
        raise ValueError(
            f"class_weight={model.class_weight!r}: {name} takes it for classes that exclude each "
            "other, and here rows have several labels each: use LinearClassifier, or "
            f"scikit-learn's OneVsRestClassifier({name}(class_weight=...))"
        )
    if model.warm_start and hasattr(model, "coef_") and not labels.same_as(before):
        raise ValueError(
            "warm_start=True, but the labels, or which of them vary, are not those of the earlier "
            "fit; set warm_start=False"
        )
    labels.warn_of_constants()
    model._labels = labels


def labels_of_stream(model: Any, y: Any, classes: Any, first: bool) -> AnyArray | None:
    """The names of the labels in a call of ``partial_fit``; None if rows have one class each.

    ``classes`` may name them, as for scikit-learn's MLPClassifier; it needs not, because an
    indicator matrix has a column for every label.
    """
    before = None if first else model._label_columns
    if not model._takes_labels or not is_indicator(y):
        if before is not None:
            raise ValueError(
                f"y has one label per row, but the model has {len(before.names)} labels of which a "
                "row may have several: pass an indicator matrix, (n, q)"
            )
        return None
    if model.class_weight is not None:
        raise ValueError(
            f"class_weight={model.class_weight!r}: for rows with several labels each, fit needs "
            "all rows at once to weigh the labels: leave it out, or call fit"
        )
    names = label_names(y)
    if not first and before is None:
        raise ValueError(
            "y is an indicator matrix of labels, but earlier calls had one class per row: start a "
            "new model for it"
        )
    if classes is not None and not np.array_equal(np.asarray(classes), names):
        raise ValueError(
            f"classes={np.asarray(classes).tolist()!r}, but the columns of y are "
            f"{names.tolist()!r}: expected the names or numbers of the columns, in order"
        )
    if before is None:
        return names
    if not np.array_equal(before.names, names):
        raise ValueError(
            f"the columns of y are {names.tolist()!r}, but the labels of the earlier calls are "
            f"{before.names.tolist()!r}"
        )
    if before.constant.any():
        fixed = before.names[before.constant != 0].tolist()
        raise ValueError(
            f"the labels {fixed!r} did not vary in the fit, so that partial_fit has no weights to "
            "continue from: start a new model with partial_fit, which learns all labels"
        )
    return names


def given_start(model: Any, objective: Objective) -> Array:
    """Initial weights that the user gave: one row for each label, also for constant ones."""
    labels, shape = model._label_columns, objective.shape
    if labels is None:
        return checks.start_array(model.start, shape, model.fit_intercept)
    every = len(labels.names), shape[1]
    some: Array = checks.start_array(model.start, every, model.fit_intercept)[labels.varying]
    return some
