"""How near the minimum each solver ends, on real and on badly scaled data."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from conftest import quiet
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from separatrix import LBFGS, GradientDescent, LinearClassifier, Newton

pytestmark = quiet


def data(name):
    if name == "breast cancer":
        return load_breast_cancer(return_X_y=True)
    return make_classification(20_000, 50, n_informative=20, n_redundant=10, random_state=0)


@pytest.fixture(scope="module", params=["breast cancer", "synthetic"])
def standardised(request):
    X, y = data(request.param)
    return StandardScaler().fit_transform(X), y


def scales(X):
    return 10.0 ** np.random.default_rng(0).uniform(-3, 3, X.shape[1])


@pytest.mark.sampled
@pytest.mark.parametrize("l2", [1e-2, 1e-4])
@pytest.mark.parametrize("solver", [LBFGS(), Newton(), "auto"])
def test_second_order_solvers_end_at_the_minimum(standardised, l2, solver):
    X, y = standardised
    _, minimum = oracles.newton(X, np.where(y > 0, 1.0, -1.0), l2)
    clf = LinearClassifier(l2=l2, solver=solver).fit(X, y)
    assert clf.stop_ == "optimal"
    assert clf.objective_ <= minimum * (1 + 1e-8)


@pytest.mark.sampled
@pytest.mark.parametrize("l2", [1e-2, 1e-4])
@pytest.mark.parametrize("solver", [LBFGS(), Newton()])
def test_badly_scaled_features_change_nothing(standardised, l2, solver):
    X, y = standardised
    X = X * scales(X)
    _, minimum = oracles.newton(X, np.where(y > 0, 1.0, -1.0), l2)
    clf = LinearClassifier(l2=l2, tol=1e-8, solver=solver).fit(X, y)
    assert clf.stop_ == "optimal"
    assert clf.objective_ <= minimum * (1 + 1e-8)


def test_the_objective_is_scikit_learns(standardised):
    X, y = standardised
    l2 = 1e-3
    peer = LogisticRegression(
        C=1 / (2 * len(y) * l2), solver="newton-cholesky", tol=1e-12, max_iter=1000
    ).fit(X, y)
    clf = LinearClassifier(l2=l2, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(clf.coef_, peer.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(clf.intercept_, peer.intercept_, rtol=1e-5)


def test_batch_descent(standardised):
    X, y = standardised
    _, minimum = oracles.newton(X, np.where(y > 0, 1.0, -1.0), 1e-3)
    clf = LinearClassifier(l2=1e-3, solver=GradientDescent()).fit(X, y)
    assert clf.objective_ <= minimum * (1 + 1e-4)


@pytest.mark.sampled(1)
def test_stochastic_descent_within_fifty_passes(standardised):
    X, y = standardised
    _, minimum = oracles.newton(X, np.where(y > 0, 1.0, -1.0), 1e-3)
    solver = GradientDescent(batch_size=1)
    clf = LinearClassifier(l2=1e-3, solver=solver, max_iter=50)
    reached = [clf.set_params(random_state=seed).fit(X, y).objective_ for seed in range(5)]
    assert np.median(reached) <= minimum * (1 + 1e-2)  # one order in twenty is less lucky


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_features_of_any_one_scale(scale):
    X, y = data("breast cancer")
    X = StandardScaler().fit_transform(X)[:, :5]
    reference = LinearClassifier(l2=0.0, solver=Newton(), tol=1e-12).fit(X, y)
    for solver in (Newton(), LBFGS()):
        clf = LinearClassifier(l2=0.0, solver=solver, tol=1e-10).fit(X * scale, y)
        np.testing.assert_allclose(clf.objective_, reference.objective_, rtol=1e-7)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "tanh_squared"])
def test_other_losses_end_where_the_gradient_vanishes(standardised, loss):
    X, y = standardised
    clf = LinearClassifier(loss, l2=1e-3, tol=1e-10).fit(X, y)
    sign = np.where(y > 0, 1.0, -1.0)
    w, b = oracles.gradient(loss, X, sign, clf.coef_[0], clf.intercept_[0], 1e-3)
    assert np.linalg.norm(np.append(w, b)) < 1e-5


def test_float32_reaches_the_minimum_of_its_data(standardised):
    X, y = standardised
    single = LinearClassifier(l2=1e-3).fit(X.astype(np.float32), y)
    double = LinearClassifier(l2=1e-3).fit(X.astype(np.float32).astype(np.float64), y)
    np.testing.assert_allclose(single.objective_, double.objective_, rtol=1e-9)
