"""Overhead of a pass over a cluster: measured, modelled, and written to the docs.

    python -m benchmarks.cluster            measure, write docs/cluster.json, table and picture
    python -m benchmarks.cluster passes     only the passes; the rest of the file stays
    python -m benchmarks.cluster peer       only the contest with dask-ml (``cluster_peer``)
    python -m benchmarks.cluster page       nothing is measured: table and picture from the file

Workers are processes of one machine. The computation of a part is simulated by a sleep of known
length, which needs no processor: so sixteen workers on two cores measure scheduler, transfers and
tree. ``--quick`` measures a few settings once, as a preview.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.cluster.parts import Part

from .cluster_model import Setting
from .machine import CORES, processor

FILE = Path(__file__).resolve().parent.parent / "docs" / "cluster.json"
WORKERS = (1, 2, 4, 8, 16)
PARTS = (1, 5)  # of a worker; five are not a whole subtree
BYTES = (80, 800_000)  # out and back, independently
SECONDS = (0.0, 0.8)  # of all rows of a pass, on one worker
ROUNDS = 3  # over all settings of a number of workers
READING, LEAST = 0.5, 3  # seconds and passes of one reading of the clock
START_SECONDS = 300  # for a worker to start, at most


@dataclass(frozen=True)
class Slept:
    """A sum over the rows of a part with a given duration and result size."""

    weights: Any
    back: int
    seconds: float

    def __call__(self, part: Part, threads: int) -> tuple[Any]:
        time.sleep(self.seconds)
        return (np.ones(self.back // 8),)


def settings(workers: int, quick: bool) -> list[Setting]:
    """All combinations; with ``--quick`` some of them, with few workers."""
    parts, n_bytes = ((1,), BYTES[:1]) if quick else (PARTS, BYTES)
    product = itertools.product(parts, n_bytes, n_bytes, SECONDS)
    return [Setting(workers, workers * each, *rest) for each, *rest in product]


def measure(quick: bool) -> Iterator[dict[str, Any]]:
    """Every setting, on a cluster that grows."""
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"threads_per_worker": 1, "processes": True}
    with (
        LocalCluster(n_workers=1, dashboard_address=":0", memory_limit=0, **options) as cluster,
        Client(cluster) as client,
    ):
        for workers in WORKERS[:3] if quick else WORKERS:
            cluster.scale(workers)
            client.wait_for_workers(workers, timeout=START_SECONDS)
            yield from measured(client, settings(workers, quick), 1 if quick else ROUNDS)


def measured(client: Any, asked: list[Setting], rounds: int) -> Iterator[dict[str, Any]]:
    """Medians over rounds: seconds of a pass, and of the processor of client and scheduler."""
    engines = {parts: placed(client, parts) for parts in {each.parts for each in asked}}
    found: dict[Setting, list[list[float]]] = {each: [] for each in asked}
    for _ in range(rounds):
        for each in asked:
            found[each] += readings(engines[each.parts], each)
    for each, passes in found.items():
        wall, processor_time = np.median(passes, axis=0).tolist()
        record = {**asdict(each), "passes": len(passes), "wall": wall, "processor": processor_time}
        print(
            f"{each.workers:3} workers {each.parts:3} parts {each.out / 1e3:6.1f} kB out "
            f"{each.back / 1e3:6.1f} kB back {each.seconds:4.1f} s of rows: {wall * 1e3:7.1f} ms, "
            f"{1 / wall:6.1f} passes a second, {len(passes)} of them",
            flush=True,
        )
        yield record


def placed(client: Any, parts: int) -> Any:
    """An engine with parts of one row each."""
    import dask

    from separatrix.data.cluster.dask import DaskEngine

    row = [(dask.delayed(np.ones((1, 1))), dask.delayed(np.ones(1))) for _ in range(parts)]
    engine = DaskEngine(client, row)
    engine.place()
    engine.total(Slept(np.ones(1), 8, 0.0))
    return engine


def readings(engine: Any, setting: Setting) -> Iterator[list[float]]:
    """Seconds of some passes, and of the processor of this process, which has the scheduler too."""
    of = Slept(np.ones(setting.out // 8), setting.back, setting.seconds / setting.parts)
    until, made = time.perf_counter() + READING, 0
    while made < LEAST or time.perf_counter() < until:
        began, used = time.perf_counter(), time.process_time()
        engine.total(of)
        yield [time.perf_counter() - began, time.process_time() - used]
        made += 1


def versions() -> dict[str, str]:
    import dask
    import distributed

    import separatrix

    return {each.__name__: each.__version__ for each in (separatrix, dask, distributed)}


def main(arguments: list[str] | None = None) -> None:
    from . import cluster_page, cluster_peer  # here: every worker imports this file, and waits

    parser = argparse.ArgumentParser("python -m benchmarks.cluster")
    parser.add_argument("what", nargs="?", choices=("passes", "peer", "page"))
    parser.add_argument("--quick", action="store_true", help="a few settings, once")
    parser.add_argument("--file", type=Path, default=FILE, help="where results are kept")
    options = parser.parse_args(arguments)
    record: dict[str, Any] = json.loads(options.file.read_text()) if options.file.exists() else {}
    machine = {
        "processor": processor(), "cores": CORES, "load": os.getloadavg()[0],
        "versions": versions(),
    }  # fmt: skip
    if options.what in (None, "passes"):
        record["passes"] = {"machine": machine, "settings": []}
        for found in measure(options.quick):  # kept at once: a run may be ended
            record["passes"]["settings"].append(found)
            options.file.write_text(json.dumps(record, indent=1) + "\n")
    if options.what in (None, "peer"):
        try:
            record["peer"] = {"machine": machine, **cluster_peer.contest(options.quick)}
        except ImportError as error:
            print(f"no contest with dask-ml: {error}")
    options.file.write_text(json.dumps(record, indent=1) + "\n")
    print("\n".join(cluster_page.lines(record)))
    if options.file == FILE:
        cluster_page.write(record)


if __name__ == "__main__":
    from benchmarks.cluster import main as imported  # by a name that workers can import

    imported()
