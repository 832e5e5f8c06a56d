"""Challenges of the playground: what meets them, what nearly does, and what does not."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import quiet
from scipy.optimize import linprog

from separatrix.apps.playground.challenges import CHALLENGES, checked, listed
from separatrix.apps.playground.methods import BadRequest

pytestmark = quiet
FAR = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.6, 0.6, 1]]


def answer(challenge, points=None, **settings):
    one = CHALLENGES[challenge]
    points = one.points if points is None else points
    return checked({"name": challenge, "points": points, "method": one.method | settings})


def separable(points):
    """By a linear program: y (w x + b) >= 1 for all rows."""
    X = np.column_stack([np.array(points, float)[:, :2], np.ones(len(points))])
    y = np.where(np.array(points)[:, 2] == 1, 1.0, -1.0)
    found = linprog(np.zeros(3), -y[:, None] * X, -np.ones(len(X)), bounds=(None, None))
    return found.status == 0


def updates(points):
    X = np.column_stack([np.array(points, float)[:, :2], np.ones(len(points))])
    y = np.where(np.array(points)[:, 2] == 1, 1.0, -1.0)
    w, count, wrong = np.zeros(3), 0, True
    while wrong:
        wrong = False
        for row in range(len(X)):
            if y[row] * (X[row] @ w) <= 0.0:
                w, count, wrong = w + y[row] * X[row], count + 1, True
    return count


def test_there_are_five_and_none_is_met_at_the_beginning():
    assert len(CHALLENGES) == len(listed()) == 5
    for one in listed():
        found = checked({name: one[name] for name in ("name", "points", "method")})
        assert not found["done"], one["name"]
        assert found["text"]


def test_four_points_that_need_many_updates():
    found = answer("many updates", FAR)
    assert found == {"done": True, "text": f"The perceptron needs {updates(FAR)} updates."}
    assert updates(CHALLENGES["many updates"].points) == 18
    assert "18 updates" in answer("many updates")["text"]
    assert "5 points; expected four" in answer("many updates", [*FAR, [2, 2, 1]])["text"]
    assert "No line separates" in answer("many updates", [*FAR[:3], [0.4, 0.4, 1]])["text"]
    near = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.5001, 0.5001, 1]]
    assert answer("many updates", near)["done"]


def test_one_point_that_breaks_separability():
    start = CHALLENGES["one point"].points
    assert separable(start)
    for extra in ([0.2, -0.3, 1], [-2.0, -3.0, 1], [-5.0, 0.0, 0]):
        points = [*start, extra]
        assert answer("one point", points)["done"] == (not separable(points))
    moved = [[9.0, 9.0, 1], *start[1:], [0.2, -0.3, 1]]
    assert "must not move" in answer("one point", moved)["text"]
    two = [*start, [0.2, -0.3, 1], [0.2, -0.3, 1]]
    assert "2 were added" in answer("one point", two)["text"]


def test_a_step_that_diverges():
    one = CHALLENGES["diverging step"]
    X = np.column_stack([np.array(one.points, float)[:, :2], np.ones(len(one.points))])
    curvature = np.linalg.eigvalsh(2.0 * X.T @ X / len(X)).max()
    limit = 2.0 / curvature  # of the mean of (y - w x - b)^2
    assert answer("diverging step", learning_rate=float(1.3 * limit))["done"]
    assert not answer("diverging step", learning_rate=float(0.7 * limit))["done"]
    assert "gradient descent" in answer("diverging step", name="perceptron")["text"]


def test_the_points_of_xor():
    assert answer("xor", name="kernel_perceptron")["done"]
    assert answer("xor", name="radial_basis", gamma=1.0, centers=4)["done"]
    assert not answer("xor", name="least_squares")["done"]
    others = [*CHALLENGES["xor"].points[:3], [1, 1, 1]]
    assert "must not change" in answer("xor", others)["text"]


def test_a_penalty_that_costs_mistakes():
    assert separable(CHALLENGES["strong penalty"].points)
    assert answer("strong penalty", l2=1.0)["done"]
    assert not answer("strong penalty", l2=1e-4)["done"]
    assert "Newton" in answer("strong penalty", name="least_squares")["text"]
    crossed = [[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]]
    assert "No line separates" in answer("strong penalty", crossed, l2=1.0)["text"]


@pytest.mark.parametrize("name", [None, "nothing", ["xor"], 3])
def test_challenges_that_are_none(name):
    with pytest.raises(BadRequest, match="expected one of"):
        checked({"name": name, "points": FAR, "method": {}})
