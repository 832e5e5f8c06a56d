"""Time separatrix against scikit-learn, interleaved, on generated data.

    python benchmarks/run.py [name of one workload]

Every contestant runs through its public API, full fit, validation included, one after the other
in each of seven rounds; the figure is the median of the rounds' ratios, with their spread.
Contestants of a fit must end at the same objective to a relative 1e-5 or the line says so.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Perceptron as TheirPerceptron

import separatrix
from separatrix import LinearClassifier, Perceptron

ROUNDS = 7
Contestants = dict[str, Callable[[], Any]]


def clouds(n: int, d: int, dtype: Any = np.float64) -> tuple[Any, Any]:
    """Correlated Gaussian features and noisy labels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)) / d**0.5)
    y = X @ rng.standard_normal(d) / d**0.5 + rng.standard_normal(n) > 0
    return np.ascontiguousarray(X, dtype=dtype), y


def text(n: int, d: int, nonzeros: int) -> tuple[Any, Any]:
    """Sparse rows with few common and many rare columns, as words are."""
    rng = np.random.default_rng(0)
    columns = np.minimum((d ** rng.random((n, nonzeros))).astype(np.int32), d - 1)
    X = sp.csr_array(
        (
            rng.random(n * nonzeros),
            columns.ravel(),
            np.arange(0, n * nonzeros + 1, nonzeros, dtype=np.int32),
        ),
        shape=(n, d),
    )
    X.sum_duplicates()
    y = X @ rng.standard_normal(d) + rng.standard_normal(n) > 0
    return X, y


def passes(X: Any, y: Any) -> Contestants:
    """Five shuffled passes of the perceptron, the last weights kept."""
    return {
        "separatrix": lambda: Perceptron(5, patience=None, keep="last", random_state=0).fit(X, y),
        "scikit-learn": lambda: TheirPerceptron(max_iter=5, tol=None, random_state=0).fit(X, y),
    }


def logistic(X: Any, y: Any, *theirs: str) -> Contestants:
    """The penalised logistic fit."""
    l2 = 1e-4
    fits: Contestants = {"separatrix": lambda: LinearClassifier(l2=l2).fit(X, y)}
    for name in theirs:
        peer = LogisticRegression(C=1 / (2 * len(y) * l2), solver=name, tol=1e-6, max_iter=10_000)
        fits[f"scikit-learn {name}"] = partial(peer.fit, X, y)
    return fits


WORKLOADS: dict[str, Callable[[], tuple[Any, Any, Contestants]]] = {}


def workload(name: str, data: Callable[[], tuple[Any, Any]], make: Any, *rest: Any) -> None:
    """Register a workload by name; its data is made when it runs."""

    def build() -> tuple[Any, Any, Contestants]:
        X, y = data()
        return X, y, make(X, y, *rest)

    WORKLOADS[name] = build


def register(bits: int) -> None:
    """The dense workloads at one precision."""
    dtype = np.dtype(f"float{bits}")
    workload(f"passes-dense-{bits}", lambda: clouds(300_000, 100, dtype), passes)
    big = partial(clouds, 100_000, 100, dtype)
    workload(f"logistic-dense-{bits}", big, logistic, "lbfgs", "newton-cholesky")


register(32)
register(64)
workload("passes-sparse", lambda: text(100_000, 40_000, 80), passes)
workload("logistic-sparse", lambda: text(50_000, 20_000, 60), logistic, "lbfgs", "newton-cg")


def objective(model: Any, X: Any, y: Any, l2: float = 1e-4) -> float:
    """The logistic objective at a model's weights, computed here."""
    margins = np.where(y, 1.0, -1.0) * model.decision_function(X)
    return float(np.logaddexp(0, -margins).mean() + l2 * np.sum(model.coef_**2))


def run(name: str) -> None:
    """Time one workload and print its lines."""
    X, y, contestants = WORKLOADS[name]()
    seconds: dict[str, list[float]] = {who: [] for who in contestants}
    models = {}
    for _ in range(ROUNDS):
        for who, fit in contestants.items():
            began = time.perf_counter()
            models[who] = fit()
            seconds[who].append(time.perf_counter() - began)
    print(f"\n{name}: {X.shape[0]:,} x {X.shape[1]:,} {X.dtype}{' CSR' if sp.issparse(X) else ''}")
    ours = np.array(seconds["separatrix"])
    for who, times in seconds.items():
        ratios = np.array(times) / ours
        note = f"  objective {objective(models[who], X, y):.8f}" if "logistic" in name else ""
        print(
            f"  {who:<32}{np.median(times):9.4f} s   {np.median(ratios):6.2f} x "
            f"({ratios.min():.2f} to {ratios.max():.2f}){note}"
        )
    if "logistic" in name:
        values = [objective(model, X, y) for model in models.values()]
        if max(values) > min(values) * (1 + 1e-5):
            print("  the objectives differ by more than 1e-5: compare the times with care")


def main() -> None:
    asked = sys.argv[1:] or list(WORKLOADS)
    if unknown := [name for name in asked if name not in WORKLOADS]:
        raise SystemExit(f"no workload {unknown[0]!r}; choose from {', '.join(WORKLOADS)}")
    separatrix.show_config()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in asked:
        run(name)


if __name__ == "__main__":
    main()
