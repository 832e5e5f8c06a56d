"""Each way to train of the course against an oracle in the plainest NumPy."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from conftest import CORNERS, LOGIC, overlapping

from separatrix import (
    LBFGS,
    GradientDescent,
    InverseScaling,
    LeastSquares,
    LinearClassifier,
    Newton,
    Perceptron,
)

INTEGERS = np.random.default_rng(3).integers(-4, 5, (60, 6)).astype(float)
LABELS = np.where(np.random.default_rng(4).random(60) < 0.5, 1, -1)


# ---- 1. PerceptronTrain ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "w", "b", "passes", "strengths"),
    [("and", [3, 2], -4, 9, [2, 5, 4, 7]), ("or", [2, 2], -1, 6, [5, 2, 2, 0])],
)
def test_perceptron_train_on_logic(name, w, b, passes, strengths):
    clf = Perceptron(shuffle=False).fit(CORNERS, LOGIC[name])
    np.testing.assert_array_equal(clf.coef_, [w])
    np.testing.assert_array_equal(clf.intercept_, [b])
    assert (clf.n_iter_, clf.stop_, clf.converged_) == (passes, "no mistakes", True)
    np.testing.assert_array_equal(clf.embedding_strengths_, strengths)
    assert clf.n_updates_ == sum(strengths)


def test_perceptron_train_cycles_on_xor():
    clf = Perceptron(shuffle=False).fit(CORNERS, LOGIC["xor"])
    assert clf.stop_ == "cycle"
    assert clf.n_iter_ <= 2
    assert not clf.converged_


@pytest.mark.parametrize("step", [1.0, 0.5, 2.0])
@pytest.mark.parametrize("passes", [1, 7])
def test_perceptron_train_bit_for_bit(step, passes):
    oracle = oracles.perceptron(INTEGERS, LABELS, passes, step)
    clf = Perceptron(passes, learning_rate=step, shuffle=False, keep="last", patience=None)
    clf.fit(INTEGERS, LABELS)
    np.testing.assert_array_equal(clf.coef_[0], oracle["w"])
    assert clf.intercept_[0] == oracle["b"]
    np.testing.assert_array_equal(clf.embedding_strengths_, oracle["strengths"])
    np.testing.assert_array_equal(clf.history_["mistakes"], oracle["mistakes"])


def test_the_step_only_rescales():
    unit = Perceptron(shuffle=False).fit(CORNERS, LOGIC["and"])
    tenth = Perceptron(shuffle=False, learning_rate=0.1).fit(CORNERS, LOGIC["and"])
    np.testing.assert_array_equal(tenth.coef_, 0.1 * unit.coef_)
    assert tenth.n_iter_ == unit.n_iter_
    # In plain floating point the same run takes another path.
    assert len(oracles.perceptron(CORNERS, LOGIC["and"], 100, 0.1)["mistakes"]) != 9


def test_perceptron_train_average_and_best():
    oracle = oracles.perceptron(INTEGERS, LABELS, 10)
    average = Perceptron(10, shuffle=False, keep="average").fit(INTEGERS, LABELS)
    np.testing.assert_allclose(average.coef_[0], oracle["average"][0], rtol=1e-14)
    np.testing.assert_allclose(average.intercept_[0], oracle["average"][1], rtol=1e-14)
    wrong = [np.sum(LABELS * (INTEGERS @ w + b) <= 0) for w, b in oracle["ends"]]
    w, b = oracle["ends"][int(np.argmin(wrong))]
    best = Perceptron(10, shuffle=False, keep="best").fit(INTEGERS, LABELS)
    np.testing.assert_array_equal(best.coef_[0], w)
    assert best.intercept_[0] == b
    mean_w, mean_b = oracle["average"]
    of_average = np.sum(LABELS * (INTEGERS @ mean_w + mean_b) <= 0)
    auto = Perceptron(10, shuffle=False).fit(INTEGERS, LABELS)
    expected = average if of_average <= min(wrong) else best
    np.testing.assert_array_equal(auto.coef_, expected.coef_)


def test_sample_weights_scale_the_step():
    weight = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    oracle = oracles.perceptron(INTEGERS, LABELS, 4, weight=weight)
    clf = Perceptron(4, shuffle=False, keep="last").fit(INTEGERS, LABELS, sample_weight=weight)
    np.testing.assert_allclose(clf.coef_[0], oracle["w"], rtol=1e-12)


# ---- 2. with L2 --------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [1e-4, 1e-2, 0.3])
def test_perceptron_with_l2(l2):
    oracle = oracles.perceptron(INTEGERS, LABELS, 5, 0.5, l2)
    clf = Perceptron(5, learning_rate=0.5, l2=l2, shuffle=False, keep="last")
    clf.fit(INTEGERS, LABELS)
    np.testing.assert_allclose(clf.coef_[0], oracle["w"], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(clf.intercept_[0], oracle["b"], rtol=1e-12)


def test_with_l2_a_clean_pass_does_not_end_the_run():
    clf = Perceptron(30, l2=1e-3, shuffle=False).fit(CORNERS, LOGIC["or"])
    assert clf.stop_ != "no mistakes"


# ---- 3. batch perceptron -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "w", "b", "passes"), [("and", [2, 2], -3, 9), ("or", [2, 2], -1, 4)]
)
def test_batch_perceptron_on_logic(name, w, b, passes):
    clf = Perceptron(update="batch", start="sum").fit(CORNERS, LOGIC[name])
    np.testing.assert_array_equal(clf.coef_, [w])
    assert (clf.intercept_[0], clf.n_iter_, clf.stop_) == (b, passes, "no mistakes")
    *_, strengths = oracles.batch_perceptron(CORNERS, np.array(LOGIC[name]), 20)
    np.testing.assert_array_equal(clf.embedding_strengths_, strengths)
    assert clf.n_updates_ == strengths.sum()


def test_batch_perceptron_bit_for_bit():
    w, b, passes, strengths = oracles.batch_perceptron(INTEGERS, LABELS, 25, step=0.5)
    clf = Perceptron(25, update="batch", start="sum", learning_rate=0.5, keep="last")
    clf.set_params(patience=None).fit(INTEGERS, LABELS)
    np.testing.assert_array_equal(clf.coef_[0], w)
    assert (clf.intercept_[0], clf.n_iter_) == (b, passes)
    np.testing.assert_array_equal(clf.embedding_strengths_, strengths)


def test_batch_perceptron_ends_at_max_norm_and_refuses_l2():
    clf = Perceptron(update="batch", start="sum", max_norm=1.5, keep="last")
    assert clf.fit(CORNERS, LOGIC["or"]).stop_ == "max_norm"
    with pytest.raises(ValueError, match="takes no penalty"):
        Perceptron(update="batch", l2=0.1).fit(CORNERS, LOGIC["or"])


def test_batch_perceptron_on_xor_does_not_stop_as_correct():
    clf = Perceptron(update="batch", start="sum").fit(CORNERS, LOGIC["xor"])
    assert clf.stop_ == "cycle"


# ---- 4. gradient descent in its four forms -----------------------------------------------


@pytest.mark.parametrize("loss", sorted(oracles.VALUE))
@pytest.mark.parametrize("batch", [None, 1, 7])
@pytest.mark.parametrize("step", [0.05, InverseScaling(0.2, 0.5)])
def test_gradient_descent(loss, batch, step):
    X, y = overlapping(50, 4)
    w, b = oracles.descent(loss, X, y, 0.01, step, 5, batch=batch)
    solver = GradientDescent(batch, shuffle=False, learning_rate=step)
    clf = LinearClassifier(loss, l2=0.01, solver=solver, max_iter=5, tol=None)
    with pytest.warns(match="max_iter=5"):
        clf.fit(X, y)
    W = clf.trace_.solver and list(clf.trace_.replay(X, y))[-1].weights[0]  # before any pocket
    np.testing.assert_allclose(W, np.append(w, b), rtol=1e-11, atol=1e-13)
    if loss != "perceptron":
        np.testing.assert_array_equal(clf.coef_[0], W[:-1])
        np.testing.assert_allclose(
            clf.objective_, oracles.objective(loss, X, y, w, b, 0.01), rtol=1e-10
        )


def test_stochastic_descent_draws_a_permutation_every_pass():
    X, y = overlapping(30, 3)
    solver = GradientDescent(1, learning_rate=0.1)
    clf = LinearClassifier("perceptron", solver=solver, max_iter=4, tol=None, random_state=5)
    with pytest.warns(match="max_iter"):
        clf.fit(X, y)
    passes = [p for p in clf.trace_.rows if len(p)]
    assert all(len(set(rows)) == len(rows) for rows in passes)
    assert len({tuple(rows) for rows in passes}) == len(passes)


# ---- 5. higher order, 6. closed form -----------------------------------------------------


@pytest.mark.parametrize("solver", [LBFGS(), Newton(), Newton(direct_weights=0)])
def test_higher_order_reaches_the_logistic_minimum(solver):
    X, y = overlapping(150, 6)
    w, value = oracles.newton(X, y, 1e-3)
    clf = LinearClassifier(l2=1e-3, solver=solver, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(clf.objective_, value, rtol=1e-12)
    np.testing.assert_allclose(clf.coef_[0], w[:-1], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("l2", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("shape", [(40, 5), (5, 40), (30, 30)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", [LeastSquares(), LeastSquares(direct_size=0)])
def test_closed_form_is_the_pseudo_inverse(l2, shape, intercept, solver):
    X, y = overlapping(*shape)
    X[:, -1] = X[:, 0]  # rank deficient
    mean = X.mean(axis=0) * intercept
    target = y.mean() * intercept
    A, r = X - mean, y - target
    if l2:
        A = np.vstack([A, np.sqrt(l2 * len(y)) * np.eye(A.shape[1])])
        r = np.append(r, np.zeros(A.shape[1]))
    w = np.linalg.pinv(A) @ r
    options = {"tol": 1e-13} if solver.direct_size == 0 else {}
    clf = LinearClassifier("squared", l2=l2, solver=solver, fit_intercept=intercept, **options)
    clf.fit(X, y)
    # J rises by l2 times the square of the way from its minimum, at least.
    off = 1e-8 + (np.sqrt(clf.gap_ / l2) if l2 else 0.0)
    np.testing.assert_allclose(clf.coef_[0], w, atol=off)
    np.testing.assert_allclose(
        clf.intercept_[0], target - w @ mean, atol=off * (1.0 + np.linalg.norm(mean))
    )
    assert clf.stop_ in (("optimal",) if l2 else ("closed form", "optimal"))
    assert (
        clf.gap_ is None
        or clf.objective_ - clf.gap_ <= np.mean((y - X @ w - target + mean @ w) ** 2) + l2 * w @ w
    )
