"""Measures of a classifier on labelled rows, all weighted. What is undefined is None, and stated.

Precision, recall and F1 are for each class, and their means over the classes where they are
defined ("macro"). AUC and average precision rank the rows by the score of a class against all
others; with two classes they are those of the larger class, with more the means over the classes.
The Brier score is the mean of ``(p - y)^2`` for two classes, and for more the mean of its sum over
the classes. Calibration compares, in up to ten groups of equal weight by their probability, the
mean probability with the share of the rows that are of the class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...estimators.decision import Decision
from ...numeric.types import AnyArray, Array, Ints
from .scored import ScoredRows

MOST_CONFUSED = 8  # most classes of a confusion matrix
MOST_RANKED = 100
"""Most classes whose AUC, average precision and calibration are computed: each sorts all rows."""
BINS = 10  # groups of calibration


def measures(rows: ScoredRows, decision: Decision | None) -> dict[str, Any]:
    """Everything that is measured, as plain data."""
    undefined: list[str] = []
    # Labels of the rows may be unknown to the model.
    known = np.unique(np.concatenate([rows.classes, np.unique(rows.labels)]))
    y, predicted = np.searchsorted(known, rows.labels), np.searchsorted(known, rows.predicted)
    own = np.searchsorted(known, rows.classes)  # numbers of the classes of the model
    total = float(rows.weights.sum())
    right = y == predicted
    found: dict[str, Any] = {
        "rows": len(y),
        "accuracy": float(rows.weights[right].sum() / total),
        "mistakes": float(rows.weights[~right].sum()),
    }
    found |= _by_class(rows, known, y, predicted, undefined)
    found |= _ranked(rows, found["classes"], y, own, undefined)
    found |= _probable(rows, known, y, own, undefined)
    found["mean_cost"] = _mean_cost(rows, decision, y, predicted, own)
    found["decision"] = _described(decision)
    found["undefined"] = undefined
    return found


def _by_class(
    rows: ScoredRows, known: AnyArray, y: Ints, predicted: Ints, undefined: list[str]
) -> dict[str, Any]:
    """Precision, recall and F1 of each class, and the confusion matrix."""
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    numbers = np.arange(len(known))
    each = precision_recall_fscore_support(
        y, predicted, labels=numbers, sample_weight=rows.weights, zero_division=np.nan
    )
    names = ("precision", "recall", "f1")
    classes = [
        {"label": label, "weight": float(weight)}
        | {name: _number(value) for name, value in zip(names, values, strict=True)}
        for label, weight, *values in zip(known.tolist(), each[3], *each[:3], strict=True)
    ]
    for name, values in (("precision", each[0]), ("recall", each[1])):
        if nowhere := [label for label, v in zip(known.tolist(), values, strict=True) if v != v]:
            why = "it is never predicted" if name == "precision" else "there are no such rows"
            undefined.append(f"{name} of {_listed(nowhere)}: {why}")
    confusion = None
    if len(known) <= MOST_CONFUSED:
        counts = confusion_matrix(y, predicted, labels=numbers, sample_weight=rows.weights)
        confusion = {"labels": known.tolist(), "counts": counts.astype(float).tolist()}
    return {
        "balanced_accuracy": _mean([one["recall"] for one in classes]),
        "macro": {name: _mean([one[name] for one in classes]) for name in names},
        "classes": classes,
        "confusion": confusion,
    }


def _ranked(
    rows: ScoredRows, classes: list[dict[str, Any]], y: Ints, own: Ints, undefined: list[str]
) -> dict[str, Any]:
    """Area under the ROC curve and average precision of every class, added to its entry."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    for one in classes:
        one |= {"auc": None, "average_precision": None}
    if len(own) > MOST_RANKED:
        undefined.append(f"AUC and average precision: for at most {MOST_RANKED} classes")
        return {"auc": None, "average_precision": None}
    lost = []
    for number, at in enumerate(own.tolist()):
        of_class = y == at
        if of_class.all() or not of_class.any():
            lost.append(classes[at]["label"])
            continue
        given = (of_class, rows.scores_of(number))
        classes[at]["auc"] = float(roc_auc_score(*given, sample_weight=rows.weights))
        classes[at]["average_precision"] = float(
            average_precision_score(*given, sample_weight=rows.weights)
        )
    if lost:
        undefined.append(f"AUC and average precision of {_listed(lost)}: {_alone(y)}")
    names = ("auc", "average_precision")
    meant = own[1:] if len(own) == 2 else own
    return {name: _mean([classes[at][name] for at in meant.tolist()]) for name in names}


