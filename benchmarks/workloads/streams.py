"""Rows one at a time, each in a call of ``partial_fit`` (river's ``learn_one``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron, SGDClassifier

import separatrix

from .. import data
from ..contest import OURS, Check, Contest, Contestant, Judge
from ..peers import roster
from ..problem import Plane
from ..registry import workload
from .facts import describe, facts
from .passes import POINTS

CLASSES = np.array([-1, 1])
MODELS: dict[str, dict[str, Callable[[], Any]]] = {
    "perceptron": {
        OURS: lambda: separatrix.Perceptron(random_state=0),
        "scikit-learn Perceptron": lambda: Perceptron(random_state=0),
        "river": lambda: import_module("river.linear_model").Perceptron(),
    },
    "logistic": {
        OURS: lambda: separatrix.LinearClassifier("logistic", random_state=0),
        "scikit-learn SGDClassifier": lambda: SGDClassifier("log_loss", random_state=0),
        "river": lambda: import_module("river.linear_model").LogisticRegression(),
    },
}


def stream(n: int, d: int, kind: str, *more: str) -> Contest:
    X, y = data.clouds(n, d)
    X = X.astype(np.float64)
    numbers = (y > 0).astype(int)

    def error(plane: Plane) -> float:
        return float(np.mean(plane.predict(X) != numbers))

    def checks(made: Mapping[str, Plane]) -> Iterator[Check]:
        errors = {name: error(plane) for name, plane in made.items()}
        lost = errors[OURS] - min(errors.values())
        yield Check(f"our training error within {POINTS} of the best: {lost:.4f}", lost <= POINTS)

    names = [name for name in MODELS[kind] if name != "river"]
    names += [name for name in more if roster.present(name, ())]
    return Contest(
        f"{kind}, {n:,} calls with a row each, {describe(X)}",
        [caller(name, MODELS[kind][name], X, y) for name in names],
        Judge("training error", error, within=np.inf),
        facts(X),
        checks,
    )


for kind in MODELS:
    for suffix, calls, more, goal in (
        ("", 15_000, (), 3.0),
        ("-everyone", 2_000, ("river",), None),
    ):
        workload(
            f"stream-{kind}{suffix}",
            tiny=(150, 5, kind, *more),
            small=(1_000, 100, kind, *more),
            full=(calls, 100, kind, *more),
            goal=goal,
        )(stream)


def caller(name: str, make: Callable[[], Any], X: Any, y: Any) -> Contestant:
    """Every contestant gets rows in its own format, prepared before."""
    if name == "river":
        return river(make, X, y)
    rows = [(X[i : i + 1], y[i : i + 1]) for i in range(len(y))]

    def run(_: Any) -> Any:
        model = make()
        for row, label in rows:
            model.partial_fit(row, label, classes=CLASSES)
        return model

    return Contestant(name, run, read=Plane.of)


def river(make: Callable[[], Any], X: Any, y: Any) -> Contestant:
    labels = (y > 0).tolist()
    rows = [(dict(enumerate(row)), label) for row, label in zip(X.tolist(), labels, strict=True)]

    def run(_: Any) -> Any:
        model = make()
        for row, label in rows:
            model.learn_one(row, label)
        return model

    def read(model: Any) -> Plane:
        coef = np.array([[model.weights.get(j, 0.0) for j in range(X.shape[1])]])
        return Plane(coef, np.array([model.intercept]))

    return Contestant("river", run, read=read)
