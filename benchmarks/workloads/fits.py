"""Fits to a known optimum: each is stopped within a relative 1e-6 of it, unless stated
otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from .. import data, machine
from ..contest import OURS, Check, Contest, Contestant, Judge
from ..peers import minimisers
from ..problem import Plane, Problem
from ..registry import workload
from .facts import describe, facts

WITHIN = 1e-6
SECOND_TOLERANCE = 1e-7  # of the second solver that computes the optimum
SAME_LABELS, FEW_OTHERS = 0.99, 5  # share of the rows, or number of rows that may differ


def to_the_optimum(problem: Problem, *only: str, within: float = WITHIN) -> Contest:
    """All contestants (or the named ones) that can solve the problem, measured by its objective.

    Two solvers compute the optimum, and must come ten times as close as contestants.
    """
    values: dict[str, float] = {}

    def optimum() -> float:
        double = replace(problem, X=problem.double)
        ours = minimisers(double, OURS)[0]
        second = second_opinion(double)
        values[OURS] = problem.value(ours.read(ours.run(1e-3 * within)))
        values[second.name] = problem.value(second.read(second.run(SECOND_TOLERANCE)))
        return min(values.values())

    def checks(made: Mapping[str, Plane]) -> Iterator[Check]:
        best = min(values.values())
        apart = (max(values.values()) - best) / best
        who = " and ".join(values)
        yield Check(f"optimum {best:.9g}: {who} differ by {apart:.1e}", apart <= 0.1 * within)
        if OURS not in made:
            return
        labels = {name: plane.predict(problem.X) for name, plane in made.items()}
        share = min(float(np.mean(each == labels[OURS])) for each in labels.values())
        few = FEW_OTHERS / problem.X.shape[0]
        enough = share >= min(SAME_LABELS, 1.0 - few)
        yield Check(f"at least {share:.4%} of the rows get the same class", enough)

    kind = problem.form + ("" if problem.binary else f" of {len(problem.classes)} classes")
    strength = f"l1 = {problem.l1:.3g}" if problem.l1 else f"l2 = {problem.l2:g}"
    bias = "" if problem.intercept else ", no intercept"
    return Contest(
        f"{kind} to {within:g}, {strength}{bias}, {describe(problem.X)}",
        minimisers(problem, *only),
        Judge("excess objective", problem.value, optimum, within, relative=True),
        facts(problem.X),
        checks,
        {OURS: machine.reader(problem.X, machine.CORES)},
    )


def second_opinion(problem: Problem) -> Contestant:
    """The peer that also computes the optimum."""
    exact = ["newton-cholesky", "newton-cg", "LinearSVC", "lbfgs", "liblinear", "Ridge", "saga"]
    asked = ["scikit-learn"]
    if problem.l1:  # scikit-learn is slow to be exact
        exact, asked = ["skglm", *exact], ["skglm", *asked]
    peers = {each.name: each for each in minimisers(problem, *asked) if not each.ours}
    return next(peers[name] for kind in exact for name in peers if kind in name)


def correlated(n: int, d: int) -> Contest:
    return to_the_optimum(Problem(*data.correlated(n, d), "logistic", 1e-5))


def independent(n: int, d: int) -> Contest:
    return to_the_optimum(Problem(*data.clouds(n, d), "logistic", 1e-5))


for make, tall, wide in ((correlated, 8.0, 4.0), (independent, 3.0, 3.0)):
    workload(
        f"logistic-{make.__name__}-tall",
        tiny=(300, 6), small=(30_000, 60), full=(500_000, 100), goal=tall,
    )(make)  # fmt: skip
    workload(
        f"logistic-{make.__name__}-wide",
        tiny=(200, 20), small=(3_000, 300), full=(20_000, 2_000), goal=wide,
    )(make)  # fmt: skip


def sparse(n: int, d: int, nonzeros: int, loss: str) -> Contest:
    """Without intercept, as some peers penalise it, and with the strength of their C = 1."""
    return to_the_optimum(Problem(*data.text(n, d, nonzeros), loss, 0.5 / n, intercept=False))


for loss in ("logistic", "hinge"):
    workload(
        f"{loss}-sparse",
        tiny=(300, 60, 9, loss), small=(5_000, 3_000, 60, loss), full=(200_000, 47_000, 90, loss),
        goal=2.5,
    )(sparse)  # fmt: skip


@workload("softmax", tiny=(200, 30, 3), small=(4_000, 196, 10), full=(60_000, 784, 10), goal=3)
def softmax(n: int, pixels: int, k: int) -> Contest:
    return to_the_optimum(Problem(*data.images(n, pixels, k), "logistic", 1e-4))


@workload(
    "softmax-independent", tiny=(300, 9, 3), small=(5_000, 60, 8), full=(40_000, 300, 8), goal=2
)
def softmax_independent(n: int, d: int, k: int) -> Contest:
    return to_the_optimum(Problem(*data.many_clouds(n, d, k), "logistic", 1e-4))
