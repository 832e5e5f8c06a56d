"""The command line: see the package's docstring."""

from __future__ import annotations

import argparse
import platform
import sys
import time
import warnings
from importlib import metadata
from pathlib import Path
from typing import Any

import separatrix

from . import machine, memory, report
from .contest import READING, hold
from .peers import roster
from .registry import SIZES, Series, Workload, select
from .workloads import WORKLOADS, real

RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = (
    "separatrix", "numpy", "scipy", "scikit-learn", "liblinear-official", "snapml", "skglm",
    "celer", "vowpalwabbit", "river", "mlxtend", "rehline",
)  # fmt: skip


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description="Time the workloads.")
    parser.add_argument("names", nargs="*", help="workloads or patterns; all if none is given")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--repeats", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--no-memory", action="store_true", help="do not measure memory")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of JSON and plot")
    return parser.parse_args(arguments)


def run_one(
    name: str, size: str, repeats: int, with_memory: bool = False, reading: float = READING
) -> report.Record:
    """Hold one contest, or one at each value of a series, and return the records."""
    found = WORKLOADS[name]
    if isinstance(found, Series):
        values, outcomes = [], []
        for value, contest in found.build(size):
            values.append(value)
            outcomes.append(hold(contest, repeats, reading))
        return report.growth(found, values, outcomes)
    outcome = hold(found.build(size), repeats, reading)
    if with_memory:
        measure_memory(found, size, outcome)
    return report.record(found, outcome)


def measure_memory(found: Workload, size: str, outcome: Any) -> None:
    """Memory of separatrix and of the best peer."""
    for entry in (outcome.ours, outcome.best_peer):
        if entry is not None:
            chosen = list(entry.contestant.settings).index(entry.setting)
            entry.extra_bytes = memory.extra_bytes(found.name, size, entry.name, chosen)


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    try:
        real.register()
        names = select(options.names)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(names))
        return 0
    warnings.simplefilter("ignore")  # peers warn if they do not converge; the judge checks it too
    separatrix.show_config()
    skipped = {peer: why for peer in roster.MODULES if (why := roster.why_missing(peer))}
    for peer, reason in skipped.items():
        print(f"skipped {peer}: it cannot be imported ({reason})")
    run: report.Record = {
        "size": options.size, "repeats": options.repeats, "versions": versions(),
        "skipped": skipped, "machine": machine.limits(options.size), "workloads": [],
    }  # fmt: skip
    for key, value in run["machine"].items():
        print(f"{key}: {value:.1f}" if isinstance(value, float) else f"{key}: {value}")
    path = options.results / f"{options.size}-{time.strftime('%Y%m%d-%H%M%S')}.json"
    for name in names:
        began = time.perf_counter()
        record = run_one(name, options.size, options.repeats, not options.no_memory)
        record["wall_seconds"] = time.perf_counter() - began
        run["workloads"].append(record)
        print("\n".join(report.lines(record)), flush=True)
        report.write_json(path, run)
    print(f"\nJSON: {path}\n{report.plot(path.with_suffix('.png'), run)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
