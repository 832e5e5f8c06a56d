"""The hinge without a penalty, against the linear program built from its definition."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from separatrix import (
    L2,
    ArraySource,
    GradientDescent,
    LinearClassifier,
    LinearProgram,
    Objective,
    get_loss,
)
from separatrix.solvers import choose, linear_program


def primal(X, y, k, weight=None, intercept=True):
    """The least mean of xi with xi >= 0 and s_d - s_c + xi >= 1 for every rival c."""
    n = len(y)
    Z = np.column_stack([X, np.ones(n)]) if intercept else X
    D = Z.shape[1]
    share = np.ones(n) / n if weight is None else weight / weight.sum()
    row, rival = np.nonzero(y[:, None] != np.arange(k))
    pairs = np.arange(len(row))
    conditions = sp.lil_array((len(row), k * D + n))
    for j in range(D):
        conditions[pairs, y[row] * D + j] = -Z[row, j]
        conditions[pairs, rival * D + j] = Z[row, j]
    conditions[pairs, k * D + row] = -1.0
    bounds = [(None, None)] * (k * D) + [(0.0, None)] * n
    cost = np.append(np.zeros(k * D), share)
    return linprog(cost, conditions.tocsr(), -np.ones(len(row)), bounds=bounds).fun


def hinge(X, y, fit, weight=None):
    """Mean hinge loss in plain NumPy."""
    if len(fit.classes_) == 2:
        loss = np.maximum(0.0, 1.0 - np.where(y == 1, 1, -1) * (X @ fit.coef_[0] + fit.intercept_))
    else:
        S = X @ fit.coef_.T + fit.intercept_
        each = np.arange(len(y))
        above = S + 1.0 - S[each, y][:, None]
        above[each, y] = 0.0
        loss = above.max(axis=1)
    return np.average(loss, weights=weight)


def arrives(fit, J):
    assert fit.stop_ == "tol"
    assert fit.converged_
    assert fit.gap_ is None
    assert abs(fit.objective_ - J) <= 1e-6 * max(J, 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_it_ends_where_the_program_does(seed):
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(8, 40), rng.integers(1, 6), rng.integers(2, 5)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4, d)
    if seed % 3 == 0:  # an offset, ties and rows that are alike
        X = np.round(X + 10.0 * rng.standard_normal(d))
    y = rng.integers(0, k, n)
    if seed % 4 == 0:  # separable, but for the first rows
        y = (X @ rng.standard_normal((d, k))).argmax(axis=1)
    y[:k] = np.arange(k)
    weight = rng.integers(0, 3, n).astype(float)
    weight[:k] = 1.0
    intercept = bool(seed % 2)
    fit = LinearClassifier("hinge", l2=0, fit_intercept=intercept)
    fit.fit(sp.csr_array(X) if seed % 5 == 0 else X, y, sample_weight=weight)
    arrives(fit, primal(X, y, k, weight, intercept))
    assert hinge(X, y, fit, weight) == pytest.approx(fit.objective_, rel=1e-9, abs=1e-12)
    assert intercept or not fit.intercept_.any()


@pytest.mark.parametrize("k", [2, 3])
def test_rows_that_can_be_separated_cost_nothing(k):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((200, 5))
    y = (X @ rng.standard_normal((5, k))).argmax(axis=1)
    X = X * [1e-4, 1.0, 1e4, 1.0, 1.0] + [0.0, 100.0, 0.0, 0.0, 0.0]
    fit = LinearClassifier("hinge", l2=0).fit(X, y)
    arrives(fit, 0.0)
    assert fit.objective_ == 0.0
    assert fit.score(X, y) == 1.0


def test_two_thousand_rows_of_fifty_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 50))
    y = (X @ rng.standard_normal((50, 2)) + 3.0 * rng.standard_normal((2000, 2))).argmax(axis=1)
    arrives(LinearClassifier("hinge", l2=0).fit(X, y), primal(X, y, 2))


def test_more_classes_of_many_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 15))
    y = (X @ rng.standard_normal((15, 4)) + 2.0 * rng.standard_normal((400, 4))).argmax(axis=1)
    arrives(LinearClassifier("hinge", l2=0).fit(X, y), primal(X, y, 4))


def problem(loss="hinge", l2=0.0, k=2):
    rng = np.random.default_rng(0)
    y = np.tile([-1.0, 1.0], 10) if k == 2 else np.arange(20) % k
    of_k = get_loss(loss) if k == 2 else get_loss(loss).multiclass()
    return Objective(of_k, L2(l2), ArraySource(rng.standard_normal((20, 3)), y, np.arange(k)))


def test_what_cannot_work_is_refused_with_a_remedy():
    for objective, message in (
        (problem(l2=0.1), r"not l2=0\.1; use DualAscent"),
        (problem("logistic"), r"not loss='logistic'.*LBFGS"),
    ):
        with pytest.raises(ValueError, match=message):
            LinearProgram().check(objective)


def test_auto_takes_it_unless_it_is_too_large(monkeypatch):
    for k in (2, 3):
        chosen = choose(problem(k=k))
        assert type(chosen) is LinearProgram
        assert "linear program" in chosen.reason
    monkeypatch.setattr(linear_program, "LINEAR_PROGRAM_VALUES", 10)
    assert type(choose(problem())) is GradientDescent


def test_without_an_end_it_keeps_the_start_and_claims_nothing(monkeypatch):
    class Lost:
        status = 4

    monkeypatch.setattr(linear_program, "linprog", lambda *args, **kwargs: Lost)
    objective = problem()
    steps = list(islice(LinearProgram().steps(objective, np.zeros((1, 4)), None), 2))
    assert not steps[1].weights.any()
    assert steps[1].objective == steps[1].predicted_decrease == 1.0


def test_a_start_below_is_not_left():
    objective = problem()
    W = next(LinearProgram().steps(objective, np.zeros((1, 4)), None)).weights
    again = next(LinearProgram().steps(objective, W, None))
    assert again.objective <= objective.value(W)[0]
    far = next(LinearProgram().steps(objective, np.full((1, 4), 1e300), None))
    assert far.objective == pytest.approx(again.objective, rel=1e-12)
