"""The command that runs benchmarks, its tables and plots, and real data if there is any."""

from __future__ import annotations

import json
import math
import sys
import warnings

import pytest

from benchmarks import report
from benchmarks.__main__ import main, run_one
from benchmarks.registry import select
from benchmarks.workloads import WORKLOADS

pytestmark = pytest.mark.usefixtures("only_what_is_always_there")


# ---- the command ---------------------------------------------------------------------------------


def test_command_writes_json_and_says_who_is_skipped(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # not needed, and said so
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with warnings.catch_warnings():
        arguments = ["passes-iris", "--size", "tiny", "--repeats", "1", "--no-memory"]
        assert main([*arguments, "--results", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "skipped river: it cannot be imported (not in the tests)" in said
    assert "no plot: " in said
    (path,) = tmp_path.glob("*.json")
    run = json.loads(path.read_text())
    assert {"size", "repeats", "versions", "skipped", "machine", "workloads"} == run.keys()
    assert run["workloads"][0]["name"] == "passes-iris"
    assert {
        "seconds",
        "median_seconds",
        "ratio",
        "quality",
        "good_enough",
        "note",
        "extra_bytes",
    } <= (run["workloads"][0]["contestants"][0].keys())


def test_table_of_some_runs_says_who_was_missing():
    reported = {"name": "a", "title": "work", "best_peer": "b", "ratio": {"median": 12.345}}
    lost = reported | {"name": "c", "best_peer": None, "ratio": None}
    grown = {"name": "g", "growth": []}
    runs = [
        {"workloads": [reported, grown], "skipped": {"river": "why"}},
        {"workloads": [lost], "skipped": {}},
    ]
    assert list(report.markdown(runs))[2:] == [
        "| `a` | work | b | 12.3 |",
        "| `c` | work | none | no ratio |",
        "",
        "Not installed on the machine that measured: river.",
    ]
    assert list(report.markdown(runs[1:]))[-1].startswith("| `c`")


def test_plot_of_ratios_and_growth(tmp_path):
    pytest.importorskip("matplotlib")
    ratio = {"median": 2.0, "low": 1.5, "high": 3.0}
    line = {"name": "separatrix", "median_seconds": [0.1, 0.2, math.nan], "slope": 1.0}
    contest = {"name": "a", "best_peer": "b", "ratio": ratio, "goal": 3}
    grown = {"name": "g", "axis": "rows", "values": [1, 2, 4], "growth": [line]}
    for number, workloads in enumerate(([contest], [grown], [contest, grown])):
        path = tmp_path / f"{number}.png"
        assert report.plot(path, {"workloads": workloads}) == f"plot: {path}"
        assert path.stat().st_size > 0
    assert "nothing to draw" in report.plot(tmp_path / "none.png", {"workloads": []})


def test_unknown_name_is_a_clear_error(capsys):
    assert main(["no-such-work"]) == 2
    said = capsys.readouterr().err
    assert "no workload 'no-such-work'; choose from" in said
    assert "softmax" in said


def test_names_are_listed_and_patterns_understood(capsys):
    assert main(["--list"]) == 0
    assert capsys.readouterr().out.split() == list(WORKLOADS)
    assert select([]) == list(WORKLOADS)
    assert all(name.startswith("growth-") for name in select(["growth-*"]))
    assert select(["softmax"]) == ["softmax"]


# ---- real data -----------------------------------------------------------------------------------

LOADER = """
import numpy as np, scipy.sparse as sp

def names():
    return ["iris", "pcmac", "w8a"]

def load(name):
    rng = np.random.default_rng(0)
    X = sp.random_array((90, 40), density=0.2, format="csr", rng=rng)
    X.data = np.ceil(3 * X.data) if name == "pcmac" else np.ones(X.nnz)
    X = sp.csr_array(sp.vstack([X, sp.csr_array((1, 40))]))
    return X, rng.integers(2, size=91), None, None, {}
"""


@pytest.fixture
def registered():
    """Whatever a test registers is gone after it."""
    before = dict(WORKLOADS)
    yield
    WORKLOADS.clear()
    WORKLOADS.update(before)


def test_real_data_is_there_only_if_its_folder_is_named(tmp_path, capsys, monkeypatch, registered):
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    assert main(["--list"]) == 0
    assert "real-" not in capsys.readouterr().out
    (tmp_path / "load.py").write_text(LOADER)
    monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path))
    assert main(["--list", "real-*"]) == 0
    losses = ("hinge", "squared-hinge", "logistic")
    listed = capsys.readouterr().out.split()
    assert listed == [f"real-{name}-{loss}" for name in ("pcmac", "w8a") for loss in losses]
    reported = run_one("real-pcmac-squared-hinge", "full", repeats=1, reading=0.0)
    assert reported["rows"] == 90  # the empty one is left out
    assert reported["contestants"][0]["good_enough"]
    assert run_one("real-w8a-hinge", "tiny", repeats=1, reading=0.0)["best_peer"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [(None, "there is no file"), ("1 / 0", "cannot be imported"), ("", "has no function names")],
)
def test_folder_that_is_not_as_expected_is_a_clear_error(
    text, reason, tmp_path, capsys, monkeypatch
):
    if text is not None:
        (tmp_path / "load.py").write_text(text)
    monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path))
    assert main(["--list"]) == 2
    said = capsys.readouterr().err
    assert "SEPARATRIX_DATA must name a folder with a load.py" in said
    assert reason in said
