"""Losses, penalties, schedules and solvers survive JSON, and what cannot says so."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

from separatrix import (
    L2,
    LBFGS,
    Constant,
    GradientDescent,
    InverseScaling,
    LinearClassifier,
    MarginLoss,
    Rosenblatt,
    losses,
    penalties,
    schedules,
    solvers,
)
from separatrix.losses import Logistic
from separatrix.numeric.registry import Registered

PACKAGES = (losses, penalties, schedules, solvers)
DEFAULTS = [
    (package, package.REGISTRY[name]()) for package in PACKAGES for name in package.REGISTRY
]
OTHERS = [
    (losses, Logistic().multiclass()),
    (losses, losses.get_loss("squared").multiclass()),
    (losses, losses.get_loss("one_vs_rest_logistic")),
    (penalties, L2(0.1)),
    (schedules, InverseScaling(0.3, 0.7, 12.5)),
    (schedules, schedules.StepDecay(2.0, 0.25, 7)),
    (schedules, schedules.Pegasos(1e-3)),
    (solvers, LBFGS(memory=3, factored_features=10)),
    (solvers, GradientDescent(batch_size=4, shuffle=False, learning_rate=Constant(0.1))),
    (solvers, GradientDescent(batch_size=1, learning_rate=InverseScaling(0.1), average=True)),
    (solvers, Rosenblatt(learning_rate=0.1, shuffle=False)),
]


def there_and_back(package, thing):
    return package.from_dict(json.loads(json.dumps(thing.to_dict())))


@pytest.mark.parametrize(
    ("package", "thing"), DEFAULTS + OTHERS, ids=lambda value: repr(value)[:60]
)
def test_plain_data_gives_the_same_object(package, thing):
    back = there_and_back(package, thing)
    assert type(back) is type(thing)
    assert back == thing
    assert repr(back) == repr(thing)


def test_every_class_of_a_kind_is_registered():
    roots = (
        Registered, losses.Loss, MarginLoss, losses.Joint, penalties.Penalty,
        penalties.SparsityInducing, schedules.Schedule, solvers.Solver,
    )  # fmt: skip
    for package in PACKAGES:
        for cls in vars(package).values():
            if not isinstance(cls, type) or not issubclass(cls, Registered) or cls in roots:
                continue
            assert issubclass(cls, losses.Joint) or package.REGISTRY[cls.name] is cls


@pytest.mark.parametrize("name", solvers.REGISTRY)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_solver_read_back_gives_the_same_bits(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    y = np.where(X[:, 0] + rng.standard_normal(80) > 0.2, 1, -1)
    loss = {
        "Rosenblatt": "perceptron", "BatchPerceptron": "perceptron", "LeastSquares": "squared",
        "LinearProgram": "hinge", "DualAscent": "hinge", "ProximalPoint": "hinge",
        "OnlineRule": "hinge",
    }.get(name, "squared_hinge")  # fmt: skip
    options = {"l2": 0.0 if name in ("LinearProgram", "BatchPerceptron", "OnlineRule") else 1e-2}
    if name == "FisherScoring":
        loss, options = "logistic", {"bias_reduction": "firth"}
    solver = solvers.REGISTRY[name]()
    fits = [
        LinearClassifier(loss, solver=each, max_iter=5, random_state=0, **options).fit(X, y)
        for each in (solver, there_and_back(solvers, solver))
    ]
    assert fits[0].n_iter_ >= 1
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    np.testing.assert_array_equal(fits[0].intercept_, fits[1].intercept_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nested_schedules_give_the_same_bits():
    X = np.random.default_rng(1).standard_normal((50, 3))
    y = np.where(X.sum(axis=1) > 0.1, 1, -1)
    solver = GradientDescent(batch_size=3, learning_rate=InverseScaling(0.2, 0.6), average=True)
    assert solver.to_dict()["learning_rate"] == {
        "schedule": "inverse_scaling", "step": 0.2, "power": 0.6, "delay": 1.0,
    }  # fmt: skip
    fits = [
        LinearClassifier("logistic", solver=each, max_iter=3, random_state=3).fit(X, y)
        for each in (solver, there_and_back(solvers, solver))
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


def test_numpy_numbers_become_plain_ones():
    solver = GradientDescent(batch_size=np.int64(4), learning_rate=np.float64(0.5))
    assert json.loads(json.dumps(solver.to_dict())) == {
        "solver": "GradientDescent", "batch_size": 4, "shuffle": True, "learning_rate": 0.5,
        "average": False,
    }  # fmt: skip


def test_why_a_solver_was_chosen_is_not_written_down():
    assert LBFGS(reason="it is smooth").to_dict() == LBFGS().to_dict()


def test_functions_are_refused_with_a_remedy():
    solver = GradientDescent(batch_size=1, learning_rate=lambda t: 1.0 / t)
    with pytest.raises(TypeError, match=r"GradientDescent.learning_rate=.*InverseScaling\(\)"):
        solver.to_dict()


def test_classes_without_a_name_of_their_own_are_refused():
    class Mine(LBFGS):
        pass

    with pytest.raises(TypeError, match=r"Mine has no name in the registry.*set a `name`"):
        Mine().to_dict()
    with pytest.raises(TypeError, match=r"not what Logistic\(\).multiclass\(\) gives"):
        losses.CrammerSinger(Logistic()).to_dict()


def test_a_class_of_the_user_registers_itself():
    @dataclass(frozen=True)
    class Halving(schedules.Schedule):
        name = "halving"
        first: float = 1.0

        def __call__(self, t):
            return self.first * 0.5**t

    try:
        solver = Rosenblatt(learning_rate=Halving(0.25))
        assert there_and_back(solvers, solver) == solver
        with pytest.raises(ValueError, match="a schedule named 'halving' exists already"):
            type("Other", (schedules.Schedule,), {"name": "halving", "__module__": "elsewhere"})
    finally:
        del schedules.REGISTRY["halving"]


def test_a_loss_whose_parameters_are_not_known_is_refused():
    class Scaled(MarginLoss):
        name = "scaled"

        def __init__(self, scale):
            self.scale = scale

    try:
        with pytest.raises(TypeError, match=r"Scaled has unknown parameters.*dataclass"):
            Scaled(2.0).to_dict()
    finally:
        del losses.REGISTRY["scaled"]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_unknown_names_list_what_is_known(package):
    kind = next(iter(package.REGISTRY.values()))._kind
    with pytest.raises(ValueError, match=f"unknown {kind} 'none'; known are ") as error:
        package.from_dict({kind: "none"})
    assert all(name in str(error.value) for name in package.REGISTRY)
    for data in ({}, {"name": "none"}, {kind: 3}, [kind], None):
        with pytest.raises(ValueError, match=f"a {kind} as plain data must be a dictionary"):
            package.from_dict(data)


def test_unknown_parameters_list_what_is_known():
    with pytest.raises(ValueError, match="'LBFGS' has no parameter 'memroy'; known are memory, "):
        solvers.from_dict({"solver": "LBFGS", "memroy": 5})
    with pytest.raises(ValueError, match="'hinge' has no parameter 'margin'; known are none"):
        losses.from_dict({"loss": "hinge", "margin": 2.0})
    with pytest.raises(ValueError, match="not one of the kinds of plain data"):
        solvers.from_dict({"solver": "Rosenblatt", "learning_rate": {"constant": 1.0}})
