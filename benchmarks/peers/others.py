"""skglm, ReHLine and Snap ML."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from ..contest import Contestant
from ..problem import Plane, Problem
from .roster import FEW, GRID, MANY, minimiser


@minimiser("skglm", "skglm")
def skglm(problem: Problem) -> Iterator[Contestant]:
    """Only without intercept: its smooth solver has none, and its dual one penalises it."""
    if problem.intercept or problem.form not in ("hinge", "logistic"):
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
    X, signs = problem.fortran, problem.signs

    def run(tol: float) -> Any:
        solver, penalty = solvers.LBFGS(tol=tol, max_iter=MANY), penalties.L2(2.0 * problem.l2)
        return solver.solve(X, signs, datafits.Logistic(), penalty)

    yield Contestant("skglm LBFGS", run, GRID, lambda made: Plane(made[0][None, :], np.zeros(1)))


@minimiser("rehline", "rehline")
def rehline(problem: Problem) -> Iterator[Contestant]:
    """Only without intercept, which it penalises."""
    if problem.intercept or problem.form not in ("hinge", "squared hinge"):
        return
    model, X = import_module("rehline").plqERM_Ridge, problem.double

    def run(tol: float) -> Any:
        made = model(loss={"name": problem.form}, C=problem.C, tol=tol, max_iter=MANY)
        return made.fit(X, problem.signs)

    def read(made: Any) -> Plane:
        return Plane(made.coef_[None, :], np.zeros(1), made.n_iter_)

    yield Contestant("rehline", run, GRID, read)


@minimiser("snapml", "snapml")
def snapml(problem: Problem) -> Iterator[Contestant]:
    if problem.form not in ("hinge", "logistic"):
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
