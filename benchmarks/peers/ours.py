"""separatrix itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.multiclass import OneVsRestClassifier

import separatrix

from ..contest import OURS, Contestant
from ..problem import Plane, Problem
from .roster import GRID, minimiser, passer, precisions


def linear_classifier(problem: Problem, tol: float) -> Any:
    return separatrix.LinearClassifier(
        problem.loss, l2=problem.l2, tol=tol, fit_intercept=problem.intercept, random_state=0
    )


@minimiser(OURS, "separatrix")
def our_minimisers(problem: Problem) -> Iterator[Contestant]:
    """Each class against the rest, where the loss has a joint form: as scikit-learn's users do."""
    each = problem.rest and not problem.binary and problem.loss in ("logistic", "hinge")
    for suffix, X in precisions(problem).items():

        def run(tol: float, X: Any = X) -> Any:
            model = linear_classifier(problem, tol)
            return (OneVsRestClassifier(model) if each else model).fit(X, problem.y)

        yield Contestant(OURS + suffix, run, GRID, Plane.of_each if each else Plane.of)


@passer(OURS, "separatrix")
def our_passes(X: Any, y: Any, passes: int) -> Iterator[Contestant]:
    model = separatrix.Perceptron(passes, patience=None, keep="last", random_state=0)
    yield Contestant(OURS, lambda _: model.fit(X, y), read=Plane.of)
