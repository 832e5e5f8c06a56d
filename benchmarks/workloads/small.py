"""Fits of small tables with the parameters that each library has by default: overhead counts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import separatrix

from .. import data
from ..contest import OURS, Check, Contest, Contestant, Judge
from ..problem import Plane, Problem
from ..registry import workload
from .facts import describe, facts
from .fits import to_the_optimum

POINTS = 0.2  # allowed difference of training errors: penalties differ, too
THEIRS = {
    "logistic": LogisticRegression,
    "squared_hinge": LinearSVC,
    "hinge": partial(LinearSVC, loss="hinge"),
    "squared": LinearSVC,
    "perceptron": TheirPerceptron,
}


def by_default(n: int, d: int, loss: str) -> Contest:
    """One call of ``fit`` with nothing set but the loss."""
    X, y = data.clouds(n, d)
    X, classes = X.astype(np.float64), np.searchsorted(np.unique(y), y)

    def error(plane: Plane) -> float:
        return float(np.mean(plane.predict(X) != classes))

    def fitted(make: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a default limit of steps
            return make().fit(X, y)

    def checks(made: Mapping[str, Plane]) -> Iterator[Check]:
        errors = [error(plane) for plane in made.values()]
        apart = max(errors) - min(errors)
        yield Check(f"training errors within {POINTS}: {apart:.4f}", apart <= POINTS)

    perceptron = loss == "perceptron"
    ours = separatrix.Perceptron if perceptron else partial(separatrix.LinearClassifier, loss)
    theirs = THEIRS[loss]
    name = getattr(theirs, "func", theirs).__name__
    return Contest(
        f"{loss} by default, {describe(X)}",
        [
            Contestant(OURS, lambda _: fitted(ours), read=Plane.of),
            Contestant(f"scikit-learn {name}", lambda _: fitted(theirs), read=Plane.of),
        ],
        Judge("training error", error, within=np.inf),
        facts(X),
        checks,
    )


for loss in THEIRS:
    workload(
        f"small-{loss}",
        tiny=(60, 3, loss), small=(100, 5, loss), full=(100, 5, loss), goal=1.0,
    )(by_default)  # fmt: skip


def scaled(load: Any, count: int | None) -> Contest:
    """The hinge of C = 1 without a bias, to 1e-4: two classes, or odd against even digits."""
    X, y = load(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:count], (y % 2)[:count]
    return to_the_optimum(Problem(X, y, "hinge", 0.5 / len(y), intercept=False), within=1e-4)


for name, load in (("cancer", load_breast_cancer), ("digits", load_digits)):
    workload(f"hinge-{name}", tiny=(load, 120), small=(load, None), full=(load, None), goal=2.0)(
        scaled
    )
