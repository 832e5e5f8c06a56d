"""Replays, bit for bit, and what is kept of the updated rows."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from conftest import CORNERS, LOGIC, overlapping, quiet

from separatrix import LBFGS, GradientDescent, LinearClassifier, Perceptron
from separatrix import trace as trace_module

X, Y = overlapping(60, 4, seed=1)
pytestmark = quiet


def test_every_intermediate_weight_vector_of_and():
    clf = Perceptron(shuffle=False).fit(CORNERS, LOGIC["and"])
    steps = list(clf.trace_.replay(CORNERS, LOGIC["and"]))
    updates = [step for step in steps if step.rows is not None and step.mistakes is None]
    assert len(updates) == clf.n_updates_ == 18
    w, b, seen = np.zeros(2), 0.0, iter(updates)
    for _ in range(9):
        for i, (x, label) in enumerate(zip(CORNERS, LOGIC["and"], strict=True)):
            if label * (w @ x + b) <= 0:
                w, b = w + label * x, b + label
                step = next(seen)
                np.testing.assert_array_equal(step.weights, [[*w, b]])
                np.testing.assert_array_equal(step.rows, [i])


@pytest.mark.parametrize(
    "clf",
    [
        Perceptron(6, random_state=3, keep="last"),
        Perceptron(6, random_state=3, keep="last", l2=0.05, learning_rate=lambda t: 1 / t),
        Perceptron(6, update="batch", start="sum", keep="last"),
        LinearClassifier("hinge", max_iter=4, random_state=1, class_weight={-1: 2.0}),
        LinearClassifier(solver=GradientDescent(7), max_iter=4, random_state=1, start="random"),
        LinearClassifier(solver=LBFGS()),
        LinearClassifier("squared"),
    ],
)
def test_the_replay_ends_at_the_fit(clf):
    weight = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    clf.fit(X, Y, sample_weight=weight)
    steps = list(clf.trace_.replay(X, Y, sample_weight=weight))
    np.testing.assert_array_equal(steps[-1].weights[:, :-1], clf.coef_)
    np.testing.assert_array_equal(steps[-1].weights[:, -1], clf.intercept_)
    assert sum(step.mistakes is not None for step in steps) == clf.n_iter_


def test_partial_fits_replay_their_last_chunk():
    clf = Perceptron(keep="last", random_state=0)
    clf.partial_fit(X[:30], Y[:30], classes=[-1, 1])
    clf.partial_fit(X[30:], Y[30:])
    last = list(clf.trace_.replay(X[30:], Y[30:]))[-1]
    np.testing.assert_array_equal(last.weights[:, :-1], clf.coef_)


def test_the_rows_are_those_updated():
    clf = Perceptron(5, shuffle=False, keep="last").fit(X, Y)
    oracle = oracles.perceptron(X, Y, 5)
    assert [len(rows) for rows in clf.trace_.rows] == oracle["mistakes"]
    assert clf.trace_.updates_per_pass == oracle["mistakes"]
    np.testing.assert_array_equal(np.bincount(np.concatenate(clf.trace_.rows), minlength=60),
                                  oracle["strengths"])  # fmt: skip


def test_the_trace_is_bounded(monkeypatch):
    monkeypatch.setattr(trace_module, "MOST_BYTES", 100)
    clf = Perceptron(5, shuffle=False, keep="last").fit(X, Y)
    assert clf.trace_.rows is None
    assert clf.embedding_strengths_.sum() == clf.n_updates_
    last = list(clf.trace_.replay(X, Y))[-1]
    np.testing.assert_array_equal(last.weights[:, :-1], clf.coef_)


def test_another_shape_of_data_is_refused():
    clf = Perceptron(5).fit(X, Y)
    with pytest.raises(ValueError, match="X has 60 rows and 2 features, but the fit had 60 and 4"):
        clf.trace_.replay(X[:, :2], Y)
    with pytest.raises(ValueError, match="X has 30 rows"):
        clf.trace_.replay(X[:30], Y[:30])
    clf.fit(X, Y, sample_weight=np.full(60, 2.0))
    with pytest.raises(ValueError, match="pass the same sample_weight"):
        clf.trace_.replay(X, Y)


def test_zero_weights_count_in_the_length_of_the_strengths():
    weight = np.ones(60)
    weight[:5] = 0.0
    clf = Perceptron(5).fit(X, Y, sample_weight=weight)
    assert clf.embedding_strengths_.shape == (60,)
    assert not clf.embedding_strengths_[:5].any()
