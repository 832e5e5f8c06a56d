"""Each solver of the dual alone: its minimum, its state, what it refuses, what it says."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from dual_problems import climb, exact, problem, rows
from scipy.optimize import minimize

from separatrix import (
    CoordinateAscent,
    DualAscent,
    InteriorPoint,
    LinearClassifier,
    ProximalPoint,
    solvers,
)
from separatrix.solvers import thresholds

SOLVERS = [ProximalPoint(), CoordinateAscent(), InteriorPoint()]
TWO_CLASSES = [
    (solver, loss)
    for solver in SOLVERS
    for loss in ("hinge", "squared_hinge", "logistic")
    if (type(solver), loss) != (InteriorPoint, "logistic")
]
PHASES = {
    ProximalPoint: "proximal point",
    CoordinateAscent: "coordinate ascent",
    InteriorPoint: "interior point",
}


def smooth_minimum(X, y, loss, l2):
    """Of a smooth loss with a bias, by SciPy from formulas of its own."""

    def value(z):
        m = y * (X @ z[:-1] + z[-1])
        values = np.logaddexp(0, -m) if loss == "logistic" else np.maximum(0, 1 - m) ** 2
        return values.mean() + l2 * z[:-1] @ z[:-1]

    return minimize(value, np.zeros(X.shape[1] + 1), method="BFGS", options={"gtol": 1e-9}).fun


@pytest.mark.parametrize("shape", [(25, 3), (10, 14)])
@pytest.mark.parametrize(("solver", "loss"), TWO_CLASSES, ids=str)
def test_each_alone_finds_the_minimum_of_two_classes(solver, loss, shape):
    X, y = rows(1, *shape)
    objective = problem(X, y, loss, l2=0.05)
    least = exact(objective) if loss == "hinge" else smooth_minimum(X, y, loss, 0.05)
    step = climb(objective, 1e-7, 400, solver)
    assert step.objective == pytest.approx(least, rel=2e-6)
    assert step.lower_bound <= least * (1 + 1e-6)
    assert step.state["phase"] == PHASES[type(solver)]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(30, 3), (8, 10)])
@pytest.mark.parametrize("solver", [ProximalPoint(), InteriorPoint()], ids=repr)
def test_each_alone_finds_the_minimum_of_more_classes(solver, shape, intercept):
    X, y = rows(2, *shape, 3)
    objective = problem(X, y, l2=0.05, intercept=intercept)
    step = climb(objective, 1e-7, 400, solver)
    assert step.objective == pytest.approx(exact(objective), rel=2e-6)
    assert step.state["phase"] == PHASES[type(solver)]


@pytest.mark.parametrize("stop", [1, 5])
@pytest.mark.parametrize(
    ("solver", "k"), [*((each, 2) for each in SOLVERS), (SOLVERS[0], 3), (SOLVERS[2], 3)], ids=str
)
def test_each_goes_on_from_a_state_with_the_same_bits(solver, k, stop):
    objective = problem(*rows(3, 50, 6, k), l2=1e-4)
    start = np.zeros(objective.shape)
    whole = list(islice(solver.steps(objective, start, np.random.default_rng(1)), 9))
    state = whole[stop - 1].state
    plain = {name: np.array(value) for name, value in state.items()}
    again = {name: value if value.ndim else value.item() for name, value in plain.items()}
    rest = islice(solver.steps(objective, start, np.random.default_rng(2), again), 9 - stop)
    for expected, step in zip(whole[stop:], rest, strict=True):
        np.testing.assert_array_equal(step.weights, expected.weights)
        assert (step.objective, step.lower_bound) == (expected.objective, expected.lower_bound)


def test_interior_points_stay_where_rounding_ends_them():
    objective = problem(*rows(4, 40, 5), l2=1e-3)
    steps = islice(InteriorPoint().steps(objective, np.zeros((1, 6)), np.random.default_rng(0)), 60)
    last = [(step.objective, step.weights.tobytes()) for step in steps][-5:]
    assert len(set(last)) == 1


@pytest.mark.parametrize("solver", [*SOLVERS, DualAscent()], ids=repr)
def test_each_refuses_what_it_cannot_do_by_its_own_name(solver):
    name = type(solver).__name__
    X, y = rows(0)
    with pytest.raises(ValueError, match=rf"{name} needs l2 > 0.*GradientDescent"):
        solver.check(problem(X, y, l2=0.0))
    with pytest.raises(ValueError, match=rf"{name} knows the dual .*not of 'squared'; use LBFGS"):
        solver.check(problem(X, y, "squared"))
    solver.check(problem(X, y))
    assert solver.accepts(problem(X, y))
    assert not solver.accepts(problem(X, y, "perceptron"))


def test_what_only_one_of_them_cannot_do(monkeypatch):
    three = problem(*rows(0, k=3))
    with pytest.raises(
        ValueError, match=r"knows the dual .*'squared_hinge' for 3 classes; use DualAscent"
    ):
        ProximalPoint().check(problem(*rows(0, k=3), "squared_hinge"))
    for solver in (CoordinateAscent(), DualAscent()):
        solver.check(problem(*rows(0, k=3), "squared_hinge"))
    with pytest.raises(ValueError, match=r"'logistic' never reach; use Newton\(\)"):
        InteriorPoint().check(problem(*rows(0), "logistic"))
    InteriorPoint().check(three)
    monkeypatch.setattr(thresholds, "AFFORDABLE_UNKNOWNS", 3)
    for objective in (three, problem(*rows(0))):
        with pytest.raises(ValueError, match=r"unknowns .* too much; use DualAscent\(\)"):
            InteriorPoint().check(objective)


def test_runs_of_two_and_of_more_classes_are_distinguished():
    with pytest.raises(TypeError, match="two classes is needed, got 3"):
        solvers.dual.interior_point.InteriorPointRun(problem(*rows(0, k=3)))
    with pytest.raises(TypeError, match="more than two classes"):
        solvers.dual.multiclass_interior_point.CrammerSingerRun(problem(*rows(0)))


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_an_estimator_takes_each(solver):
    X, y = rows(5, 80, 4)
    clf = LinearClassifier("hinge", l2=1e-2, solver=solver, random_state=0).fit(X, y)
    assert clf.converged_
    assert clf.solver_ == solver
    assert clf.gap_ <= 1e-6 * clf.objective_


def test_the_one_that_chooses_says_which_ran(monkeypatch):
    X, y = rows(6, 120, 8)

    def reported(loss="hinge", solver=None, **given):
        model = LinearClassifier(loss, solver=solver or DualAscent(), random_state=0, **given)
        return repr(model.fit(X, y).solver_)

    assert reported(l2=1e-2) == "DualAscent()  # ran interior point"
    assert reported(l2=1e-2, solver="auto").endswith("; ran interior point")
    monkeypatch.setattr(thresholds, "SMALL_TABLE", 0)
    assert reported(l2=1e-2) == "DualAscent()  # ran proximal point"
    monkeypatch.setattr(thresholds, "MANY_FEATURES", 1)
    assert reported(l2=1e-2) == "DualAscent()  # ran interior point"
    objective = problem(X, y, l2=1e-5)
    run = DualAscent().steps(objective, np.zeros((1, 9)), np.random.default_rng(0))
    last = list(islice(run, 60))[-1].state
    assert repr(DualAscent().after(last)).endswith("# ran interior point, then proximal point")
    assert reported("logistic", l2=1e-2).endswith("# ran proximal point")
    monkeypatch.setattr(thresholds, "FACTORED_UNKNOWNS", 4)
    assert reported(l2=1e-1) == "DualAscent()  # ran coordinate ascent"
    assert reported(l2=1e-5).endswith("# ran coordinate ascent, then proximal point")


def test_a_state_at_which_single_rows_prove_slow_goes_on_alike(monkeypatch):
    """Coordinate ascent of many classes is left for interior points; also by who resumes there."""
    monkeypatch.setattr(thresholds, "SLOW_ROUNDS_BEFORE_SYSTEMS", 2)
    monkeypatch.setattr(thresholds, "FEW_WEIGHTS", 0)
    objective = problem(*rows(7, 60, 5, 3, noise=0.1), l2=1e-9)
    start = np.zeros(objective.shape)
    whole = list(islice(DualAscent().steps(objective, start, np.random.default_rng(0)), 40))
    phases = [step.state["phase"] for step in whole]
    assert phases[0] == "coordinate ascent"
    left = phases.index("interior point")
    assert whole[-1].state["ran"].startswith("coordinate ascent, then interior point")
    state = whole[left - 1].state
    rest = islice(DualAscent().steps(objective, start, np.random.default_rng(9), state), 3)
    for expected, step in zip(whole[left:], rest, strict=False):
        np.testing.assert_array_equal(step.weights, expected.weights)
        assert step.state["phase"] == expected.state["phase"]


def test_slow_single_rows_of_too_many_unknowns_are_left_for_proximal_points(monkeypatch):
    monkeypatch.setattr(thresholds, "SLOW_ROUNDS_BEFORE_SYSTEMS", 2)
    monkeypatch.setattr(thresholds, "FEW_WEIGHTS", 0)
    monkeypatch.setattr(thresholds, "AFFORDABLE_UNKNOWNS", 1)
    objective = problem(*rows(7, 60, 5, 3, noise=0.1), l2=1e-9)
    steps = DualAscent().steps(objective, np.zeros(objective.shape), np.random.default_rng(0))
    last = list(islice(steps, 30))[-1]
    assert last.state["ran"] == "coordinate ascent, then proximal point"
