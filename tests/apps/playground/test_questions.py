"""Questions of the playground: what is called right is what a perceptron in plain NumPy does."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import quiet

from separatrix.apps.playground.methods import BadRequest
from separatrix.apps.playground.questions import ENDINGS, NONE, REASONS, question
from separatrix.apps.playground.runs import PlaygroundRun

AND = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]
XOR = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]
TWICE = [[0, 0, 0], [1, 1, 1], [0, 0, 1], [2, 1, 1]]  # one place, two classes
TOUCHING = [[0, 0, 0], [1, 1, 0], [1, 1, 1], [2, 2, 1]]
OFF = [[0, 0, 0], [1, 2, 1], [3, 1, 0], [1, 1, 1], [2, 1, 1]]
THREE = [[0, 0, 0], [1, 0, 1], [0, 1, 2], [0.1, 0, 0], [1, 0.1, 1], [0.1, 1, 2]]
pytestmark = quiet


def scattered(seed, n=6):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, (n, 2)).tolist()
    return [[*row, i % 2] for i, row in enumerate(rows)]


def walk(points, passes):
    """(row, score before, score after) of every look of the perceptron, row by row."""
    X = np.column_stack([np.array(points, float)[:, :2], np.ones(len(points))])
    y = np.where(np.array(points)[:, 2] == 1, 1.0, -1.0)
    w, looks = np.zeros(3), []
    for _ in range(passes):
        wrong = 0
        for row in range(len(X)):
            before = X[row] @ w
            if y[row] * before <= 0.0:
                w = w + y[row] * X[row]
                wrong += 1
            looks.append((row, before, X[row] @ w))
        if not wrong:
            break
    return looks, wrong == 0


@pytest.mark.parametrize("points", [AND, XOR, scattered(0), scattered(1)])
def test_which_way_the_line_moves(points):
    run = PlaygroundRun.of({"points": points, "method": {"max_iter": 5}})
    looks, _ = walk(points, 5)
    rights = set()
    for step, (row, before, after) in enumerate(looks[: len(run.recording)]):
        asked = question(run, "way", step)
        right = 2 if before == after else 0 if after > before else 1
        assert (asked["row"], asked["right"]) == (row, right)
        assert f"{before:.4g}" in asked["reason"]
        assert f"Row {row} (class {points[row][2]}) is processed next" in asked["text"]
        rights.add(right)
    assert rights == ({0, 1} if points is XOR else {0, 1, 2})
    assert question(run, "way", 0)["choices"] == [
        f"Row 0 lies deeper in class {c}" for c in (1, 0)
    ] + ["It does not move"]
    ended = question(run, "way", len(run.recording))
    assert (ended["choices"], "has ended" in ended["text"]) == ([], True)


@pytest.mark.parametrize("points", [AND, XOR, scattered(0), scattered(1)])
def test_which_row_is_the_next_mistake(points):
    run = PlaygroundRun.of({"points": points, "method": {"max_iter": 5}})
    looks, _ = walk(points, 5)
    looks = looks[: len(run.recording)]
    wrong = [(step, row) for step, (row, before, after) in enumerate(looks) if before != after]
    for step in range(len(looks) + 1):
        asked = question(run, "mistake", step)
        later = [(at, row) for at, row in wrong if at >= step]
        assert asked["asks_row"]
        assert asked["choices"] == [NONE]
        assert asked["right_row"] == (later[0][1] if later else None)
        assert asked["right"] == (None if later else 0)
        assert asked["shows"] == (later[0][0] + 1 if later else None)


@pytest.mark.parametrize(
    "method",
    [{"shuffle": True}, {"name": "newton"}, {"name": "gradient_descent", "form": "stochastic"},
     {"name": "batch_perceptron"}],
)  # fmt: skip
def test_mistakes_are_asked_for_only_where_they_can_be_predicted(method):
    run = PlaygroundRun.of({"points": AND, "method": method | {"max_iter": 3}})
    asked = question(run, "mistake", 0)
    assert (asked["choices"], "in order" in asked["text"]) == ([], True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
def test_whether_a_perceptron_ever_stops(seed):
    points = [AND, XOR, TWICE, TOUCHING][seed] if seed < 4 else scattered(seed)
    _, stops = walk(points, 3000)
    for name in ("perceptron", "batch_perceptron"):
        run = PlaygroundRun.of({"points": points, "method": {"name": name, "max_iter": 2}})
        assert question(run, "stop", 0)["right"] == (0 if stops else 1), name


def test_a_kernel_separates_what_no_line_does():
    for kernel, degree, points, right in (
        ("rbf", 1, XOR, 0), ("rbf", 1, TWICE, 1), ("poly", 2, XOR, 0), ("linear", 1, XOR, 1),
    ):  # fmt: skip
        settings = {"name": "kernel_perceptron", "kernel": kernel, "degree": degree, "max_iter": 2}
        run = PlaygroundRun.of({"points": points, "method": settings})
        assert question(run, "stop", 1)["right"] == right, kernel


def test_without_a_bias_other_points_are_separable():
    aside = [[1, 1, 0], [2, 2, 1]]
    for bias, right in ((True, 0), (False, 1)):
        run = PlaygroundRun.of({"points": aside, "method": {"fit_intercept": bias, "max_iter": 2}})
        assert question(run, "stop", 0)["right"] == right


@pytest.mark.parametrize(
    ("settings", "points", "word"),
    [
        ({"name": "newton", "l2": 0.01}, XOR, "optimal"),
        ({"name": "least_squares"}, AND, "closed form"),
        ({"name": "newton", "l2": 0.0}, AND, "no minimum"),
        ({"name": "gradient_descent", "form": "batch", "loss": "squared", "learning_rate": 9.0},
         AND, "diverged"),
        ({"name": "gradient_descent", "form": "batch", "learning_rate": 1e-3, "max_iter": 3}, OFF,
         "max_iter"),
    ],
)  # fmt: skip
def test_how_other_runs_end(settings, points, word):
    run = PlaygroundRun.of({"points": points, "method": settings})
    asked = question(run, "stop", 0)
    (right,) = (i for i, words in enumerate(ENDINGS.values()) if word in words)
    assert run.clf.stop_ in ENDINGS[asked["choices"][asked["right"]]]
    assert asked["right"] == right
    assert REASONS[run.clf.stop_] in asked["reason"]


def test_every_word_of_a_fit_has_its_answer():
    words = [word for group in ENDINGS.values() for word in group]
    assert sorted(words) == sorted(REASONS)


def test_more_classes_and_batches():
    run = PlaygroundRun.of({"points": THREE, "method": {"max_iter": 3}})
    asked = question(run, "way", 0)
    assert asked["choices"][0] == "The lead of row 0's class grows"
    assert asked["right"] == 0
    settings = {"name": "gradient_descent", "form": "batch", "learning_rate": 0.1}
    run = PlaygroundRun.of({"points": OFF, "method": settings})
    W = run.recording.columns.weights[:, 0]
    X = np.column_stack([run.X, np.ones(len(OFF))])
    for step in (1, 2, 10):
        row = int(np.argmin(np.where(run.y == 1, 1, -1) * (X @ W[step])))
        asked = question(run, "way", step)
        assert asked["row"] == row
        assert "has the smallest margin" in asked["text"]
        assert asked["right"] == int(X[row] @ W[step + 1] < X[row] @ W[step])


def test_questions_that_are_none():
    run = PlaygroundRun.of({"points": AND, "method": {}})
    for kind, step in (("nothing", 0), (["way"], 0), ("way", -1), ("way", "0"), ("stop", 10**6)):
        with pytest.raises(BadRequest):
            question(run, kind, step)


def test_one_mistake_is_singular():
    run = PlaygroundRun.of({"points": [[-5, 0, 0], [5, 0, 1]], "method": {"max_iter": 2}})
    assert "after at most 1 mistake." in question(run, "stop", 0)["reason"]
