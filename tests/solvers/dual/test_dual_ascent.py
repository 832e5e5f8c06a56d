"""DualAscent, against solvers that share nothing with it."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from dual_problems import LOSSES, SCALES, climb, exact, problem, rows
from sklearn.svm import SVC, LinearSVC

from separatrix import (
    L2,
    CoordinateAscent,
    DualAscent,
    GradientDescent,
    InteriorPoint,
    MarginLoss,
    Newton,
    Objective,
    ProximalPoint,
    Source,
)
from separatrix.losses import Hinge
from separatrix.proofs.nonsmooth_bound import nonsmooth_lower_bound
from separatrix.solvers import thresholds
from separatrix.solvers.dual.proximal_point import reduced_run
from separatrix.solvers.dual_ascent import first_phase


@pytest.mark.sampled
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_is_that_of_a_general_program(seed, k, intercept):
    X, y = rows(seed, 25, 2, k)
    weight = np.random.default_rng(seed).integers(0, 3, 25).astype(float)
    weight[:3] = 1.0
    objective = problem(X, y, l2=0.05, weight=weight, intercept=intercept)
    step = climb(objective)
    least = exact(objective)
    assert step.objective == pytest.approx(least, rel=1e-6)
    assert step.lower_bound <= least * (1 + 1e-6)
    assert nonsmooth_lower_bound(objective, step.weights, reduced_run).lower_bound == pytest.approx(
        step.objective, rel=1e-8
    )


@pytest.mark.sampled
@pytest.mark.parametrize("l2", [1e-6, 1e-3, 1e-1])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "case", ["scales", "separable", "overlap", "duplicates", "rank", "wide", "constant", "weights"]
)
def test_the_gap_closes_on_any_data(case, loss, l2):
    X, y = rows(3, 200, 5, noise={"separable": 0.0, "overlap": 10.0}.get(case, 1.0))
    weight = None
    if case == "scales":
        X = X * SCALES
    elif case == "duplicates":
        X, y = np.repeat(X[:20], 10, axis=0), np.repeat(y[:20], 10)
    elif case == "rank":
        X = np.column_stack([X, 2 * X[:, :3], X.sum(axis=1)])
    elif case == "wide":
        X, y = np.random.default_rng(0).standard_normal((30, 100)), y[:30]
    elif case == "constant":
        X = np.column_stack([X, np.full(200, 3.0), np.zeros(200)])
    elif case == "weights":
        weight = 10.0 ** np.random.default_rng(0).uniform(-4, 4, 200)
    for intercept, kind in ((True, "dense"), (False, "csr")):
        objective = problem(X, y, loss, l2, weight, intercept, kind)
        step = climb(objective)
        assert step.objective == pytest.approx(objective.value(step.weights)[0], rel=1e-13)
        assert step.mistakes == pytest.approx(objective.value(step.weights)[1], rel=1e-13)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("l2", [1e-6, 1e-3, 1e-1])
@pytest.mark.parametrize("scales", [1.0, SCALES])
def test_the_gap_closes_for_more_classes(scales, l2, intercept):
    X, y = rows(5, 200, 5, 4)
    step = climb(problem(X * scales, y, l2=l2, intercept=intercept))
    np.testing.assert_allclose(step.weights[:, :-1].sum(axis=0), 0.0, atol=1e-7)


def test_it_agrees_with_scikit_learn():
    X, y = rows(1, 150, 4)
    l2 = 1e-3
    C = 1 / (2 * l2 * len(y))
    svc = SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
    step = climb(problem(X, y, l2=l2))
    np.testing.assert_allclose(step.weights[0], np.append(svc.coef_, svc.intercept_), rtol=1e-4)
    plain = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**6).fit(X, y)
    step = climb(problem(X, y, l2=l2, intercept=False))
    np.testing.assert_allclose(step.weights[0, :-1], plain.coef_[0], rtol=1e-4)


def test_smooth_losses_end_where_newton_does():
    X, y = rows(2)
    for loss in ("squared_hinge", "logistic"):
        objective = problem(X, y, loss)
        newton = list(islice(Newton().steps(objective, np.zeros(objective.shape), None), 20))[-1]
        np.testing.assert_allclose(climb(objective, 1e-12).weights, newton.weights, rtol=1e-5)


@pytest.mark.parametrize("k", [2, 3])
def test_a_row_of_weight_two_is_the_row_twice_and_of_weight_zero_absent(k):
    X, y = rows(4, 50, 3, k)
    weight = np.random.default_rng(1).integers(0, 3, 50)
    weight[:3] = 2
    huge = X.copy()
    huge[weight == 0] = 1e4
    weighted = climb(problem(huge, y, weight=weight.astype(float)), 1e-10)
    again = np.repeat(np.arange(50), weight)
    repeated = climb(problem(X[again], y[again]), 1e-10)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)
    np.testing.assert_allclose(weighted.weights[:, :-1], repeated.weights[:, :-1], rtol=1e-4,
                               atol=1e-7)  # fmt: skip


def test_one_row_per_class_and_a_start_elsewhere():
    objective = problem(np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), l2=1e-3)
    step = climb(objective, 1e-12)
    np.testing.assert_allclose(step.weights, [[2.0, -1.0]], rtol=1e-6)
    X, y = rows(0)
    objective = problem(X, y)
    far = climb(objective, start=np.full(objective.shape, 50.0))
    assert far.objective == pytest.approx(climb(objective).objective, rel=1e-9)


def test_threads_do_not_change_the_bits(monkeypatch):
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_BYTES", 1000)
    X, y = rows(0, 400, 5)
    runs = []
    for n_jobs in (1, 3):
        objective = problem(X, y, n_jobs=n_jobs)
        runs.append(
            [
                climb(objective).weights,
                nonsmooth_lower_bound(
                    objective, np.zeros(objective.shape), reduced_run
                ).lower_bound,
            ]
        )
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]


@pytest.mark.parametrize("k", [2, 3])
def test_products_reach_the_same_minimum(k, small_systems, monkeypatch):
    X, y = rows(7, 150, 6, k)
    loss = "logistic" if k == 2 else "hinge"
    objective = problem(X, y, loss, kind="csr")
    step = climb(objective, 1e-7, 400)
    monkeypatch.setattr(thresholds, "FACTORED_UNKNOWNS", 1500)
    assert step.objective == pytest.approx(climb(objective).objective, rel=1e-7)


@pytest.mark.parametrize("stop", [1, 4, 11])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("large", [False, True])
def test_going_on_from_a_state_gives_the_same_bits(large, k, stop, request):
    if large:
        request.getfixturevalue("small_systems")
    objective = problem(*rows(8, 90, 6, k), l2=1e-6)
    start = np.zeros(objective.shape)
    whole = list(islice(DualAscent().steps(objective, start, np.random.default_rng(1)), 16))
    if large and k == 2:
        assert whole[9].state["phase"] == "coordinate ascent"
        assert whole[-1].state["phase"] == "proximal point"
        assert whole[-1].state["ran"] == "coordinate ascent, then proximal point"
    state = whole[stop - 1].state
    kept = {name: np.copy(value) for name, value in state.items()}
    rest = islice(DualAscent().steps(objective, start, np.random.default_rng(2), state), 16 - stop)
    for expected, step in zip(whole[stop:], rest, strict=True):
        np.testing.assert_array_equal(step.weights, expected.weights)
        assert (step.objective, step.lower_bound) == (expected.objective, expected.lower_bound)
    for name, value in kept.items():
        np.testing.assert_array_equal(state[name], value)


class Mine(Hinge):
    """A user's own, which may compute otherwise."""


