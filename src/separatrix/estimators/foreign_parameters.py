"""Errors that translate parameters of other libraries, such as ``C``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec

P = ParamSpec("P")

MEAN = "here l2 multiplies |w|^2 next to the mean loss of n rows"
ADVICE = {
    "C": f"{MEAN}: l2 = 1 / (2 C n)",
    "Cs": f"{MEAN}: LinearClassifierCV(l2s=[...]), with l2 = 1 / (2 C n) for each C",
    "alpha": f"{MEAN}: for SGDClassifier's alpha, l2 = alpha / 2",
    "alphas": f"{MEAN}: LinearClassifierCV(l2s=[...]), with l2 = alpha / n for RidgeClassifierCV",
    "l2": "LinearClassifierCV searches l2: give l2s=[...], or use LinearClassifier(l2=...)",
    "bias_reduction": "it takes the place of the penalty that LinearClassifierCV searches; use "
    "LinearClassifier(bias_reduction=...)",
    "soft_labels": "LinearClassifierCV needs labels; use LinearClassifier(soft_labels=True)",
    "bounds": "use LinearClassifier(bounds=...), and GridSearchCV to search its parameters",
    "monotone": "use LinearClassifier(monotone=...), and GridSearchCV to search its parameters",
    "l1_ratio": "give l1 and l2, or search both by LinearClassifierCV(l1_ratio=...)",
    "eta0": "the size of steps is learning_rate",
    "n_iter": "the number of passes is max_iter",
    "early_stopping": "give stop=Stop(validation=(X_val, y_val), patience=5)",
    "multi_class": "the loss decides: 'logistic' is softmax for more than two classes, "
    "'one_vs_rest_logistic' fits each class against the rest",
}
"""By parameter. LogisticRegression and LinearSVC minimise ``|w|^2 / 2 + C * sum of losses``."""


def translating(init: Callable[P, None]) -> Callable[P, None]:
    """Make the constructor of an estimator explain parameters that other libraries have."""
    known = signature(init).parameters

    @wraps(init)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        for name in kwargs:
            if name not in known and name in ADVICE:
                raise TypeError(f"{type(args[0]).__name__} has no parameter {name!r}: "
                                f"{ADVICE[name]}")  # fmt: skip
        init(*args, **kwargs)

    return call
