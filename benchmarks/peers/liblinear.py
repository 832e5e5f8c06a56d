"""LIBLINEAR with its own interface."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from ..contest import Contestant, itself
from ..problem import REST, Plane, Problem
from .roster import ROUGH_GRID, minimiser

MOST_DENSE = 10_000_000  # numbers, each of which it stores with its index
SOLVERS = {  # its numbers for a loss; more classes are each against the rest, except with 4
    "logistic": {0: "primal", 7: "dual"},
    "hinge": {3: "dual"},
    "squared hinge": {2: "primal", 1: "dual"},
    "Crammer and Singer": {4: "Crammer and Singer"},
}
FREES_BIAS = {0, 2}  # those that may leave the bias out of the penalty


@minimiser("liblinear", "liblinear.liblinearutil")
def liblinear(problem: Problem) -> Iterator[Contestant]:
    """Without intercept, or by the primal solvers."""
    solvers = {
        number: f"liblinear {name}"
        for number, name in SOLVERS.get(problem.form.removesuffix(REST), {}).items()
        if number in FREES_BIAS or not problem.intercept
    }
    if solvers and not problem.sparse and problem.X.size > MOST_DENSE:
        reason = "it stores dense rows as sparse ones, and is far behind on smaller data already"
        yield Contestant("liblinear", itself, left_out=reason)
        return
    tool = import_module("liblinear.liblinearutil")
    labels = problem.signs if problem.binary else np.searchsorted(problem.classes, problem.y)
    rows = tool.problem(labels, problem.double, 1.0 if problem.intercept else -1.0)
    bias = "-B 1 -R" if problem.intercept else ""
    for number, name in solvers.items():

        def run(tol: float, number: int = number) -> Any:
            options = f"-s {number} -c {problem.C!r} -e {tol!r} {bias} -q"
            return tool.train(rows, tool.parameter(options))

        yield Contestant(name, run, ROUGH_GRID, plane)


def plane(model: Any) -> Plane:
    """Two classes: the first in the data counts as +1; more are numbered by first occurrence."""
    labels = model.get_labels()
    parts = [model.get_decfun(place) for place in range(1 if len(labels) == 2 else len(labels))]
    coef, intercept = (np.array(part) for part in zip(*parts, strict=True))
    if len(labels) == 2:
        return Plane(labels[0] * coef, labels[0] * intercept)
    order = np.argsort(labels)
    return Plane(coef[order], intercept[order])