class Elsewhere(Source):
    """Rows that are not in memory."""

    n_rows, weight_sum, n_features, classes = 2, 2.0, 1, np.arange(2)

    def blocks(self):
        raise NotImplementedError


def test_what_cannot_work_is_refused_with_a_remedy():
    X, y = rows(0)
    three = rows(0, k=3)
    for objective, message in (
        (problem(X, y, l2=0.0), "needs l2 > 0.*GradientDescent"),
        (problem(X, y, "perceptron"), r"not of 'perceptron'; use GradientDescent\(batch_size=1\)"),
        (problem(X, y, "squared"), r"not of 'squared'; use LBFGS"),
        (problem(*three, "logistic"), "not of 'logistic' for 3 classes; use LBFGS"),
        (Objective(Mine(), L2(0.1), problem(X, y).source), "not of Mine.*GradientDescent"),
    ):
        with pytest.raises(ValueError, match=message):
            DualAscent().check(objective)
    away = Objective(Hinge(), L2(0.1), Elsewhere())
    for solver in (InteriorPoint(), CoordinateAscent()):
        with pytest.raises(ValueError, match=r"in memory; use DualAscent\(\), .*load the rows"):
            solver.check(away)
    for solver in (DualAscent(), ProximalPoint()):
        solver.check(away)
    assert issubclass(Mine, MarginLoss)
    for loss in LOSSES:
        DualAscent().check(problem(X, y, loss))
    DualAscent().check(problem(*three))


