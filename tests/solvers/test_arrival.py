"""Default fits of many classes arrive at their minimum, whatever the penalty and the shape."""

from __future__ import annotations

import warnings
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from separatrix import L2, LBFGS, ArraySource, DualAscent, LinearClassifier, Objective, get_loss


def columns(X, y, W, b, l2):
    """J of the squared hinge with one column per class, and its derivatives, in plain NumPy."""
    T = np.where(y[:, None] == np.arange(len(W)), 1.0, -1.0)
    lack = np.maximum(0.0, 1.0 - T * (X @ W.T + b))
    G = -2.0 * T * lack / len(y)
    return (lack**2).sum() / len(y) + l2 * (W**2).sum(), G.T @ X + 2.0 * l2 * W, G.sum(axis=0)


def softmax(X, y, W, b, l2):
    """The same of the softmax."""
    S = X @ W.T + b
    S -= S.max(axis=1, keepdims=True)
    P = np.exp(S)
    total = P.sum(axis=1)
    G = P / total[:, None]
    G[np.arange(len(y)), y] -= 1.0
    J = np.mean(np.log(total) - S[np.arange(len(y)), y]) + l2 * (W**2).sum()
    return J, (G / len(y)).T @ X + 2.0 * l2 * W, G.mean(axis=0)


