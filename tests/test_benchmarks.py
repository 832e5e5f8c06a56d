"""The benchmark suite: every workload runs, and all minimise one objective. No timings."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from contests import quality
from sklearn.linear_model import LogisticRegression, Ridge

from benchmarks import data, peers, report
from benchmarks.__main__ import run_one
from benchmarks.contest import (
    clock,
)
from benchmarks.problem import Plane, Problem
from benchmarks.registry import Series
from benchmarks.workloads import WORKLOADS, lasso, wide

pytestmark = pytest.mark.usefixtures("only_what_is_always_there")


# ---- every workload ------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_runs(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as the command does: peers that do not converge
        reported = run_one(name, "tiny", repeats=1, reading=0.0)
    assert reported["name"] == name
    assert "\n".join(report.lines(reported))
    json.dumps(report._plain(reported), allow_nan=False)
    if "growth" in reported:
        assert len(reported["values"]) >= 3
        assert {"name", "median_seconds", "slope"} <= reported["growth"][0].keys()
        assert math.isfinite(reported["growth"][0]["slope"])
        return
    names = [entry["name"] for entry in reported["contestants"]]
    assert names[0] == "separatrix"
    assert len(names) >= 2
    wanted = {"title", "rows", "columns", "nonzeros", "bytes", "quality", "ratio", "best_peer"}
    assert wanted | {"agreement", "limits", "goal", "share", "optimum"} <= reported.keys()
    if name != "hinge-sparse":
        assert reported["contestants"][0]["good_enough"]
        assert all(check["holds"] for check in reported["agreement"]), reported["agreement"]
    assert reported["best_peer"] is not None


def test_promised_names_and_sizes():
    assert {"full", "small", "tiny"} == set(WORKLOADS["softmax"].sizes)
    assert WORKLOADS["passes-tall-32"].sizes["full"] == (500_000, 100, 32)
    assert WORKLOADS["logistic-correlated-wide"].sizes["full"] == (20_000, 2_000)
    grown = {each.axis for each in WORKLOADS.values() if isinstance(each, Series)}
    assert grown == {"rows", "columns", "nonzeros", "classes"}


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


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_all_minimise_the_same_with_l1(k, intercept):
    X, y = data.few_relevant(120, 6, 3, k)
    largest = lasso.largest_strength(X, y, intercept)
    problem = Problem(X, y, "logistic", 0.0, intercept, l1=0.1 * largest)
    planes = [each.read(each.run(1e-9)) for each in peers.minimisers(problem)]
    assert len(planes) == 4 - intercept - (k > 2 and not intercept)
    values = [problem.value(plane) for plane in planes]
    assert values == pytest.approx([min(values)] * len(values), rel=1e-6)
    scores = X.astype(float) @ planes[0].coef.T + planes[0].intercept
    if k == 2:
        losses = np.log1p(np.exp(-y * scores[:, 0]))
    else:
        losses = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(120), y]
    assert values[0] == pytest.approx(losses.mean() + problem.l1 * np.abs(planes[0].coef).sum())
    for share, some in ((1.0 + 1e-9, False), (0.99, True)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that nothing is selected
            plane = Plane.of(
                peers.linear_classifier(replace(problem, l1=share * largest), 1e-12).fit(X, y)
            )
        assert plane.coef.any() == some


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
