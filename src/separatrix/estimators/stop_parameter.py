"""The parameter ``stop`` of estimators: rules besides ``max_iter`` and ``tol``."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..data import Source
from ..data.labels import check_labels
from ..numeric.types import AnyArray
from ..training.stopping import Stop

OWN = ("validation", "patience", "seconds", "certify")


def with_rules(rules: Stop, asked: Any, certifies: bool = False) -> Stop:
    """The rules of an estimator with those of its ``stop``; ``certifies``: also ``certify``."""
    if not isinstance(asked, Stop):  # the check of an argument, which may be anything
        raise TypeError(
            "stop must be None or rules such as Stop(validation=(X_val, y_val), patience=5) or "
            f"Stop(seconds=60), got {asked!r}"
        )
    for each in fields(Stop):
        if each.name not in OWN and getattr(asked, each.name) != each.default:
            raise ValueError(
                f"stop takes {', '.join(OWN)} only: {each.name} is a parameter of the estimator, "
                "or follows from others"
            )
    if asked.certify is not None and not certifies:
        raise ValueError(
            "Stop(certify=...) is for fit of LinearClassifier: fit with a smaller tol, and see "
            "which labels certified(X) proves"
        )
    if asked.validation is None and asked.patience is not None:
        raise ValueError(
            "patience of stop counts passes without a smaller loss on held-out rows: give "
            "validation, too, such as Stop(validation=(X_val, y_val), patience=5)"
        )
    patience = rules.patience if asked.validation is None else asked.patience
    return replace(
        rules, validation=asked.validation, patience=patience, seconds=asked.seconds,
        certify=asked.certify,
    )  # fmt: skip


def with_validation_rows(rules: Stop, model: Any, training: Source) -> Stop:
    """The same rules with a source of held-out rows instead of a pair (X, y)."""
    if not isinstance(rules.validation, tuple):
        return rules
    if training.has_offset:
        raise ValueError(
            "Stop(validation=(X, y)) has no offset, and the training rows have one: leave out "
            "validation, or fit without an offset"
        )
    X, y = rules.validation
    check_known(check_labels(y), training.classes)
    rows = model._source(X, y, None, classes=training.classes, reset=False, encode=False)
    # Class weights are for training: held-out rows count alike, as those of read(validation=...).
    return replace(rules, validation=rows.with_weight(np.ones(len(rows.y))))


def check_known(labels: AnyArray, classes: AnyArray) -> None:
    """Refuse labels of held-out rows that the training rows do not have."""
    known = classes.tolist()
    if unknown := sorted(set(labels.tolist()) - set(known), key=str):
        raise ValueError(
            f"the rows of Stop(validation=...) have the labels {unknown!r}; expected those of the "
            f"training rows, {known!r}"
        )
