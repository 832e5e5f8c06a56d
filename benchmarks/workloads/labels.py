"""Rows with several labels each: one fit of all labels, and a fit for each of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import separatrix

from .. import data
from ..contest import OURS, Contest, Contestant, Judge
from ..registry import workload
from .facts import describe, facts

WITHIN = 1e-6
GRID = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


def labels_of(X: Any, q: int) -> Any:
    """Noisy labels by random weights, which 5 to 50 percent of the rows have."""
    rng = np.random.default_rng(q)
    scores = X @ rng.standard_normal((X.shape[1], q))
    scores = scores / scores.std(axis=0) + 0.5 * rng.logistic(size=scores.shape)
    cuts = np.quantile(scores, np.linspace(0.95, 0.5, q), axis=0).diagonal()
    return (scores > cuts).astype(np.int64)


def objective(X: Any, Y: Any, loss: str, l2: float, models: list[Any]) -> float:
    """The sum of the objectives of all labels."""
    total = 0.0
    for model, y in zip(models, Y.T, strict=True):
        w = np.ravel(model.coef_)
        m = (2 * y - 1) * (X @ w + np.ravel(model.intercept_)[0])
        loss_of = np.logaddexp(0.0, -m) if loss == "logistic" else np.maximum(0.0, 1.0 - m) ** 2
        total += float(loss_of.mean() + l2 * w @ w)
    return total


class Part:
    """One label of a fit of all."""

    def __init__(self, clf: Any, number: int) -> None:
        self.coef_, self.intercept_ = clf.coef_[number], clf.intercept_[number]


def contest(X: Any, q: int, loss: str, l2: float = 1e-4) -> Contest:
    """Logistic loss or squared hinge, within a relative 1e-6 of the optimum."""
    Y, C = labels_of(X, q), 1.0 / (2.0 * l2 * X.shape[0])

    def ours(tol: float) -> Any:
        return separatrix.LinearClassifier(loss, l2=l2, tol=tol, random_state=0).fit(X, Y)

    def one_by_one(tol: float, make: Callable[[float], Any]) -> Any:
        return OneVsRestClassifier(make(tol)).fit(X, Y)

    def alone(tol: float) -> Any:
        return separatrix.LinearClassifier(loss, l2=l2, tol=tol, random_state=0)

    def logistic(tol: float, solver: str) -> Any:
        return LogisticRegression(C=C, solver=solver, tol=tol, max_iter=10_000)

    def squared_hinge(tol: float) -> Any:
        # Its intercept is penalised; scaled by 30, by too little to matter.
        return LinearSVC(C=C, dual=False, tol=tol, intercept_scaling=30.0, max_iter=10_000)

    @cache
    def least() -> float:
        clf = ours(1e-9)
        return float(clf.objective_ - clf.gap_)

    def parts(made: Any) -> list[Any]:
        return [Part(made, c) for c in range(q)]

    each = [("a separatrix fit for each label", alone)]
    if loss == "logistic":
        solvers = ("lbfgs", "newton-cg") if hasattr(X, "tocsr") else ("lbfgs", "newton-cholesky")
        each += [(f"scikit-learn {name}", partial(logistic, solver=name)) for name in solvers]
    else:
        each += [("LinearSVC", squared_hinge)]
    contestants = [Contestant(OURS, ours, GRID, read=parts)]
    for name, make in each:
        run = partial(one_by_one, make=make)
        contestants.append(Contestant(name, run, GRID, read=lambda made: made.estimators_))
    measure = partial(objective, X, Y, loss, l2)
    judge = Judge("objective", measure, least, within=WITHIN, relative=True)
    return Contest(f"{q} labels, {loss}, {describe(X)}", contestants, judge, facts(X))


for q in (2, 10, 50):
    for loss in ("logistic", "squared_hinge"):
        sizes: dict[str, Any] = {
            "tiny": (120, 4, 2, loss), "small": (10_000, 40, q, loss), "goal": 2.0
        }  # fmt: skip

        @workload(f"labels-{q}-{loss.replace('_', '-')}", full=(100_000, 100, q, loss), **sizes)
        def dense(n: int, d: int, q: int, loss: str) -> Contest:
            return contest(data.clouds(n, d)[0], q, loss)

        @workload(
            f"labels-text-{q}-{loss.replace('_', '-')}",
            tiny=(200, 60, 9, 2, loss),
            small=(2_000, 6_000, 50, q, loss),
            full=(20_000, 20_000, 60, q, loss),
            goal=1.0,
        )
        def text(n: int, d: int, nonzeros: int, q: int, loss: str) -> Contest:
            return contest(data.tf_idf_documents(n, d, nonzeros)[0], q, loss)
