"""Time the verdict: on one-hot encoded tables against SciPy's HiGHS, and on a million dense rows.

    python -m benchmarks.separability                   one-hot tables, small to large
    python -m benchmarks.separability --size small      up to 3,000 rows and 300 columns
    python -m benchmarks.separability --rows 10000 --columns 1500 --levels 50 --kinds quasi-sum
    python -m benchmarks.separability --products 1000000

A one-hot table has rows, columns and a kind (``data.one_hot_of_kind``). The verdict and the linear
program of Konis (2007), ``max sum z.w`` with every ``z.w >= 0`` and ``|w_j| <= 1``, run in turns,
each in a process of its own with a limit of time. The seconds are medians of the CPU time of the
call, without imports. The program only decides whether there is a weak separator; it proves
nothing, and does not distinguish separable from quasi-separable.

With ``--products`` times are in products of X with a vector, measured before and after each verdict
in the same process: a million dense rows that are separable by a hair, with ten rows near the plane
flipped, or noisy, and a twentieth as many sparse rows of 5,000 features.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from itertools import product
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import data

SIZES = {
    "small": ((3_000,), (50, 300)),
    "full": ((3_000, 10_000, 30_000), (50, 300, 1_500)),
}  # rows, columns
LIMIT = 120.0  # seconds of a process
LIBRARIES = ("separatrix", "highs")


# ---- one-hot tables against HiGHS ----------------------------------------------------------------


def verdict_of(X: Any, y: Any) -> str:
    from separatrix import separability

    return separability(X, y).verdict


def program(X: Any, y: Any) -> str:
    """Whether SciPy's HiGHS finds a weak separator."""
    from scipy.optimize import linprog

    Z = sp.diags_array(y.astype(np.float64)) @ sp.hstack([X, np.ones((len(y), 1))])
    found = linprog(-Z.sum(axis=0), A_ub=-Z, b_ub=np.zeros(len(y)), bounds=(-1, 1))
    if found.status != 0:
        return "not solved"
    return "overlapping" if found.fun > -1e-6 else "weakly separable"


def child(rows: int, columns: int, kind: str, levels: int, library: str) -> None:
    """Run one call, and print its answer and seconds as JSON."""
    X, y = data.one_hot_of_kind(rows, columns, kind, levels)
    call = {"separatrix": verdict_of, "highs": program}[library]
    small = data.one_hot_of_kind(100, 10, "overlapping")
    call(*small)  # imports
    start = time.process_time()
    answer = call(X, y)
    print(json.dumps([answer, time.process_time() - start]))


def timed(table: tuple[Any, ...], library: str, limit: float) -> tuple[str, float]:
    """The answer and its CPU seconds in another process; infinity beyond the limit."""
    task = json.dumps([*table, library])
    command = [sys.executable, "-m", "benchmarks.separability", "--child", task]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return "no answer", float("inf")
    answer, seconds = json.loads(found.stdout)
    return str(answer), float(seconds)


def measured(table: tuple[Any, ...], repeats: int, limit: float) -> dict[str, tuple[str, float]]:
    """The answer of each library and its median time; the libraries run in turns."""
    found: dict[str, list[tuple[str, float]]] = {library: [] for library in LIBRARIES}
    for _ in range(repeats):
        for library, turns in found.items():
            if not turns or turns[-1][1] < float("inf"):
                turns.append(timed(table, library, limit))
    return {
        library: (turns[-1][0], median(seconds for _, seconds in turns))
        for library, turns in found.items()
    }


def printed(seconds: float, limit: float) -> str:
    return f"> {limit:.0f}" if seconds == float("inf") else f"{seconds:.2f}"


def one_hot(arguments: argparse.Namespace) -> None:
    """Print the table, line by line."""
    from .machine import CORES, processor

    rows, columns = SIZES[arguments.size]
    limit, levels = arguments.limit, arguments.levels
    print(f"{processor()}, {CORES} cores; about {levels} levels per category;", end=" ")
    print(f"medians of {arguments.repeats}\n")
    print("| rows | columns | kind | verdict | separatrix, s | HiGHS | HiGHS, s |")
    print("|---|---|---|---|---|---|---|")
    tables = product(arguments.rows or rows, arguments.columns or columns, arguments.kinds)
    for n, d, kind in tables:
        found = measured((n, d, kind, levels), arguments.repeats, limit)
        cells = [f"{answer} | {printed(seconds, limit)}" for answer, seconds in found.values()]
        print(f"| {n:,} | {d:,} | {kind} | {' | '.join(cells)} |", flush=True)


# ---- many rows, in products ----------------------------------------------------------------------


def product_time(X: Any, v: Any, times: int = 5) -> float:
    """Median time of X @ v."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        X @ v
        spent.append(time.perf_counter() - start)
    return float(np.median(spent))


def report_on(name: str, X: Any, y: Any, v: Any) -> None:
    from separatrix import separability

    before = product_time(X, v)
    start = time.perf_counter()
    found = separability(X, y)
    spent = time.perf_counter() - start
    each = (before + product_time(X, v)) / 2.0
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


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.separability")
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--columns", type=int, nargs="+")
    parser.add_argument("--kinds", nargs="+", choices=data.ONE_HOT_KINDS,
                        default=data.ONE_HOT_KINDS)  # fmt: skip
    parser.add_argument("--levels", type=int, default=10, help="levels of a category, about")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of a call")
    parser.add_argument("--products", type=int, metavar="ROWS", help="dense rows, in products")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    if arguments.child:
        child(*json.loads(arguments.child))
    elif arguments.products:
        dense(arguments.products)
        sparse(arguments.products // 20)
    else:
        one_hot(arguments)


if __name__ == "__main__":
    main()
