"""Parameters of the estimators: what is refused and how, and what scikit-learn may set."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import overlapping, quiet
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from separatrix import (
    LBFGS,
    GradientDescent,
    InverseScaling,
    LinearClassifier,
    Newton,
    Perceptron,
)

X, Y = overlapping(80, 4)
BOTH = [Perceptron(random_state=0), LinearClassifier(random_state=0)]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_iter": 0}, "max_iter must be a finite number of at least 1"),
        ({"max_iter": 2.5}, "max_iter must be a whole number"),
        ({"update": "both"}, "update must be one of 'online', 'batch'"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"learning_rate": "fast"}, "number, a schedule or a callable"),
        ({"l2": -1.0}, "l2 must be a finite number of at least 0"),
        ({"l2": np.nan}, "l2 must be a finite number"),
        ({"start": "ones"}, "start must be one of 'zeros', 'random', 'sum'"),
        ({"start": [1.0, 2.0]}, r"start has shape \(2,\), expected \(1, 5\) or \(5,\)"),
        ({"start": [np.nan] * 5}, "start contains NaN"),
        ({"start": np.ones(5), "fit_intercept": False}, "start has a bias"),
        ({"shuffle": "yes"}, "shuffle must be True or False"),
        ({"keep": "first"}, "keep must be one of 'auto', 'last', 'best', 'average'"),
        ({"patience": -1}, "patience must be a finite number of at least 1, or None"),
        ({"max_norm": "big"}, "max_norm must be a finite number"),
        ({"tol": -1e-3}, "tol must be a finite number of at least 0, or None"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False"),
        ({"class_weight": "even"}, "class_weight must be a dict, 'balanced' or None"),
        ({"class_weight": {7: 1.0}}, r"class_weight has the labels \[7\]"),
        ({"random_state": "seed"}, "random_state must be an int"),
        ({"random_state": -1}, "random_state must not be negative"),
        ({"callbacks": print}, r"callbacks must be a sequence of callables such as \(callback,\)"),
        ({"verbose": -1}, "verbose must be True or False, or a whole number of at least 0"),
        ({"verbose": "yes"}, "verbose must be True or False, or a whole number of at least 0"),
    ],
)
def test_bad_parameters_of_the_perceptron(params, message):
    clf = Perceptron(**params)
    with pytest.raises((TypeError, ValueError), match=message):
        clf.fit(X, Y)
    assert not hasattr(clf, "coef_")
    assert not hasattr(clf, "n_features_in_")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "zero_one"}, "has no slope to descend"),
        ({"loss": "log"}, "unknown loss 'log'"),
        ({"solver": "lbfgs"}, r"solver must be 'auto' or a solver such as LBFGS\(\)"),
        ({"solver": LBFGS}, "solver must be 'auto' or a solver"),
        ({"loss": "hinge", "solver": LBFGS()}, "without kinks"),
        ({"n_jobs": 0}, "n_jobs must be None, a positive"),
        ({"n_jobs": 1.5}, "n_jobs must be None, a positive"),
        ({"tol": "tight"}, "tol must be a finite number"),
    ],
)
def test_bad_parameters_of_the_linear_classifier(params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        LinearClassifier(**params).fit(X, Y)


def test_set_params_replaces_the_solver():
    solver = GradientDescent(batch_size=1)
    clf = LinearClassifier(solver=solver).set_params(solver__batch_size=32, l2=0.5)
    assert clf.solver == GradientDescent(batch_size=32)
    assert solver.batch_size == 1
    assert clf.l2 == 0.5
    assert clf.get_params()["solver__batch_size"] == 32
    with pytest.raises(ValueError, match="name a solver first"):
        LinearClassifier().set_params(solver__batch_size=32)
    with pytest.raises(ValueError, match="Invalid parameter 'size'"):
        clf.set_params(solver__size=3)
    with pytest.raises(ValueError, match="Invalid parameter"):
        clf.set_params(regularizer="l1")
    assert clf.set_params(solver=LBFGS(), solver__memory=3).solver == LBFGS(3)


def test_solvers_are_frozen_and_clone():
    with pytest.raises(AttributeError):
        LBFGS().memory = 3
    clf = LinearClassifier("hinge", solver=GradientDescent(8, learning_rate=InverseScaling(0.1)))
    assert clone(clf).solver == clf.solver
    assert repr(clf.solver) == (
        "GradientDescent(batch_size=8, learning_rate=InverseScaling(step=0.1, power=0.5, "
        "delay=1.0))"
    )


@quiet
def test_grid_search_over_solvers_and_their_parameters():
    search = GridSearchCV(
        LinearClassifier(solver=GradientDescent(1), max_iter=5, random_state=0),
        [
            {"solver__batch_size": [1, 16]},
            {"solver": [LBFGS(), Newton(), "auto"], "l2": [1e-3, 1e-2]},
            {"solver": [LBFGS()], "solver__memory": [2, 5]},
        ],
        cv=3,
    ).fit(X, Y)
    assert len(search.cv_results_["params"]) == 10
    assert search.best_score_ > 0.7
