"""Recordings against loops in plain NumPy, and their words and schema."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest
from conftest import CORNERS, LOGIC, overlapping, quiet

from separatrix import (
    ArraySource,
    GradientDescent,
    InverseScaling,
    KernelPerceptron,
    LeastSquares,
    LinearClassifier,
    Newton,
    Perceptron,
)
from separatrix.training.recording import proof, saved
from separatrix.training.recording.recording import from_json
from separatrix.training.recording.schema import PATH

X, Y = overlapping(40, 2, seed=1)
THREE = np.arange(40) % 3
pytestmark = quiet

RUNS = {
    "online": Perceptron(4, shuffle=False),
    "shuffled": Perceptron(4, random_state=3),
    "with l2": Perceptron(4, l2=0.05, random_state=3, keep="best"),
    "batch from the sum": Perceptron(6, update="batch", start="sum"),
    "sequential": LinearClassifier(
        "logistic", solver=GradientDescent(1, shuffle=False, learning_rate=0.5), max_iter=3
    ),
    "stochastic": LinearClassifier(
        "hinge", solver=GradientDescent(1, learning_rate=InverseScaling(0.5)), max_iter=3,
        random_state=0,
    ),
    "mini-batch": LinearClassifier(
        "squared", solver=GradientDescent(7, learning_rate=0.1, average=True), max_iter=3,
        random_state=0,
    ),
    "adaptive": LinearClassifier(solver=GradientDescent(1), max_iter=4, random_state=0),
    "batch": LinearClassifier("tanh_squared", solver=GradientDescent(None, learning_rate=1.0)),
    "searched": LinearClassifier("squared_hinge", solver=GradientDescent()),
    "Newton": LinearClassifier(solver=Newton()),
    "least squares": LinearClassifier("squared", solver=LeastSquares()),
    "standardized": LinearClassifier(
        solver=GradientDescent(1, learning_rate=0.1), standardize=True, max_iter=2, random_state=0
    ),
    "dual": LinearClassifier("hinge", l2=0.01),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", RUNS)
def test_a_recording_ends_where_the_fit_ended_and_fits_its_schema(name, y):
    clf = RUNS[name].fit(X, y)
    recording = clf.trace_.recording(X, y)
    whole = json.loads(recording.to_json())
    jsonschema.validate(whole, json.loads(PATH.read_text()))
    replayed = list(clf.trace_.replay(X, y))
    np.testing.assert_array_equal(whole["steps"]["weights"][-1], replayed[-1].weights)
    assert len(whole["passes"]) == clf.n_iter_
    assert whole["passes"][-1] == whole["total"] == len(whole["steps"]["sentence"])
    assert (whole["cut"], whole["stop"]) == (False, clf.stop_)
    assert all(whole["steps"]["arithmetic"])


@pytest.mark.parametrize("name", ["online", "shuffled", "with l2"])
def test_every_look_of_the_perceptron(name):
    clf = RUNS[name].fit(X, Y)
    recording = clf.trace_.recording(X, Y)
    reply = recording.to_dict()["steps"]
    W, sign = np.zeros(3), np.where(Y.max() == Y, 1.0, -1.0)
    x = np.column_stack([X, np.ones(len(X))])
    seen = []
    for step, (row,) in enumerate(reply["rows"]):
        margin = sign[row] * (x[row] @ W)
        assert reply["margins"][step][0] == pytest.approx(margin, abs=1e-12)
        W = W * [1 - 2 * clf.l2, 1 - 2 * clf.l2, 1.0]
        if margin <= 0:
            W = W + sign[row] * x[row]
        assert reply["updated"][step] == ([row] if margin <= 0 else [])
        np.testing.assert_allclose(reply["weights"][step], [W], rtol=1e-12)
        margins = sign * (x @ W)
        assert reply["mistakes"][step] == np.sum(margins <= 0)
        value = np.mean(np.maximum(0.0, -margins)) + clf.l2 * (W[:2] @ W[:2])
        assert reply["objective"][step] == pytest.approx(value, rel=1e-9)
        assert reply["norm"][step] == pytest.approx(np.linalg.norm(W))
        seen.append(W)
        if reply["average"] is not None:
            np.testing.assert_allclose(reply["average"][step], [np.mean(seen, axis=0)], rtol=1e-9)
    for order in np.reshape(reply["rows"], (-1, len(X))):
        assert sorted(order) == list(range(len(X)))
    best = reply["best"][-1]
    ends = np.array(recording.columns.passes)
    assert best == ends[np.argmin(np.array(reply["mistakes"])[ends - 1])]


def test_gradient_descent_row_by_row():
    clf = LinearClassifier(
        "logistic", l2=0.1, solver=GradientDescent(1, shuffle=False, learning_rate=0.5), max_iter=2
    ).fit(X, Y)
    reply = clf.trace_.recording(X, Y).to_dict()["steps"]
    W, sign = np.zeros(3), np.where(Y.max() == Y, 1.0, -1.0)
    x = np.column_stack([X, np.ones(len(X))])
    for step, (row,) in enumerate(reply["rows"]):
        m = sign[row] * (x[row] @ W)
        decay = 1 - 2 * 0.5 * 0.1
        W = W * [decay, decay, 1.0] + 0.5 / (1 + np.exp(m)) * sign[row] * x[row]
        np.testing.assert_allclose(reply["weights"][step], [W], rtol=1e-9)
    assert reply["rows"][: len(X)] == [[row] for row in range(len(X))]


def test_changes_lead_from_weights_to_weights():
    for name in ("shuffled", "batch", "mini-batch"):
        whole = RUNS[name].fit(X, THREE).trace_.recording(X, THREE).to_dict()
        before = np.array(whole["start"]["weights"])
        for change, weights in zip(
            whole["steps"]["change"], whole["steps"]["weights"], strict=True
        ):
            after = before if change is None else before + change
            np.testing.assert_allclose(after, weights, rtol=1e-12, atol=1e-14)
            before = np.array(weights)


def test_the_words_of_the_first_steps():
    clf = Perceptron(shuffle=False, start=[[1.0, 0.0, 0.0]]).fit([[2.0, 1.0], [-1.0, 3.0]], [0, 1])
    recording = clf.trace_.recording([[2.0, 1.0], [-1.0, 3.0]], [0, 1])
    assert recording.arithmetic(1) == (
        "(w, b) <- (w, b) + y (x, 1): (1, 0, 0) - 1*(2, 1, 1) = (-1, -1, -1)"
    )
    assert recording.sentence(1) == (
        "Row 0 (class 0) is on the wrong side, margin -2: subtracting it raises its margin."
    )
    assert "lies on" not in recording.sentence(2)
    last = len(recording)
    assert recording.arithmetic(last).startswith("(w, b) stays (")
    assert recording.sentence(last).endswith("ends without a mistake: every row is on its side.")


def test_written_numbers_add_up():
    """Every ``old + gain*x = new`` in the arithmetic is true to the digits shown."""
    for name in ("online", "with l2", "sequential", "stochastic"):
        clf = RUNS[name].fit(X, Y)
        recording = clf.trace_.recording(X, Y)
        for step in range(1, len(recording) + 1):
            text = recording.arithmetic(step)
            if "*(" not in text:
                continue
            left, right = text.split(": ")[1].split(" = ")
            old, rest = left.split(") ", 1)
            sign, (gain, x) = rest[0], rest[2:].split("*")
            numbers = [np.array(eval(part)) for part in (old + ")", x, right)]
            gain = float(gain) * (-1 if sign == "-" else 1)
            np.testing.assert_allclose(
                numbers[0] + gain * numbers[1], numbers[2], rtol=1e-4, atol=1e-4
            )


def test_bounds_of_theory():
    clf = Perceptron(shuffle=False).fit(CORNERS, LOGIC["and"])
    recording = clf.trace_.recording(CORNERS, LOGIC["and"])
    assert clf.n_updates_ <= recording.bounds["updates"] == pytest.approx(51.0)
    batch = Perceptron(update="batch", start="sum").fit(CORNERS, LOGIC["and"])
    reply = batch.trace_.recording(CORNERS, LOGIC["and"])
    passes = sum(bool(len(rows)) for rows in reply.columns.updated)
    assert passes <= reply.bounds["updates"] < np.inf
    assert Perceptron(3).fit(X, Y).trace_.recording(X, Y).bounds["updates"] is None
    fit = LinearClassifier(l2=0.1, tol=1e-10).fit(X, Y)
    bound = fit.trace_.recording(X, Y).bounds["objective"]
    assert bound == pytest.approx(fit.objective_, rel=1e-6)
    assert bound <= fit.objective_


def test_a_bound_that_takes_too_much_work_is_undecided(monkeypatch):
    monkeypatch.setattr(proof, "MOST_WORK", 1.0)
    xor = Perceptron(max_iter=3).fit(CORNERS, LOGIC["xor"])  # no single feature decides it
    recording = xor.trace_.recording(CORNERS, LOGIC["xor"])
    assert from_json(recording.to_json())["bounds"] == {
        "updates": None, "undecided": True, "objective": None,
    }  # fmt: skip
    monkeypatch.setattr(saved, "MOST_WORK", 1.0)
    assert "Separability is undecided within the budget of work." in recording.to_html()
    penalised = Perceptron(l2=0.1).fit(CORNERS, LOGIC["and"])
    reply = penalised.trace_.recording(CORNERS, LOGIC["and"]).bounds
    assert "undecided" not in reply  # theory says nothing there


def test_parts_of_a_recording_make_the_whole():
    clf = Perceptron(4, random_state=0).fit(X, Y)
    recording = clf.trace_.recording(X, Y)
    whole = recording.to_dict()["steps"]
    parts = [recording.to_dict(first, 50)["steps"] for first in range(1, len(recording) + 1, 50)]
    for name, column in whole.items():
        joined = None if column is None else [one for part in parts for one in part[name]]
        assert joined == column
    short = clf.trace_.recording(X, Y, max_steps=50)
    assert (len(short), short.columns.cut) == (50, True)
    assert short.to_dict()["steps"] == parts[0]
    with pytest.raises(ValueError, match="first must be a step"):
        recording.to_dict(0)


def test_weighted_rows_classes_and_sources():
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    clf = Perceptron(3, random_state=0, class_weight={Y.max(): 2.0})
    clf.fit(X, Y, sample_weight=weight)
    with pytest.raises(ValueError, match="sample_weight"):
        clf.trace_.recording(X, Y)
    reply = clf.trace_.recording(X, Y, weight).to_dict()["steps"]
    assert {row for (row,) in reply["rows"]} == set(np.flatnonzero(weight))
    np.testing.assert_array_equal(
        reply["weights"][-1], list(clf.trace_.replay(X, Y, weight))[-1][0]
    )
    source = ArraySource(X, np.where(Y.max() == Y, 1.0, -1.0), np.unique(Y))
    of_source = Perceptron(3, shuffle=False).fit(source)
    of_arrays = Perceptron(3, shuffle=False).fit(X, Y)
    assert (
        of_source.trace_.recording(source).to_dict()["steps"]
        == (of_arrays.trace_.recording(X, Y).to_dict()["steps"])
    )


def test_wide_rows_tell_no_weights_and_many_rows_are_refused():
    wide = np.random.default_rng(0).normal(size=(20, 40))
    y = np.arange(20) % 2
    reply = Perceptron(3, shuffle=False).fit(wide, y).trace_.recording(wide, y).to_dict()
    assert reply["steps"]["weights"] == [None] * reply["total"]
    assert "mistake" in reply["steps"]["arithmetic"][0]
    many = np.zeros((2001, 1))
    labels = np.arange(2001) % 2
    clf = Perceptron(1, shuffle=False).fit(many, labels)
    with pytest.raises(ValueError, match="2,000"):
        clf.trace_.recording(many, labels)


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_the_kernel_perceptron_by_hand(y):
    clf = KernelPerceptron(gamma=1.0, max_iter=3, random_state=2, keep="last").fit(X, y)
    recording = clf.trace_.recording(X, y)
    whole = from_json(recording.to_json())
    K = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2)) + 1.0
    k = 1 if len(np.unique(y)) == 2 else 3
    scores, coefficients = np.zeros((len(X), k)), np.zeros((k, len(X)))
    of = np.searchsorted(np.unique(y), y)
    steps = whole["steps"]
    for step, (row,) in enumerate(steps["rows"]):
        if k == 1:
            margin = (2 * of[row] - 1) * scores[row, 0]
        else:
            margin = scores[row, of[row]] - np.delete(scores[row], of[row]).max()
        assert steps["margins"][step][0] == pytest.approx(margin, abs=1e-9)
        assert (
            bool(steps["coefficients"][step]) == (margin <= 1e-12) == bool(steps["updated"][step])
        )
        for column, at, amount in steps["coefficients"][step]:
            coefficients[int(column), int(at)] += amount
            scores[:, int(column)] += amount * K[int(at)]
        norm = np.sqrt(np.einsum("ki,ij,kj->", coefficients, K, coefficients))
        assert steps["norm"][step] == pytest.approx(norm, abs=1e-9)
    support = np.zeros((k, len(X)))
    support[:, clf.support_] = clf.dual_coef_
    np.testing.assert_allclose(coefficients, support)
    assert whole["method"]["kernel"]["kernel"] == "Gaussian"
    assert " <- a_" in next(text for text in steps["arithmetic"] if "<-" in text)


def test_a_kernel_with_a_budget_is_refused():
    clf = KernelPerceptron(budget=5, max_iter=2).fit(X, Y)
    with pytest.raises(ValueError, match="budget"):
        clf.trace_.recording(X, Y)
