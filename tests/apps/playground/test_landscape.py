"""Weight space against the objective in plain NumPy."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import quiet

from separatrix.apps.playground.landscape import landscape
from separatrix.apps.playground.methods import BadRequest
from separatrix.apps.playground.runs import PlaygroundRun

pytestmark = quiet
rng = np.random.default_rng(3)
TWO = [[*row, int(row[0] + 0.4 * rng.normal() > 0)] for row in rng.normal(size=(30, 2)).tolist()]
THREE = [[*(row + 2 * (i % 3)).tolist(), i % 3] for i, row in enumerate(rng.normal(size=(30, 2)))]
BOX = [-2.0, 2.5, -3.0, 1.0]


def logistic(y, scores):
    return np.log1p(np.exp(-np.where(y == 1, 1.0, -1.0) * scores[:, 0]))


def softmax(y, scores):
    return np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]


def wrong(y, scores):
    if scores.shape[1] == 1:
        return np.where(y == 1, 1.0, -1.0) * scores[:, 0] <= 0
    own = scores[np.arange(len(y)), y]
    return [max(np.delete(row, c)) >= mine for row, c, mine in zip(scores, y, own, strict=True)]


@pytest.mark.sampled
@pytest.mark.parametrize("of", ["objective", "mistakes"])
@pytest.mark.parametrize("axes", [[0, 1], [2, 0]])
@pytest.mark.parametrize(("points", "column"), [(TWO, 0), (THREE, 0), (THREE, 2)])
def test_bands_and_lines_are_those_of_the_objective(points, column, axes, of):
    method = {"name": "gradient_descent", "loss": "logistic", "form": "batch", "l2": 0.05}
    run = PlaygroundRun.of({"points": points, "method": method | {"max_iter": 5}})
    found = landscape(run, 4, {"axes": axes, "column": column, "of": of, "box": BOX})
    X, y = np.array(points)[:, :2], np.array(points)[:, 2].astype(int)

    def at(u, v):
        W = np.array(run.recording.to_dict()["steps"]["weights"][3])
        W[column, axes] = u, v
        scores = X @ W[:, :-1].T + W[:, -1]
        if of == "mistakes":
            return np.sum(wrong(y, scores))
        return (logistic if len(W) == 1 else softmax)(y, scores).mean() + 0.05 * np.sum(
            W[:, :-1] ** 2
        )

    size, levels = found["size"], [*found["levels"], np.inf]
    sides = np.linspace(*BOX[:2], size), np.linspace(*BOX[2:], size)
    for row, col in rng.integers(size, size=(40, 2)):
        band = ord(found["bands"][row * size + col]) - ord("a")
        value = at(sides[0][col], sides[1][row])
        assert levels[band] - 1e-9 <= value <= levels[band + 1] + 1e-9
    assert bool(found["lines"]) == (of == "objective")
    spread = levels[-2] - levels[0]
    for level, pieces in zip(levels[1:], found["lines"], strict=False):
        for piece in pieces[:: max(1, len(pieces) // 5)]:
            u = BOX[0] + piece[0] / 1000 * (BOX[1] - BOX[0])
            v = BOX[2] + piece[1] / 1000 * (BOX[3] - BOX[2])
            assert abs(at(u, v) - level) < 0.02 * spread


def test_features_have_a_weight_space_and_kernels_none():
    reply = {"axes": [0, 2], "box": BOX}
    run = PlaygroundRun.of({"points": TWO, "method": {"name": "radial_basis", "max_iter": 3}})
    assert len(json.dumps(landscape(run, 0, reply))) < 200_000
    run = PlaygroundRun.of({"points": TWO, "method": {"name": "kernel_perceptron", "max_iter": 3}})
    with pytest.raises(BadRequest, match="no weight space"):
        landscape(run, 0, reply)


@pytest.mark.parametrize(
    "question",
    [{"axes": [0, 0]}, {"axes": [0, 3]}, {"axes": [True, 2]}, {"axes": "01"}, {"column": 1},
     {"column": "0"}, {"of": "gold"}, {"of": ["objective"]}, {"box": [0, 1, 0]},
     {"box": [0, 1, 0, "1"]}, {"box": [0, 1e300, 0, 1]}],
)  # fmt: skip
def test_what_is_no_question_is_refused(question):
    run = PlaygroundRun.of({"points": TWO, "method": {"max_iter": 2}})
    with pytest.raises(BadRequest):
        landscape(run, 1, {"axes": [0, 1], "box": BOX} | question)
    for step in (-1, 10**6, None, True, "1"):
        with pytest.raises(BadRequest):
            landscape(run, step, {"axes": [0, 1], "box": BOX})


def test_a_run_that_diverges_has_its_landscape_too():
    method = {"name": "gradient_descent", "loss": "squared", "form": "batch", "learning_rate": 1e6}
    run = PlaygroundRun.of({"points": TWO, "method": method | {"max_iter": 45}})
    assert np.abs(run.recording.columns.weights).max() > 1e200
    found = landscape(run, 45, {"axes": [0, 1], "box": BOX})
    assert len(found["bands"]) == found["size"] ** 2
    assert json.dumps(run.facts(), allow_nan=False)
