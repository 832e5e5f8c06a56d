"""separatrix itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import separatrix

from ..contest import OURS, Contestant
from ..problem import Plane, Problem
from .roster import GRID, lasso, minimiser, passer, precisions


def linear_classifier(problem: Problem, tol: float) -> Any:
    rest = problem.rest and problem.loss in ("logistic", "hinge")
    loss = f"one_vs_rest_{problem.loss}" if rest else problem.loss
    return separatrix.LinearClassifier(
        loss, l1=problem.l1, l2=problem.l2, tol=tol, fit_intercept=problem.intercept,
        random_state=0,
    )  # fmt: skip


@lasso(OURS, "separatrix")
@minimiser(OURS, "separatrix")
def our_minimisers(problem: Problem) -> Iterator[Contestant]:
    for suffix, X in precisions(problem).items():

        def run(tol: float, X: Any = X) -> Any:
            return linear_classifier(problem, tol).fit(X, problem.y)

        yield Contestant(OURS + suffix, run, GRID, Plane.of)


@passer(OURS, "separatrix")
def our_passes(X: Any, y: Any, passes: int) -> Iterator[Contestant]:
    model = separatrix.Perceptron(passes, patience=None, keep="last", random_state=0)
    yield Contestant(OURS, lambda _: model.fit(X, y), read=Plane.of)