def test_auto_takes_it_for_the_hinge_with_a_penalty():
    from separatrix.solvers import choose

    X, y = rows(0)
    for chosen in (choose(problem(X, y)), choose(problem(*rows(0, k=3)))):
        assert type(chosen) is DualAscent
        assert "dual" in chosen.reason
    assert type(choose(problem(X, y, "perceptron"))) is GradientDescent


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [True, False])
def test_few_wide_sparse_rows_go_by_single_alphas(loss, intercept):
    rng = np.random.default_rng(1)
    X = rng.random((60, 200)) * (rng.random((60, 200)) < 0.1)
    y = np.where(rng.random(60) < 0.5, -1.0, 1.0)
    sparse, dense = (problem(X, y, loss, 1e-2, None, intercept, kind) for kind in ("csr", "dense"))
    step, other = climb(sparse, 1e-9, 400), climb(dense, 1e-9, 400)
    assert step.state["ran"] == "coordinate ascent"
    assert "coordinate ascent" not in other.state["ran"]
    assert step.objective == pytest.approx(other.objective, rel=1e-8)


@pytest.mark.parametrize("k", [2, 3])
def test_rows_without_weight_do_not_change_the_course_of_an_ascent(k):
    X, y = rows(1, n=200, k=k)
    present = np.arange(200) < 60
    course = []
    for some, weight in ((present, None), (present | True, present.astype(float))):
        steps = DualAscent().steps(
            problem(X[some], y[some], l2=1e-4, weight=weight), np.zeros((max(1, k * (k > 2)), 5)),
            np.random.default_rng(0),
        )  # fmt: skip
        course.append([step.objective for step in islice(steps, 12)])
    np.testing.assert_allclose(*course, rtol=1e-6)


def one_hot(n, features, levels, seed=0):
    """Rows with a 1 for the level of each feature, and labels by some of them."""
    rng = np.random.default_rng(seed)
    X = np.eye(levels)[rng.integers(levels, size=(n, features)) // rng.integers(1, 4, (n, 1))]
    X = X.reshape(n, -1)
    noise = rng.standard_normal(n)
    return X, np.where(X @ rng.standard_normal(features * levels) + noise > 0.0, 1.0, -1.0)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["csr32", "csr64", "csr64_long"])
@pytest.mark.parametrize("l2", [1e-3, 1e-5])
def test_one_hot_rows_have_the_minimum_of_dense_ones_and_of_a_peer(kind, l2):
    X, y = one_hot(600, 6, 20)
    for intercept in (True, False):
        sparse = problem(X, y, l2=l2, intercept=intercept, kind=kind)
        dense = problem(X, y, l2=l2, intercept=intercept)
        assert (first_phase(sparse) == "coordinate ascent") == (l2 == 1e-3)
        assert first_phase(dense) == "interior point"
        assert climb(sparse).objective == pytest.approx(climb(dense).objective, rel=1e-8)
    C = 1.0 / (2.0 * l2 * len(y))
    peer = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-9, max_iter=10**5)
    if l2 == 1e-3:
        w = peer.fit(X, y).coef_[0]
        least = np.maximum(0.0, 1.0 - y * (X @ w)).mean() + l2 * w @ w
        assert climb(sparse).objective == pytest.approx(least, rel=1e-7)


def test_weights_of_one_hot_rows_are_repeats():
    X, y = one_hot(300, 6, 20)
    count = np.random.default_rng(1).integers(0, 4, 300)
    weighted = problem(X, y, l2=1e-2, weight=count.astype(float), kind="csr64")
    again = problem(np.repeat(X, count, axis=0), np.repeat(y, count), l2=1e-2, kind="csr64")
    assert first_phase(weighted) == first_phase(again) == "coordinate ascent"
    assert climb(weighted).objective == pytest.approx(climb(again).objective, rel=1e-8)
