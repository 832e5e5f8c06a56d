"""One adapter per peer: how it is called, in its best layout and dtype, with its small grid.

An adapter is a generator over what the peer can do for a piece of work; it returns without a
yield what the peer cannot do. Copies in the layout of the peer are made before the clock starts.
A peer that cannot be imported is left out, and ``why_missing`` says so.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

import separatrix

from .contest import OURS, Contestant, itself
from .problem import Plane, Problem

Minimiser = Callable[[Problem], Iterator[Contestant]]
Passer = Callable[[Any, Any, int], Iterator[Contestant]]
MINIMISERS: dict[str, Minimiser] = {}
PASSERS: dict[str, Passer] = {}
MODULES: dict[str, str] = {}
FEW, MANY = 10, 2_000  # rows to compile on; iterations, which the tolerance should end
MOST_WEIGHTS = 5_000  # whose square matrix can be factored in reasonable time
MOST_DENSE = 10_000_000  # numbers, of which LIBLINEAR keeps each with its index
GRID = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


def minimiser(peer: str, module: str) -> Callable[[Minimiser], Minimiser]:
    """Register an adapter that solves a :class:`Problem`."""

    def register(adapter: Minimiser) -> Minimiser:
        MINIMISERS[peer], MODULES[peer] = adapter, module
        return adapter

    return register


def passer(peer: str, module: str) -> Callable[[Passer], Passer]:
    """Register an adapter that makes some shuffled passes of a perceptron over X, y."""

    def register(adapter: Passer) -> Passer:
        PASSERS[peer], MODULES[peer] = adapter, module
        return adapter

    return register


@cache
def why_missing(peer: str) -> str | None:
    """What Python said when the peer could not be imported; None if it can be."""
    try:
        import_module(MODULES[peer])
    except Exception as error:  # a broken install may raise anything
        return str(error)
    return None


def present(peer: str, only: tuple[str, ...]) -> bool:
    """Whether a peer takes part; those not asked for are not even imported."""
    return (not only or peer in (*only, OURS)) and why_missing(peer) is None


def minimisers(problem: Problem, *only: str) -> list[Contestant]:
    """Everybody (or those named, beside us) who can solve it."""
    return [
        contestant
        for peer, adapter in MINIMISERS.items()
        if present(peer, only)
        for contestant in adapter(problem)
    ]


def passers(X: Any, y: Any, passes: int, *only: str) -> list[Contestant]:
    """Everybody (or those named, beside us) who can make passes over these rows."""
    return [
        contestant
        for peer, adapter in PASSERS.items()
        if present(peer, only)
        for contestant in adapter(X, y, passes)
    ]


def precisions(problem: Problem) -> dict[str, Any]:
    """The rows as they are and, if that is float32, in float64: some solvers need it."""
    wide = {} if problem.X.dtype == np.float64 else {" float64": problem.double}
    return {"": problem.X, **wide}


# ---- separatrix ------------------------------------------------------------------------------


def linear_classifier(problem: Problem, tol: float) -> Any:
    return separatrix.LinearClassifier(
        problem.loss, l2=problem.l2, tol=tol, fit_intercept=problem.intercept, random_state=0
    )


@minimiser(OURS, "separatrix")
def our_minimisers(problem: Problem) -> Iterator[Contestant]:
    grid = GRID
    for suffix, X in precisions(problem).items():

        def run(tol: float, X: Any = X) -> Any:
            return linear_classifier(problem, tol).fit(X, problem.y)

        yield Contestant(OURS + suffix, run, grid, Plane.of)


@passer(OURS, "separatrix")
def our_passes(X: Any, y: Any, passes: int) -> Iterator[Contestant]:
    model = separatrix.Perceptron(passes, patience=None, keep="last", random_state=0)
    yield Contestant(OURS, lambda _: model.fit(X, y), read=Plane.of)


# ---- scikit-learn ----------------------------------------------------------------------------


@minimiser("scikit-learn", "sklearn.linear_model")
def scikit_learn(problem: Problem) -> Iterator[Contestant]:
    models = import_module("sklearn.linear_model")
    if problem.loss == "hinge":
        if not problem.intercept:  # which it would penalise
            yield from linear_svc(problem)
        return
    common = {"C": problem.C, "fit_intercept": problem.intercept, "max_iter": MANY}
    solvers = ["lbfgs"]
    if problem.sparse:
        solvers.append("newton-cg")
    elif problem.binary and problem.X.shape[1] <= MOST_WEIGHTS:
        solvers.append("newton-cholesky")  # of ten classes: twenty times lbfgs's time
    for (suffix, X), solver in product(precisions(problem).items(), solvers):

        def run(tol: float, X: Any = X, solver: str = solver) -> Any:
            model = models.LogisticRegression(solver=solver, tol=tol, **common)
            return model.fit(X, problem.y)

        yield Contestant(f"scikit-learn {solver}{suffix}", run, GRID, Plane.of)


def linear_svc(problem: Problem) -> Iterator[Contestant]:
    model = import_module("sklearn.svm").LinearSVC
    common = {"loss": "hinge", "C": problem.C, "fit_intercept": False, "max_iter": MANY}

    X = problem.double

    def run(tol: float) -> Any:
        return model(tol=tol, random_state=0, **common).fit(X, problem.y)

    yield Contestant("scikit-learn LinearSVC", run, (1e-1, 1e-2, *GRID[:5]), Plane.of)


@passer("scikit-learn", "sklearn.linear_model")
def scikit_learn_passes(X: Any, y: Any, passes: int) -> Iterator[Contestant]:
    models = import_module("sklearn.linear_model")
    model = models.Perceptron(max_iter=passes, tol=None, random_state=0)
    yield Contestant("scikit-learn", lambda _: model.fit(X, y), read=Plane.of)


# ---- LIBLINEAR -------------------------------------------------------------------------------


@minimiser("liblinear", "liblinear.liblinearutil")
def liblinear(problem: Problem) -> Iterator[Contestant]:
    """The primal solver may leave the bias out of the penalty, the dual ones may not."""
    if not problem.binary:
        return
    if not problem.sparse and problem.X.size > MOST_DENSE:
        reason = "it stores dense rows as sparse ones, and is far behind on smaller data already"
        yield Contestant("liblinear primal", itself, left_out=reason)
        return
    tool = import_module("liblinear.liblinearutil")
    signs = np.where(problem.y == problem.classes[1], 1.0, -1.0)
    rows = tool.problem(signs, problem.double, 1.0 if problem.intercept else -1.0)
    solvers = {"logistic": {0: "primal", 7: "dual"}, "hinge": {3: "dual"}}[problem.loss]
    for number, name in solvers.items():
        if problem.intercept and number != 0:
            continue
        bias = "-B 1 -R" if problem.intercept else ""

        def run(tol: float, number: int = number, bias: str = bias) -> Any:
            return tool.train(
                rows, tool.parameter(f"-s {number} -c {problem.C!r} -e {tol!r} {bias} -q")
            )

        def read(model: Any) -> Plane:
            coef, intercept = model.get_decfun()
            sign = float(model.get_labels()[0])
            return Plane(sign * np.array([coef]), sign * np.array([intercept]))

        yield Contestant(f"liblinear {name}", run, (1e-1, 1e-2, *GRID[:5]), read)


# ---- skglm -----------------------------------------------------------------------------------


@minimiser("skglm", "skglm")
def skglm(problem: Problem) -> Iterator[Contestant]:
    """Without intercept only: its smooth solver has none, and its dual one penalises it."""
    if not problem.binary or problem.intercept:
        return
    adapter = skglm_hinge if problem.loss == "hinge" else skglm_logistic
    few = np.concatenate([np.flatnonzero(problem.y == each)[:FEW] for each in problem.classes])
    for contestant in adapter(replace(problem, X=problem.X[few], y=problem.y[few])):
        contestant.run(1e-1)  # compiles
    yield from adapter(problem)


def skglm_hinge(problem: Problem) -> Iterator[Contestant]:
    model, X = import_module("skglm").LinearSVC, problem.double

    def run(tol: float) -> Any:
        return model(C=problem.C, tol=tol, max_iter=MANY).fit(X, problem.y)

    yield Contestant("skglm LinearSVC", run, GRID, Plane.of)


def skglm_logistic(problem: Problem) -> Iterator[Contestant]:
    parts = ("solvers", "penalties", "datafits")
    solvers, penalties, datafits = (import_module(f"skglm.{part}") for part in parts)
    X, signs = problem.fortran, np.where(problem.y == problem.classes[1], 1.0, -1.0)

    def run(tol: float) -> Any:
        solver, penalty = solvers.LBFGS(tol=tol, max_iter=MANY), penalties.L2(2.0 * problem.l2)
        return solver.solve(X, signs, datafits.Logistic(), penalty)

    yield Contestant("skglm LBFGS", run, GRID, lambda made: Plane(made[0][None, :], np.zeros(1)))


# ---- Snap ML ---------------------------------------------------------------------------------


@minimiser("snapml", "snapml")
def snapml(problem: Problem) -> Iterator[Contestant]:
    if not problem.binary:
        return
    tool = import_module("snapml")
    common = {"regularizer": 1.0 / problem.C, "max_iter": MANY, "n_jobs": os.cpu_count() or 1}
    common |= {"fit_intercept": problem.intercept}
    if problem.loss == "hinge":
        yield Contestant(
            "snapml SVM",
            lambda tol: tool.SupportVectorMachine(tol=tol, **common).fit(problem.X, problem.y),
            GRID,
            Plane.of,
        )
        return
    for dual in (False, True):

        def run(tol: float, dual: bool = dual) -> Any:
            model = tool.LogisticRegression(tol=tol, dual=dual, **common)
            return model.fit(problem.X, problem.y)

        yield Contestant(f"snapml {'dual' if dual else 'primal'}", run, GRID, Plane.of)


# ---- those that go row by row ----------------------------------------------------------------


@passer("river", "river.linear_model")
def river(X: Any, y: Any, passes: int) -> Iterator[Contestant]:
    """It shuffles nothing: rows come in their order."""
    models = import_module("river.linear_model")
    rows, labels = [dict(enumerate(row)) for row in X.tolist()], (y > 0).tolist()

    def run(_: Any) -> Any:
        model = models.Perceptron()
        for _pass in range(passes):
            for row, label in zip(rows, labels, strict=True):
                model.learn_one(row, label)
        return model

    def read(model: Any) -> Plane:
        coef = np.array([[model.weights.get(j, 0.0) for j in range(X.shape[1])]])
        return Plane(coef, np.array([model.intercept]))

    yield Contestant("river", run, read=read)


@passer("mlxtend", "mlxtend.classifier")
def mlxtend(X: Any, y: Any, passes: int) -> Iterator[Contestant]:
    models, labels = import_module("mlxtend.classifier"), (y > 0).astype(int)

    def run(_: Any) -> Any:
        return models.Perceptron(eta=1.0, epochs=passes, random_seed=0).fit(X, labels)

    yield Contestant("mlxtend", run, read=lambda model: Plane(model.w_.T, np.ravel(model.b_)))


@passer("vowpalwabbit", "vowpalwabbit")
def vowpalwabbit(X: Any, y: Any, passes: int) -> Iterator[Contestant]:
    """It has no perceptron: the hinge loss, from a file and its cache, is the nearest to it."""
    tool, folder = import_module("vowpalwabbit"), tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "rows")
    with open(path, "w") as file:
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            words = " ".join(f"{j}:{value:.9g}" for j, value in enumerate(row))
            file.write(f"{label} |f {words}\n")

    def run(_: Any) -> Any:
        options = f"-d {folder.name}/rows -c --passes {passes} --holdout_off"
        return tool.Workspace(f"{options} --loss_function hinge --quiet")

    def read(model: Any) -> Plane:
        coef = [model.get_weight_from_name(str(j), "f") for j in range(X.shape[1])]
        bias = model.get_weight_from_name("Constant", "")
        return Plane(np.array([coef]), np.array([bias]))

    yield Contestant("vowpalwabbit", run, read=read)