def least(function, X, y, k, l2):
    """By SciPy's BFGS, from zeros."""
    d = X.shape[1]

    def flat(v):
        V = v.reshape(k, d + 1)
        J, by_w, by_b = function(X, y, V[:, :-1], V[:, -1], l2)
        return J, np.column_stack([by_w, by_b]).ravel()

    options = {"gtol": 1e-9, "maxiter": 100_000}
    return minimize(flat, np.zeros(k * (d + 1)), jac=True, method="BFGS", options=options).fun


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("loss", "function"), [("squared_hinge", columns), ("logistic", softmax)])
@pytest.mark.parametrize("seed", range(8))
def test_classes_of_one_row_do_not_slow_lbfgs_down(loss, function, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((16, 5))
    y = np.append(np.arange(6), rng.integers(0, 6, 10))
    fit = LinearClassifier(loss, solver=LBFGS()).fit(X, y)
    J = function(X, y, fit.coef_, fit.intercept_, fit.l2)[0]
    assert fit.stop_ == "optimal"
    assert fit.n_iter_ <= 250
    assert fit.objective_ == pytest.approx(J, rel=1e-12)
    assert abs(J - least(function, X, y, 6, fit.l2)) <= 1e-6 * J


# ---- Crammer and Singer's hinge


def crammer_singer(X, y, W, b, l2, weight=None):
    """J in plain NumPy."""
    S = X @ W.T + b
    each = np.arange(len(y))
    above = S + 1.0 - S[each, y][:, None]
    above[each, y] = 0.0
    return np.average(above.max(axis=1), weights=weight) + l2 * (W**2).sum()


def clusters(n, d, k, apart, seed):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    return rng.standard_normal((n, d)) + apart * rng.standard_normal((k, d))[y], y


SHAPES = [(60, 200, 5, 0.0), (40, 40, 6, 0.0), (150, 8, 4, 2.0), (150, 8, 4, 0.5), (90, 5, 10, 1.0)]


@pytest.mark.sampled
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("l2", [1e-6, 1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_crammer_and_singer_arrive(shape, l2, intercept):
    X, y = clusters(*shape, seed=shape[0])
    fit = LinearClassifier("hinge", l2=l2, fit_intercept=intercept).fit(X, y)
    assert fit.stop_ == "optimal"
    assert fit.gap_ <= 1e-6 * fit.objective_
    J = crammer_singer(X, y, fit.coef_, fit.intercept_, l2)
    assert fit.objective_ == pytest.approx(J, rel=1e-11)
    # No direction leads down by more than is allowed, nor do other weights that are known.
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-3, 0.1, 1.0):
        V, v = rng.standard_normal(fit.coef_.shape), rng.standard_normal(len(fit.coef_))
        length = size * np.abs(fit.coef_).max()
        there = fit.coef_ + length * V, fit.intercept_ + length * intercept * v
        assert crammer_singer(X, y, *there, l2) >= J * (1 - 1e-6)
        assert crammer_singer(X, y, (1 - size) * fit.coef_, fit.intercept_, l2) >= J * (1 - 1e-6)


@pytest.mark.parametrize("shape", [(60, 200, 5, 0.0), (60, 6, 3, 1.0), (120, 10, 8, 1.5)])
@pytest.mark.parametrize("l2", [1e-3, 1e-1])
def test_crammer_and_singer_end_where_liblinear_does(shape, l2):
    X, y = clusters(*shape, seed=3)
    fit = LinearClassifier("hinge", l2=l2, fit_intercept=False).fit(X, y)
    assert fit.stop_ == "optimal"
    other = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, C=1 / (2 * l2 * len(y)), tol=1e-8,
        max_iter=20_000, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it crawls near the minimum
        J = crammer_singer(X, y, other.fit(X, y).coef_, 0.0, l2)
    assert fit.objective_ - 1e-6 * J <= J <= fit.objective_ * (1 + 1e-4)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("l2", [1e-4, 1e-1])
def test_crammer_and_singer_with_a_bias_end_where_a_general_program_does(seed, l2):
    X, y = clusters(14 + seed, 2 + seed, 3, 1.0, seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(y))
    fit = LinearClassifier("hinge", l2=l2).fit(X, y, sample_weight=weight)
    assert fit.stop_ == "optimal"
    n, d = X.shape
    row, rival = np.nonzero(y[:, None] != np.arange(3))

    def parts(v):
        V = v[: 3 * (d + 1)].reshape(3, d + 1)
        return V[:, :-1], V[:, -1], v[3 * (d + 1) :]

    conditions = np.zeros((len(row), 3 * (d + 1) + n))
    for j, (i, c) in enumerate(zip(row, rival, strict=True)):
        conditions[j, y[i] * (d + 1) : (y[i] + 1) * (d + 1)] = np.append(X[i], 1.0)
        conditions[j, c * (d + 1) : (c + 1) * (d + 1)] -= np.append(X[i], 1.0)
        conditions[j, 3 * (d + 1) + i] = 1.0

    def value(v):
        W, _, xi = parts(v)
        return weight @ xi / weight.sum() + l2 * (W**2).sum()

    def slope(v):
        W, b, _ = parts(v)
        by_weights = np.column_stack([2.0 * l2 * W, 0.0 * b]).ravel()
        return np.append(by_weights, weight / weight.sum())

    start = np.append(np.zeros(3 * (d + 1)), np.ones(n))
    bounds = [(None, None)] * (3 * (d + 1)) + [(0.0, None)] * n
    needs = {"type": "ineq", "fun": lambda v: conditions @ v - 1.0, "jac": lambda v: conditions}
    found = minimize(
        value, start, jac=slope, bounds=bounds, constraints=[needs], method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )  # fmt: skip
    W, b, _ = parts(found.x)
    J = crammer_singer(X, y, W, b, l2, weight)
    assert fit.objective_ * (1 - 1e-9) <= J * (1 + 1e-6)
    assert fit.objective_ >= J * (1 - 1e-4)
    reported = crammer_singer(X, y, fit.coef_, fit.intercept_, l2, weight)
    assert reported == pytest.approx(fit.objective_, rel=1e-11)


def test_rows_twice_absent_and_sparse_give_the_same_minimum():
    X, y = clusters(50, 60, 4, 0.3, 0)
    weight = np.random.default_rng(1).integers(0, 3, 50).astype(float)
    weight[:4] = 1.0
    twice = np.repeat(np.arange(50), weight.astype(int))
    for intercept in (True, False):
        model = LinearClassifier("hinge", l2=1e-5, fit_intercept=intercept)
        fits = [
            clone(model).fit(X, y, sample_weight=weight),
            clone(model).fit(X[twice], y[twice]),
            clone(model).fit(sp.csr_array(X), y, sample_weight=weight),
        ]
        assert [fit.stop_ for fit in fits] == ["optimal"] * 3
        for fit in fits[1:]:
            assert fit.objective_ == pytest.approx(fits[0].objective_, rel=1e-6)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_digits_arrive(loss):
    X, y = load_digits(return_X_y=True)
    fit = LinearClassifier(loss).fit(scale(X), y)
    assert fit.stop_ == "optimal"
    assert fit.gap_ <= 1e-6 * fit.objective_


@pytest.mark.slow
def test_squared_hinge_on_few_rows_arrives():
    X, y = clusters(60, 200, 5, 0.0, 0)
    fit = LinearClassifier("squared_hinge", l2=1e-3, fit_intercept=False).fit(X, y)
    assert fit.stop_ == "optimal"
    # Columns do not see each other: ridge regression where all rows are at or below a margin of 1.
    other = LinearSVC(loss="squared_hinge", fit_intercept=False, C=1 / (2e-3 * 60), tol=1e-10,
                      max_iter=100_000, dual=False)  # fmt: skip
    W = np.vstack([other.fit(X, y == c).coef_ for c in range(5)])
    assert fit.objective_ == pytest.approx(columns(X, y, W, 0.0, 1e-3)[0], rel=1e-6)


@pytest.mark.parametrize("stop", [2, 6, 12])
@pytest.mark.parametrize("shape", [(30, 60, 3, 0.0), (300, 5, 4, 1.5)])
def test_going_on_from_a_state_gives_the_same_bits(shape, stop):
    X, y = clusters(*shape, seed=1)
    source = ArraySource(X, y, np.arange(shape[2]))
    problem = Objective(get_loss("hinge").multiclass(), L2(1e-6), source)
    rng = np.random.default_rng(0)
    start = np.zeros(problem.shape)
    steps = list(islice(DualAscent().steps(problem, start, rng), stop + 3))
    again = islice(DualAscent().steps(problem, start, rng, steps[stop - 1].state), 3)
    for step, expected in zip(again, steps[stop:], strict=True):
        np.testing.assert_array_equal(step.weights, expected.weights)
        assert (step.objective, step.lower_bound) == (expected.objective, expected.lower_bound)
