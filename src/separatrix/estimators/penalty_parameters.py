"""The penalty defined by the parameters of an estimator, after validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..losses import Loss
from ..numeric import checks
from ..penalties import L2, ElasticNet, GroupLasso, Penalty, is_l2
from ..penalties.group_lasso import CLASSES

DEFAULT_L2 = 1e-4  # small, but the minimum is finite
SKLEARN_WORDS = {
    "l1": "set l1, e.g. l1=0.01 (and l2=0 for no squares)",
    "l2": "it is the default, so leave it out and set l2, its strength, e.g. l2=1e-4 (for C "
    "of scikit-learn and n rows, l2 = 1 / (2 C n))",
    "elasticnet": "set l1 and l2, e.g. l1=0.01, l2=1e-4",
    "none": "set l2=0",
}


def penalty_of(loss: Loss, l1: Any, l2: Any, weights: Any = None, groups: Any = None) -> Penalty:
    """Sum of squares, also with absolute values or lengths of groups of weights."""
    l1, l2 = checks.number("l1", l1), checks.number("l2", l2)
    asked = "groups" if groups is not None else "l1" if l1 > 0.0 else "penalty_weights"
    if l1 == 0.0 and weights is None and groups is None:
        return L2(l2)
    refuse_loss(loss, asked)
    factors, numbers = checked_weights(weights), checked_groups(groups)
    if l1 > 0.0 and factors is not None and not any(factors):
        raise ValueError(
            f"all penalty_weights are 0, so l1={l1:g} has no effect: give features that "
            "are to be penalised a weight above 0, or set l1=0"
        )
    if numbers is None:
        return ElasticNet(l1, l2, factors)
    if l1 == 0.0:
        raise ValueError(
            "groups define which weights become 0 together, but without l1 none do: set l1 above "
            "0, or groups=None"
        )
    return GroupLasso(l1, l2, factors, numbers)


def given_penalty(loss: Loss, penalty: Any, **shorthand: Any) -> Penalty:
    """A penalty that was given as an object, checked; any shorthand as well is an error."""
    if isinstance(penalty, str):
        remedy = SKLEARN_WORDS.get(penalty, "set l1 and l2")
        raise ValueError(
            f"penalty={penalty!r}: {remedy}; penalty takes an object such as ElasticNet(l1=0.01)"
        )
    # The check of an argument, which may be anything.
    if not isinstance(penalty, Penalty):
        raise TypeError(
            "penalty must be None or a penalty object such as L2(...), ElasticNet(...) or "
            f"GroupLasso(...), got {penalty!r} of type {type(penalty).__name__}"
        )
    defaults = {"l2": DEFAULT_L2, "l1": 0.0}
    for name, value in shorthand.items():
        if value is not None and not (name in defaults and value == defaults[name]):
            raise ValueError(
                f"{name} and penalty are both given: leave out {name}, for the object "
                f"{type(penalty).__name__}(...) says all about the penalty, or set penalty=None"
            )
    checks.number("l1 of penalty", penalty.l1)
    checks.number("l2 of penalty", penalty.l2)
    checked_weights(penalty.weights)
    # Losses with a kink are minimised by their dual, which is known for l2 * |w|^2.
    checked: Penalty = penalty
    if not is_l2(checked):
        refuse_loss(loss, f"penalty={type(penalty).__name__}(...)")
    return checked


def checked_groups(given: Any) -> tuple[int, ...] | str | None:
    """Check for a whole number for every feature, or "classes"."""
    if given is None or (isinstance(given, str) and given == CLASSES):
        return given
    try:
        numbers = np.asarray(given)
    except (TypeError, ValueError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"groups must be None, 'classes' or a whole number for each feature, got {given!r}"
        )
    return tuple(numbers.tolist())


def refuse_loss(loss: Loss, asked: str) -> None:
    """Refuse absolute values and feature weights for losses that are not smooth."""
    if not loss.smooth:
        raise ValueError(
            f"{asked} is not for loss={loss.name!r}, which is not smooth: use "
            "loss='squared_hinge', or 'logistic'"
        )


def checked_weights(given: Any) -> tuple[float, ...] | None:
    """Check for a non-negative factor for every feature; return None if all are 1."""
    if given is None:
        return None
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.empty((0, 0))
    if weights.ndim != 1:
        raise ValueError(
            f"penalty_weights must be None or one number for each feature, got {given!r}"
        )
    bad = np.flatnonzero(~((weights >= 0.0) & (weights < np.inf)))
    if len(bad):
        raise ValueError(
            f"penalty_weights must be finite and not negative, got {weights[bad[0]]:g} for feature "
            f"{bad[0]}; features of weight 0 are not penalised"
        )
    return tuple(weights.tolist())
