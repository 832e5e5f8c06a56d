"""The model of what a pass over a cluster costs, and the page that shows it. No cluster runs."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from benchmarks import cluster_page
from benchmarks.cluster import FILE, WORKERS, Slept, settings
from benchmarks.cluster_model import COSTS, Apart, Model, Setting, best_workers, paying_workers

TRUE = dict(zip(COSTS, (4e-3, 1.01, 2e-4, 3e-3, 2e-9, 5e-9, 1e-3), strict=True))
EVERY = [each for workers in WORKERS for each in settings(workers, quick=False)]


def subtrees(run, parts):
    """Whole subtrees of some neighbouring leaves, counted leaf by leaf."""
    left, found = set(run), 0
    for level in reversed(range(parts.bit_length() + 1)):
        for first in range(0, parts, 2**level):
            leaves = set(range(first, first + 2**level))
            if leaves <= left:
                left, found = left - leaves, found + 1
    return found


def seconds(setting):
    """By hand, of parts that workers share evenly."""
    each = setting.parts // setting.workers
    runs = [range(at, at + each) for at in range(0, setting.parts, each)]
    levels = next(k for k in itertools.count() if 2**k >= setting.parts)
    sums = sum(subtrees(run, setting.parts) for run in runs)
    return (
        TRUE["latency"] + TRUE["rows"] * setting.seconds / setting.workers + TRUE["parts"] * each
        + TRUE["workers"] * setting.workers + TRUE["out"] * setting.workers * setting.out
        + TRUE["back"] * sums * setting.back + TRUE["depth"] * levels
    )  # fmt: skip


def test_the_costs_of_passes_are_found():
    model = Model.fitted(EVERY, [seconds(each) for each in EVERY])
    assert model.costs == pytest.approx(TRUE, rel=1e-6)
    far = Setting(128, 640, 10_000, 1_000_000, 30.0)
    assert model.seconds(far) == pytest.approx(seconds(far), rel=1e-6)


def test_errors_of_settings_that_were_held_out(rng):
    noise = np.exp(0.05 * rng.standard_normal(len(EVERY)))
    reported = [
        vars(each) | {"wall": seconds(each) * n} for each, n in zip(EVERY, noise, strict=True)
    ]
    found = cluster_page.held_out(reported, "wall")
    assert list(found["errors"]) == ["a third", "all of 16 workers"]
    for error in found["errors"].values():
        assert 0.01 < error["median"] < 0.1 < error["most"] + 0.05
    half = [
        each | {"wall": each["wall"] * (2 if each["workers"] == 16 else 1)} for each in reported
    ]
    assert cluster_page.held_out(half, "wall")["errors"]["all of 16 workers"]["median"] > 0.3


def test_where_more_workers_stop_paying():
    """Of s / w + c w the least is at sqrt(s / c)."""
    model = Model(dict.fromkeys(COSTS, 0.0) | {"rows": 1.0, "workers": 0.01})
    work = Setting(1, 1, 8, 8, 4.0)
    assert best_workers(model, work) == 20
    gains = [(4 / w + w / 100) / (2 / w + w / 50) for w in (1, 2, 4, 8, 16)]
    assert paying_workers(model, work) == 16
    assert gains[3] >= 1.15 > gains[4]
    idle = Model(dict.fromkeys(COSTS, 0.0))
    assert best_workers(Apart(model, idle), work) == 128
    assert Apart(model, idle).seconds(Setting(16, 16, 8, 8, 4.0)) == pytest.approx(0.26)


def test_a_part_that_sleeps():
    (found,) = Slept(np.ones(3), 80, 0.0)(None, 1)
    assert found.nbytes == 80


def test_the_page_tells_what_the_file_says_and_nothing_else():
    reported = json.loads(FILE.read_text()) if FILE.exists() else {}
    text = cluster_page.PAGE.read_text()
    tables = text.split(cluster_page.BEGIN)[1].split(cluster_page.END)[0]
    expected = "\n".join(cluster_page.lines(reported))
    assert tables.strip() == expected.strip(), "run: python -m benchmarks.cluster page"
    assert cluster_page.PICTURE.exists() == ("passes" in reported)
