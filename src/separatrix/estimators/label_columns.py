"""Fits to rows with several labels each: what differs from a fit to classes."""

from __future__ import annotations

from typing import Any

from ..data import Source
from ..losses import Loss
from ..losses.multilabel import multilabel
from ..numeric import checks
from ..numeric.types import Array
from ..objective import Objective


def loss_for(loss: Loss, source: Source) -> Loss:
    """The form of a loss for two classes, for more, or for several labels per row."""
    return multilabel(loss) if source.multilabel else loss.for_classes(len(source.classes))


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
    if model.class_weight is not None:
        raise ValueError(
            f"class_weight={model.class_weight!r} is for classes that exclude each other, and "
            "here rows have several labels each: weigh the rows with sample_weight, or use "
            f"scikit-learn's OneVsRestClassifier({name}(class_weight=...))"
        )
    if model.warm_start and hasattr(model, "coef_") and not labels.same_as(before):
        raise ValueError(
            "warm_start=True, but the labels, or which of them vary, are not those of the earlier "
            "fit; set warm_start=False"
        )
    labels.warn_of_constants(stacklevel=5)
    model._labels = labels


def given_start(model: Any, objective: Objective) -> Array:
    """Initial weights that the user gave: one row for each label, also for constant ones."""
    labels, shape = model._label_columns, objective.shape
    if labels is None:
        return checks.start_array(model.start, shape, model.fit_intercept)
    every = len(labels.names), shape[1]
    some: Array = checks.start_array(model.start, every, model.fit_intercept)[labels.varying]
    return some
