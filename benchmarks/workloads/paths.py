"""Paths of a hundred strengths of l1, from the one that selects nothing; without bias on all sides.

Compared with celer's path, with single fits, of which only some are made if all would take too long
(the contestant's name says so), and with the time of the single fit at the end of the path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

import separatrix

from .. import data
from ..contest import OURS, Contest, Contestant, Judge
from ..peers import linear_classifier
from ..peers.roster import GRID, MANY, present
from ..problem import Plane, Problem
from ..registry import workload
from .facts import describe, facts
from .lasso import largest_strength

WITHIN = 1e-6  # of the objective, at every strength
TIGHT = 1e-9  # for the reference
Made = tuple[Any, Any]  # numbers of strengths, and weights of each


class Path:
    """A problem at many strengths, and the lowest known objectives."""

    def __init__(self, table: data.Table, count: int, end: float, single: int) -> None:
        X, y = table
        largest = largest_strength(X, y, intercept=False)
        self.strengths = np.geomspace(largest, end * largest, count)
        self.problem = Problem(X, y, "logistic", 0.0, intercept=False, l1=largest)
        self.some = np.unique(np.linspace(1, count - 1, single).astype(int))
        self.least = cache(self._least)

    def ours(self, tol: float) -> Made:
        X, y = self.problem.X, self.problem.y
        found = separatrix.path(X, y, strengths=self.strengths, tol=tol, fit_intercept=False)
        return np.arange(len(self.strengths)), found.coefficients[:, 0]

    def our_last_fit(self, tol: float) -> Made:
        model = linear_classifier(replace(self.problem, l1=self.strengths[-1]), tol)
        fitted = model.fit(self.problem.X, self.problem.y)
        return np.array([len(self.strengths) - 1]), fitted.coef_

    def celer(self, tol: float) -> Made:
        found = import_module("celer").celer_path(
            self.problem.fortran, self.problem.signs, "logreg",
            alphas=self.strengths * self.problem.n, tol=tol, max_iter=MANY, use_PN=True,
        )  # fmt: skip
        return np.arange(len(self.strengths)), found[1].T

    def liblinear(self, tol: float) -> Made:
        model = import_module("sklearn.linear_model").LogisticRegression
        found = [
            model(
                solver="liblinear", l1_ratio=1.0, C=1.0 / (l1 * self.problem.n), tol=tol,
                max_iter=MANY, random_state=0, fit_intercept=False,
            ).fit(self.problem.double, self.problem.y).coef_[0]
            for l1 in self.strengths[self.some]
        ]  # fmt: skip
        return self.some, np.array(found)

    def values(self, made: Made) -> Any:
        """Objectives of some weights, each at its strength."""
        of, coefs = made
        planes = (Plane(w[None].astype(np.float64), np.zeros(1)) for w in coefs)
        posed = (replace(self.problem, l1=l1) for l1 in self.strengths[of])
        return np.array([p.value(plane) for p, plane in zip(posed, planes, strict=True)])

    def _least(self) -> Any:
        return self.values(self.ours(TIGHT))

    def excess(self, made: Made) -> float:
        """The largest over the strengths, relative to the lowest."""
        least = self.least()[made[0]]
        return float(np.max((self.values(made) - least) / least))

    def peers(self) -> Iterator[Contestant]:
        if present("celer", ()):
            yield Contestant("celer", self.celer, GRID)
        count, some = len(self.strengths), len(self.some)
        suffix = f", {some} of {count}, extrapolated" if some < count - 1 else ""
        name = f"scikit-learn liblinear{suffix}"
        yield Contestant(name, self.liblinear, GRID, share=some / count)

    def contest(self, *peers: Contestant) -> Contest:
        end = self.strengths[-1] / self.strengths[0]
        return Contest(
            f"logistic, {len(self.strengths)} strengths of l1 down to {end:g} of the largest, each "
            f"to {WITHIN:g}, no intercept, {describe(self.problem.X)}",
            [Contestant(OURS, self.ours, GRID), *peers],
            Judge("largest excess objective", self.excess, within=WITHIN),
            facts(self.problem.X),
        )


def against_peers(path: Path) -> Contest:
    return path.contest(*path.peers())


def against_one_fit(path: Path) -> Contest:
    """The goal is a share: a path takes at most this many times as long."""
    return path.contest(Contestant("our own fit at the end", path.our_last_fit, GRID))


SHAPES = {"tall": ((100_000, 200, 20), 1e-3, 15.0), "wide": ((500, 20_000, 20), 1e-2, 5.0)}
for name, (full, end, times) in SHAPES.items():
    small = (10_000, 60, 10) if name == "tall" else (200, 3_000, 10)
    for suffix, against, goal in (
        ("", against_peers, 2.0),
        ("-one-fit", against_one_fit, 1.0 / times),
    ):

        def make(
            n: int, d: int, relevant: int, count: int, end: float, single: int,
            against: Callable[[Path], Contest] = against,
        ) -> Contest:  # fmt: skip
            return against(Path(data.few_relevant(n, d, relevant), count, end, single))

        workload(
            f"path-{name}{suffix}",
            tiny=(150, 8, 3, 6, 0.1, 5),
            small=(*small, 30, end, 5),
            full=(*full, 100, end, 5),
            goal=goal,
        )(make)
