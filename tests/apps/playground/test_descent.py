"""The page of descent against a plain loop, and what its ends are called."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.apps.playground.descent import CURVES, descent
from separatrix.apps.playground.methods import BadRequest

SLOPES = {"square": lambda x: 2 * x, "two minima": lambda x: 4 * x**3 - 4 * x + 0.5}


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(("start", "rate"), [(-1, 0.1), (0.7, 0.03), (1.5, 0.12)])
def test_the_walk_is_that_of_a_plain_loop(curve, start, rate):
    reply = descent({"curve": curve, "start": start, "learning_rate": rate})
    x = start
    for place, slope in zip(reply["path"], reply["gradients"], strict=True):
        assert place == pytest.approx(x, abs=1e-12)
        assert slope == pytest.approx(SLOPES[curve](x), abs=1e-12)
        x = x - rate * SLOPES[curve](x)
    assert len(reply["arithmetic"]) == len(reply["path"]) - 1
    assert len(reply["x"]) == len(reply["f"])


def test_the_slope_is_that_of_the_curve():
    for name, curve in CURVES.items():
        x = np.linspace(*curve.sides, 31)
        slope = (curve.function(x + 1e-6) - curve.function(x - 1e-6)) / 2e-6
        np.testing.assert_allclose(slope, SLOPES[name](x), atol=1e-6)
        for minimum in curve.minima:
            assert abs(SLOPES[name](minimum)) < 1e-9
            assert curve.function(minimum) < curve.function(minimum + 0.01)
            assert curve.function(minimum) < curve.function(minimum - 0.01)


@pytest.mark.parametrize(
    ("curve", "start", "rate", "stop", "words"),
    [("square", -1, 0.1, "converged", "the minimum"),
     ("square", -1, 1, "oscillating", "forever"),
     ("square", -1, 1.1, "diverging", "diverges"),
     ("square", -1, 0.001, "max_iter", "still moving"),
     ("two minima", -1.6, 0.05, "converged", "the minimum"),
     ("two minima", 1.6, 0.05, "converged", "not the lowest"),
     ("two minima", 1.0, 2.0, "diverging", "diverges")],
)  # fmt: skip
def test_ends_have_their_words(curve, start, rate, stop, words):
    reply = descent({"curve": curve, "start": start, "learning_rate": rate})
    assert reply["stop"] == stop
    assert words in reply["sentence"]
    assert np.isfinite(reply["path"]).all()
    assert np.isfinite(reply["values"]).all()


def test_the_update_is_written_out():
    reply = descent({"curve": "square", "start": -1, "learning_rate": 0.1})
    assert reply["arithmetic"][0] == "x <- x - 0.1 f'(x): -1 + 0.1*2 = -0.8"


@pytest.mark.parametrize(
    "question",
    [{"curve": "cube"}, {"curve": ["square"]}, {"start": 3}, {"start": None}, {"start": True},
     {"learning_rate": 0}, {"learning_rate": -1}, {"learning_rate": "0.1"}],
)  # fmt: skip
def test_what_is_no_question_is_refused(question):
    with pytest.raises(BadRequest):
        descent({"curve": "square", "start": -1, "learning_rate": 0.1} | question)
