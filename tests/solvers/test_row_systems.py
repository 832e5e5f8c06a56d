"""Newton's systems with an unknown for each row, where rows are fewer than features."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from problems import objective_of

from separatrix import CoordinateAscent, LinearClassifier, Newton
from separatrix.solvers import choose
from separatrix.solvers.row_systems import RowNewton, has_row_systems


def wide(n=7, d=30, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + offset
    return X, np.where(np.arange(n) % 3 == 0, -1.0, 1.0)


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """The solution of a regular system in fractions, by Gauss and Jordan's elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for at in range(len(rows)):
        pivot = next(i for i in range(at, len(rows)) if rows[i][at])
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [value / rows[at][at] for value in rows[at]]
        for i in range(len(rows)):
            if i != at and rows[i][at]:
                factor = rows[i][at]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[at], strict=True)]
    return [row[-1] for row in rows]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_the_direction_is_newtons_in_fractions(loss, intercept):
    X, y = wide(4, 6)
    weight, l2 = np.array([1.0, 0.0, 2.5, 1.0]), 0.01
    objective = objective_of(X, y, loss, l2=l2, weight=weight, intercept=intercept)
    W = np.random.default_rng(1).standard_normal((1, 7)) * 0.1
    W[0, -1] *= intercept
    gradient = objective.value_and_gradient(W).gradient
    direction = RowNewton.of(objective).direction(W, gradient)
    curvature = objective.loss.curvature(y * (X @ W[0, :-1] + W[0, -1])) * weight / weight.sum()
    rows = [[Fraction(value) for value in (*row, 1.0)] for row in X]
    size = 7 if intercept else 6
    hessian = [
        [
            sum(Fraction(c) * row[a] * row[b] for c, row in zip(curvature, rows, strict=True))
            + (Fraction(2.0 * l2) if a == b < 6 else 0)
            for b in range(size)
        ]
        for a in range(size)
    ]
    expected = solved(hessian, [-Fraction(value) for value in gradient[0, :size]])
    np.testing.assert_allclose(direction[0, :size], [float(u) for u in expected], rtol=1e-10)
    assert intercept or direction[0, -1] == 0.0


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("offset", [0.0, 3.0])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_newton_by_rows_finds_the_minimum_of_coordinate_ascent(loss, offset, storage):
    X, y = wide(25, 1600, offset=offset)
    weight = np.where(np.arange(25) < 3, 0.0, np.linspace(0.5, 2.0, 25))
    options = {"l2": 1e-3, "tol": 1e-9}
    fit = LinearClassifier(loss, solver=Newton(), **options).fit(storage(X), y, weight)
    other = LinearClassifier(loss, solver=CoordinateAscent(), max_iter=20_000, **options)
    other.fit(X, y, weight)
    assert fit.stop_ == other.stop_ == "optimal"
    assert abs(fit.objective_ - other.objective_) <= fit.gap_ + other.gap_
    assert fit.n_iter_ <= 30


def test_few_wide_rows_go_to_newton_whatever_the_scales():
    X, y = wide(10, 2000)
    X *= np.logspace(-2.0, 2.0, 2000)
    fit = LinearClassifier(l2=1e-3).fit(X, y)
    assert isinstance(fit.solver_, Newton)
    assert "unknown per row" in fit.solver_.reason
    assert fit.stop_ == "optimal"
    assert fit.n_iter_ < 50
    more = np.tile(X, (40, 1))
    assert not isinstance(choose(objective_of(more, np.tile(y, 40), l2=1e-3)), Newton)


def test_rows_have_systems_only_with_a_penalty_and_two_classes():
    X, y = wide()
    assert has_row_systems(objective_of(X, y, l2=1e-3))
    assert not has_row_systems(objective_of(X, y, l2=0.0))
    assert not has_row_systems(objective_of(X[:, :7], y, l2=1e-3))
    assert not has_row_systems(objective_of(X, y, l2=1e-300))
    assert not has_row_systems(objective_of(1e200 * X, y, l2=1e-3))
    assert not has_row_systems(objective_of(X, np.arange(7) % 3, "logistic", l2=1e-3))


def test_rows_that_no_longer_curve_end_the_steps():
    """The squared hinge is flat beyond the margin: the bias has no curvature there."""
    X, y = wide()
    objective = objective_of(X, y, "squared_hinge", l2=1e-3)
    W = np.zeros((1, 31))
    W[0, :-1] = np.linalg.lstsq(X, 5.0 * y, rcond=None)[0]
    direction = RowNewton.of(objective).direction(W, objective.value_and_gradient(W).gradient)
    np.testing.assert_allclose(direction[0, :-1], -W[0, :-1], rtol=1e-12)
    assert direction[0, -1] == 0.0
