"""Coordinate ascent for many classes: minima that others find too, proofs, resuming, weights."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from separatrix import CoordinateAscent, LinearClassifier, ProximalPoint
from separatrix.solvers import LBFGS


def problem(seed=0, n=90, d=6, k=4, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    y = np.argmax(X @ rng.standard_normal((d, k)) + noise * rng.standard_normal((n, k)), axis=1)
    y[:k] = np.arange(k)
    return X, y


def value(loss, X, y, coef, intercept, l2, weight=None):
    """J in plain NumPy."""
    scores, rows = X @ coef.T + intercept, np.arange(len(y))
    if loss == "hinge":
        entries = scores + 1.0
        entries[rows, y] -= 1.0
        each = entries.max(axis=1) - scores[rows, y]
    else:
        signs = np.where(y[:, None] == np.arange(len(coef)), 1.0, -1.0)
        each = np.sum(np.maximum(0.0, 1.0 - signs * scores) ** 2, axis=1)
    return np.average(each, weights=weight) + l2 * np.sum(coef**2)


def fitted(loss, X, y, solver=None, weight=None, **given):
    given = {"l2": 1e-3, "tol": 1e-7, "random_state": 0, "max_iter": 2000} | given
    solver = CoordinateAscent() if solver is None else solver
    return LinearClassifier(loss, solver=solver, **given).fit(X, y, sample_weight=weight)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("l2", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_minimum_is_that_of_another_method(loss, l2, intercept, seed):
    X, y = problem(seed, k=3 + seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float) if seed % 2 else None
    given = {"l2": l2, "fit_intercept": intercept}
    ours = fitted(loss, X, y, weight=weight, **given)
    other = ProximalPoint() if loss == "hinge" else LBFGS()
    theirs = fitted(loss, X, y, solver=other, weight=weight, **given | {"tol": 1e-9})
    assert ours.converged_
    J = value(loss, X, y, ours.coef_, ours.intercept_, l2, weight)
    best = value(loss, X, y, theirs.coef_, theirs.intercept_, l2, weight)
    assert ours.history_["objective"][-1] == pytest.approx(J, rel=1e-12)
    assert best * (1 + 1e-6) >= J
    assert J - ours.gap_ <= best * (1 + 1e-12)  # the bound is one


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_second_library_agrees_without_a_bias(loss):
    X, y = problem(5, n=150, d=9, k=5)
    l2 = 1e-2
    kind = "crammer_singer" if loss == "hinge" else "ovr"
    theirs = LinearSVC(
        C=1 / (2 * l2 * len(y)), loss=loss, multi_class=kind, fit_intercept=False, tol=1e-9,
        max_iter=10**6,
    ).fit(X, y)  # fmt: skip
    ours = fitted(loss, X, y, l2=l2, fit_intercept=False, tol=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_storage_and_repeats_do_not_count(loss):
    X, y = problem(3)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    dense = fitted(loss, X, y, weight=weight.astype(float))
    for other in (
        fitted(loss, sp.csr_array(X), y, weight=weight.astype(float)),
        fitted(loss, np.repeat(X, weight, axis=0), np.repeat(y, weight)),
    ):
        assert other.converged_
        np.testing.assert_allclose(other.coef_, dense.coef_, atol=1e-3)
        assert other.history_["objective"][-1] == pytest.approx(
            dense.history_["objective"][-1], rel=1e-6
        )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_run_goes_on_from_its_state_bit_by_bit(loss):
    from separatrix import L2, ArraySource, Objective, get_loss

    X, y = problem(2)
    source = ArraySource(X, y.astype(np.int64), np.unique(y))
    objective = Objective(get_loss(loss).multiclass(), L2(1e-5), source)
    W = np.zeros(objective.shape)

    def states(count, state=None):
        steps = CoordinateAscent().steps(objective, W, np.random.default_rng(0), state)
        return [step.state for step, _ in zip(steps, range(count), strict=False)]

    whole = states(4)
    rest = states(2, whole[1])
    for name, there in whole[3].items():
        np.testing.assert_array_equal(rest[1][name], there, err_msg=name)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_odd_rows(loss):
    """A class of one row, rows of zeros, a constant feature, n < d, one feature."""
    rng = np.random.default_rng(0)
    for n, d, k in ((7, 20, 3), (30, 1, 3), (12, 4, 12)):
        X = rng.standard_normal((n, d))
        X[1], X[:, 0] = 0.0, 1.0
        y = np.arange(n) % k
        y[y == k - 1] = 0
        y[-1] = k - 1
        for intercept in (False, True):
            ours = fitted(loss, X, y, fit_intercept=intercept, l2=1e-2, tol=1e-6)
            assert ours.converged_
            other = fitted(loss, X, y, solver=ProximalPoint() if loss == "hinge" else LBFGS(),
                           fit_intercept=intercept, l2=1e-2, tol=1e-9)  # fmt: skip
            here, there = (m.history_["objective"][-1] for m in (ours, other))
            assert here <= there * (1 + 2e-6) + 1e-12


def test_losses_whose_dual_is_not_known_are_refused():
    X, y = problem()
    with pytest.raises(ValueError, match="knows the dual"):
        fitted("logistic", X, y)
    with pytest.raises(ValueError, match="l2 > 0"):
        fitted("hinge", X, y, l2=0.0)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("intercept", [False, True])
def test_classes_against_the_rest_are_climbed_alike_on_any_threads(intercept):
    X, y = problem(3, k=5)
    ends = [
        fitted("squared_hinge", sp.csr_array(X), y, fit_intercept=intercept, n_jobs=jobs)
        for jobs in (1, 2, 3)
    ]
    for end in ends[1:]:
        np.testing.assert_array_equal(end.coef_, ends[0].coef_)
        np.testing.assert_array_equal(end.intercept_, ends[0].intercept_)
        assert end.gap_ == ends[0].gap_


def exact_value(X, y, coef, l2):
    """J without biases in fractions."""
    total = Fraction(0)
    for x, own in zip(X.tolist(), y, strict=True):
        s = [sum(Fraction(a) * Fraction(b) for a, b in zip(x, w, strict=True)) for w in coef]
        total += max(score + (c != own) for c, score in enumerate(s)) - s[own]
    return total / len(y) + Fraction(l2) * sum(Fraction(a) ** 2 for w in coef for a in w)


@pytest.mark.parametrize(
    ("X", "y", "l2", "tol", "known", "seeds"),
    [
        (
            [[-0.4, -0.3], [-1.0, 0.3], [1.1, 0.6], [0.8, 0.7]], [0, 1, 2, 1], 1.0, 1e-9,
            [[0.028, -0.090], [-0.079, 0.106], [0.050, -0.016]], range(40),
        ),
        (
            [[-0.2, -0.3], [0.3, 0.0], [-0.6, 0.2], [0.7, -0.1], [-0.6, 1.2], [0.1, -0.9]],
            [0, 1, 2, 0, 2, 0], 0.1, 0.0,
            [[0.2297, -0.9004], [0.2423, 0.2121], [-0.472, 0.6883]], range(120, 130),
        ),
    ],
)  # fmt: skip
def test_no_known_weights_lie_below_the_bound(X, y, l2, tol, known, seeds):
    """Shares that did not add up to 1 proved bounds above the minimum."""
    X, known = np.array(X), exact_value(np.array(X), y, known, l2)
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit = fitted("hinge", X, y, l2=l2, tol=tol, fit_intercept=False, random_state=seed)
        assert Fraction(fit.objective_) - Fraction(fit.gap_) <= known
