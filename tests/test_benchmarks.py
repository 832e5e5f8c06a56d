"""The benchmark suite: every workload runs, and the rules of a contest are kept. No timings."""

from __future__ import annotations

import json
import math
import sys
import warnings
from dataclasses import replace
from fnmatch import fnmatch

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge

from benchmarks import ablation, data, machine, memory, peers, report, variants
from benchmarks.__main__ import main, run_one
from benchmarks.contest import (
    Check,
    Contest,
    Contestant,
    Entry,
    Judge,
    Ratio,
    choose,
    clock,
    hold,
    leave_out_the_slow,
)
from benchmarks.peers import roster
from benchmarks.problem import Plane, Problem
from benchmarks.registry import Series, Workload, select
from benchmarks.workloads import WORKLOADS, wide

ALWAYS = {"separatrix", "scikit-learn"}


@pytest.fixture(autouse=True)
def only_what_is_always_there(monkeypatch):
    """As if no other peer were installed."""
    monkeypatch.setattr(
        roster, "why_missing", lambda peer: None if peer in ALWAYS else "not in the tests"
    )


def quality(value, name="separatrix", **more):
    """A contestant that makes its setting, or a constant."""
    return Contestant(name, lambda setting: value if setting is None else setting, **more)


def contest(*contestants, judge=None, **more):
    facts = {"rows": 1, "columns": 1, "nonzeros": 1, "bytes": 8}
    return Contest("work", contestants, judge or Judge("error", float, within=0.1), facts, **more)


# ---- every workload ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_runs(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as the command does: peers that do not converge
        told = run_one(name, "tiny", repeats=1, reading=0.0)
    assert told["name"] == name
    assert "\n".join(report.lines(told))
    json.dumps(report._plain(told), allow_nan=False)
    if "growth" in told:
        assert len(told["values"]) >= 3
        assert {"name", "median_seconds", "slope"} <= told["growth"][0].keys()
        assert math.isfinite(told["growth"][0]["slope"])
        return
    names = [entry["name"] for entry in told["contestants"]]
    assert names[0] == "separatrix"
    assert len(names) >= 2
    wanted = {"title", "rows", "columns", "nonzeros", "bytes", "quality", "ratio", "best_peer"}
    assert wanted | {"agreement", "limits", "goal", "share", "optimum"} <= told.keys()
    if name != "hinge-sparse":
        assert told["contestants"][0]["good_enough"]
        assert all(check["holds"] for check in told["agreement"]), told["agreement"]
    assert told["best_peer"] is not None


def test_promised_names_and_sizes():
    assert {"full", "small", "tiny"} == set(WORKLOADS["softmax"].sizes)
    assert WORKLOADS["passes-tall-32"].sizes["full"] == (500_000, 100, 32)
    assert WORKLOADS["logistic-correlated-wide"].sizes["full"] == (20_000, 2_000)
    grown = {each.axis for each in WORKLOADS.values() if isinstance(each, Series)}
    assert grown == {"rows", "columns", "nonzeros", "classes"}


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
    told = report.record(Workload("work", lambda: None, {}, goal=2), outcome)
    assert told["ratio"] is None
    text = "\n".join(report.lines(told))
    assert "not ranked" in text
    assert "no peer is good enough" in text


def test_who_is_left_out_is_named_and_never_run():
    absent = Contestant("peer", lambda _: pytest.fail("it ran"), left_out="too large for it")
    outcome = hold(contest(quality(0.0), absent), repeats=1, reading=0.0)
    told = report.record(Workload("work", lambda: None, {}), outcome)
    assert any("peer" in line and "too large for it" in line for line in report.lines(told))
    json.dumps(report._plain(told), allow_nan=False)


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


# ---- the objective -------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_objective_is_that_of_the_peer(classes, rng):
    X = rng.standard_normal((60, 4)).astype(np.float32)
    y = rng.integers(classes, size=60)
    problem = Problem(X, y, "logistic", 0.01)
    plane = Plane.of(LogisticRegression(C=problem.C, tol=1e-10).fit(problem.double, y))
    scores = X.astype(float) @ plane.coef.T + plane.intercept
    if classes == 2:
        losses = np.log1p(np.exp(-np.where(y == 1, 1, -1) * scores[:, 0]))
    else:
        losses = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(60), y]
    assert problem.value(plane) == pytest.approx(losses.mean() + 0.01 * np.sum(plane.coef**2))
    for j in range(4):  # and it is least there
        coef = plane.coef.copy()
        coef[0, j] += 1e-2
        assert problem.value(plane._replace(coef=coef)) > problem.value(plane)


