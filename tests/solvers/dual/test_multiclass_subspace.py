"""Steps in the space of epochs of many classes: higher, feasible, and known to the weights."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import ArraySource, CoordinateAscent, LinearClassifier
from separatrix.solvers.dual import multiclass_coordinate_ascent
from separatrix.solvers.dual.multiclass_subspace import SubspaceSteps

N, D, K, L2 = 40, 6, 4, 1e-2
WIDTH = 8  # of lines, some of which stand for no class


def rows_of(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((N, D)), rng.integers(K, size=N)
    y[:K] = np.arange(K)
    return rng, X, y, rng.uniform(0.5, 2.0, N)


def lines_of(X, y, weight, alpha):
    """The weights that follow from alphas, in plain NumPy."""
    u = np.eye(K)[y] - alpha
    lines = np.zeros((D + 1, WIDTH))
    lines[:D, :K] = X.T @ (weight[:, None] * u) / weight.sum() / (2 * L2)
    return lines


def dual_of(X, y, weight, alpha):
    gain = weight @ (1.0 - alpha[np.arange(N), y]) / weight.sum()
    return gain - L2 * np.sum(lines_of(X, y, weight, alpha) ** 2)


@pytest.mark.parametrize("length", [1e-3, 1e-1, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_steps_are_higher_feasible_and_known_to_the_weights(seed, length):
    rng, X, y, weight = rows_of(seed)
    steps = SubspaceSteps(ArraySource(X, y, np.arange(K), weight), 1 / (2 * L2))
    rows = np.arange(N)
    alpha = rng.dirichlet(np.full(K, 2.0), N)
    lines = lines_of(X, y, weight, alpha)
    for _ in range(4):
        before, there = (alpha.copy(), lines.copy()), rng.dirichlet(np.full(K, 2.0), N)
        alpha += length * (there - alpha)  # in place of an epoch
        lines += lines_of(X, y, weight, alpha) - lines_of(X, y, weight, before[0])
        reached = dual_of(X, y, weight, alpha)
        steps.take(rows, *before, alpha, lines)
        assert dual_of(X, y, weight, alpha) >= reached - 1e-14
        assert np.all(alpha >= 0.0)
        np.testing.assert_allclose(alpha.sum(axis=1), 1.0, atol=1e-14)
        np.testing.assert_allclose(lines, lines_of(X, y, weight, alpha), atol=1e-10)
        # All rows take part in what is remembered, so none may be left out.
        assert np.all(steps.keep(rng.random(N) < 0.7))


def test_steps_within_bounds_end_at_the_highest_point_of_their_space():
    rng, X, y, weight = rows_of(9)
    steps = SubspaceSteps(ArraySource(X, y, np.arange(K), weight), 1 / (2 * L2))
    rows, own = np.arange(N), (np.arange(N), y)
    # Shares by which the classes have nearly the same weights: the highest point is near.
    X -= np.array([np.average(X[y == c], axis=0, weights=weight[y == c]) for c in range(K)])[y]
    alpha, directions = np.full((N, K), 1.0 / K), []
    lines = lines_of(X, y, weight, alpha)
    for _ in range(3):
        start, before = alpha.copy(), (alpha.copy(), lines.copy())
        change = 1e-3 * rng.standard_normal((N, K))
        change[own] -= change.sum(axis=1)
        alpha += change
        lines[:] = lines_of(X, y, weight, alpha)
        steps.take(rows, *before, alpha, lines)
        directions = [alpha - start, *directions][:3]
        assert np.all(alpha > 0.0)
        # A plain slope of the dual along all that it could have moved in.
        entries = X @ lines[:D, :K]
        entries += 1.0 - entries[own][:, None]
        entries[own] = 0.0
        slope = weight[:, None] / weight.sum() * entries
        for direction in directions:
            size = np.linalg.norm(slope) * np.linalg.norm(direction)
            assert abs(np.vdot(slope, direction)) <= 1e-6 * size


def images(n=500, d=40, k=6):
    """Written digits, about: styles shared by all classes, most values 0."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % k
    X = rng.standard_normal((n, 8)) @ rng.standard_normal((8, d)) / 3 - 0.7
    X += 0.4 * rng.standard_normal((k, d))[y] + 0.4 * rng.standard_normal((n, d))
    return np.clip(X, 0.0, 1.0), y


@pytest.mark.slow
def test_epochs_that_crawl_are_fewer(monkeypatch):
    X, y = images()
    given = {"l2": 1e-4, "fit_intercept": False, "tol": 1e-6, "random_state": 0}

    def epochs_and_objective():
        run = LinearClassifier("hinge", solver=CoordinateAscent(), **given)
        counted = []
        whole = multiclass_coordinate_ascent.MulticlassAscentRun._epoch
        with monkeypatch.context() as patch:
            patch.setattr(
                multiclass_coordinate_ascent.MulticlassAscentRun,
                "_epoch",
                lambda self, rows: counted.append(len(rows)) or whole(self, rows),
            )
            run.fit(X, y)
        assert run.stop_ == "optimal"
        return sum(counted), run.objective_

    helped, best = epochs_and_objective()
    monkeypatch.setattr(multiclass_coordinate_ascent, "CRAWLING", np.inf)
    monkeypatch.setattr(
        multiclass_coordinate_ascent.MulticlassAscentRun, "_solve_free_variables", lambda *_: None
    )
    alone, same = epochs_and_objective()
    assert helped < 0.6 * alone
    assert best == pytest.approx(same, rel=2e-6)


def test_shares_add_up_to_one_after_steps_of_the_size_of_rounding():
    """Steps that short are rounding, also in their sums, and lengths may multiply them."""
    for seed in range(20):
        rng, X, y, weight = rows_of(seed)
        steps = SubspaceSteps(ArraySource(X, y, np.arange(K), weight), 1 / (2 * L2))
        rows, alpha = np.arange(N), rng.dirichlet(np.full(K, 2.0), N)
        lines = lines_of(X, y, weight, alpha)
        for _ in range(3):
            before = alpha.copy(), lines.copy()
            alpha += 1e-16 * rng.integers(-2, 3, alpha.shape)
            lines = lines_of(X, y, weight, alpha)
            steps.take(rows, *before, alpha, lines)
            assert np.all(alpha >= 0.0)
            np.testing.assert_allclose(alpha.sum(axis=1), 1.0, atol=1e-14)
