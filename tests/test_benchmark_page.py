"""The page of benchmarks is what the kept runs say, losses included. Nothing is timed."""

from __future__ import annotations

import json
import re

import pytest

from benchmarks import chart, page

README = page.DOCS.parent / "README.md"


def work(name, low, high, *, holds=True):
    times = {"median": (low + high) / 2, "low": low, "high": high}
    ours = {"name": "separatrix", "median_seconds": 0.002, "ratio": times, "quality": 1e-7,
            "good_enough": True, "note": "", "seconds": [0.002], "extra_bytes": None}  # fmt: skip
    return {
        "name": name, "title": "a work", "best_peer": "another", "ratio": times, "rows": 3,
        "contestants": [ours], "agreement": [{"holds": holds, "text": "apart by 1"}],
        "wall_seconds": 100.0,
    }  # fmt: skip


def run(*works, size="full"):
    machine = {"cores": 2, "processor": "abacus", "read_gb_per_second_2": 10.0,
               "gflop_per_second_float64_2": 20.0}  # fmt: skip
    return {"size": size, "repeats": 3, "machine": machine, "versions": {"python": "3"},
            "skipped": {"absent": "why"}, "workloads": list(works)}  # fmt: skip


@pytest.fixture
def stored(tmp_path):
    def store(day, *works, **kwargs):
        path = tmp_path / f"full-202601{day}-120000.json"
        path.write_text(json.dumps(run(*works, **kwargs)))
        return path

    return store


def test_the_page_tells_what_the_file_says_and_nothing_else():
    reported = page.PAGE.read_text().split(page.BEGIN)[1].split(page.END)[0]
    expected = "\n".join(page.lines(json.loads(page.KEPT.read_text())))
    assert reported.strip() == expected.strip(), "run: python -m benchmarks.page"


def test_the_chart_and_the_table_of_the_readme_have_the_ratios_of_the_file():
    works = chart.contests(json.loads(page.KEPT.read_text()))
    assert chart.CHART.read_text() == chart.chart(works), "run: python -m benchmarks.chart"
    ratios = dict(works)
    rows = re.findall(r"^\|.*\(`([\w-]+)`\) \|.*\| ([\d.]+) \|$", README.read_text(), re.M)
    assert len(rows) == 10
    for name, ratio in rows:
        assert ratio == f"{ratios[name]:.{1 if ratios[name] >= 1.0 else 2}f}", name


def test_bars_are_as_long_as_ratios_on_a_logarithmic_axis():
    picture = chart.chart([("four", 4.0), ("sixteen", 16.0), ("half", 0.5), ("beyond", 1e9)])
    wide = [float(each) for each in re.findall(r'width="([\d.]+)" height="10"', picture)]
    assert wide[1] == pytest.approx(2.0 * wide[0], abs=0.1)
    assert wide[2] == pytest.approx(wide[0] / 2.0, abs=0.1)
    assert wide[3] == pytest.approx(3.0 * wide[0], abs=0.1)  # up to the end of the axis
    assert picture.count(chart.SLOWER) == 1
    assert "faster in 3 of 4 works" in picture


def test_wins_losses_and_what_is_open_are_counted(stored):
    kept = page.kept(stored("02", work("a", 2, 3), work("b", 0.5, 0.6), work("c", 0.9, 1.2)))
    reported = "\n".join(page.lines([kept]))
    assert "Of 3 works separatrix is faster in 1 and slower in 1; in 1 the spread" in reported
    assert "| **0.55** | 0.50 to 0.60 | 2 ms | agree |" in reported
    assert "Measured 2026-01-02 on 2 cores (abacus)" in reported
    assert "3 rounds, 5 minutes in all. Versions: python 3." in reported
    assert "not in these tables: absent" in reported


def test_what_is_measured_against_ourselves_is_reported_and_not_counted(stored):
    own = work("a", 0.1, 0.2) | {"best_peer": "our own fit"}
    reported = "\n".join(page.lines([page.kept(stored("02", work("b", 2, 3), own))]))
    assert "Of 1 works separatrix is faster in 1 and slower in 0" in reported
    assert "| our own fit | **0.15** |" in reported


def test_who_disagrees_is_said(stored):
    reported = "\n".join(page.lines([page.kept(stored("02", work("a", 2, 3, holds=False)))]))
    assert "| apart by 1 |" in reported


def test_a_work_that_was_measured_again_is_reported_once(stored):
    first = page.kept(stored("02", work("a", 2, 3), work("b", 2, 3)))
    again = page.kept(stored("03", work("a", 4, 5)))
    merged = page.merged([first, again])
    assert [[each["name"] for each in one["workloads"]] for one in merged] == [["b"], ["a"]]
    assert [one["measured"] for one in page.merged([again, first])] == ["2026-01-02"]
    assert "seconds" not in merged[1]["workloads"][0]["contestants"][0]


def test_a_small_run_is_no_result(stored):
    with pytest.raises(SystemExit, match="size small"):
        page.kept(stored("02", work("a", 2, 3), size="small"))


def test_runs_of_one_day_that_were_made_alike_are_one_in_the_order_of_the_suite(stored):
    first = page.kept(stored("02", work("softmax", 2, 3), work("unknown", 2, 3)))
    second = page.kept(stored("02", work("kernel-fit", 2, 3)))
    (both,) = page.merged([first, second])
    names = [each["name"] for each in both["workloads"]]
    assert names == ["kernel-fit", "softmax", "unknown"]
    second["repeats"] = 1
    assert len(page.merged([first, second])) == 2
