"""``python benchmarks/benchopt/table.py RUN.parquet ...``: objectives reached in runs of benchopt.

One row for each problem and solver: how many points its curve has, its smallest objective, and how
far that is above the smallest of all solvers, relative to it. Times are left out: they are only
meaningful if the machine does nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pandas as pd  # type: ignore[import-untyped]


def rows(path: str) -> Iterator[str]:
    """The rows of one run."""
    run = pd.read_parquet(path)
    for (objective, data), curves in run.groupby(["objective_name", "data_name"]):
        best = curves.objective_value.min()
        for solver, curve in curves.groupby("solver_name"):
            least = curve.objective_value.min()
            above = (least - best) / best
            points = len(curve)
            yield f"| {objective} | {data} | {solver} | {points} | {least:.10g} | {above:.0e} |"


if __name__ == "__main__":
    print("| objective | data | solver | points | smallest objective | relative excess |")
    print("|---|---|---|---|---|---|")
    for path in sys.argv[1:]:
        print(*rows(path), sep="\n")
