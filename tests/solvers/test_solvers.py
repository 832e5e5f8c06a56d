"""What holds for every solver: resuming, refusing."""

from __future__ import annotations

import warnings
from itertools import islice

import numpy as np
import oracles
import pytest
from conftest import OwnLogistic, overlapping, quiet

import separatrix
from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    BatchPerceptron,
    CoordinateDescent,
    DualAscent,
    ElasticNet,
    GradientDescent,
    GroupLasso,
    InteriorPoint,
    LeastSquares,
    LinearClassifier,
    LinearProgram,
    MarginLoss,
    Newton,
    Objective,
    Pegasos,
    ProximalNewton,
    ProximalPoint,
    Rosenblatt,
    StepDecay,
    Stop,
    get_loss,
    minimize,
)
from separatrix.data.validation import check_rows
from separatrix.numeric.standardization import Standardization
from separatrix.penalties import Penalty
from separatrix.solvers import REGISTRY

RUNS = [
    (Rosenblatt(average=True), "perceptron", 0.0),
    (Rosenblatt(0.1, shuffle=False), "perceptron", 0.0),
    (Rosenblatt(0.5, average=True), "perceptron", 0.01),
    (Rosenblatt(StepDecay(1.0, 0.5, 30)), "perceptron", 0.0),
    (BatchPerceptron(0.3, average=True), "perceptron", 0.0),
    (GradientDescent(), "logistic", 0.01),
    (GradientDescent(learning_rate=0.1, average=True), "logistic", 0.01),
    (GradientDescent(), "hinge", 0.01),
    (GradientDescent(1), "logistic", 0.01),
    (GradientDescent(1, learning_rate=Pegasos(), average=True), "hinge", 0.01),
    (GradientDescent(8), "squared_hinge", 0.0),
    (LBFGS(memory=3), "logistic", 1e-6),
    (LBFGS(factored_features=0), "tanh_squared", 1e-3),
    (Newton(), "logistic", 1e-3),
    (Newton(direct_weights=0), "squared_hinge", 1e-3),
    (ProximalNewton(), "logistic", 1e-3),
    (ProximalNewton(), "logistic", ElasticNet(0.03)),
    (ProximalNewton(), "squared_hinge", GroupLasso(0.03, 1e-3, groups=(0, 0, 1, 1, 2, 2))),
    (CoordinateDescent(), "squared_hinge", 1e-3),
    (CoordinateDescent(), "logistic", ElasticNet(0.03, 1e-3, (1.0, 2.0, 1.0, 0.0, 1.0, 1.0))),
    (GradientDescent(), "logistic", ElasticNet(0.03)),
    (GradientDescent(), "squared", GroupLasso(0.03, groups=(0, 0, 1, 1, 2, 2))),
    (GradientDescent(1), "logistic", ElasticNet(0.03)),
    (LeastSquares(), "squared", 1e-3),
    (DualAscent(), "hinge", 1e-3),
    (DualAscent(), "logistic", 1e-3),
]


PLAIN = Standardization(np.zeros(6), np.ones(7))


def objective(loss="logistic", l2=0.01, n=90, d=6, weight=None, intercept=True, scale=1.0):
    X, y = overlapping(n, d, scale=scale)
    source = ArraySource(X, y, np.array([-1, 1]), weight)
    penalty = l2 if isinstance(l2, Penalty) else L2(l2)
    return Objective(get_loss(loss), penalty, source, intercept)


def first_steps(solver, problem, rng):
    """At most 40; a monotone solver's end with the first that does not lower the objective."""
    lowest = np.inf
    for step in islice(solver.steps(problem, np.zeros(problem.shape), rng), 40):
        yield step
        if solver.monotone and not step.objective < lowest:
            return
        lowest = step.objective