def test_hinge_objective():
    problem = Problem(np.eye(2), np.array([-1, 1]), "hinge", 0.5, intercept=False)
    assert problem.value(Plane(np.array([[1.0, 0.25]]), np.zeros(1))) == pytest.approx(
        (2.0 + 0.75) / 2 + 0.5 * (1 + 0.0625)
    )


FORMS = [("hinge", 2), ("squared_hinge", 2), ("squared", 2), ("hinge", 4), ("squared_hinge", 4)]


@pytest.mark.parametrize(("loss", "k"), [*FORMS, ("squared", 4), ("logistic", 4)])
def test_peers_and_we_minimise_the_same_objective(loss, k):
    X, y = data.tf_idf_documents(150, 60, 9, k)
    problem = Problem(X, y, loss, 0.01, intercept=False, rest=True)
    if loss == "hinge":
        problem = replace(problem, rest=False)  # Crammer and Singer's
    contestants = peers.minimisers(problem)
    assert len(contestants) >= 2
    planes = [each.read(each.run(1e-9)) for each in contestants]
    values = [problem.value(plane) for plane in planes]
    assert values == pytest.approx([min(values)] * len(values), rel=1e-6)
    W, (n, d) = planes[0].coef, X.shape
    losses = []
    for x, label in zip(X.toarray(), y, strict=True):
        s, true = W @ x, list(problem.classes).index(label)
        if k > 2 and loss == "hinge":
            losses.append(max(0.0, *(1.0 + s[c] - s[true] for c in range(k) if c != true)))
            continue
        signs = [2 * true - 1] if k == 2 else [1 if c == true else -1 for c in range(k)]
        margins = [sign * score for sign, score in zip(signs, s, strict=True)]
        phi = {
            "hinge": lambda m: max(0.0, 1.0 - m),
            "squared_hinge": lambda m: max(0.0, 1.0 - m) ** 2,
            "squared": lambda m: (1.0 - m) ** 2,
            "logistic": lambda m: math.log1p(math.exp(-m)),
        }[loss]
        losses.append(sum(phi(m) for m in margins))
    assert W.shape == (1 if k == 2 else k, d)
    assert values[0] == pytest.approx(sum(losses) / n + 0.01 * float((W**2).sum()))


def test_a_share_of_the_work_counts_as_all_of_it(monkeypatch):
    now = iter(np.arange(100.0))
    monkeypatch.setattr("benchmarks.contest.rest", lambda: None)
    monkeypatch.setattr("benchmarks.contest.time.perf_counter", lambda: next(now))
    assert clock(quality(0.0), None)[0] == 1.0
    assert clock(quality(0.0, share=0.25), None)[0] == 4.0


def test_losses_of_rows_left_out_are_those_of_refits(rng):
    X, y = rng.standard_normal((9, 14)), np.array([-1, 1, 1, -1, 1, -1, 1, 1, -1])
    found = wide.losses_left_out(X, y, 0.3)
    for row in range(9):
        others = np.arange(9) != row
        ridge = Ridge(alpha=0.3 * 8).fit(X[others], y[others])
        assert found[row] == pytest.approx((y[row] - ridge.predict(X[[row]])[0]) ** 2)


# ---- data, machine, memory -----------------------------------------------------------------------


def test_data_is_the_same_every_time_and_has_its_shape():
    for make in (
        lambda: data.clouds(50, 3),
        lambda: data.correlated(50, 3),
        lambda: data.separable(50, 3, 0.1),
        lambda: data.images(50, 30, 4),
        lambda: data.rings(50, 4),
        lambda: data.many_clouds(50, 3, 4),
    ):
        (X, y), (again, labels) = make(), make()
        assert X.dtype == np.float32
        assert np.array_equal(X, again)
        assert np.array_equal(y, labels)
        assert len(np.unique(y)) >= 2


def test_correlated_columns_have_the_condition_number():
    X, _ = data.correlated(20_000, 5, condition=100.0)
    assert np.linalg.cond(np.cov(X.T)) == pytest.approx(100.0, rel=0.1)


def test_text_is_canonical_csr_of_unit_rows_with_common_and_rare_words():
    X, _ = data.text(500, 400, 20)
    assert sp.issparse(X)
    assert X.format == "csr"
    assert X.has_canonical_format
    assert np.allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0)
    assert 10 <= X.nnz / 500 <= 25
    counts = np.sort(np.bincount(X.indices, minlength=400))
    assert counts[-1] > 10 * np.median(counts)


