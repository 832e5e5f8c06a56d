"""Recordings against runs of the same methods in plain NumPy, written anew, one per family."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import overlapping, quiet

from separatrix import (
    GradientDescent,
    InverseScaling,
    LeastSquares,
    LinearClassifier,
    Newton,
    Perceptron,
)

X, Y = overlapping(40, 2, seed=1)
ONES = np.column_stack([X, np.ones(len(X))])
SIGN = np.where(Y.max() == Y, 1.0, -1.0)
THREE = np.arange(40) % 3
pytestmark = quiet


def reply(clf, y=Y):
    return clf.fit(X, y).trace_.recording(X, y).to_dict()


def follows(whole, weights, objective):
    """The recording has these weights after each of its steps, and this value of them."""
    steps = whole["steps"]
    np.testing.assert_allclose(steps["weights"], weights, rtol=1e-8, atol=1e-11)
    values = [objective(W) for W in np.array(weights)]
    np.testing.assert_allclose(steps["objective"], values, rtol=1e-8, atol=1e-12)
    lengths = [np.sqrt(np.sum(np.square(W))) for W in weights]
    np.testing.assert_allclose(steps["norm"], lengths, rtol=1e-8)


# ---- the perceptron, row by row, more than two classes (two are in test_recording) -----------


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_perceptron_row_by_row_for_three_classes(shuffle):
    whole = reply(Perceptron(4, shuffle=shuffle, random_state=1, patience=None), THREE)
    W, weights = np.zeros((3, 3)), []
    for step, (row,) in enumerate(whole["steps"]["rows"]):
        scores = W @ ONES[row]
        rivals = np.delete(np.arange(3), THREE[row])
        best = rivals[np.argmax(scores[rivals])]
        wrong = scores[THREE[row]] <= scores[best]
        margin = scores[THREE[row]] - scores[best]
        assert whole["steps"]["margins"][step] == pytest.approx([margin], abs=1e-12)
        assert bool(whole["steps"]["updated"][step]) == wrong
        if wrong:
            W = W.copy()
            W[THREE[row]] += ONES[row]
            W[best] -= ONES[row]
        weights.append(W)

    def objective(W):
        scores = ONES @ W.T
        own = scores[np.arange(40), THREE]
        scores[np.arange(40), THREE] = -np.inf
        return np.mean(np.maximum(0.0, scores.max(axis=1) - own))

    follows(whole, weights, objective)
    orders = np.reshape(whole["steps"]["rows"], (-1, 40))
    assert all(sorted(order) == list(range(40)) for order in orders)
    assert (list(orders[0]) == list(range(40))) != shuffle


# ---- the batch perceptron --------------------------------------------------------------------


@pytest.mark.parametrize("start", ["sum", "zeros"])
def test_the_batch_perceptron_adds_the_sum_of_the_mistakes(start):
    whole = reply(Perceptron(9, update="batch", start=start, learning_rate=0.5, patience=None))
    W = SIGN @ ONES if start == "sum" else np.zeros(3)
    np.testing.assert_allclose(whole["start"]["weights"], [W])
    weights, wrong = [], []
    for _ in range(whole["total"]):
        rows = np.flatnonzero(SIGN * (ONES @ W) <= 0)
        wrong.append(rows.tolist())
        W = W + 0.5 * SIGN[rows] @ ONES[rows]
        weights.append([W])
    assert whole["steps"]["updated"] == wrong
    assert all(rows is None for rows in whole["steps"]["rows"])
    follows(whole, weights, lambda W: np.mean(np.maximum(0.0, -SIGN * (ONES @ W[0]))))


# ---- gradient descent ------------------------------------------------------------------------

SLOPES = {
    "perceptron": (lambda m: np.maximum(0.0, -m), lambda m: -1.0 * (m <= 0)),
    "hinge": (lambda m: np.maximum(0.0, 1 - m), lambda m: -1.0 * (m < 1)),
    "squared_hinge": (lambda m: np.maximum(0.0, 1 - m) ** 2, lambda m: -2 * np.maximum(0.0, 1 - m)),
    "logistic": (lambda m: np.logaddexp(0.0, -m), lambda m: -1 / (1 + np.exp(m))),
    "squared": (lambda m: (1 - m) ** 2, lambda m: -2 * (1 - m)),
    "tanh_squared": (
        lambda m: (np.tanh(m) - 1) ** 2,
        lambda m: 2 * (np.tanh(m) - 1) / np.cosh(m) ** 2,
    ),
}


@pytest.mark.parametrize("size", [None, 7, 1], ids=["batch", "mini-batch", "one row"])
@pytest.mark.parametrize("loss", SLOPES)
def test_gradient_descent_on_each_loss(loss, size):
    phi, slope = SLOPES[loss]
    solver = GradientDescent(size, learning_rate=InverseScaling(0.2), average=True)
    clf = LinearClassifier(loss, l2=0.05, solver=solver, max_iter=4, tol=None, random_state=2)
    whole = reply(clf)
    W, weights = np.zeros(3), []
    for t, rows in enumerate(whole["steps"]["rows"], 1):
        chosen = np.arange(40) if rows is None else np.array(rows)
        step = 0.2 / np.sqrt(t)
        m = SIGN[chosen] * (ONES[chosen] @ W)
        gradient = (slope(m) * SIGN[chosen]) @ ONES[chosen] / len(chosen)
        W = W - step * (gradient + 2 * 0.05 * W * [1, 1, 0])
        weights.append([W])

    def objective(W):
        return np.mean(phi(SIGN * (ONES @ W[0]))) + 0.05 * np.sum(W[0, :2] ** 2)

    follows(whole, weights, objective)
    if size is None:
        assert whole["total"] == 4
    else:
        seen = [row for rows in whole["steps"]["rows"] for row in rows]
        assert [sorted(one) for one in np.reshape(seen, (4, 40))] == [list(range(40))] * 4


def test_gradient_descent_on_softmax():
    solver = GradientDescent(None, learning_rate=0.3)
    whole = reply(LinearClassifier("logistic", l2=0, solver=solver, max_iter=6, tol=None), THREE)
    target = np.eye(3)[THREE]
    W, weights = np.zeros((3, 3)), []
    for _ in range(6):
        e = np.exp(ONES @ W.T)
        p = e / e.sum(axis=1, keepdims=True)
        W = W - 0.3 * (p - target).T @ ONES / 40
        weights.append(W)

    def objective(W):
        scores = ONES @ W.T
        return np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(40), THREE])

    follows(whole, weights, objective)


# ---- all rows at once ------------------------------------------------------------------------


def test_newton_takes_the_whole_step_near_the_minimum():
    whole = reply(LinearClassifier("logistic", l2=0.1, solver=Newton(), tol=1e-12))
    before = np.array(whole["steps"]["weights"][-2][0])
    free = 0.1 * np.array([1.0, 1.0, 0.0])
    s = ONES @ before
    p = 1 / (1 + np.exp(-s))
    gradient = (p - (SIGN > 0)) @ ONES / 40 + 2 * free * before
    hessian = (ONES * (p * (1 - p))[:, None]).T @ ONES / 40 + 2 * np.diag(free)
    after = before - np.linalg.solve(hessian, gradient)
    np.testing.assert_allclose(whole["steps"]["weights"][-1], [after], rtol=1e-7, atol=1e-10)


def test_least_squares_is_numpys():
    whole = reply(LinearClassifier("squared", l2=0, solver=LeastSquares()))
    best = np.linalg.lstsq(ONES, SIGN, rcond=None)[0]
    np.testing.assert_allclose(whole["steps"]["weights"][-1], [best], rtol=1e-8)
    follows(whole, [[best]], lambda W: np.mean((1 - SIGN * (ONES @ W[0])) ** 2))