def _probable(
    rows: ScoredRows, known: AnyArray, y: Ints, own: Ints, undefined: list[str]
) -> dict[str, Any]:
    """Log loss, Brier score and calibration, if the model defines probabilities of all labels."""
    p, weights = rows.probabilities, rows.weights
    found: dict[str, Any] = {
        "log_loss": None, "brier": None, "calibration_error": None, "calibration": None,
    }  # fmt: skip
    what = "log loss, Brier score and calibration"
    if p is None:
        undefined.append(f"{what}: the model defines no probabilities")
        return found
    unknown = sorted(set(np.unique(y).tolist()) - set(own.tolist()))
    if unknown:
        undefined.append(f"{what}: the model does not know {_listed(known[unknown].tolist())}")
        return found
    number = np.searchsorted(own, y)
    own_share = np.maximum(p[np.arange(len(y)), number], np.finfo(np.float64).tiny)
    found["log_loss"] = float(-np.average(np.log(own_share), weights=weights))
    k = len(own)
    squares = (p**2).sum(axis=1) - 2.0 * p[np.arange(len(y)), number] + 1.0
    if k == 2:
        squares = (p[:, 1] - number) ** 2
    found["brier"] = float(np.average(squares, weights=weights))
    if k <= MOST_RANKED:
        found["calibration"] = [
            {"label": rows.classes[j].item() if hasattr(rows.classes[j], "item")
             else rows.classes[j], "bins": calibration(p[:, j], number == j, weights)}
            for j in (range(1, 2) if k == 2 else range(k))
        ]  # fmt: skip
        found["calibration_error"] = float(
            np.mean([_error(each["bins"]) for each in found["calibration"]])
        )
    return found


def calibration(p: Array, of_class: AnyArray, weights: Array) -> list[dict[str, float]]:
    """Mean probability and share of the class in groups of equal weight, by probability.

    Rows of equal probability are in the same group.
    """
    order = np.argsort(p, kind="stable")
    before = np.cumsum(weights[order])
    at = np.searchsorted(before, before[-1] * np.arange(1, BINS) / BINS)
    edges = np.unique(p[order][np.minimum(at, len(p) - 1)])
    group = np.searchsorted(edges, p)  # up to and including an edge
    sums = [np.bincount(group, weights * of, len(edges) + 1) for of in (1.0, p, of_class)]
    return [
        {"probability": float(b / a), "share": float(c / a), "weight": float(a)}
        for a, b, c in zip(*sums, strict=True)
        if a > 0.0
    ]


def _error(bins: list[dict[str, float]]) -> float:
    """The weighted mean distance of probabilities from shares."""
    distances = [abs(each["probability"] - each["share"]) for each in bins]
    return float(np.average(distances, weights=[each["weight"] for each in bins]))


def _mean_cost(
    rows: ScoredRows, decision: Decision | None, y: Ints, predicted: Ints, own: Ints
) -> float | None:
    """The cost per row, if costs are known, and for all labels."""
    if decision is None or decision.costs is None or not np.isin(y, own).all():
        return None
    costs = decision.costs[np.searchsorted(own, y), np.searchsorted(own, predicted)]
    return float(np.average(costs, weights=rows.weights))


def _described(decision: Decision | None) -> dict[str, Any] | None:
    if decision is None:
        return None
    costs = None if decision.costs is None else decision.costs.tolist()
    return {
        "threshold": decision.threshold, "score": decision.score, "costs": costs,
        "tuned": decision.tuned_on is not None,
    }  # fmt: skip


def _alone(y: Ints) -> str:
    if np.all(y == y[0]):
        return "all rows are of one class"
    return "there are no such rows"


def _number(value: float) -> float | None:
    return None if value != value else float(value)


def _mean(values: list[float | None]) -> float | None:
    """The mean of those that are defined."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


MOST_LISTED = 5  # labels in a sentence


def _listed(labels: list[Any]) -> str:
    text = ", ".join(repr(label) for label in labels[:MOST_LISTED])
    more = len(labels) - MOST_LISTED
    return f"{text} and {more} more" if more > 0 else text
