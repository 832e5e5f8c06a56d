"""How fast is ``solver="auto"`` on small and medium sparse tables, drawn at random.

    python -m benchmarks.draws results.jsonl                       60 draws, to set rules by
    python -m benchmarks.draws results.jsonl --seed 1 --count 30   30 that no rule has seen

Rows, features, nonzeros per row, classes and penalty are log-uniform. Every applicable solver fits
each table to a proven relative 1e-6, in a separate process that is ended once it is ``SLOW`` times
slower. A line of JSON per table is written to the file as soon as it is known, and tables that are
already there are not run again: an interrupted run continues, and ``--shard 0/2`` and ``--shard
1/2`` may share the work.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from separatrix import (
    LBFGS,
    CoordinateAscent,
    DualAscent,
    InteriorPoint,
    LinearClassifier,
    Newton,
    ProximalPoint,
    Solver,
)

from . import data
from .choices import MOST_CURVED, REPEATS, SLOW, WITHIN

RANGES = {
    "n": (500, 200_000), "d": (1_000, 1_000_000), "nonzeros": (10, 500), "k": (2, 50),
    "l2": (1e-6, 1e-1),
}  # fmt: skip
MOST_VALUES = 2e7  # nonzeros of the table times classes
MOST_UNKNOWNS = 4_000  # limit of rows or features for systems of equations
MOST_SECONDS = 120.0  # a longer fit, "auto" or not, counts as never finished
FORKED = multiprocessing.get_context("fork")  # sees the table without a copy
Record = dict[str, Any]


@dataclass(frozen=True)
class Draw:
    """A table of documents, and the objective on it."""

    n: int
    d: int
    nonzeros: int
    k: int
    l2: float
    loss: str
    intercept: bool
    counts: bool  # or tf-idf

    def table(self) -> data.Table:
        make = data.documents if self.counts else data.tf_idf_documents
        return make(self.n, self.d, self.nonzeros, self.k)

    def __str__(self) -> str:
        kind = "counts" if self.counts else "tf-idf"
        bias = "" if self.intercept else ", no bias"
        shape = f"{self.n:,} x {self.d:,}, {self.nonzeros} a row, k={self.k}, {kind}"
        return f"{self.loss} l2={self.l2:.1e}{bias}, {shape}"


def draws(seed: int) -> Iterator[Draw]:
    """Draws for a seed; those with too many values are drawn again."""
    rng = np.random.default_rng(seed)
    while True:
        of = {name: math.exp(rng.uniform(*np.log(ends))) for name, ends in RANGES.items()}
        n, d, nonzeros, k = (round(of[name]) for name in ("n", "d", "nonzeros", "k"))
        loss = str(rng.choice(["hinge", "squared_hinge", "logistic"]))
        intercept, counts = (bool(coin) for coin in rng.integers(2, size=2))
        if n * nonzeros * k <= MOST_VALUES and 4 * nonzeros <= d:
            yield Draw(n, d, nonzeros, k, of["l2"], loss, intercept, counts)


def solvers(draw: Draw) -> Iterator[Solver]:
    """The applicable solvers, except those that cannot be tried."""
    columns = 1 if draw.k == 2 else draw.k
    yield LBFGS()
    yield DualAscent()
    yield CoordinateAscent()
    if min(draw.n, draw.d) <= MOST_UNKNOWNS:
        yield ProximalPoint()
        yield InteriorPoint()
    if draw.d * columns <= MOST_CURVED:
        yield Newton()


def seconds(draw: Draw, table: data.Table, solver: Solver | str, most: float) -> tuple[float, str]:
    """The shortest of some fits, and the solver; infinity and the reason if none ended in time."""
    here, there = FORKED.Pipe(duplex=False)
    child = FORKED.Process(target=_fit, args=(there, draw, table, solver))
    child.start()
    there.close()
    best, who = math.inf, ""
    try:
        while here.poll(most):
            used, who = here.recv()
            best = min(best, used)
        who = who or f"more than {most:.1f} s"
    except EOFError:  # it has ended
        who = who or "it failed"
    finally:
        child.kill()
        child.join()
    return best, who


def _fit(there: Connection, draw: Draw, table: data.Table, solver: Solver | str) -> None:
    """In the child: seconds and solver of one fit after another, until a second has passed."""
    warnings.simplefilter("ignore")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_AS, (memory // 2, memory // 2))
    for _ in range(REPEATS):
        model = LinearClassifier(
            draw.loss, l2=draw.l2, fit_intercept=draw.intercept, solver=solver, random_state=0,
            max_iter=1_000_000,
        )  # fmt: skip
        began = time.perf_counter()
        try:
            model.fit(*table)
        except (ValueError, MemoryError) as error:
            there.send((math.inf, f"refused: {error}"))
            return
        used = time.perf_counter() - began
        there.send((used, str(model.solver_)) if model.converged_ else (math.inf, model.stop_))
        if used > 1.0:
            return


def compare(draw: Draw, most: float = MOST_SECONDS) -> Record:
    """Seconds of all solvers; where "auto" is slower, it and the best are timed once more."""
    table = draw.table()
    auto, picked = seconds(draw, table, "auto", most)
    found: dict[str, float] = {}
    notes: dict[str, str] = {}
    able = {type(solver).__name__: solver for solver in solvers(draw)}
    for name, solver in able.items():
        limit = min(most, SLOW * min(auto, *found.values(), math.inf) + 1.0)
        found[name], said = seconds(draw, table, solver, limit)
        if not math.isfinite(found[name]):
            notes[name] = said
    best = min(found, key=lambda name: found[name])
    if WITHIN * found[best] < auto < math.inf:
        auto = min(auto, seconds(draw, table, "auto", most)[0])
        found[best] = min(found[best], seconds(draw, table, able[best], most)[0])
    least = min(auto, found[best])
    ratio = auto / least if math.isfinite(least) else None
    return {
        "auto": auto, "picked": picked, "best": best, "ratio": ratio, "seconds": found,
        "notes": notes,
    }  # fmt: skip


def line(record: Record) -> str:
    start = f"{record['number']:3}  {Draw(**record['draw'])}: "
    if record["ratio"] is None:
        return start + "none in time"
    each = "  ".join(f"{name} {value:.3f}" for name, value in record["seconds"].items())
    slow = "  <- slow" if record["ratio"] > WITHIN else ""
    return f"{start}auto {record['auto']:.3f} is {record['ratio']:.2f} of the best  [{each}]{slow}"


def summary(records: Sequence[Record]) -> str:
    ratios = [each["ratio"] for each in records if each["ratio"] is not None]
    if not ratios:
        return "no table was fitted in time"
    within = sum(ratio <= WITHIN for ratio in ratios)
    never = len(records) - len(ratios)
    return (
        f"auto within {WITHIN:g} of the best on {within} of {len(ratios)} tables, worst "
        f"{max(ratios):.2f}" + (f"; {never} that no solver fitted in time" if never else "")
    )


def known(path: Path, seed: int) -> dict[int, Record]:
    """Records of this seed in the file, by number; infinities are JSON's ``Infinity``."""
    if not path.exists():
        return {}
    records = [json.loads(text) for text in path.read_text().splitlines()]
    return {each["number"]: each for each in records if each["seed"] == seed}


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.draws", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("results", type=Path, help="file of JSON lines")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60, help="tables (default 60)")
    parser.add_argument("--shard", default="0/1", help="i/m: tables i, i + m, ... of them")
    parser.add_argument("--most", type=float, default=MOST_SECONDS, help="seconds a fit may take")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    first, step = (int(part) for part in options.shard.split("/"))
    there = known(options.results, options.seed)
    for number, draw in zip(range(options.count), draws(options.seed), strict=False):
        if number not in there and number % step == first:
            record = {"seed": options.seed, "number": number, "draw": asdict(draw)}
            record |= compare(draw, options.most)
            with options.results.open("a") as file:
                file.write(json.dumps(record) + "\n")
            there[number] = record
            print(line(record), flush=True)
    print(summary([each for number, each in there.items() if number < options.count]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
