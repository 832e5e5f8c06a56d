"""What reading CSV costs: numbers and mixed columns against pyarrow, and a cached pass.

    python -m benchmarks.csv_report               2,000,000 rows
    python -m benchmarks.csv_report --rows 200000 --rounds 3

"read" is ``separatrix.read``, "read and pass" includes one pass over the decoded blocks after it.
pyarrow only parses: it has no types to confirm, no classes to find and nothing to encode. A cached
pass is compared with reads of the same file, which the system keeps in memory: a bare read into one
buffer of 1 MB, which stays in the processor's cache; reads of whole blocks into three buffers in
turn, as many as a pass holds, which go through memory; and ``numpy.fromfile``, which fills new
memory. The second is what a pass could reach at best, as training needs whole blocks.
All calls of a round alternate; medians of the rounds, in seconds of processor and wall time.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import separatrix

from .machine import processor

BUFFER = 1 << 20
BLOCKS_HELD = 3  # in use, waiting and being read
DATES = {"day": ["year", "month", "weekday"]}
Calls = dict[str, Callable[[], Any]]


def numeric(rows: int, rng: np.random.Generator) -> pa.Table:
    """Twenty columns of numbers with 6 decimals, and a target of two classes."""
    columns: dict[str, Any] = {f"x{j}": rng.normal(size=rows).round(6) for j in range(20)}
    return pa.table(columns | {"target": rng.integers(0, 2, rows)})


def mixed(rows: int, rng: np.random.Generator) -> pa.Table:
    """Nine numbers, three columns of 4, 50 and 300 categories, a date, and a target of words."""
    columns: dict[str, Any] = {f"x{j}": rng.normal(size=rows).round(4) for j in range(8)}
    columns["count"] = rng.integers(0, 10_000, rows)
    for name, size in (("colour", 4), ("city", 50), ("code", 300)):
        columns[name] = np.array([f"{name} {i}" for i in range(size)])[rng.integers(0, size, rows)]
    days = np.datetime64("2024-01-01") + rng.integers(0, 700, rows)
    columns["day"] = days.astype("datetime64[D]").astype(str)
    return pa.table(columns | {"target": np.array(["no", "yes"])[rng.integers(0, 2, rows)]})


def alternated(calls: Calls, rounds: int) -> dict[str, tuple[float, float]]:
    """Median seconds of the processor and of the wall clock."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            found[name].append((time.process_time() - cpu, time.perf_counter() - wall))
    return {
        name: (median(cpu for cpu, _ in each), median(wall for _, wall in each))
        for name, each in found.items()
    }


def passed(source: Any) -> None:
    for block in source.blocks():
        del block


def reading(path: Path, options: dict[str, Any]) -> Calls:
    """pyarrow's two readers, and ours without and with a pass."""

    def read() -> Any:
        return separatrix.read(path, target="target", **options)

    def streamed() -> None:
        with pyarrow.csv.open_csv(path) as reader:
            for _ in reader:
                pass

    ours: Calls = {"read": read, "read and pass": lambda: passed(read())}
    if path.suffix == ".parquet":
        return {"pyarrow.parquet.read_table": lambda: pyarrow.parquet.read_table(path), **ours}
    return {
        "pyarrow.csv.read_csv": lambda: pyarrow.csv.read_csv(path),
        "pyarrow.csv.open_csv": streamed, **ours,
    }  # fmt: skip


def cached(path: Path, folder: Path, options: dict[str, Any]) -> Calls:
    """A pass over the cache of decoded blocks, and reads of its bytes."""
    source: Any = separatrix.read(path, target="target", cache=folder, **options)
    passed(source)  # which checks all blocks once
    (file,) = folder.glob("*.blocks")
    room = bytearray(BUFFER)

    def bare() -> None:
        with file.open("rb", buffering=0) as opened:
            while opened.readinto(room):
                pass

    blocks = source.rows._cached.cache.blocks
    size = max(block.size for block in blocks)
    buffers = [memoryview(bytearray(size)) for _ in range(BLOCKS_HELD)]

    def whole_blocks() -> None:
        with file.open("rb", buffering=0) as opened:
            for block, buffer in zip(blocks, cycle(buffers), strict=False):
                opened.readinto(buffer[: block.size])

    return {
        "bare read": bare,
        "read of whole blocks": whole_blocks,
        "numpy.fromfile": lambda: np.fromfile(file, dtype=np.uint8),
        "cached pass": lambda: passed(source),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.csv_report")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    print(f"{processor()}; {options.rows:,} rows, medians of {options.rounds} rounds\n")
    print("| file | call | processor s | wall s | times the first |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder, rng = Path(name), np.random.default_rng(0)
        for kind, made, given in (("numeric", numeric, {}), ("mixed", mixed, {"dates": DATES})):
            table = made(options.rows, rng)
            text, packed = folder / f"{kind}.csv", folder / f"{kind}.csv.gz"
            pyarrow.csv.write_csv(table, text)
            with text.open("rb") as plain, gzip.open(packed, "wb", compresslevel=1) as file:
                shutil.copyfileobj(plain, file)
            pyarrow.parquet.write_table(table, folder / f"{kind}.parquet")
            for path in (text, packed, folder / f"{kind}.parquet"):
                show(path.name, alternated(reading(path, given), options.rounds))
            show(text.name, alternated(cached(text, folder / kind, given), 4 * options.rounds))
    return 0


def show(file: str, found: dict[str, tuple[float, float]]) -> None:
    first, *_ = (cpu for cpu, _ in found.values())
    for call, (cpu, wall) in found.items():
        print(f"| {file} | {call} | {cpu:.3f} | {wall:.3f} | {cpu / first:.2f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
