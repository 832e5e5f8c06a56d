"""What is easy to get wrong: each of these once was, here or elsewhere."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from fractions import Fraction

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from conftest import CORNERS, LOGIC, overlapping, quiet
from sklearn.exceptions import ConvergenceWarning

from separatrix import (
    LBFGS,
    BatchPerceptron,
    Constant,
    GradientDescent,
    LeastSquares,
    LinearClassifier,
    Loss,
    MarginLoss,
    Newton,
    Perceptron,
    StepDecay,
)

X, Y = overlapping(300, 4, seed=1)


@pytest.mark.parametrize("offset", [1e3, 1e7, 1e8])
@pytest.mark.parametrize(
    "solver",
    [Newton(), Newton(direct_weights=0), LBFGS(), LBFGS(factored_features=0), GradientDescent()],
)
def test_a_large_mean_changes_nothing(offset, solver):
    reference = LinearClassifier(l2=1e-3, tol=1e-12).fit(X, Y).objective_
    clf = LinearClassifier(l2=1e-3, solver=solver).fit(X + offset, Y)
    assert clf.objective_ == pytest.approx(reference, rel=1e-8)


def test_seconds_since_1970_are_a_feature_like_any_other():
    rows = X * [1, 100, 1, 1]
    reference = LinearClassifier(l2=1e-3).fit(rows, Y).objective_
    assert LinearClassifier(l2=1e-3).fit(
        rows + np.array([0, 1.7e9, 0, 0]), Y
    ).objective_ == pytest.approx(reference, rel=1e-8)


@quiet
@pytest.mark.parametrize("batch", [4, 32, 100])
def test_mini_batches_come_near_the_minimum(batch):
    reference = LinearClassifier(l2=1e-2).fit(X, Y).objective_
    solver = GradientDescent(batch)
    clf = LinearClassifier(l2=1e-2, solver=solver, max_iter=200, random_state=0).fit(X, Y)
    assert clf.objective_ < reference * 1.01


def test_weights_that_repeat_with_mistakes_are_no_convergence():
    clf = Perceptron(shuffle=False, tol=1e-4, start=[1.0, 2.0, 0.0]).fit(CORNERS, LOGIC["xor"])
    assert (clf.stop_, clf.converged_) == ("cycle", False)


def test_iterated_least_squares_goes_on_until_it_has_arrived():
    rows = X * 10.0 ** np.array([-5, -1, 2, 5])
    exact = LinearClassifier("squared", l2=1e-8, solver=LeastSquares()).fit(rows, Y)
    clf = LinearClassifier("squared", l2=1e-8, solver=LeastSquares(direct_size=0)).fit(rows, Y)
    assert clf.objective_ == pytest.approx(exact.objective_, rel=1e-9)


def test_wide_sparse_rows_are_not_filled_in():
    rows = sp.random_array((50, 200_000), density=1e-4, rng=np.random.default_rng(0), format="csr")
    clf = LinearClassifier("squared", l2=1e-3).fit(rows, np.arange(50) % 2)
    assert clf.stop_ == "optimal"
    assert clf.score(rows, np.arange(50) % 2) > 0.9


@pytest.mark.parametrize("solver", ["auto", LBFGS(), GradientDescent(), GradientDescent(1)])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_features_whose_squares_overflow_are_refused(solver, loss):
    with pytest.raises(ValueError, match="squares overflows floating point; scale them"):
        LinearClassifier(loss, solver=solver).fit(X * 1e160, Y)


def test_a_loss_that_only_says_it_is_convex():
    class Bent(MarginLoss):
        def phi(self, m):
            return 1 / (1 + np.exp(m))

        def slope(self, m):
            return -self.phi(m) * (1 - self.phi(m))

        def curvature(self, m):
            return self.phi(m) * (1 - self.phi(m)) * (1 - 2 * self.phi(m))

    with pytest.raises(ValueError, match="set convex = False"):
        LinearClassifier(Bent(), l2=1e-3).fit(X, Y)


def test_a_loss_with_value_and_gradient_only():
    class Absolute(Loss):
        smooth = False

        def value(self, y, scores):
            return np.abs(y - scores[:, 0])

        def gradient(self, y, scores):
            return np.sign(scores - y[:, None])

    for solver in (GradientDescent(learning_rate=0.01), GradientDescent(1, learning_rate=0.01)):
        with pytest.warns(match=r"max_iter|once per row"):
            clf = LinearClassifier(Absolute(), solver=solver, max_iter=30).fit(X, Y)
        assert clf.score(X, Y) > 0.8


# ---- streams -----------------------------------------------------------------------------


def test_weights_count_across_chunks():
    weight = np.random.default_rng(0).integers(1, 5, 300).astype(float)
    plain, weighted = (Perceptron(shuffle=False, keep="last") for _ in range(2))
    for i in range(300):
        plain.partial_fit(X[i : i + 1], Y[i : i + 1], classes=[-1, 1])
        weighted.partial_fit(
            X[i : i + 1], Y[i : i + 1], classes=[-1, 1], sample_weight=weight[i : i + 1]
        )
    assert not np.allclose(plain.coef_, weighted.coef_)
    w, b = np.zeros(4), 0.0
    for i in range(300):
        if Y[i] * (w @ X[i] + b) <= 0:
            step = weight[i] * (i + 1) / weight[: i + 1].sum()
            w, b = w + step * Y[i] * X[i], b + step * Y[i]
    np.testing.assert_allclose(weighted.coef_[0], w, rtol=1e-12)


def test_a_chunk_without_mistakes_proves_nothing():
    clf = Perceptron(shuffle=False).partial_fit(X[:200], Y[:200])
    average = clf.coef_.copy()
    right = np.flatnonzero(clf.predict(X) == Y)[-1]
    clf.partial_fit(X[[right]], Y[[right]])
    assert (clf.stop_, clf.converged_) == ("max_iter", False)
    assert np.linalg.norm(clf.coef_ - average) < 0.1 * np.linalg.norm(average)
    xor = Perceptron(shuffle=False)
    for _ in range(3):
        assert xor.partial_fit(CORNERS, LOGIC["xor"]).stop_ != "cycle"


def test_a_penalty_that_comes_later():
    clf = Perceptron(learning_rate=0.1, shuffle=False, keep="last").partial_fit(X, Y)
    clf.set_params(l2=0.01).partial_fit(X, Y)
    first = oracles.perceptron(X, Y, 1, 0.1)
    second = oracles.perceptron(X, Y, 1, 0.1, 0.01, w=first["w"], b=first["b"])
    np.testing.assert_allclose(clf.coef_[0], second["w"], rtol=1e-9)


# ---- options that must do something ------------------------------------------------------


@quiet
@pytest.mark.parametrize(
    "solver",
    [
        GradientDescent(average=True),
        GradientDescent(learning_rate=0.1, average=True),
        GradientDescent(1, learning_rate=0.1, average=True),
    ],
)
def test_the_average_is_kept_where_it_is_asked_for(solver):
    clf = LinearClassifier(solver=solver, max_iter=5, tol=None, random_state=0).fit(X, Y)
    steps = [step for step in clf.trace_.replay(X, Y) if step.ends_pass]
    np.testing.assert_array_equal(clf.coef_, steps[-1].average[:, :-1])
    assert not np.array_equal(clf.coef_, steps[-1].weights[:, :-1])


def test_the_perceptron_loss_stops_without_mistakes():
    clf = LinearClassifier(
        "perceptron", l2=0.0, tol=None, solver=BatchPerceptron(), start="sum"
    ).fit(CORNERS, LOGIC["and"])
    assert (clf.stop_, clf.n_iter_) == ("no mistakes", 9)


@pytest.mark.parametrize(
    ("clf", "message"),
    [
        (Perceptron(learning_rate=Constant(0.0)), "begins with a step of 0"),
        (Perceptron(learning_rate=StepDecay(every=0)), "every must be 1 or more"),
        (LinearClassifier(solver=GradientDescent("a")), "batch_size must be None"),
        (LinearClassifier(solver=GradientDescent(2.0)), "batch_size must be None"),
        (LinearClassifier(solver=LBFGS(memory="a")), "memory must be a whole number"),
        (LinearClassifier(l2=1j), "l2 must be a finite number"),
    ],
)
def test_parameters_of_parameters(clf, message):
    with pytest.raises((TypeError, ValueError), match=message):
        clf.fit(X, Y)


@quiet
def test_a_batch_larger_than_the_data_is_all_of_it():
    fits = [
        LinearClassifier(
            solver=GradientDescent(size, shuffle=False, learning_rate=0.1), max_iter=3, tol=None
        ).fit(X, Y)
        for size in (10**13, None)
    ]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-10)


# ---- interrupts and lines ----------------------------------------------------------------


def test_an_interrupt_while_a_callback_predicts_keeps_the_model():
    clf = Perceptron(50, patience=None, random_state=0)

    def callback(step, info):
        if info.iteration == 3:
            os.kill(os.getpid(), signal.SIGINT)
            LinearClassifier().fit(X, Y).predict(np.zeros((10_000, 4)))

    clf.set_params(callbacks=[callback])
    with pytest.warns(UserWarning, match="interrupted after 3 passes"):
        clf.fit(X, Y)
    assert clf.stop_ == "interrupted"


def test_a_fit_that_fails_at_once_leaves_no_live_line(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    before = threading.active_count()
    with pytest.raises(ValueError, match="solves loss='squared' only"):
        LinearClassifier(solver=LeastSquares(), verbose=True).fit(X, Y)
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("rows", "y", "step"),
    [
        ([[0.7, -0.7], [-0.7, -2.0999999999999996]], [0, 1], 0.1),  # a margin that rounds to 0
        ([[1e-160, 2e-160], [-1e-160, -2e-160]], [0, 1], 1e-200),  # weights that underflow
    ],
)
def test_no_mistakes_is_said_of_the_returned_weights(rows, y, step):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = Perceptron(learning_rate=step, shuffle=False).fit(rows, y)
    weights = [*map(Fraction, clf.coef_[0]), Fraction(clf.intercept_[0])]
    for row, label in zip(rows, y, strict=True):
        score = sum(w * Fraction(x) for w, x in zip(weights, [*row, 1], strict=True))
        strictly_right = score > 0 if label else score < 0
        assert strictly_right or clf.stop_ != "no mistakes"
