"""Recordings as JSON and in pages: numbers that are not finite, hostile text, the schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from broken_recordings import broken_recordings
from conftest import CORNERS, LOGIC, overlapping, quiet

from separatrix import (
    GradientDescent,
    LinearClassifier,
    Perceptron,
)
from separatrix.training.recording.recording import from_json
from separatrix.training.recording.schema import PATH, Mismatch, check_recording

X, Y = overlapping(40, 2, seed=1)

pytestmark = quiet


def test_a_run_that_diverges_is_reported_without_infinities():
    solver = GradientDescent(None, learning_rate=1e200)
    clf = LinearClassifier("squared", solver=solver, max_iter=1, tol=None)
    clf.fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    whole = from_json(clf.trace_.recording([[0.0], [1.0], [2.0]], [0, 1, 1]).to_json())
    assert whole["steps"]["objective"][-1] is None


def test_bounds_and_settings_that_are_not_finite_are_null():
    tight, labels = [[0.0, 0.0], [0.0, 1e-300]], [0, 1]
    recording = Perceptron(2, patience=None).fit(tight, labels).trace_.recording(tight, labels)
    assert recording.bounds["updates"] == np.inf
    whole = from_json(recording.to_json())
    assert whole["bounds"] == {"updates": None, "objective": None}
    assert json.loads(json.dumps(whole)) == whole


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"version":1', '"version":true', "version is True"),
        ('"total":', '"total":1e400,"was":', "total is inf"),
        ('"l2":0.0', '"l2":1e400', "l2 is inf"),
        ('"l2":0.0', '"l2":NaN', "NaN is no number that JSON has"),
        ('"l2":0.0', f'"l2":{10**400}', "l2 is 1000"),
        ('"l2":0.0', f'"l2":{"9" * 5000}', "valid JSON"),
        ('"l2":0.0', f'"l2":{"[" * 100_000}', "nested too deeply"),
        ('"seed":', '"seed":true,"seeds":', "seed is True"),
        ('"format":', "'format':", "valid JSON"),
    ],
)  # fmt: skip
def test_recordings_that_are_none_are_refused(old, new, expected):
    clf = Perceptron(2, random_state=0).fit(CORNERS, LOGIC["and"])
    text = clf.trace_.recording(CORNERS, LOGIC["and"]).to_json()
    assert old in text
    with pytest.raises(ValueError, match=expected):
        from_json(text.replace(old, new, 1))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "label",
    ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--", "\u2028"],
)
def test_labels_are_text_on_a_page(label):
    labels = [label, "b", "b", "b"]
    recording = Perceptron(2).fit(CORNERS, labels).trace_.recording(CORNERS, labels)
    page = recording.to_html()
    data = page.partition('id="saved">')[2].partition("</script>")[0]
    assert "<" not in data
    assert label in json.loads(data)["run"]["recording"]["data"]["classes"]
    other = Perceptron(2).fit(CORNERS, ["a", "b", "b", "b"]).trace_
    plain = other.recording(CORNERS, ["a", "b", "b", "b"]).to_html()
    for mark in ("<", "<script", "\u2028"):
        assert page.count(mark) == plain.count(mark)


@pytest.mark.slow
def test_ten_thousand_steps_are_reported_some_at_a_time():
    many, y = overlapping(200, 2, seed=0)
    clf = Perceptron(50, patience=None, random_state=0).fit(many, y)
    reply = json.loads(clf.trace_.recording(many, y).to_json(count=4000))
    assert reply["total"] == 10_000
    assert len(reply["steps"]["arithmetic"]) == 4000


@pytest.mark.slow
def test_the_schema_refuses_what_another_checker_refuses():
    schema = json.loads(Path(PATH).read_text())
    rows, labels = X[:10], Y[:10]
    good = Perceptron(2, shuffle=False).fit(rows, labels).trace_.recording(rows, labels).to_dict()
    validator = jsonschema.Draft202012Validator(schema)
    for bad in broken_recordings(good, 100):
        ours = True
        try:
            check_recording(bad)
        except Mismatch:
            ours = False
        assert ours == validator.is_valid(bad)
