"""Peers that minimise with l1 only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from ..contest import Contestant, itself
from ..problem import Plane, Problem
from .liblinear import MOST_DENSE, plane
from .roster import FEW, GRID, MANY, ROUGH_GRID, lasso


@lasso("scikit-learn", "sklearn.linear_model")
def scikit_learn(problem: Problem) -> Iterator[Contestant]:
    """saga, and LIBLINEAR without a bias, which it would penalise."""
    model = import_module("sklearn.linear_model").LogisticRegression
    for solver, grid in (("saga", GRID), ("liblinear", ROUGH_GRID)):
        if solver == "liblinear" and (problem.intercept or not problem.binary):
            continue

        def run(tol: float, solver: str = solver) -> Any:
            return model(
                solver=solver, l1_ratio=1.0, C=problem.C, tol=tol, max_iter=MANY, random_state=0,
                fit_intercept=problem.intercept,
            ).fit(problem.double, problem.y)  # fmt: skip

        yield Contestant(f"scikit-learn {solver}", run, grid, Plane.of)


@lasso("liblinear", "liblinear.liblinearutil")
def liblinear(problem: Problem) -> Iterator[Contestant]:
    """Without a bias, which it would penalise, and for two classes."""
    if problem.intercept or not problem.binary:
        return
    if not problem.sparse and problem.X.size > 2 * MOST_DENSE:
        yield Contestant("liblinear", itself, left_out="it stores dense rows as sparse ones")
        return
    tool = import_module("liblinear.liblinearutil")
    rows = tool.problem(problem.signs, problem.double, -1.0)

    def run(tol: float) -> Any:
        return tool.train(rows, tool.parameter(f"-s 6 -c {problem.C!r} -e {tol!r} -q"))

    yield Contestant("liblinear -s 6", run, ROUGH_GRID, plane)


@lasso("skglm", "skglm")
def skglm(problem: Problem) -> Iterator[Contestant]:
    """Two classes, with bias or without."""
    if not problem.binary:
        return
    few = np.concatenate([np.flatnonzero(problem.y == each)[:FEW] for each in problem.classes])
    small = replace(problem, X=problem.X[few], y=problem.y[few], l1=1e-2 * problem.l1)
    for contestant in skglm_proximal_newton(small):
        contestant.run(1e-6)  # compiles
    yield from skglm_proximal_newton(problem)


def skglm_proximal_newton(problem: Problem) -> Iterator[Contestant]:
    """In float64: its logistic loss does not compile for float32."""
    parts = ("solvers", "penalties", "datafits")
    solvers, penalties, datafits = (import_module(f"skglm.{part}") for part in parts)
    X, signs = problem.fortran, problem.signs

    def run(tol: float) -> Any:
        solver = solvers.ProxNewton(tol=tol, max_iter=MANY, fit_intercept=problem.intercept)
        return solver.solve(X, signs, datafits.Logistic(), penalties.L1(problem.l1))[0]

    def read(w: Any) -> Plane:
        w, bias = (w[:-1], w[-1:]) if problem.intercept else (w, np.zeros(1))
        return Plane(w[None], bias)

    yield Contestant("skglm ProxNewton", run, GRID, read)


@lasso("celer", "celer")
def celer(problem: Problem) -> Iterator[Contestant]:
    """Two classes, without a bias, which it does not support, and in float64 only."""
    if problem.intercept or not problem.binary:
        return
    path, X, signs = import_module("celer").celer_path, problem.fortran, problem.signs
    alphas = np.array([problem.l1 * problem.n])  # of the summed loss

    def run(tol: float) -> Any:
        return path(X, signs, "logreg", alphas=alphas, tol=tol, max_iter=MANY, use_PN=True)[1]

    yield Contestant("celer", run, GRID, lambda coefs: Plane(coefs.T, np.zeros(1)))
