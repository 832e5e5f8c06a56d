"""Every batch solver on every source: a subset of rows, and rows that come in chunks."""

from __future__ import annotations

import pickle

import numpy as np
import oracles
import pytest
from conftest import overlapping, quiet
from scipy.optimize import minimize as scipy_minimize

from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    DualAscent,
    GradientDescent,
    LeastSquares,
    Newton,
    Objective,
    Source,
    Stop,
    get_loss,
    minimize,
)
from separatrix.data import Block, Subset
from separatrix.solvers import choose


class Chunks(Source):
    """Rows as they might come from files, 97 at a time."""

    def __init__(self, X, y, weight=None, classes=(0, 1), size=97):
        self.X_, self.y_, self.weight_, self.size = X, y, weight, size
        self.n_features, self.classes = X.shape[1], np.array(classes)

    @property
    def n_rows(self):
        return len(self.y_) if self.weight_ is None else int(np.count_nonzero(self.weight_))

    @property
    def weight_sum(self):
        return float(len(self.y_)) if self.weight_ is None else float(self.weight_.sum())

    def blocks(self):
        for start in range(0, len(self.y_), self.size):
            at = slice(start, start + self.size)
            weight = None if self.weight_ is None else self.weight_[at]
            yield Block(self.X_[at], self.y_[at], weight, start)


def rows(weighted, n=400, d=4):
    X, y = overlapping(n, d, seed=3)
    rng = np.random.default_rng(7)
    weight = rng.integers(0, 4, n).astype(float) if weighted else None
    return X * [1.0, 3.0, 0.2, 1.0] + 1.0, y, weight


def sources(weighted):
    """A source, and its rows as plain arrays."""
    X, y, weight = rows(weighted)
    rng = np.random.default_rng(0)
    whole = ArraySource(X, y, np.array([0, 1]), weight)
    some, twice = np.sort(rng.permutation(400)[:150]), rng.integers(0, 400, 130)
    weight = np.ones(400) if weight is None else weight
    for at in (some, twice):
        yield Subset(whole, at), X[at], y[at], weight[at]
    yield Chunks(X, y, whole.weight), X, y, weight


def least(loss, X, y, weight, l2, intercept=True):
    """J at its minimum by SciPy, from two starts."""

    def value(w):
        return oracles.objective(loss, X, y, w[:-1], intercept * w[-1], l2, weight)

    def slope(w):
        gw, gb = oracles.gradient(loss, X, y, w[:-1], intercept * w[-1], l2, weight)
        return np.append(gw, intercept * gb)

    found = scipy_minimize(
        value, np.zeros(X.shape[1] + 1), jac=slope, options={"gtol": 1e-10, "maxiter": 5000}
    )
    return found.fun


SOLVERS = [
    ("logistic", Newton()), ("logistic", Newton(direct_weights=0)), ("logistic", LBFGS()),
    ("logistic", LBFGS(factored_features=0)), ("logistic", GradientDescent()),
    ("squared", LeastSquares()), ("squared", LeastSquares(direct_size=1)), ("squared", LBFGS()),
    ("squared_hinge", LBFGS()), ("squared_hinge", Newton()),
    ("logistic", None), ("squared", None), ("squared_hinge", None),
]  # fmt: skip


@pytest.mark.sampled(7)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("loss", "solver"), SOLVERS, ids=str)
def test_every_solver_finds_the_minimum_of_these_rows(loss, solver, weighted):
    for source, X, y, weight in sources(weighted):
        objective = Objective(get_loss(loss), L2(0.01), source)
        chosen = choose(objective) if solver is None else solver
        result = minimize(objective, chosen, stop=Stop(max_iter=2000, tol=1e-9))
        assert result.stop in ("optimal", "closed form")
        w, b = result.weights[0, :-1], result.weights[0, -1]
        found = oracles.objective(loss, X, y, w, b, 0.01, weight)
        assert found == pytest.approx(least(loss, X, y, weight, 0.01), rel=2e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", [LeastSquares(), LeastSquares(direct_size=1)], ids=str)
def test_least_squares_without_a_penalty(solver, intercept):
    """The shortest of all minima, by the pseudo-inverse, of few rows too."""
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((300, 12)), np.where(rng.random(300) < 0.4, 1.0, -1.0)
    whole = ArraySource(X, y, np.array([0, 1]))
    for count in (8, 50):
        at = rng.permutation(300)[:count]
        objective = Objective(get_loss("squared"), L2(0.0), Subset(whole, at), intercept)
        result = minimize(objective, solver, stop=Stop(max_iter=50))
        shift, level = (X[at].mean(axis=0), y[at].mean()) if intercept else (0.0, 0.0)
        w = np.linalg.pinv(X[at] - shift) @ (y[at] - level)
        np.testing.assert_allclose(result.weights[0, :-1], w, atol=1e-8)


@quiet
@pytest.mark.parametrize("tol", [1e-3, 1e-12])
def test_kinks_away_from_memory_end_with_a_proof(tol):
    X, y, _ = rows(False)
    objective = Objective(get_loss("hinge"), L2(0.01), Chunks(X, y))
    result = minimize(objective, choose(objective), stop=Stop(max_iter=200, tol=tol))
    assert result.stop == "optimal"
    assert result.proof is not None
    assert result.proof.gap <= tol * result.objective
    in_memory = Objective(get_loss("hinge"), L2(0.01), ArraySource(X, y, np.array([0, 1])))
    proven = minimize(in_memory, DualAscent(), stop=Stop(tol=1e-8))
    assert proven.stop == "optimal"
    lowest = in_memory.value(proven.weights)[0]
    assert in_memory.value(result.weights)[0] == pytest.approx(lowest, rel=max(tol, 1e-8))


def test_rows_of_a_source_in_memory_are_wrapped_once():
    source = ArraySource(np.eye(3), np.array([-1.0, 1.0, 1.0]), np.array([0, 1]))
    (block,), (visit,) = source.blocks(), source.visits()
    assert block.rows is visit.block.rows
    other = block._replace(X=np.zeros((3, 3)))
    assert not other.rows.X.any()
    assert pickle.loads(pickle.dumps(block)).rows.X.tolist() == np.eye(3).tolist()
