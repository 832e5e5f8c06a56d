"""Tables drawn at random, on which ``auto`` is compared with every solver. No timings."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import asdict
from itertools import islice

import pytest

from benchmarks import draws, memory


def test_draws_are_in_range_and_the_same_every_time():
    some = list(islice(draws.draws(0), 60))
    assert some == list(islice(draws.draws(0), 60))
    assert not set(some) & set(islice(draws.draws(1), 30))
    for draw in some:
        for name, (least, most) in draws.RANGES.items():
            assert least <= getattr(draw, name) <= most
        assert draw.n * draw.nonzeros * draw.k <= 2e7
    assert {draw.loss for draw in some} == {"hinge", "squared_hinge", "logistic"}
    assert {draw.intercept for draw in some} == {draw.counts for draw in some} == {True, False}


def test_auto_is_compared_with_every_solver_that_can(monkeypatch):
    times = {"auto": 3.0, "LBFGS": 2.0, "CoordinateAscent": math.inf}

    def seconds(draw, table, solver, most):
        name = solver if isinstance(solver, str) else type(solver).__name__
        return times.get(name, 4.0), f"{most:g}"

    monkeypatch.setattr(draws, "seconds", seconds)
    draw = draws.Draw(60, 80, 9, 2, 1e-3, "logistic", True, False)
    reported = draws.compare(draw)
    assert (reported["ratio"], reported["best"]) == (1.5, "LBFGS")
    assert reported["notes"] == {"CoordinateAscent": "9"}  # 4 times the best so far, and a second
    assert set(reported["seconds"]) >= {"DualAscent", "ProximalPoint", "InteriorPoint", "Newton"}
    times = dict.fromkeys((*reported["seconds"], "auto"), math.inf)
    reported |= {"number": 0, "draw": asdict(draw)}
    assert "<- slow" in draws.line(reported)
    unfinished = reported | draws.compare(draw)
    assert draws.line(unfinished).endswith("none in time")
    assert draws.summary([reported, reported | {"ratio": 1.0}, unfinished]) == (
        "auto within 1.3 of the best on 1 of 2 tables, worst 1.50; 1 that no solver fitted in time"
    )


FIT = """
from benchmarks import draws
draw = draws.Draw(200, 80, 9, 2, 1e-2, "hinge", True, False)
table = draw.table()
for solver, most in (("auto", 60.0), (draws.LBFGS(), 60.0), ("auto", 0.0)):
    print(*draws.seconds(draw, table, solver, most))
"""


@pytest.mark.processes
def test_fits_in_processes_of_their_own():
    command = [sys.executable, "-c", FIT]  # not here, where threads run, which a fork forgets
    child = subprocess.run(command, cwd=memory.ROOT, capture_output=True, text=True, check=True)
    fitted, refused, late = child.stdout.splitlines()
    assert math.isfinite(float(fitted.split()[0]))
    assert "DualAscent" in fitted
    assert refused.startswith("inf refused: ")
    assert late == "inf more than 0.0 s"


def test_an_interrupted_run_of_draws_goes_on(tmp_path, capsys, monkeypatch):
    path, ran = tmp_path / "reported.jsonl", []
    reported = {"auto": 1.0, "picked": "", "best": "LBFGS", "ratio": 1.0, "notes": {}}
    reported |= {"seconds": {"LBFGS": 1.0, "Newton": math.inf}}
    monkeypatch.setattr(draws, "compare", lambda draw, most: ran.append(draw) or reported)
    expected = list(islice(draws.draws(0), 5))
    for arguments, numbers in (
        (["--count", "3", "--shard", "1/2"], [1]),
        (["--count", "3"], [0, 2]),
        (["--count", "5"], [3, 4]),
        (["--count", "5"], []),
    ):
        ran.clear()
        assert draws.main([str(path), *arguments]) == 0
        assert ran == [expected[number] for number in numbers]
    assert capsys.readouterr().out.splitlines()[-1].startswith("auto within 1.3 of the best on 5")
    draws.main([str(path), "--seed", "1", "--count", "1"])
    assert len(ran) == 1  # another seed is another table
