"""Tests in tiers: ``--tier=quick`` runs what a contributor waits for, ``--tier=all`` everything.

A quick run leaves out tests that are marked as expensive. From a function with several
``parametrize`` marks it runs a pairwise selection: every two values of different marks occur
together in at least one test. A function with one mark, or two, is run in full, but for
three things:

- of a parameter ``seed``, which only draws other data, five consecutive values are used;
- scikit-learn's checks run on one configuration of every class of estimator;
- of a function marked ``sampled`` every value of every parameter occurs, but not every pair; one
  marked ``sampled(3)`` runs three of its tests, with as many values as three tests can have.

Which tests of a grid are chosen depends on the seed alone, by default the commit, so that other
commits run others.
"""

from __future__ import annotations

import itertools
import random
import subprocess
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import pytest

EXPENSIVE = {
    "slow": "takes more than two seconds",
    "cluster": "starts a cluster whose workers are processes",
    "processes": "starts other processes, and may kill them",
}
SAMPLED = "sampled(most): long as a whole; --tier=quick runs each value once, or a number of tests"
SMALL = 8  # tests: a grid this small is run in full
SEEDS = 5  # of a list of seeds; consecutive, as tests choose losses and classes by their remainders
NO_COMMIT = "0" * 40


def pytest_addoption(parser):
    group = parser.getgroup("tiers")
    group.addoption("--tier", choices=("quick", "all"), default="all", help="which tests to run")
    group.addoption("--tier-seed", default=None, help="seed of --tier=quick (default: the commit)")


def pytest_configure(config):
    for name, cost in EXPENSIVE.items():
        config.addinivalue_line("markers", f"{name}: {cost}; not run by --tier=quick")
    config.addinivalue_line("markers", SAMPLED)


def pytest_report_header(config):
    if config.option.tier == "quick":
        return f"tier: quick, --tier-seed={seed_of(config)}"
    return "tier: all"


def pytest_collection_modifyitems(config, items):
    if config.option.tier == "all":
        # The long ones first: a worker that ends with one would leave the others without work.
        items.sort(key=lambda item: not is_expensive(item))
        return
    seed = seed_of(config)
    cheap = [item for item in items if not is_expensive(item)]
    grids: dict[Hashable, list[pytest.Item]] = {}
    for item in cheap:
        grids.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {item for grid in grids.values() for item in of_grid(grid, seed)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def is_expensive(item: pytest.Item) -> bool:
    return any(map(item.get_closest_marker, EXPENSIVE))


def pytest_terminal_summary(terminalreporter, config):
    if config.option.collectonly:
        return
    seconds = dict.fromkeys([*EXPENSIVE, "others"], 0.0)
    for report in itertools.chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            cost = next((name for name in EXPENSIVE if name in report.keywords), "others")
            seconds[cost] += report.duration
    spent = ", ".join(f"{name} {spent:.0f}" for name, spent in seconds.items())
    terminalreporter.write_line(f"seconds of tests: {spent}")


def seed_of(config):
    return config.option.tier_seed or commit(config.rootpath)


def commit(folder: Path) -> str:
    """The commit of a working tree; zeros if it has none."""
    command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return NO_COMMIT


def of_grid(items: Sequence[pytest.Item], seed: str) -> list[pytest.Item]:
    """The tests of one function that a quick run keeps."""
    if len(items) == 1:
        return list(items)
    draw = f"{seed} {items[0].nodeid.partition('[')[0]}"
    items = of_checks(of_seeds(items, draw), draw)
    rows = [coordinates(item) for item in items]
    if sampled := items[0].get_closest_marker("sampled"):
        return [items[at] for at in covering(rows, draw, 1, *sampled.args)]
    if len(items) <= SMALL:
        return list(items)
    return [items[at] for at in pairwise(rows, draw)]


def parameters(item: pytest.Item) -> dict[str, Any]:
    """The values of a test by the names of its parameters."""
    callspec = getattr(item, "callspec", None)
    return {} if callspec is None else callspec.params


def of_seeds(items: Sequence[pytest.Item], draw: str) -> list[pytest.Item]:
    """The tests with some consecutive values of a parameter ``seed``; all of no such parameter."""
    values = list(dict.fromkeys(parameters(item).get("seed") for item in items))
    first = random.Random(draw).randrange(len(values))
    used = (values[first:] + values[:first])[:SEEDS]
    return [item for item in items if parameters(item).get("seed") in used]


def of_checks(items: Sequence[pytest.Item], draw: str) -> list[pytest.Item]:
    """Of scikit-learn's checks every one with every class of estimator, configured as is drawn."""
    if not {"estimator", "check"} <= parameters(items[0]).keys():
        return list(items)
    order = list(items)
    random.Random(draw).shuffle(order)
    kept = set({one_check(item): item for item in order}.values())
    return [item for item in items if item in kept]


def one_check(item: pytest.Item) -> tuple[Hashable, ...]:
    """The class of estimator that a check of scikit-learn is of, the check, and its options."""
    estimator, check = (parameters(item)[name] for name in ("estimator", "check"))
    return type(estimator), check.func, str(check.keywords)


def coordinates(item: pytest.Item) -> tuple[Hashable, ...]:
    """One value per ``parametrize`` mark or parametrised fixture of a test."""
    left = {name: id(value) for name, value in parameters(item).items()}
    values: list[Hashable] = []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs["argnames"]
        if isinstance(names, str):
            names = [name.strip() for name in names.split(",")]
        values.append(tuple(left.pop(name) for name in names if name in left))
    return (*values, *left.values())


def pairwise(rows: Sequence[tuple[Hashable, ...]], seed: str) -> list[int]:
    """Numbers of rows in which every pair occurs that occurs in any row.

    With fewer than three columns that vary every row has a pair of its own.
    """
    columns = [column for column in zip(*rows, strict=True) if len(set(column)) > 1]
    if len(columns) < 3:
        return list(range(len(rows)))
    return covering(list(zip(*columns, strict=True)), seed, 2)


def covering(
    rows: Sequence[tuple[Hashable, ...]], seed: str, together: int, most: int | None = None
) -> list[int]:
    """Numbers of rows, at most ``most``, that hold what occurs in any row: a greedy cover.

    Values are held with ``together=1``, pairs of values of different columns with 2.
    """
    held = [set(itertools.combinations(enumerate(row), together)) for row in rows]
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    missing = set().union(*held)
    chosen: list[int] = []
    while missing and len(chosen) != most:
        best = max(order, key=lambda at: len(held[at] & missing))
        missing -= held[best]
        chosen.append(best)
    return sorted(chosen)
