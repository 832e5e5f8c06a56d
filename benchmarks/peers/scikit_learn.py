"""scikit-learn, which includes LIBLINEAR."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from itertools import product
from typing import Any

from ..contest import Contestant
from ..problem import Plane, Problem
from .roster import GRID, MANY, ROUGH_GRID, minimiser, passer, precisions

MOST_WEIGHTS = 5_000  # whose square matrix can be factored in reasonable time
MOST_FACTORED = 2_000  # the same, for the closed form of the squared loss
MANY_EPOCHS = 100_000  # of single alphas: after MANY some hinges are 1e-6 above their optimum


@minimiser("scikit-learn", "sklearn.linear_model")
def scikit_learn(problem: Problem) -> Iterator[Contestant]:
    if problem.loss == "squared":
        yield from ridge(problem)
    elif problem.loss == "logistic":
        if problem.binary or not problem.rest:
            yield from logistic_regression(problem)
        if not problem.intercept:  # which LIBLINEAR would penalise
            yield from by_liblinear(problem)
    elif not problem.intercept:
        yield from linear_svc(problem)


def logistic_regression(problem: Problem) -> Iterator[Contestant]:
    model = import_module("sklearn.linear_model").LogisticRegression
    common = {"C": problem.C, "fit_intercept": problem.intercept, "max_iter": MANY}
    solvers = ["lbfgs"]
    if problem.sparse:
        solvers.append("newton-cg")
    elif problem.binary and problem.X.shape[1] <= MOST_WEIGHTS:
        solvers.append("newton-cholesky")  # of ten classes: twenty times lbfgs's time
    for (suffix, X), solver in product(precisions(problem).items(), solvers):

        def run(tol: float, X: Any = X, solver: str = solver) -> Any:
            return model(solver=solver, tol=tol, **common).fit(X, problem.y)

        yield Contestant(f"scikit-learn {solver}{suffix}", run, GRID, Plane.of)


def by_liblinear(problem: Problem) -> Iterator[Contestant]:
    """Sparse rows only, because dense ones are stored as sparse; and no softmax."""
    if not problem.sparse or problem.form == "softmax":
        return
    several = import_module("sklearn.multiclass").OneVsRestClassifier
    model = partial(
        import_module("sklearn.linear_model").LogisticRegression,
        solver="liblinear", C=problem.C, fit_intercept=False, max_iter=MANY, random_state=0,
    )  # fmt: skip
    for dual in (False, True):

        def run(tol: float, dual: bool = dual) -> Any:
            one = model(tol=tol, dual=dual)
            return (one if problem.binary else several(one)).fit(problem.double, problem.y)

        name = f"scikit-learn liblinear {'dual' if dual else 'primal'}"
        yield Contestant(name, run, ROUGH_GRID, Plane.of if problem.binary else Plane.of_each)


def linear_svc(problem: Problem) -> Iterator[Contestant]:
    model = partial(
        import_module("sklearn.svm").LinearSVC,
        loss=problem.loss, C=problem.C, fit_intercept=False, max_iter=MANY_EPOCHS, random_state=0,
        multi_class="crammer_singer" if problem.form == "Crammer and Singer" else "ovr",
    )  # fmt: skip
    X = problem.double
    for dual in (True, False) if problem.loss == "squared_hinge" else (True,):

        def run(tol: float, dual: bool = dual) -> Any:
            return model(tol=tol, dual=dual).fit(X, problem.y)

        name = f"scikit-learn LinearSVC{'' if dual else ' primal'}"
        yield Contestant(name, run, ROUGH_GRID, Plane.of)


def ridge(problem: Problem) -> Iterator[Contestant]:
    """Its ``alpha`` refers to the summed loss."""
    model = partial(
        import_module("sklearn.linear_model").RidgeClassifier,
        alpha=problem.l2 * problem.n, fit_intercept=problem.intercept, random_state=0,
    )  # fmt: skip
    solvers = ["sparse_cg"] if problem.sparse and problem.intercept else ["sparse_cg", "lsqr"]
    if problem.X.shape[1] <= MOST_FACTORED and not (problem.sparse and problem.intercept):
        solvers.append("cholesky")
    for solver in solvers:

        def run(tol: float, solver: str = solver) -> Any:
            return model(solver=solver, tol=tol).fit(problem.double, problem.y)

        yield Contestant(f"scikit-learn Ridge {solver}", run, ROUGH_GRID, Plane.of)


@passer("scikit-learn", "sklearn.linear_model")
def scikit_learn_passes(X: Any, y: Any, passes: int) -> Iterator[Contestant]:
    models = import_module("sklearn.linear_model")
    model = models.Perceptron(max_iter=passes, tol=None, random_state=0)
    yield Contestant("scikit-learn", lambda _: model.fit(X, y), read=Plane.of)
