"""Time Firth's penalty against the package firthmodels: the fit, all tests and profile intervals.

    python -m benchmarks.firth               1,000 rows of 5, 20 and 50 features
    python -m benchmarks.firth --turns 3     fewer readings

Both run in turns on the same tables of two overlapping classes, one of them rare, with their usual
tolerances, and the medians of the seconds are printed. The largest differences of p-values and of
ends of intervals say that they did the same work. firthmodels uses numba if it is installed; its
first call, which compiles, is not timed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from typing import Any, Literal

import numpy as np

from .machine import CORES, processor

ROWS, FEATURES, RARE = 1_000, (5, 20, 50), -1.4
Answer = tuple[Any, Any]  # p-values, ends of intervals


def backend() -> Literal["numba", "numpy"]:
    return "numba" if find_spec("numba") else "numpy"


def table(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(d)
    X = rng.standard_normal((n, d))
    scores = X @ rng.normal(0.0, 0.1 / np.sqrt(d), d) + RARE
    return X, (scores + rng.logistic(size=n) > 0.0).astype(int)


def ours(X: Any, y: Any) -> Answer:
    from separatrix import LinearClassifier, inference

    clf = LinearClassifier(bias_reduction="firth").fit(X, y)
    found = inference(clf, X, y, intervals="profile")
    return np.array([ratio.p_value for ratio in found.test_each()]), found.intervals


def theirs(X: Any, y: Any) -> Answer:
    from firthmodels import FirthLogisticRegression

    model = FirthLogisticRegression(backend=backend()).fit(X, y)
    model.lrt()
    return model.lrt_pvalues_[:-1], model.conf_int(method="pl")


def seconds(call: Callable[[Any, Any], Answer], X: Any, y: Any) -> float:
    start = time.perf_counter()
    call(X, y)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=9, help="readings of each (default: 9)")
    turns = parser.parse_args().turns
    print(f"{processor()}, {CORES} cores; firthmodels with {backend()}")
    warnings.simplefilter("ignore")
    for d in FEATURES:
        X, y = table(ROWS, d)
        answers = theirs(X, y), ours(X, y)
        apart = [float(np.nanmax(np.abs(a - b))) for a, b in zip(*answers, strict=True)]
        readings = [(seconds(theirs, X, y), seconds(ours, X, y)) for _ in range(turns)]
        other, own = (median(column) for column in zip(*readings, strict=True))
        print(
            f"{ROWS:,} x {d}: firthmodels {1e3 * other:.1f} ms, separatrix {1e3 * own:.1f} ms, "
            f"ratio {other / own:.2f}; p-values differ by {apart[0]:.0e}, ends by {apart[1]:.0e}"
        )


if __name__ == "__main__":
    main()
