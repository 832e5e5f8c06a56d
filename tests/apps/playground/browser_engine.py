"""The engine of the page against the library, in a real browser; run by ``make test-browser``."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import engine_reference
import numpy as np
import pytest
from conftest import quiet
from engine_problems import compare_all, method_of, points_of, script

from separatrix import KernelPerceptron, LinearClassifierCV, separability
from separatrix.apps.playground.runs import PlaygroundRun, verdict

pytestmark = quiet


@pytest.fixture(scope="module")
def evaluate(chromium):
    """Runs the engine on problems."""
    page = chromium.new_page()
    page.evaluate(script())
    yield lambda problems: page.evaluate("(problems) => oracle.all(problems)", problems)
    page.close()


def test_every_step_is_that_of_the_library(evaluate):
    seen = compare_all(0, 210, evaluate)
    assert seen["problems"] == 210
    assert seen["steps"] > 3000
    assert seen["whole runs"] > 80


def test_whole_numbers_agree_bit_for_bit(evaluate):
    assert compare_all(0, 60, evaluate, whole=True)["whole runs, bit for bit"] > 50


def test_whole_numbers_agree_with_plain_fractions_bit_for_bit(evaluate):
    asked, seen = [engine_reference.problem(seed) for seed in range(90)], Counter()
    for one, answer in zip(asked, evaluate(asked), strict=True):
        engine_reference.compare(one, answer, seen)
    assert min(seen[name] for name in engine_reference.METHODS) > 60
    assert min(seen["votes"], seen["averages"], seen["no mistakes"]) > 5
    assert seen["cycle"] > 0


def arrays(points):
    return np.array([point[:2] for point in points]), np.array([point[2] for point in points])


def test_verdicts_are_those_of_the_library_and_their_witnesses_hold(evaluate):
    made = [points_of(np.random.default_rng(seed), whole=seed % 2 == 0) for seed in range(60)]
    made += [[[1, 1, 0], [1, 1, 1]], [[0, 0, 0], [1, 0, 1], [2, 0, 0]], [[0, 0, 0], [1e-9, 0, 1]],
             [[0, 0, 0], [2, 0, 0], [1, 0, 1], [1, 1, 1]]]  # fmt: skip
    for intercept in (True, False):
        method = {"fit_intercept": intercept, "max_iter": 1}
        asked = [{"points": points, "method": method, "asks": {"verdict": True}} for points in made]
        for points, answer in zip(made, evaluate(asked), strict=True):
            X, y = arrays(points)
            wanted, found = separability(X, y, fit_intercept=intercept), answer["verdict"]
            assert found["verdict"] == wanted.verdict, points
            if wanted.verdict == "separable":
                assert found["margin"] == pytest.approx(wanted.margin, rel=1e-6)
                assert found["mistake_bound"] == pytest.approx(wanted.mistake_bound, rel=1e-6)
            elif len(np.unique(y)) == 2:
                rows, share = found["witness"]["rows"], found["witness"]["weights"]
                signs = np.where(y == y.max(), 1.0, -1.0)[rows]
                ones = np.full((len(rows), 1), float(intercept))
                signed = signs[:, None] * np.hstack([X[rows], ones])
                assert min(share) > 0
                assert np.abs(np.array(share) @ signed).max() <= 1e-12 * (1 + np.abs(X).max())


def test_margins_are_exact(evaluate):
    points = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]
    (answer,) = evaluate([{"points": points, "method": {}, "asks": {"verdict": True}}])
    square = Fraction(3, 51)  # |(x, 1)|^2 of the longest row, over the bound on mistakes
    assert answer["verdict"]["mistake_bound"] == 51
    assert answer["verdict"]["margin"] == pytest.approx(float(square) ** 0.5, rel=1e-15)


@pytest.mark.parametrize("classes", [2, 3])
def test_votes_are_those_of_the_library(evaluate, classes):
    rng = np.random.default_rng(classes)
    X = rng.integers(-4, 5, size=(20, 2)).astype(float)
    y = np.arange(20) % classes
    places = rng.integers(-6, 7, size=(50, 2)).astype(float)  # ties are exact
    points = [[*row, int(c)] for row, c in zip(X.tolist(), y, strict=True)]
    method = {"name": "perceptron", "max_iter": 4}
    (answer,) = evaluate([{"points": points, "method": method, "asks": {"votes": places.tolist()}}])
    voted = KernelPerceptron(
        "linear", keep="voted", max_iter=4, shuffle=False, patience=None, random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(np.squeeze(answer["votes"]), voted.decision_function(places))


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_cross_validation_is_that_of_the_library(evaluate, loss):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, size=40)
    X[:, 0] += y
    l2s = [1.0, 0.1, 0.01]
    points = [[*row, int(c)] for row, c in zip(X.tolist(), y, strict=True)]
    method = {"name": "newton", "loss": loss}
    asked = {"points": points, "method": method, "asks": {"folds": {"l2s": l2s, "folds": 5}}}
    (answer,) = evaluate([asked])
    searched = LinearClassifierCV(loss, l2s=l2s, cv=5, scoring="loss", tol=1e-13).fit(X, y)
    mean = dict(
        zip(searched.cv_results_["l2"], searched.cv_results_["mean_test_score"], strict=True)
    )
    wanted = [-mean[l2] for l2 in l2s]
    np.testing.assert_allclose(answer["folds"]["heldOut"], wanted, rtol=1e-7)


def test_grids_and_weight_space_are_those_of_the_library(evaluate):
    box = [-2.0, 3.0, -1.0, 2.5]
    for seed, name in enumerate(["perceptron", "radial_basis", "kernel_perceptron"]):
        rng = np.random.default_rng(seed)
        asked = {"points": points_of(rng), "method": method_of(rng, name) | {"start": "zeros"}}
        run = PlaygroundRun.of(asked)
        step = len(run.recording)
        (answer,) = evaluate([asked | {"asks": {"grid": {"step": step, "box": box}}}])
        wanted = run.grid(step, box)
        np.testing.assert_allclose(answer["grid"]["scores"], wanted["scores"], atol=1e-8)
        np.testing.assert_allclose(answer["grid"]["rows"], wanted["rows"], atol=1e-8)
        if wanted["lines"]:
            counts = [len(line) for line in wanted["lines"]]
            assert [len(line) for line in answer["grid"]["lines"]] == pytest.approx(counts, abs=2)


def test_the_verdict_of_the_page_has_the_entries_of_the_server(evaluate):
    points = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]
    (answer,) = evaluate([{"points": points, "method": {}, "asks": {"verdict": True}}])
    wanted = verdict({"points": points})
    for name in ("verdict", "margin_words", "mistake_bound"):
        assert answer["verdict"][name] == wanted[name]
    np.testing.assert_allclose(answer["verdict"]["meeting"], wanted["meeting"])
