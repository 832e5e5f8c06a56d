"""Other common work: cross-validation, predictions, kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.svm import SVC

import separatrix

from .. import data, machine
from ..contest import OURS, Check, Contest, Contestant, Entry, Judge, choose
from ..registry import workload
from .facts import describe, facts


def error_on(X: Any, y: Any) -> Callable[[Any], float]:
    """A measure of models: the share of these rows that they misclassify."""
    return lambda model: float(np.mean(model.predict(X) != y))


@workload(
    "cross-validation",
    tiny=(200, 5, 4, 0.02, 1),
    small=(10_000, 20, 20, 0.002, machine.CORES),
    full=(100_000, 50, 20, 0.001, machine.CORES),
    goal=8,
)
def cross_validation(n: int, d: int, count: int, within: float, processes: int) -> Contest:
    """The same values of l2 and five folds for all; the curves of accuracy must agree."""
    X, y = data.clouds(n, d)
    l2s = np.geomspace(1e-1, 1e-7, count)
    strengths = 1.0 / (2.0 * 0.8 * n * l2s)  # in each fold the same objective as ours

    def ours(tol: float) -> Any:
        return separatrix.LinearClassifierCV(l2s=l2s, cv=5, scoring=None, tol=tol).fit(X, y)

    def theirs(tol: float, solver: str, processes: int, rows: int = n) -> Any:
        return LogisticRegressionCV(
            Cs=strengths, cv=5, solver=solver, tol=tol, max_iter=10_000, scoring="accuracy",
            n_jobs=processes, l1_ratios=(0.0,), use_legacy_attributes=False,
        ).fit(X[:rows], y[:rows])  # fmt: skip

    @cache
    def exact() -> Any:
        return theirs(1e-8, "newton-cholesky", 1)

    def checks(made: Mapping[str, Any]) -> Iterator[Check]:
        error = error_on(*data.clouds(20_000, d, seed=3))
        errors = {name: error(model) for name, model in made.items()}
        apart = max(errors.values()) - min(errors.values())
        yield Check(f"errors on rows never seen differ by {apart:.5f}", apart <= 2.0 * within)

    theirs(1e-2, "lbfgs", processes, rows=200)  # starts the processes, which then stay
    grid = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    contestants = [Contestant(OURS, ours, grid)]
    for solver, number in product(("lbfgs", "newton-cholesky"), sorted({1, processes})):
        suffix = f", {number} processes" if number > 1 else ""
        run = partial(theirs, solver=solver, processes=number)
        contestants.append(Contestant(f"scikit-learn {solver}{suffix}", run, grid))
    return Contest(
        f"cross-validation, {count} values, 5 folds, {describe(X)}",
        contestants,
        Judge(
            "largest difference of a mean accuracy",
            lambda model: float(np.abs(accuracies(model) - accuracies(exact())).max()),
            within=within,
        ),
        facts(X),
        checks,
    )


def accuracies(model: Any) -> Any:
    """The mean over the folds for each value, from the strongest penalty to the weakest."""
    if isinstance(model, separatrix.LinearClassifierCV):
        return model.cv_results_["mean_test_score"]
    return np.ravel(model.scores_.mean(axis=0))


@workload("predict-one", tiny=(1, 20), small=(1, 20), full=(1, 20), goal=3)
@workload("predict-many", tiny=(500, 5), small=(100_000, 50), full=(1_000_000, 50), goal=1.5)
def predict(n: int, d: int) -> Contest:
    """Classes of rows, by models that have the same weights."""
    X, y = data.clouds(max(n, 1000), d)
    ours = separatrix.LinearClassifier().fit(X[:1000], y[:1000])
    theirs = LogisticRegression().fit(X[:1000], y[:1000])
    theirs.coef_, theirs.intercept_ = ours.coef_, ours.intercept_
    rows = X[:n].astype(np.float64)
    expected = np.where(rows @ ours.coef_[0] + ours.intercept_ >= 0.0, 1, -1)
    return Contest(
        f"predict, {describe(rows)}",
        [
            Contestant(OURS, lambda _: ours.predict(rows)),
            Contestant("scikit-learn", lambda _: theirs.predict(rows)),
        ],
        Judge("share of other classes", lambda made: float(np.mean(made != expected)), within=1e-5),
        facts(rows),
        limits={OURS: machine.reader(rows, machine.CORES)} if n > 1 else {},
    )


@workload(
    "kernel-fit", tiny=(200, 4, 0.1), small=(2_000, 20, 0.02), full=(10_000, 20, 0.005), goal=10
)
def kernel_fit(n: int, d: int, within: float) -> Contest:
    """An averaged kernel perceptron against a support vector machine, equal on unseen rows."""
    X, y = data.rings(n, d)
    X = X.astype(np.float64)
    error = error_on(*data.rings(max(n // 2, 1000), d, seed=3))

    def ours(passes: int) -> Any:
        model = separatrix.KernelPerceptron(
            max_iter=passes, keep="average", patience=None, random_state=0
        )
        return model.fit(X, y)

    def theirs(C: float) -> Any:
        return SVC(C=C, cache_size=1000).fit(X, y)

    strengths = (1.0, 0.3, 3.0)
    return Contest(
        f"rbf kernel, fit, {describe(X)}",
        [
            Contestant(OURS, ours, (1, 2, 3, 5, 10, 20)),
            Contestant("scikit-learn SVC", theirs, strengths),
        ],
        Judge(
            "test error above the best SVC's",
            error,
            lambda: min(error(theirs(C)) for C in strengths),
            within,
        ),
        facts(X),
    )


@workload(
    "kernel-predict", tiny=(200, 4, 0.1), small=(2_000, 20, 0.02), full=(10_000, 20, 0.005), goal=8
)
def kernel_predict(n: int, d: int, within: float) -> Contest:
    """The models of the fit classify as many rows again."""
    fit = kernel_fit(n, d, within)
    entries = [Entry(contestant) for contestant in fit.contestants]
    choose(entries, fit.judge)
    X, y = data.rings(n, d, seed=4)
    X = X.astype(np.float64)

    def predictor(entry: Entry) -> Contestant:
        return Contestant(entry.name, lambda _: entry.made.predict(X))

    error = error_on(X, y)
    return Contest(
        f"rbf kernel, predict, {describe(X)}",
        [predictor(entry) for entry in entries],
        Judge(
            "error above the best",
            lambda made: float(np.mean(made != y)),
            lambda: min(error(entry.made) for entry in entries),
            2.0 * within,
        ),
        facts(X),
    )
