"""Recordings as pages: what they hold, how they are thinned, and how large they are."""

from __future__ import annotations

import base64
import json
import re

import jsonschema
import numpy as np
import pytest
from conftest import overlapping, quiet

from separatrix import (
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    Newton,
    Perceptron,
    datasets,
)
from separatrix.training.recording import landscape, saved
from separatrix.training.recording.recording import thinned
from separatrix.training.recording.schema import recording_schema

X, Y = overlapping(40, 2, seed=1)
pytestmark = quiet


def inside(page):
    (text,) = re.findall(r'id="saved">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def recorded(clf, x=X, y=Y):
    return clf.fit(x, y).trace_.recording(x, y)


def test_a_short_run_is_inside_whole():
    recording = recorded(Perceptron(3, shuffle=False))
    reply = inside(recording.to_html())
    assert reply["run"]["recording"] == json.loads(recording.to_json())
    assert reply["numbers"] == list(range(1, len(recording) + 1))
    assert reply["points"] == [[*x, c] for x, c in zip(X.tolist(), recording.y, strict=True)]
    assert reply["verdict"]["verdict"] == "overlapping"
    margin, loss = reply["run"]["curve"]["margin"], reply["run"]["curve"]["loss"]
    np.testing.assert_allclose(loss, np.maximum(0.0, -np.array(margin)))


@pytest.mark.slow
def test_a_long_run_is_thinned_and_keeps_what_counts():
    recording = recorded(Perceptron(40, shuffle=False, patience=None, keep="best"))
    assert len(recording) == 1600
    reply = inside(recording.to_html())
    numbers, part = reply["numbers"], reply["run"]["recording"]
    assert len(numbers) <= saved.MOST_STEPS
    assert (numbers[0], numbers[-1]) == (1, 1600)
    assert max(np.diff(numbers)) <= 5
    jsonschema.validate(part, recording_schema())
    whole = recording.to_dict()["steps"]
    places = np.array(numbers) - 1
    for name in ("rows", "margins", "weights", "mistakes", "objective", "sentence", "arithmetic"):
        assert part["steps"][name] == [whole[name][place] for place in places]
    # Strengths and changes since the step before add up to those of all steps.
    count = np.bincount([row for rows in part["steps"]["updated"] for row in rows], minlength=40)
    np.testing.assert_array_equal(
        count, np.bincount([row for rows in whole["updated"] for row in rows], minlength=40)
    )
    gained = sum(np.array(change) for change in part["steps"]["change"] if change is not None)
    np.testing.assert_allclose(gained, part["steps"]["weights"][-1])
    best = [None if at is None else numbers[at - 1] for at in part["steps"]["best"]]
    assert best == [whole["best"][place] for place in places]
    assert {numbers[at - 1] for at in part["passes"]} <= set(recording.columns.passes)


def test_thinning_of_few_steps():
    columns = recorded(Perceptron(2, shuffle=False)).columns
    assert thinned(columns, 80) == list(range(1, 81))
    few = thinned(columns, 5)
    assert few[0] == 1
    assert few[-1] == 80
    assert len(few) <= 6


@pytest.mark.parametrize("classes", [2, 3])
def test_grids_of_kernels_as_bytes(classes):
    x, y = datasets.blobs(classes, 45, random_state=0)
    clf = KernelPerceptron(gamma=0.5, max_iter=4, random_state=0, keep="last")
    recording = recorded(clf, x, y)
    reply = inside(recording.to_html())
    grids, k = reply["grids"], 1 if classes == 2 else 3
    assert grids["k"] == k
    left, right, bottom, top = grids["box"]
    across, up = np.linspace(left, right, grids["size"]), np.linspace(bottom, top, grids["size"])
    there = np.array([[u, v] for v in up for u in across])
    scores = clf.decision_function(there).reshape(len(there), -1)
    shown = np.frombuffer(base64.b64decode(grids["scores"]), np.int8).reshape(-1, k, len(there))
    last = shown[grids["of"][-1]].T
    np.testing.assert_allclose(last, 127 * scores / np.abs(scores).max(), atol=1.0)
    if k == 1:
        np.testing.assert_array_equal(last >= 0, scores >= 0)
    own = np.frombuffer(base64.b64decode(grids["rows"]), "<f4").reshape(-1, 45, k)
    expected = clf.decision_function(x).reshape(45, -1)
    np.testing.assert_allclose(own[grids["of"][-1]], expected, rtol=1e-5, atol=1e-6)
    assert not own[grids["of"][0]].any()


def test_scores_of_linear_models_are_those_of_their_weights():
    clf = LinearClassifier("softmax" if len(set(Y)) > 2 else "logistic", solver=Newton(), l2=0.1)
    recording = recorded(clf)
    total = len(recording)
    np.testing.assert_allclose(
        recording.scores(X, [total, 0])[0, :, 0], clf.decision_function(X), rtol=1e-12
    )
    assert not recording.scores(X, [0]).any()


def test_rows_of_more_than_two_numbers_have_no_plane():
    x, y = overlapping(30, 4, seed=0)
    reply = inside(recorded(Perceptron(2, shuffle=False), x, y).to_html())
    assert reply["box"] is None
    assert reply["verdict"] is None
    assert len(reply["points"]) == 30


@pytest.mark.slow
def test_no_page_is_larger_than_it_may_be(monkeypatch):
    recording = recorded(Perceptron(10, shuffle=False, patience=None))
    whole = len(recording.to_html().encode())
    monkeypatch.setattr(saved, "MOST_BYTES", whole - 5_000)
    monkeypatch.setattr(saved, "MOST_STEPS", len(recording))  # so that the second page is shorter
    page = recording.to_html()
    assert len(page.encode()) <= whole - 5_000
    assert 2 < len(inside(page)["numbers"]) < 400


def test_a_run_that_diverged_has_a_page():
    solver = GradientDescent(None, learning_rate=1e200)
    clf = LinearClassifier("squared", solver=solver, max_iter=1, tol=None)
    reply = inside(recorded(clf).to_html())
    assert reply["run"]["recording"]["steps"]["objective"][-1] is None
    assert max(reply["run"]["curve"]["margin"]) <= 100.0


def test_names_of_classes_cannot_leave_the_data():
    names = np.array(["<b>", "</script>"])[(Y.max() == Y).astype(int)]
    recording = recorded(Perceptron(1, shuffle=False), X, names)
    page = recording.to_html()
    assert inside(page)["run"]["recording"]["data"]["classes"] == ["</script>", "<b>"]
    assert page.count("</script>") == 2
    frame = recording._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts"')
    assert "<script" not in frame


def logistic_mean(W, x, y):
    margins = np.where(y == y.max(), 1.0, -1.0) * (x @ W[:-1] + W[-1])
    return np.log1p(np.exp(-margins)).mean(), np.sum(margins <= 0)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("most", [10_000, 6])
def test_weight_space_has_its_contours_inside(monkeypatch, most):
    monkeypatch.setattr(landscape, "MOST_SAVED", most)
    clf = LinearClassifier(
        "logistic", solver=GradientDescent(None, learning_rate=0.5), max_iter=12, tol=None, l2=0.05
    )
    recording = recorded(clf)
    reply = inside(recording.to_html())
    weights = np.array(
        [reply["run"]["recording"]["start"]["weights"]]
        + reply["run"]["recording"]["steps"]["weights"]
    )[:, 0]
    lands, size = reply["landscapes"], reply["landscapes"]["size"]
    assert [view["axes"] for view in lands["views"]] == [[0, 1], [0, 2], [1, 2]]
    for view in lands["views"]:
        assert len(view["of"]) == len(weights)
        a, b = view["axes"]
        held = np.delete(weights, [a, b], axis=1)
        assert len(view["at"]) == (len(np.unique(held)) if most > 6 else 2)
        low, high = view["box"][0], view["box"][1]
        assert low < weights[:, a].min() <= weights[:, a].max() < high
        sides = np.linspace(low, high, size), np.linspace(*view["box"][2:], size)
        for step in (0, 5, len(weights) - 1):
            stands = view["at"][view["of"][step]]
            assert held[stands] == held[step] if most > 6 else abs(stands - step) <= 6
            for kind in ("objective", "mistakes"):
                land = view[kind][view["of"][step]]
                levels = [*land["levels"], np.inf]
                for row, col in np.random.default_rng(step).integers(size, size=(10, 2)):
                    W = weights[stands].copy()
                    W[[a, b]] = sides[0][col], sides[1][row]
                    loss, wrong = logistic_mean(W, X, Y)
                    value = wrong if kind == "mistakes" else loss + 0.05 * np.sum(W[:-1] ** 2)
                    band = ord(land["bands"][row * size + col]) - ord("a")
                    assert levels[band] - 1e-9 <= value <= levels[band + 1] + 1e-9
                pieces = np.frombuffer(base64.b64decode(land["lines"]), "<u2")
                assert (len(pieces) > 0) == (kind == "objective")


def test_steps_that_hold_the_same_weights_share_their_contours():
    x, y = datasets.logic("and")
    recording = recorded(Perceptron(shuffle=False), x, y)
    view = inside(recording.to_html())["landscapes"]["views"][0]
    biases = recording.columns.weights[:, 0, 2]
    assert len(view["at"]) == len(set(biases.tolist()))
    assert [biases[view["at"][place]] for place in view["of"]] == biases.tolist()


def test_kernels_have_no_weight_space_and_runs_that_diverged_have_one():
    recording = recorded(KernelPerceptron(gamma=1.0, max_iter=2))
    assert inside(recording.to_html())["landscapes"] is None
    solver = GradientDescent(None, learning_rate=1e200)
    clf = LinearClassifier("squared", solver=solver, max_iter=1, tol=None)
    lands = inside(recorded(clf).to_html())["landscapes"]
    bands = [land["bands"] for view in lands["views"] for land in view["objective"]]
    assert {len(one) for one in bands} == {lands["size"] ** 2}
