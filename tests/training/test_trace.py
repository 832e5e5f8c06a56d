"""Replays, bit for bit, and what is kept of the updated rows."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from conftest import CORNERS, LOGIC, overlapping, quiet
from sklearn.base import clone

from separatrix import (
    LBFGS,
    DualAscent,
    GradientDescent,
    KernelPerceptron,
    LeastSquares,
    LinearClassifier,
    Newton,
    Perceptron,
)
from separatrix.training import trace as trace_module

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


LEARNERS = [
    Perceptron(6, random_state=3, keep="average"),
    Perceptron(6, update="batch", start="sum", keep="last"),
    LinearClassifier(solver=GradientDescent(), max_iter=5),
    LinearClassifier("hinge", solver=GradientDescent(), max_iter=5),
    LinearClassifier(solver=GradientDescent(7), max_iter=4, random_state=1),
    LinearClassifier(solver=LBFGS()),
    LinearClassifier(solver=Newton()),
    LinearClassifier(solver=Newton(direct_weights=0)),
    LinearClassifier("squared", solver=LeastSquares()),
    LinearClassifier("hinge", solver=DualAscent()),
    LinearClassifier("logistic", solver=DualAscent()),
    KernelPerceptron(max_iter=5, random_state=0),
    KernelPerceptron(max_iter=5, budget=10, random_state=0),
]


def arrays(step):
    """Every array that a step has, by name."""
    parts = step._asdict() | {f"state {name}": value for name, value in step.state.items()}
    return {name: value for name, value in parts.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("clf", LEARNERS, ids=str)
def test_nobody_who_looks_at_a_step_can_change_it(clf):
    shown = []

    def meddle(step, info):
        shown.append([(array, array.copy()) for array in arrays(step).values()])
        for array in arrays(step).values():
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 1000000
        step.state.clear()

    alone = clone(clf).fit(X, Y)
    watched = clone(clf).set_params(callbacks=[meddle]).fit(X, Y)
    assert watched.stop_ == alone.stop_
    np.testing.assert_array_equal(watched.decision_function(X), alone.decision_function(X))
    assert len(shown) == watched.n_iter_
    for reported in shown:  # nor does what comes later
        assert reported
        for array, before in reported:
            np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize(
    "clf", [each for each in LEARNERS if hasattr(each, "partial_fit")], ids=str
)
def test_nor_what_a_replay_gives_or_the_trace_keeps(clf):
    clf = clone(clf).fit(X, Y)
    for step in clf.trace_.replay(X, Y):
        for array in arrays(step).values():
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 1000000
    np.testing.assert_array_equal(step.weights[:, :-1], last_weights(clf))
    for array in [clf.trace_.start, *(clf.trace_.rows or [])]:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 1000000


def last_weights(clf):
    """Of a fit that keeps its last; else of the same one that does."""
    if getattr(clf, "keep", "last") == "last":
        return clf.coef_
    return clone(clf).set_params(keep="last").fit(X, Y).coef_


def test_a_start_given_by_the_user_stays_writable():
    start = np.ones((1, 5))
    clf = Perceptron(6, start=start).fit(X, Y)
    start[:] = 7.0
    assert clf.trace_.start.tolist() == [[1.0] * 5]


def test_a_proven_model_cannot_be_falsified():
    def meddle(step, info):
        step.weights[:] = 1e6

    with pytest.raises(ValueError, match="read-only"):
        LinearClassifier(callbacks=[meddle]).fit(X, Y)