@pytest.mark.parametrize(("solver", "loss", "l2"), RUNS, ids=lambda value: str(value))
def test_going_on_from_a_state_gives_the_same_bits(solver, loss, l2):
    problem = objective(loss, l2)
    whole = list(first_steps(solver, problem, np.random.default_rng(1)))
    for stop in {1, 2, len(whole) // 2} - {len(whole)}:
        state = whole[stop - 1].state
        kept = {name: np.copy(value) for name, value in state.items()}
        rest = solver.steps(problem, np.zeros(problem.shape), np.random.default_rng(2), state)
        for expected, step in zip(whole[stop:], islice(rest, len(whole) - stop), strict=True):
            np.testing.assert_array_equal(step.weights, expected.weights)
            assert (step.objective, step.mistakes) == (expected.objective, expected.mistakes)
            if expected.average is not None:
                np.testing.assert_array_equal(step.average, expected.average)
        for name, value in kept.items():
            np.testing.assert_array_equal(state[name], value)  # a checkpoint stays what it was


WITHOUT_DRAWING = [run for run in RUNS if not run[0].draws] + [
    (ProximalPoint(), "hinge", 1e-3),
    (InteriorPoint(), "hinge", 1e-3),
    (LinearProgram(), "hinge", 0.0),
]


@pytest.mark.parametrize(("solver", "loss", "l2"), WITHOUT_DRAWING, ids=lambda value: str(value))
def test_solvers_that_draw_nothing_need_no_generator(solver, loss, l2):
    problem = objective(loss, l2)
    none = object()  # any use of it raises
    for step, same in zip(
        first_steps(solver, problem, none),
        first_steps(solver, problem, np.random.default_rng(1)),
        strict=True,
    ):
        np.testing.assert_array_equal(step.weights, same.weights)


def test_only_solvers_that_draw_depend_on_the_seed():
    drawing = {each.name for each in REGISTRY.values() if each.draws}
    ours = {"Rosenblatt", "GradientDescent", "CoordinateAscent", "DualAscent"}
    assert {name for name in drawing if hasattr(separatrix, name)} == ours


@pytest.mark.parametrize(("solver", "loss", "l2"), RUNS, ids=lambda value: str(value))
def test_without_an_intercept_the_bias_stays_zero(solver, loss, l2):
    problem = objective(loss, l2, intercept=False)
    for step in islice(solver.steps(problem, np.zeros(problem.shape), np.random.default_rng(0)), 9):
        assert step.weights[0, -1] == 0.0


@pytest.mark.parametrize(("solver", "loss", "l2"), RUNS, ids=lambda value: str(value))
def test_updates_end_every_pass_at_the_weights_of_steps(solver, loss, l2):
    problem = objective(loss, l2)
    start = np.zeros(problem.shape)
    passes = list(islice(solver.steps(problem, start, np.random.default_rng(1)), 4))
    ends = (
        step
        for step in solver.updates(problem, start, np.random.default_rng(1))
        if step.mistakes is not None
    )
    for expected, step in zip(passes, islice(ends, 4), strict=True):
        np.testing.assert_array_equal(step.weights, expected.weights)


@pytest.mark.parametrize(
    ("solver", "loss", "message"),
    [
        (Rosenblatt(), "hinge", r"knows no loss 'hinge'; use GradientDescent\(batch_size=1\)"),
        (BatchPerceptron(), "logistic", r"GradientDescent\(\) or LBFGS\(\)"),
        (LBFGS(), "hinge", "without kinks.*squared_hinge"),
        (LBFGS(memory=0), "logistic", "memory must be a whole number"),
        (Newton(), "hinge", r"defines no curvature; use GradientDescent\(\)"),
        (Newton(), "tanh_squared", r"is not convex; use LBFGS\(\)"),
        (LeastSquares(), "logistic", "solves loss='squared' only"),
        (GradientDescent(0), "logistic", "batch_size must be None"),
        (GradientDescent(2.5), "logistic", "batch_size must be None"),
        (GradientDescent(learning_rate="fast"), "logistic", "'auto', a number"),
        (GradientDescent(learning_rate=-1.0), "logistic", "positive and finite"),
    ],
)
def test_what_cannot_work_is_refused_with_a_remedy(solver, loss, message):
    with pytest.raises(ValueError, match=message):
        solver.check(objective(loss))


@pytest.mark.parametrize("solver", [LBFGS(), GradientDescent(), GradientDescent(learning_rate=0.1)])
def test_a_users_loss_works_in_batch_solvers(solver, recwarn):
    X, y = overlapping(80, 4)
    mine = LinearClassifier(OwnLogistic(), l2=0.01, solver=solver, tol=1e-12).fit(X, y)
    builtin = LinearClassifier("logistic", l2=0.01, solver=solver, tol=1e-9).fit(X, y)
    assert (mine.stop_, builtin.stop_) == ("tol", "optimal")
    assert mine.gap_ is None
    np.testing.assert_allclose(mine.objective_, builtin.objective_, rtol=1e-8)
    assert not recwarn.list


@quiet
def test_a_users_loss_goes_row_by_row_with_one_warning():
    class Mine(MarginLoss):
        def phi(self, m):
            return np.maximum(0, 1 - m)

        def slope(self, m):
            return np.where(m < 1, -1.0, 0.0)

        smooth = False

    X, y = overlapping(40, 4)
    solver = GradientDescent(1, learning_rate=0.1)
    fits = [
        LinearClassifier(loss, solver=solver, max_iter=3, random_state=0)
        for loss in (Mine(), "hinge")
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fits[0].fit(X, y)
    assert sum("once per row in Python" in str(w.message) for w in caught) == 1
    fits[1].fit(X, y)
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-12)


def test_newton_and_lbfgs_survive_singular_problems():
    X, y = overlapping(400, 4, seed=1)
    X = np.column_stack([X, X[:, 0], np.full(400, 3.0), np.zeros(400)])
    values = [
        LinearClassifier(l2=0.0, solver=solver, tol=1e-10).fit(X, y).objective_
        for solver in (Newton(), LBFGS(), LBFGS(factored_features=0), Newton(direct_weights=0))
    ]
    np.testing.assert_allclose(values, values[0], rtol=1e-8)


def test_the_sparse_closed_form_equals_the_dense():
    import scipy.sparse as sp

    X, y = overlapping(50, 8)
    X[np.abs(X) < 0.5] = 0.0
    for solver in (LeastSquares(), LeastSquares(direct_size=0)):
        dense = LinearClassifier("squared", solver=solver).fit(X, y)
        sparse = LinearClassifier("squared", solver=solver).fit(sp.csr_matrix(X), y)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9, atol=1e-11)


