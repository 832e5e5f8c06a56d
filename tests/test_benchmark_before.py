"""Times before and now: two checkouts, here this one twice, or one whose works are others."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import before

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def checkout(tmp_path):
    """This one, by other names."""
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    return tmp_path


@pytest.mark.processes
def test_works_of_both_are_timed_in_turn(checkout, tmp_path, capsys):
    results = tmp_path / "results.jsonl"
    asked = [str(checkout), "--size", "tiny", "--rounds", "2", "--results", str(results)]
    assert before.main([*asked, "passes-iris", "growth-rows-passes"]) == 0
    reported = [json.loads(line) for line in results.read_text().splitlines()]
    assert [one["name"] for one in reported] == ["passes-iris"] + 3 * ["growth-rows-passes"]
    for one in reported:
        assert one["good_enough"] == [True, True]
        assert len(one["before"]) == len(one["now"]) == 2
        pairs = zip(one["before"], one["now"], strict=True)
        ratios = sorted(earlier / now for earlier, now in pairs)
        assert one["ratio"] == pytest.approx([sum(ratios) / 2, *ratios])
    said = capsys.readouterr().out
    assert said.count("growth-rows-passes, separatrix: ") == 3
    assert "not known to the earlier checkout: none" in said


@pytest.mark.processes
def test_works_that_changed_or_are_new_are_named(checkout, tmp_path, capsys):
    (checkout / "benchmarks").unlink()
    for path in (ROOT / "benchmarks").rglob("*.py"):
        copy = tmp_path / "benchmarks" / path.relative_to(ROOT / "benchmarks")
        copy.parent.mkdir(exist_ok=True)
        text = path.read_text()
        if path.name == "passes.py":
            assert "passes-iris" in text
            assert "passes-digits" in text
            text = text.replace("passes-iris", "passes-flowers")
        if path.name == "facts.py":
            assert " x " in text
            text = text.replace(" x ", " by ")
        copy.write_text(text)
    asked = ["passes-iris", "passes-tall-32", str(checkout), "--size", "tiny", "--rounds", "1"]
    assert before.main([asked[2], *asked[:2], *asked[3:]]) == 0
    said = capsys.readouterr().out
    assert "passes-tall-32: not compared, the work has changed: " in said
    assert "not known to the earlier checkout: passes-iris" in said
    assert "slower by more than 5 %: none" in said


def test_slower_works_are_named():
    reported = {
        "name": "work", "contestant": "separatrix", "good_enough": [True, False],
        "before": [1.0, 0.8], "now": [2.0, 1.6], "ratio": [0.5, 0.5, 0.5],
    }  # fmt: skip
    assert before.line(reported) == (
        "  0.50 (0.50 to 0.50)  work, separatrix: 0.8 s, now 1.6 s; not good enough now"
    )


def test_what_is_missing_is_said(tmp_path, capsys):
    assert before.main([str(tmp_path)]) == 2
    assert "is missing: build it with `make -C " in capsys.readouterr().err


def test_an_unknown_work_is_a_clear_error(checkout, capsys):
    assert before.main([str(checkout), "no-such-work"]) == 2
    assert "no workload 'no-such-work'; choose from" in capsys.readouterr().err


@pytest.mark.processes
def test_a_side_that_ends_is_an_error(checkout):
    with before.Side(checkout, sys.executable) as side, pytest.raises(RuntimeError, match="take"):
        side.ask("take")  # of nothing
