"""The rules of a contest are kept. No timings."""

from __future__ import annotations

import json

import pytest
from contests import contest, quality

from benchmarks import report
from benchmarks.contest import (
    Check,
    Contestant,
    Entry,
    Judge,
    Ratio,
    choose,
    hold,
    leave_out_the_slow,
)
from benchmarks.registry import Workload

# ---- the rules -----------------------------------------------------------------------------------


def test_first_setting_that_is_good_enough_is_taken():
    entry = Entry(quality(0.0, settings=(0.5, 0.09, 0.01)))
    choose([entry], Judge("error", float, within=0.1))
    assert (entry.setting, entry.enough) == (0.09, True)


def test_a_lower_optimum_makes_others_try_on():
    early = Entry(quality(0.0, "separatrix", settings=(1.0, 0.5)))
    late = Entry(quality(0.0, "peer", settings=(0.5,)))
    choose([early, late], Judge("objective", float, lambda: 1.0, within=0.1, relative=True))
    assert early.setting == 0.5
    assert early.enough
    assert late.enough


def test_who_is_not_good_enough_is_not_ranked():
    outcome = hold(contest(quality(0.0), quality(0.5, "peer")), repeats=2, reading=0.0)
    ours, peer = outcome.entries
    assert outcome.best_peer is None
    assert len(ours.seconds) == 2
    assert not peer.seconds
    reported = report.record(Workload("work", lambda: None, {}, goal=2), outcome)
    assert reported["ratio"] is None
    text = "\n".join(report.lines(reported))
    assert "not ranked" in text
    assert "no peer is good enough" in text


def test_who_is_left_out_is_named_and_never_run():
    absent = Contestant("peer", lambda _: pytest.fail("it ran"), left_out="too large for it")
    outcome = hold(contest(quality(0.0), absent), repeats=1, reading=0.0)
    reported = report.record(Workload("work", lambda: None, {}), outcome)
    assert any("peer" in line and "too large for it" in line for line in report.lines(reported))
    json.dumps(report._plain(reported), allow_nan=False)


def test_slow_runs_are_not_repeated():
    slow, fast = Entry(quality(0.0, "slow")), Entry(quality(0.0, "fast"))
    for entry, seconds in ((slow, 100.0), (fast, 1.0)):
        entry.trial, entry.enough = seconds, True
    leave_out_the_slow([slow, fast])
    assert "run once" in slow.note
    assert not fast.note


def test_rounds_are_interleaved():
    order = []
    one = Contestant("separatrix", lambda _: order.append("we") or 0.0)
    two = Contestant("peer", lambda _: order.append("they") or 0.0)
    outcome = hold(contest(one, two), repeats=3, reading=0.0)
    assert order[2:] == ["we", "they"] * 3
    assert outcome.best_peer.name == "peer"
    assert outcome.ratio(outcome.best_peer).low <= outcome.ratio(outcome.best_peer).high


def test_ratio_is_taken_within_rounds():
    assert Ratio.of([2.0, 9.0, 8.0], [1.0, 3.0, 2.0]) == Ratio(3.0, 2.0, 4.0)


def test_checks_that_fail_are_shouted():
    held = contest(quality(0.0), quality(0.0, "peer"), checks=lambda made: [Check("bits", False)])
    outcome = hold(held, repeats=1, reading=0.0)
    text = "\n".join(report.lines(report.record(Workload("work", lambda: None, {}), outcome)))
    assert "DIFFERS bits" in text


def test_slope_of_a_power():
    assert report.slope([(1, 2.0), (2, 16.0), (4, 128.0)]) == pytest.approx(3.0)
    assert report.slope([(1, 2.0)]) is None
