"""The hinge on columns of very different sizes: its minimum, proven without the code it checks."""

from __future__ import annotations

import numpy as np
import pytest
from dual_problems import problem
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from separatrix import CoordinateAscent, DualAscent, InteriorPoint, LinearClassifier, ProximalPoint
from separatrix.solvers.base import Step


def table(seed, n, d, k=2, noise=1.0):
    """Rows of one scale, and labels that a plane predicts with errors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = X @ rng.standard_normal((d, k)) / np.sqrt(d) + noise * rng.standard_normal((n, k))
    return X, scores.argmax(axis=1)


def least_hinge(X, y, k, intercept):
    """The least mean hinge without a penalty, whatever the scale of columns, and its weights."""
    n, d = X.shape
    Z = np.column_stack([X, np.ones(n)]) if intercept else X
    d, blocks = Z.shape[1], []
    if k == 2:
        blocks.append(np.column_stack([-np.where(y > 0, 1.0, -1.0)[:, None] * Z, -np.eye(n)]))
    for c in range(k if k > 2 else 0):
        turned = np.zeros((n, k, d))
        turned[:, c] += Z
        turned[np.arange(n), y] -= Z
        rival = np.flatnonzero(y != c)
        blocks.append(np.column_stack([turned.reshape(n, -1), -np.eye(n)])[rival])
    A = np.concatenate(blocks)
    free = A.shape[1] - n
    cost = np.append(np.zeros(free), np.full(n, 1.0 / n))
    bounds = [(None, None)] * free + [(0, None)] * n
    found = linprog(cost, A, -np.ones(len(A)), bounds=bounds)
    return found.fun, found.x[:free].reshape(-1, d)[:, : X.shape[1]]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [2, 3])
def test_columns_too_large_for_the_penalty_have_the_minimum_of_a_linear_program(k, intercept):
    X, y = table(k, 150, 6, k)
    scale = 2.0 ** np.random.default_rng(k).integers(10, 28, 6)  # exact: both see the same rows
    l2 = 1e-4
    least, w = least_hinge(X, y, k, intercept)
    clf = LinearClassifier("hinge", l2=l2, fit_intercept=intercept, tol=1e-8).fit(X * scale, y)
    assert clf.stop_ == "optimal"
    assert least * (1 - 1e-9) <= clf.objective_
    assert clf.objective_ <= least * (1 + 1e-8) + l2 * np.sum((w / scale) ** 2)


def gap_in_long_double(objective, step: Step):
    """J and D at the weights and alphas of a step, and how far the alphas are from balance."""
    source, l2 = objective.source, np.longdouble(objective.penalty.l2)
    X, y = source.X.astype(np.longdouble), source.y.astype(np.longdouble)
    w, b = step.weights[0, :-1].astype(np.longdouble), np.longdouble(step.weights[0, -1])
    alpha = np.clip(step.alpha()[:, 0].astype(np.longdouble), 0, 1)
    J = np.mean(np.maximum(0, 1 - y * (X @ w + b))) + l2 * (w @ w)
    v = (alpha * y) @ X / len(y)
    return float(J), float(alpha.mean() - v @ v / (4 * l2)), float(abs(alpha @ y) / len(y))


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("solver", "shape"),
    [
        (DualAscent(), (300, 8)), (DualAscent(), (400, 40)), (DualAscent(), (40, 60)),
        (ProximalPoint(), (300, 8)), (ProximalPoint(), (400, 40)),
        (InteriorPoint(), (400, 40)), (InteriorPoint(), (40, 60)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("spread", [4, 6, 8])
def test_weights_and_alphas_meet_in_long_double(spread, solver, shape):
    X, y = table(spread, *shape)
    scale = 10.0 ** np.random.default_rng(spread).uniform(-spread, spread, shape[1])
    for intercept, l2 in ((True, 1e-5), (False, 1e-2)):
        objective = problem(X * scale, np.where(y > 0, 1.0, -1.0), "hinge", l2, None, intercept)
        W, best = np.zeros(objective.shape), np.inf
        for count, step in enumerate(solver.steps(objective, W, np.random.default_rng(0))):
            J, D, unbalanced = gap_in_long_double(objective, step)
            balanced = not intercept or unbalanced <= 1e-13
            best = min(best, (J - D) / J if balanced else np.inf)
            if best <= 1e-7 or count == 150:
                break
        assert best <= 1e-7


@pytest.mark.parametrize(("offset", "tol"), [(2.0**20, 1e-8), (2.0**26, 1e-6)])
def test_an_offset_that_the_bias_takes_back_changes_nothing(offset, tol):
    X, y = table(7, 400, 10)
    X = np.round(X * 2.0**20) / 2.0**20  # so that the offset is added without rounding
    moved = X.copy()
    moved[:, 3] += offset
    for l2 in (1e-2, 1e-5):
        here = LinearClassifier("hinge", l2=l2, tol=tol).fit(X, y)
        there = LinearClassifier("hinge", l2=l2, tol=tol).fit(moved, y)
        assert here.stop_ == there.stop_ == "optimal"
        assert there.objective_ == pytest.approx(here.objective_, rel=2 * tol)
        without = LinearClassifier("hinge", l2=l2, fit_intercept=False, tol=tol).fit(moved, y)
        assert without.stop_ == "optimal"
        # A column of the offset does what the bias does, at the price of its weight squared.
        bias = here.intercept_[0] - here.coef_[0, 3] * offset
        w = here.coef_[0].copy()
        w[3] += bias / offset
        margins = np.where(y > 0, 1.0, -1.0) * (moved @ w)
        feasible = np.maximum(0.0, 1.0 - margins).mean() + l2 * (w @ w)
        assert without.objective_ <= feasible * (1 + tol)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("k", [2, 3])
def test_single_rows_give_up_soon_where_they_crawl(k):
    """One column far from 0, without a bias: all rows are nearly one, and alphas hardly move."""
    X, y = table(3, 300, 5, k)
    X[:, 0] += 3e4
    given = {"l2": 1e-2, "fit_intercept": False, "tol": 1e-9, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="scale the features"):
        alone = LinearClassifier("hinge", solver=CoordinateAscent(), **given).fit(X, y)
    assert alone.stop_ == "no progress"
    assert alone.n_iter_ <= 400
    best = LinearClassifier("hinge", **given).fit(X, y)
    assert best.stop_ == "optimal"
    assert alone.objective_ - alone.gap_ <= best.objective_ <= alone.objective_
