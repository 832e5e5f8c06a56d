"""``bias_reduction``: estimates that are finite whatever the data, in place of a penalty.

"mdypl" maximises the likelihood of labels that are pulled towards 1/2, ``a y + (1 - a) / 2`` with
``a = m / (m + p)`` for m rows and p coefficients (P. Sterzinger and I. Kosmidis, Diaconis-Ylvisaker
prior penalized likelihood for p/n -> kappa in (0, 1) logistic regression, arXiv 2311.07419, 2023).
"""

from __future__ import annotations

import math
from typing import Any

from ..data import Source
from ..data.weighted_copies import SmoothedLabels, WeightedCopies
from ..losses import Loss
from ..penalties import L2, Penalty
from .penalty_parameters import DEFAULT_L2

METHODS = ("mdypl",)


def check_bias_reduction(clf: Any, loss: Loss) -> str | None:
    """The method, after the parameters that do not go with it have been checked."""
    method: Any = clf.bias_reduction
    if method is None:
        return None
    allowed = " or ".join(map(repr, METHODS))
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"bias_reduction must be None, {allowed}, got {method!r}")
    name = f"bias_reduction={method!r}"
    if loss.name != "logistic":
        raise ValueError(f"{name} is for loss='logistic', got loss={clf.loss!r}")
    given = {
        "l1": clf.l1 != 0.0, "l2": clf.l2 not in (0.0, DEFAULT_L2),
        "penalty_weights": clf.penalty_weights is not None, "groups": clf.groups is not None,
        "penalty": clf.__dict__.get("penalty") is not None,
    }  # fmt: skip
    if wrong := [what for what, is_given in given.items() if is_given]:
        raise ValueError(
            f"{name} takes the place of a penalty, so {wrong[0]} must be left out; l2 is then 0"
        )
    if clf.class_weight is not None:
        raise ValueError(
            f"{name} is for rows that count alike, and class_weight={clf.class_weight!r} changes "
            "the likelihood: fit without it, and choose a threshold (tune_threshold)"
        )
    if clf.soft_labels:
        raise ValueError(f"{name} and soft_labels=True exclude each other: labels are 0 or 1")
    if clf.device is not None:
        raise ValueError(f"{name} is for rows in main memory: leave out device={clf.device!r}")
    return method


def no_penalty() -> Penalty:
    """The penalty of a fit with bias reduction."""
    return L2(0.0)


def check_two_classes(source: Source, method: str) -> None:
    """Refuse anything but two classes."""
    if source.labels is not None or len(source.classes) != 2:
        what = "several labels" if source.labels is not None else f"{len(source.classes)} classes"
        raise ValueError(
            f"bias_reduction={method!r} is for two classes, and the rows have {what}: use l2 > 0, "
            "or fit each class against the rest by itself"
        )
    if not source.without_offset.visitable:
        raise ValueError(
            f"bias_reduction={method!r} is for rows in main memory, and X is on a GPU: copy it "
            "first"
        )


def smoothed(source: Source, intercept: bool) -> Source:
    """The rows with their labels pulled towards 1/2."""
    rows = math.ldexp(source.weight_sum, -getattr(source, "weight_power", 0))
    p = source.n_features + intercept
    return WeightedCopies(source, SmoothedLabels(0.5 * p / (rows + p)))


def refuse_relabelled(clf: Any, what: str) -> None:
    """Refuse a model whose rows were not trained on with the labels as given."""
    if getattr(clf, "_relabels", False):
        method = "soft_labels=True" if clf.soft_labels else f"bias_reduction={clf.bias_reduction!r}"
        raise ValueError(
            f"{what} compares a fit with its objective on labelled rows, and {method} minimises "
            "another one, for which gap_ is the proof; fit without it"
        )
