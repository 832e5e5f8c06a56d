"""LinearClassifier(penalty=...): an object in the place of l1, l2, penalty_weights and groups."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import separatrix
from separatrix import (
    L2,
    LBFGS,
    CoordinateDescent,
    ElasticNet,
    GradientDescent,
    GroupLasso,
    LinearClassifier,
    LinearClassifierCV,
    ProximalNewton,
    certify,
)
from separatrix.losses import REGISTRY as LOSSES
from separatrix.losses import MarginLoss
from separatrix.penalties import REGISTRY, Penalty


@pytest.fixture
def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 6))
    return X, (X @ rng.standard_normal((6, 3)) + rng.standard_normal((90, 3))).argmax(axis=1)


@pytest.mark.parametrize(
    ("penalty", "shorthand"),
    [
        (L2(0.01), {"l2": 0.01}),
        (ElasticNet(0.02, 0.01), {"l1": 0.02, "l2": 0.01}),
        (
            ElasticNet(0.02, 0.0, (1.0, 2.0, 0.0, 1.0, 1.0, 1.0)),
            {"l1": 0.02, "l2": 0.0, "penalty_weights": [1.0, 2.0, 0.0, 1.0, 1.0, 1.0]},
        ),
        (
            GroupLasso(0.02, 0.01, groups=(0, 0, 1, 1, 2, 2)),
            {"l1": 0.02, "l2": 0.01, "groups": [0, 0, 1, 1, 2, 2]},
        ),
        (GroupLasso(0.02, 0.01), {"l1": 0.02, "l2": 0.01, "groups": "classes"}),
    ],
)
def test_same_bits_as_the_shorthand(rows, penalty, shorthand) -> None:
    X, y = rows
    given, short = LinearClassifier(penalty=penalty).fit(X, y), LinearClassifier(**shorthand)
    short.fit(X, y)
    np.testing.assert_array_equal(given.coef_, short.coef_)
    np.testing.assert_array_equal(given.zero_, short.zero_)
    assert (given.objective_, given.gap_) == (short.objective_, short.gap_)
    assert certify(given, X, y).gap == certify(short, X, y).gap


# ---- a penalty that is defined here alone ------------------------------------------------


@dataclass(frozen=True)
class Tikhonov(Penalty):
    """``sum of a_j w_j^2``: smooth, and every feature has a factor of its own."""

    factors: tuple[float, ...] = (1.0,)

    def value(self, W):
        return float(np.sum(np.array(self.factors) * W[:, :-1] ** 2))

    @property
    def coercive(self):
        return min(self.factors) > 0.0

    def gradient(self, W):
        gradient = np.zeros_like(W)
        gradient[:, :-1] = 2.0 * np.array(self.factors) * W[:, :-1]
        return gradient

    def diagonal(self, shape):
        return self.gradient(np.ones(shape))

    def conjugate(self, V):
        return float(np.sum(V**2 / (4.0 * np.array(self.factors))))

    def on_features(self, features):
        return replace(self, factors=tuple(np.array(self.factors)[features].tolist()))


@dataclass(frozen=True)
class PlainLasso(Penalty):
    """``t * sum of |w_j|``: with a kink, and nothing else."""

    smooth = False
    t: float = 0.1
    coercive = True

    @property
    def thresholds(self):
        return np.array([self.t])

    def value(self, W):
        return float(self.rest(W).sum())

    def rest(self, W):
        rest = np.zeros_like(W)
        rest[:, :-1] = self.t * np.abs(W[:, :-1])
        return rest

    def gradient(self, W):
        return np.zeros_like(W)

    def diagonal(self, shape):
        return np.zeros(shape)

    def prox(self, W, step):
        V = W.copy()
        held = self.t * np.broadcast_to(step, W.shape[1:])[:-1]
        V[:, :-1] = np.sign(W[:, :-1]) * np.maximum(np.abs(W[:, :-1]) - held, 0.0)
        return V

    def conjugate(self, V):
        return 0.0 if np.abs(V).max(initial=0.0) <= self.t else np.inf

    def dual_scale(self, V, gain=np.inf):
        return min(1.0, self.t / max(np.abs(V).max(), 1e-300)) * (1.0 - 1e-15)

    def violation(self, W, gradient):
        violation = np.abs(gradient)
        w, g = W[:, :-1], gradient[:, :-1]
        at_zero = np.maximum(np.abs(g) - self.t, 0.0)
        violation[:, :-1] = np.where(w == 0.0, at_zero, np.abs(g + self.t * np.sign(w)))
        return violation

    def largest(self, gradient):
        return float(np.abs(gradient[:, :-1]).max())


def least(X, y, factors, t) -> float:
    """The minimum by SciPy, of softmax or the logistic loss, weights in two parts u - v."""
    k, d = len(np.unique(y)), X.shape[1]
    k = 1 if k == 2 else k

    def objective(p):
        u, v, b = p[: k * d].reshape(k, d), p[k * d : 2 * k * d].reshape(k, d), p[2 * k * d :]
        scores = X @ (u - v).T + b
        if k == 1:
            sign = np.where(y == y.max(), 1.0, -1.0)
            loss = np.logaddexp(0.0, -sign * scores[:, 0]).mean()
            slope = (-sign / (1.0 + np.exp(sign * scores[:, 0])))[:, None] / len(y)
        else:
            top = scores.max(axis=1, keepdims=True)
            q = np.exp(scores - top)
            q /= q.sum(axis=1, keepdims=True)
            loss = -np.log(q[np.arange(len(y)), y]).mean()
            slope = (q - np.eye(k)[y]) / len(y)
        G = slope.T @ X + 2.0 * factors * (u - v)
        J = loss + np.sum(factors * (u - v) ** 2) + t * (u + v).sum()
        return J, np.concatenate([(G + t).ravel(), (t - G).ravel(), slope.sum(axis=0)])

    bounds = [(0.0, None)] * (2 * k * d) + [(None, None)] * k
    options = {"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10}
    start = np.zeros(2 * k * d + k)
    found = scipy_minimize(objective, start, jac=True, bounds=bounds, options=options)
    return float(found.fun)


FACTORS = (0.3, 0.01, 0.002, 0.05, 0.1, 0.02)


@pytest.mark.parametrize("solver", ["auto", ProximalNewton(), GradientDescent()])
@pytest.mark.parametrize("two", [True, False])
@pytest.mark.parametrize("smooth", [True, False])
def test_own_penalty(rows, smooth, two, solver) -> None:
    X, y = rows
    y = np.minimum(y, 1) if two else y
    penalty = Tikhonov(FACTORS) if smooth else PlainLasso(0.03)
    clf = LinearClassifier(penalty=penalty, solver=solver, tol=1e-7, max_iter=20000).fit(X, y)
    assert clf.stop_ == "optimal"
    assert clf.gap_ <= 1e-7 * clf.objective_
    known = least(X, y, np.array(FACTORS) if smooth else np.zeros(6), 0.0 if smooth else 0.03)
    assert clf.objective_ - known + 1e-8 >= -1e-12
    assert clf.objective_ - known <= clf.gap_ + 1e-9
    if not smooth:
        same = LinearClassifier(l1=0.03, l2=0.0, tol=1e-7, max_iter=20000).fit(X, y)
        np.testing.assert_allclose(clf.coef_, same.coef_, atol=1e-3)
        assert clf.zero_.any()
        assert not clf.coef_[clf.zero_].any()


def test_own_penalty_needs_features_that_rows_store(rows) -> None:
    """Features of zeros alone are left out of the fit, also of a penalty by feature."""
    X, y = rows
    wide = np.insert(X, 2, 0.0, axis=1)
    factors = np.insert(FACTORS, 2, 7.0)
    clf = LinearClassifier(penalty=Tikhonov(tuple(factors))).fit(wide, y)
    assert not clf.coef_[:, 2].any()
    same = LinearClassifier(penalty=Tikhonov(FACTORS)).fit(X, y)
    np.testing.assert_allclose(np.delete(clf.coef_, 2, axis=1), same.coef_, atol=1e-6)


def test_own_penalty_by_columns_and_refused_by_solvers_of_l2(rows) -> None:
    X, y = rows[0], np.minimum(rows[1], 1)
    clf = LinearClassifier(penalty=PlainLasso(0.03), solver=CoordinateDescent()).fit(X, y)
    assert clf.stop_ == "optimal"
    for solver in (LBFGS(), GradientDescent(batch_size=1)):
        with pytest.raises(ValueError, match="l2 alone"):
            LinearClassifier(penalty=Tikhonov(FACTORS), solver=solver).fit(X, y)
    with pytest.raises(ValueError, match="which is not smooth"):
        LinearClassifier("hinge", penalty=Tikhonov(FACTORS)).fit(X, y)


def test_a_penalty_with_a_name_is_saved(rows, tmp_path) -> None:
    X, y = rows
    named = LinearClassifier(penalty=ElasticNet(0.02, 0.01)).fit(X, y)
    separatrix.save(named, tmp_path / "model")
    back = separatrix.load(tmp_path / "model")
    assert back.get_params()["penalty"] == ElasticNet(0.02, 0.01)
    np.testing.assert_array_equal(back.predict(X), named.predict(X))
    own = LinearClassifier(penalty=Tikhonov(FACTORS)).fit(X, y)
    with pytest.raises(TypeError, match="Tikhonov"):
        separatrix.save(own, tmp_path / "own")


def test_registry_line() -> None:
    """A name is all that a penalty needs to be written down as plain data."""
    try:

        @dataclass(frozen=True)
        class Named(Tikhonov):
            name = "tikhonov"

        assert separatrix.penalties.from_dict(Named((1.0, 2.0)).to_dict()) == Named((1.0, 2.0))
    finally:
        REGISTRY.pop("tikhonov", None)


# ---- a parameter of scikit-learn's --------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "kind", "message"),
    [
        ({"penalty": "l1"}, ValueError, "set l1"),
        ({"penalty": "l2"}, ValueError, "set l2"),
        ({"penalty": "elasticnet"}, ValueError, "set l1 and l2"),
        ({"penalty": "none"}, ValueError, "set l2=0"),
        ({"penalty": 3}, TypeError, "penalty must be None or a penalty object"),
        ({"penalty": L2(1.0), "l1": 0.1}, ValueError, "leave out l1"),
        ({"penalty": L2(1.0), "l2": 0.1}, ValueError, "leave out l2"),
        ({"penalty": L2(1.0), "groups": "classes"}, ValueError, "leave out groups"),
        (
            {"penalty": L2(1.0), "penalty_weights": np.ones(6)},
            ValueError,
            "leave out penalty_weights",
        ),
        ({"penalty": ElasticNet(-1.0)}, ValueError, "l1 of penalty"),
        ({"penalty": ElasticNet(0.1, 0.0, (1.0,))}, ValueError, "has 1 entries"),
        ({"penalty": ElasticNet(0.1), "loss": "hinge"}, ValueError, "which is not smooth"),
    ],
)
def test_refused_at_fit_and_nothing_changes(rows, parameters, kind, message) -> None:
    X, y = rows
    clf = LinearClassifier(max_iter=50).fit(X, y)
    clf.set_params(**parameters)
    before, weights = dict(vars(clf)), clf.coef_.copy()
    with pytest.raises(kind, match=re.escape(message)):
        clf.fit(X, y)
    assert vars(clf) == before
    np.testing.assert_array_equal(clf.coef_, weights)


def test_clone_and_parameters() -> None:
    clf = LinearClassifier(penalty=ElasticNet(0.1, 0.2))
    same = clone(clf)
    assert same.get_params()["penalty"] == same.penalty == ElasticNet(0.1, 0.2)
    assert "penalty=ElasticNet(" in repr(same)
    same.set_params(penalty__l1=0.5)
    assert (same.penalty.l1, clf.penalty.l1) == (0.5, 0.1)
    assert LinearClassifier().get_params()["penalty"] is None
    # The word that SelectFromModel asks for is no parameter.
    assert clone(LinearClassifier(l1=0.1)).penalty == "l1"
    with pytest.raises(ValueError, match="Invalid parameter 'C'"):
        same.set_params(penalty__C=1.0)
    with pytest.raises(ValueError, match="name a penalty first"):
        LinearClassifier().set_params(penalty__l1=1.0)


def test_searched_by_scikit_learn(rows) -> None:
    X, y = rows
    grid = {"penalty__l1": [0.5, 0.01]}
    found = GridSearchCV(LinearClassifier(penalty=ElasticNet(0.1, 0.0)), grid, cv=2)
    with pytest.warns(UserWarning, match="no feature is selected"):
        found.fit(X, y)
    assert found.best_params_ == {"penalty__l1": 0.01}


def test_search_for_l2_takes_no_object() -> None:
    with pytest.raises(TypeError, match="penalty"):
        LinearClassifierCV(penalty=L2(1.0), scoring=None)  # type: ignore[call-arg]


# ---- losses ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Steep(MarginLoss):
    """The logistic loss of 3 m: its slope goes to -3."""

    attained = False
    max_curvature = 2.25

    def phi(self, m):
        return np.logaddexp(0.0, -3.0 * m)

    def slope(self, m):
        return -3.0 / (1.0 + np.exp(3.0 * m))

    def curvature(self, m):
        return -3.0 * self.slope(m) * (1.0 + self.slope(m) / 3.0)

    def conjugate(self, alpha):
        return LOSSES["logistic"]().conjugate(alpha / 3.0)


@dataclass(frozen=True)
class SteepAndSaysSo(Steep):
    def steepness(self, mean):
        return 3.0


def test_no_proof_for_a_loss_that_does_not_say_how_steep_it_is(rows) -> None:
    X, y = rows[0], np.minimum(rows[1], 1)
    silent = LinearClassifier(Steep(), l2=0.1).fit(X, y)
    assert (silent.gap_, silent.stop_) == (None, "tol")
    says = LinearClassifier(SteepAndSaysSo(), l2=0.1).fit(X, y)
    assert says.stop_ == "optimal"
    assert says.gap_ <= 1e-6 * says.objective_
    assert abs(says.objective_ - silent.objective_) <= says.gap_ + 1e-8
