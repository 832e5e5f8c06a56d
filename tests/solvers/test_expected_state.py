"""What a solver says of its own state: every state of a run conforms, and no other shape does."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from conftest import overlapping

from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    BatchPerceptron,
    CoordinateAscent,
    CoordinateDescent,
    DualAscent,
    ElasticNet,
    GradientDescent,
    InteriorPoint,
    LeastSquares,
    LinearProgram,
    Newton,
    Objective,
    ProximalNewton,
    ProximalPoint,
    Rosenblatt,
    get_loss,
)
from separatrix.penalties import Penalty

THREE = [
    (LBFGS(), "logistic", 1e-3), (ProximalNewton(), "logistic", ElasticNet(0.01)),
    (ProximalNewton(), "one_vs_rest_logistic", ElasticNet(0.01)),
    (DualAscent(), "hinge", 1e-3), (CoordinateAscent(), "hinge", 1e-3),
    (CoordinateAscent(), "one_vs_rest_hinge", 1e-3), (InteriorPoint(), "hinge", 1e-3),
    (DualAscent(), "one_vs_rest_hinge", 1e-3),
    (ProximalPoint(), "hinge", 1e-3), (LinearProgram(), "hinge", 0.0),
]  # fmt: skip
TWO = [
    (Rosenblatt(average=True), "perceptron", 0.0), (BatchPerceptron(0.3), "perceptron", 0.0),
    (GradientDescent(), "logistic", 0.01), (GradientDescent(), "hinge", 0.01),
    (GradientDescent(learning_rate=0.1, average=True), "logistic", 0.01),
    (GradientDescent(1), "logistic", 0.01), (GradientDescent(1), "logistic", ElasticNet(0.03)),
    (LBFGS(memory=3), "logistic", 1e-6), (LBFGS(factored_features=0), "tanh_squared", 1e-3),
    (Newton(), "logistic", 1e-3), (ProximalNewton(), "logistic", ElasticNet(0.03)),
    (CoordinateDescent(), "squared_hinge", 1e-3), (LeastSquares(), "squared", 1e-3),
    (DualAscent(), "hinge", 1e-3), (CoordinateAscent(), "hinge", 1e-3),
    (InteriorPoint(), "hinge", 1e-3),
    (ProximalPoint(), "hinge", 1e-3), (CoordinateAscent(), "logistic", 1e-3),
    (LeastSquares(direct_size=0), "squared", 1e-3), (LeastSquares(direct_size=0), "squared", 0.0),
    (LinearProgram(), "hinge", 0.0),
]  # fmt: skip


OPTIONAL = ("cumulative", "kept_bytes", "least", "received", "step_scale")
"""Entries without which a run goes on as well."""


def objective(loss, penalty, classes, intercept):
    X, y = overlapping(40, 6)
    y = np.arange(40) % 3 if classes == 3 else y.astype(np.float64)
    penalty = penalty if isinstance(penalty, Penalty) else L2(penalty)
    source = ArraySource(X, y, np.arange(classes), np.arange(40.0) % 7)
    return Objective(get_loss(loss).for_classes(classes), penalty, source, intercept)


def changed(value):
    """Other values in the place of one that a state has; none of them fits it."""
    yield None
    yield 3 if isinstance(value, str) else "x"
    if isinstance(value, np.ndarray):
        yield value.tolist()
        yield value.astype(np.float32)
        yield value[None]
        if value.dtype.kind == "i":
            yield value + 2**40
    elif not isinstance(value, (bool, str, list)):
        yield 10**30


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("solver", "loss", "penalty", "classes"),
    [(*run, 2) for run in TWO] + [(*run, 3) for run in THREE],
    ids=str,
)
def test_states_conform_and_others_do_not(solver, loss, penalty, classes, intercept):
    problem = objective(loss, penalty, classes, intercept)
    solver.check(problem)
    check, start = solver.expected_state(problem), np.zeros(problem.shape)
    steps = islice(solver.steps(problem, start, np.random.default_rng(0)), 6)
    for step in steps:
        check("state", step.state)
        handed_on = solver.handed_on(step.state)
        if handed_on is not None:
            check("state", handed_on)
    for name, value in step.state.items():
        if name not in OPTIONAL:
            with pytest.raises(ValueError, match="state"):
                check("state", {key: each for key, each in step.state.items() if key != name})
        for other in changed(value):
            with pytest.raises(ValueError, match="state"):
                check("state", step.state | {name: other})
    with pytest.raises(ValueError, match="not known"):
        check("state", step.state | {"more": 1})


@pytest.mark.parametrize("product", ["sy", "yy"])
def test_products_of_pairs_are_positive(product):
    """The recursion divides by them."""
    solver, problem = LBFGS(memory=3), objective("logistic", 1e-6, 2, True)
    steps = solver.steps(problem, np.zeros(problem.shape), np.random.default_rng(0))
    *_, step = islice(steps, 4)
    for wrong in (0.0, -1.0, np.nan):
        changed = [wrong, *step.state[product][1:]]
        with pytest.raises(ValueError, match=f"{product} must be positive"):
            solver.expected_state(problem)("state", step.state | {product: changed})
