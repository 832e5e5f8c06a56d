"""Time the verdict on a million rows, in products of X with a vector.

    python benchmarks/separability.py [rows]

Three kinds of labels: separable by a hair, ten rows near the plane flipped, and noisy. The product
is timed before and after each verdict, in the same process. Then sparse rows of 5,000 features.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix import separability


def product(X: Any, v: Any, times: int = 5) -> float:
    """Median time of X @ v."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        X @ v
        spent.append(time.perf_counter() - start)
    return float(np.median(spent))


def report_on(name: str, X: Any, y: Any, v: Any) -> None:
    before = product(X, v)
    start = time.perf_counter()
    found = separability(X, y)
    spent = time.perf_counter() - start
    each = (before + product(X, v)) / 2.0
    witness = "" if found.witness is None else f", witness of {len(found.witness.rows)} rows"
    print(
        f"{name:12s} {found.verdict:16s} {spent:7.2f} s = {spent / each:6.1f} products of "
        f"{1e3 * each:.1f} ms, {found.rounds} rounds{witness}",
        flush=True,
    )


def dense(n: int, d: int = 50) -> None:
    rng = np.random.default_rng(0)
    X, w, v = rng.standard_normal((n, d)), rng.standard_normal(d), rng.standard_normal(d)
    side = X @ w / np.linalg.norm(w)
    near = np.sign(side)
    near[np.argsort(np.abs(side))[rng.integers(n // 1000, n // 200, 10)]] *= -1
    print(f"dense {n} x {d}")
    report_on("a hair", X, np.sign(side), v)
    report_on("nearly", X, near, v)
    report_on("overlapping", X, np.sign(side + rng.standard_normal(n)), v)


def sparse(n: int, d: int = 5000, nonzeros: int = 50) -> None:
    rng = np.random.default_rng(0)
    X = sp.csr_array(
        (
            rng.standard_normal(n * nonzeros),
            rng.integers(0, d, n * nonzeros),
            np.arange(0, n * nonzeros + 1, nonzeros),
        ),
        shape=(n, d),
    )
    X.sum_duplicates()
    w, v = rng.standard_normal(d), rng.standard_normal(d)
    print(f"sparse {n} x {d}, {nonzeros} entries a row")
    report_on("a hair", X, np.sign(X @ w), v)
    report_on("overlapping", X, np.sign(X @ w + 5.0 * rng.standard_normal(n)), v)


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    dense(rows)
    sparse(rows // 20)
