"""How fast is ``solver="auto"``: all applicable solvers on problems of many shapes.

``python -m benchmarks.choices [pattern ...]`` prints the seconds of each to a proven relative 1e-6,
the choice of "auto", and the time of that solver over the time of the best. The thresholds of
``solvers/auto.py`` were set on generated text like this, partly on the same tables: other data is a
better test, as in :mod:`benchmarks.draws`.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from typing import Any

import numpy as np

from separatrix import LBFGS, DualAscent, LeastSquares, LinearClassifier, Newton, Solver

from . import data

REPEATS = 3
SLOW = 4.0  # times the best so far or "auto", plus a second: slower solvers are stopped
MOST_CURVED = 2_000  # weights whose second derivative is formed
WITHIN = 1.3
SOLVERS: tuple[Solver, ...] = (LBFGS(), Newton(), DualAscent(), LeastSquares())


@dataclass(frozen=True)
class Case:
    """A table of rows, and the objective on it."""

    name: str
    make: Callable[[], data.Table]
    loss: str
    l2: float
    intercept: bool = True
    single: bool = False  # in float32


def cases() -> Iterator[Case]:
    text = {
        "short text": (20_000, 5_000, 10),
        "few words": (300_000, 2_000, 20),
        "text": (40_000, 20_000, 60),
        "wide text": (3_000, 30_000, 80),
    }
    for name, shape in text.items():
        for loss in ("logistic", "hinge", "squared_hinge"):
            for l2 in (1e-7, 1e-5, 1e-3):
                yield Case(name, partial(data.text, *shape), loss, l2)
        for loss in ("logistic", "squared_hinge"):
            for l2 in (1e-6, 1e-5, 1e-4):
                yield Case(name, partial(data.text, *shape), loss, l2, intercept=False)
        yield Case(name, partial(data.text, *shape), "logistic", 1e-5, intercept=False, single=True)
    dense = {
        "tall": partial(data.clouds, 100_000, 50),
        "tall correlated": partial(data.correlated, 50_000, 100),
        "wide": partial(data.clouds, 2_000, 1_000),
        "wide correlated": partial(data.correlated, 3_000, 1_500),
        "small": partial(data.clouds, 500, 10),
    }
    for name, make in dense.items():
        for loss in ("logistic", "hinge", "squared_hinge", "squared"):
            for l2 in (1e-5, 1e-2):
                yield Case(name, make, loss, l2)
    for loss in ("logistic", "hinge"):
        yield Case("images", partial(data.images, 3_000, 196, 10), loss, 1e-3)


def seconds(case: Case, X: Any, y: Any, solver: Solver | str, most: float) -> tuple[float, Any]:
    """The shortest of some fits; infinity if none ended in time."""
    best, model = np.inf, None
    for _ in range(REPEATS):
        model = LinearClassifier(
            case.loss, l2=case.l2, fit_intercept=case.intercept, solver=solver, random_state=0,
            callbacks=[lambda step, info: info.seconds > most],
        )  # fmt: skip
        began = time.perf_counter()
        model.fit(X, y)
        best = min(best, time.perf_counter() - began)
        if not model.converged_:
            return np.inf, model
        if best > 1.0:
            break
    return best, model


def able(case: Case, X: Any, classes: int) -> Iterator[Solver]:
    """Solvers for this loss; those that form a matrix only if it is small."""
    kinked = case.loss == "hinge"
    for solver in SOLVERS:
        if isinstance(solver, LBFGS):
            can = not kinked
        elif isinstance(solver, Newton):
            can = not kinked and X.shape[1] * classes <= MOST_CURVED
        elif isinstance(solver, LeastSquares):
            can = case.loss == "squared"
        else:
            can = kinked or (classes == 1 and case.loss != "squared")
        if can:
            yield solver


def line(case: Case) -> tuple[str, float]:
    """One row of the table, and auto's time over the best."""
    X, y = case.make()
    X = X.astype(np.float32) if case.single else X
    k = len(np.unique(y))
    mine, model = seconds(case, X, y, "auto", np.inf)
    found: dict[str, float] = {}
    for solver in able(case, X, 1 if k == 2 else k):
        most = SLOW * min([mine, *found.values()]) + 1.0
        found[type(solver).__name__] = seconds(case, X, y, solver, most)[0]
    best = min(found, key=lambda name: found[name])
    picked = type(model.solver_).__name__
    ratio = found.get(picked, mine) / found[best]
    each = "  ".join(f"{name} {value:.3f}" for name, value in found.items())
    notes = f"{'' if case.intercept else ', no bias'}{', float32' if case.single else ''}"
    return (
        f"{case.name:16} {case.loss:13} l2={case.l2:<6g} auto {picked} {ratio:.2f}  [{each}]{notes}"
    ), ratio


def main(patterns: list[str]) -> int:
    warnings.simplefilter("ignore")  # stopped solvers warn
    worst = 1.0
    for case in cases():
        if patterns and not any(fnmatch(case.name, pattern) for pattern in patterns):
            continue
        text, ratio = line(case)
        worst = max(worst, ratio)
        print(text + ("" if ratio <= WITHIN else "  <- slow"), flush=True)
    print(f"auto takes at most {worst:.2f} times as long as the best")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