def test_the_hessian_is_that_of_the_objective(rng):
    problem = objective("logistic", 0.1, weight=rng.integers(0, 3, 90).astype(float))
    W, V = rng.standard_normal((2, *problem.shape))
    at, hessian = problem.hessian(W, PLAIN)
    h = 1e-6
    plus, minus = (problem.value_and_gradient(W + s * h * V).gradient for s in (1, -1))
    product = problem.hessian_product(W, V)
    np.testing.assert_allclose(product, (plus - minus) / (2 * h), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(hessian @ V[0], product[0], rtol=1e-12)
    np.testing.assert_allclose(at.gradient, problem.value_and_gradient(W).gradient, rtol=1e-12)
    np.testing.assert_allclose(problem.class_hessian(W, PLAIN), hessian, rtol=1e-12)
    sampled = problem.sample(45).class_hessian(W, PLAIN)
    assert np.linalg.norm(sampled - hessian) < 0.5 * np.linalg.norm(hessian)


def test_rows_are_checked_once_for_sources():
    assert check_rows([[1, 2], [3, 4]]).dtype == np.float64


@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge", "hinge"])
def test_batch_descent_never_ends_above_its_start(loss):
    """With a step of its own, on long rows of every scale: it used to jump at the rounding of J."""
    rng = np.random.default_rng(1)
    for trial in range(40):
        n, d = int(rng.integers(3, 60)), int(rng.integers(1, 4))
        X = rng.standard_cauchy((n, d)) * 10.0 ** rng.uniform(-150, 150, d)
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        weight = None if trial % 2 else np.exp(3.0 * rng.standard_normal(n))
        source, l2 = ArraySource(X, y, np.array([-1, 1]), weight), (0.0, 1e-4, 1.0)[trial % 3]
        whole = Objective(get_loss(loss), L2(l2), source)
        first = np.log(2.0) if loss == "logistic" else 1.0
        for step in islice(
            GradientDescent().steps(whole, np.zeros(whole.shape), np.random.default_rng(0)), 25
        ):
            w, b = step.weights[0, :-1], step.weights[0, -1]
            assert oracles.objective(loss, X, y, w, b, l2, weight) <= first * (1 + 1e-12)


@pytest.mark.slow
def test_batch_descent_across_a_kink_never_ends_above_its_start():
    """From every start, the minimum itself among them, where any step may lead up."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        n, d = int(rng.integers(3, 20)), int(rng.integers(1, 3))
        X, y = rng.standard_cauchy((n, d)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
        whole = Objective(get_loss("hinge"), L2(0.01), ArraySource(X, y, np.array([-1, 1])))
        lowest = minimize(whole, DualAscent(), stop=Stop(tol=1e-10)).weights
        for start in (lowest, 0.1 * rng.standard_normal(whole.shape)):
            first = oracles.objective("hinge", X, y, start[0, :-1], start[0, -1], 0.01)
            for step in islice(GradientDescent().steps(whole, start, rng), 10):
                w, b = step.weights[0, :-1], step.weights[0, -1]
                now = oracles.objective("hinge", X, y, w, b, 0.01)
                assert now <= first * (1 + 1e-12)
                assert step.objective == pytest.approx(now, rel=1e-12)


def test_lbfgs_starts_at_the_minimum_of_a_sample():
    """Far from zeros, of which its first step already knows nothing any more."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 5)) * [10.0, 1.0, 1.0, 3.0, 1.0]
    true = np.array([1.0, -2.0, 3.0, 2.0, 0.0])
    y = np.where(X @ true + rng.logistic(size=40_000) > 1.0, 1.0, -1.0)
    whole = Objective(get_loss("logistic"), L2(1e-6), ArraySource(X, y, np.array([-1, 1])))
    minimum = oracles.newton(X, y, 1e-6, tol=1e-6)[1]
    first = next(LBFGS().steps(whole, np.zeros(whole.shape), rng))
    # Minima of m rows and of all are about d / m of J apart, and a step is made from there.
    assert first.objective <= minimum * (1 + 6 / 4096)
    zeros = Objective(whole.loss, whole.penalty, Whole(X, y, np.array([-1, 1])))
    reported = next(LBFGS().steps(zeros, np.zeros(whole.shape), rng))
    assert reported.objective > 1.1 * minimum


class Whole(ArraySource):
    """Rows that have no sample but themselves."""

    def sample(self, size):
        return self