@pytest.mark.parametrize("k", [2, 5])
def test_documents_have_the_skew_of_text(k):
    X, y = data.documents(3000, 2000, 30, k)
    again, labels = data.documents(3000, 2000, 30, k)
    assert np.array_equal(X.toarray(), again.toarray())
    assert np.array_equal(y, labels)
    assert X.has_canonical_format
    assert X.data.min() == 1.0
    assert np.array_equal(X.data, np.rint(X.data))
    met, lengths = np.bincount(X.indices, minlength=2000), np.diff(X.indptr)
    assert lengths.min() >= 1
    assert lengths.mean() == pytest.approx(30, rel=0.1)
    assert np.std(np.log(lengths)) == pytest.approx(0.65, abs=0.1)  # log-normal
    common = np.sort(met)[::-1]
    assert common[9] / common[99] == pytest.approx(7, rel=0.5)  # about 1/rank
    sizes = np.bincount(np.searchsorted(np.unique(y), y))
    assert sizes[0] / sizes[-1] == pytest.approx(k, rel=0.2)
    half = LogisticRegression(C=100.0).fit(data.tf_idf(X)[:1500], y[:1500])
    assert half.score(data.tf_idf(X)[1500:], y[1500:]) > 0.75  # there is something to learn


def test_rows_with_one_level_of_each_feature():
    X, y = data.one_hot(400, 6, 9)
    assert X.shape == (400, 54)
    assert np.array_equal(X.toarray().reshape(400, 6, 9).sum(axis=2), np.ones((400, 6)))
    assert set(np.unique(y)) == {-1, 1}


def test_machine_limits():
    found = machine.limits("tiny")
    assert found["read_gb_per_second_1"] > 0
    assert found[f"gflop_per_second_float32_{machine.CORES}"] > 0


@pytest.mark.skipif(not memory.REFS.exists(), reason="only Linux tells")
def test_memory_of_a_fit_is_measured_in_a_child():
    extra = memory.extra_bytes("passes-tall-32", "tiny", "separatrix", 0)
    assert extra is not None
    assert 0 <= extra < 1 << 30


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
    told = {"name": "a", "title": "work", "best_peer": "b", "ratio": {"median": 12.345}}
    lost = told | {"name": "c", "best_peer": None, "ratio": None}
    grown = {"name": "g", "growth": []}
    runs = [
        {"workloads": [told, grown], "skipped": {"river": "why"}},
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
    told = run_one("real-pcmac-squared-hinge", "full", repeats=1, reading=0.0)
    assert told["rows"] == 90  # the empty one is left out
    assert told["contestants"][0]["good_enough"]
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


# ---- with and without ------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ablation.MECHANISMS, ids=lambda each: each.name)
def test_what_a_mechanism_is_without_exists_and_comes_back(mechanism):
    places = [ablation.owner(place) for place, _ in mechanism.without]
    before = [vars(where)[name] for where, name in places]
    with ablation.without(mechanism):
        for (where, name), (_, value) in zip(places, mechanism.without, strict=True):
            assert vars(where)[name] is value
    assert [vars(where)[name] for where, name in places] == before
    for mask in mechanism.works:
        assert any(fnmatch(work, mask) for work in ablation.WORKS), mask


def test_a_ratio_is_of_the_time_without_to_the_time_with(monkeypatch, capsys):
    calls = iter([2.0, 6.0, 2.0, 4.0])  # with, without, in turn
    monkeypatch.setattr(ablation, "seconds", lambda run: next(calls))
    used, ratio = ablation.compare(ablation.MECHANISMS[0], lambda: None, 2)
    assert (used, ratio.median, ratio.low, ratio.high) == (2.0, 2.5, 2.0, 3.0)


def test_the_ablation_prints_a_line_for_each_pair(capsys):
    assert ablation.main(["--share", "0.001", "--rounds", "1", "passes ahead", "hinge-wide"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split("  ")[0] for line in lines} >= {
        "passes ahead",
        "interior point for few rows",
    }
    assert all(" x [" in line for line in lines)


@pytest.mark.parametrize("variant", variants.VARIANTS, ids=lambda each: each.name)
def test_a_variant_changes_one_place_of_its_file(variant, tmp_path):
    place = tmp_path / "cpp" / variant.file
    place.parent.mkdir(parents=True)
    place.write_text((variants.ROOT / "cpp" / variant.file).read_text())
    variant.edit(tmp_path)
    assert variant.after in place.read_text()
    assert set(variant.works) <= set(ablation.WORKS)
    if variant.before not in variant.after:
        with pytest.raises(ValueError, match="has 0 times"):
            variant.edit(tmp_path)


def test_unknown_variants_are_refused(capsys):
    with pytest.raises(SystemExit):
        variants.main(["no such shortcut"])
    assert "there are: filter of two classes" in capsys.readouterr().err
