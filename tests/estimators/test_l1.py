"""LinearClassifier with l1 and penalty_weights."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from l1_oracles import Net, fitted, problem
from run_states import Recorder, Resumed
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import separatrix
from separatrix import (
    LBFGS,
    DualAscent,
    GradientDescent,
    LinearClassifier,
    MarginLoss,
    ProximalNewton,
)


def test_scikit_learns_saga_finds_the_same_weights():
    X, y = problem()
    for l1, l2 in ((0.02, 0.0), (0.02, 0.01)):
        strength = l1 + 2.0 * l2
        C = 1.0 / (strength * len(X))
        theirs = LogisticRegression(
            C=C, l1_ratio=l1 / strength, solver="saga", tol=1e-12, max_iter=100_000
        ).fit(X, y)
        ours = fitted(X, y, l1=l1, l2=l2)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
        net = Net("logistic", X, y, l1, l2)
        W = np.column_stack([theirs.coef_, theirs.intercept_])
        assert ours.objective_ <= net.value(W) * (1.0 + 1e-12)
        assert ours.objective_ >= net.value(W) - 1e-9


def test_scikit_learns_softmax_is_no_better():
    X, y = problem(k=3)
    theirs = LogisticRegression(
        C=1.0 / (0.02 * len(X)), l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=20_000
    ).fit(X, y)
    W = np.column_stack([theirs.coef_, theirs.intercept_])
    ours = fitted(X, y)
    assert ours.objective_ == pytest.approx(Net("logistic", X, y, 0.02, 0.0).value(W), rel=1e-8)


def test_liblinear_finds_the_same_squared_hinge_without_a_bias():
    X, y = problem()
    theirs = LinearSVC(
        penalty="l1", C=1.0 / (0.02 * len(X)), dual=False, fit_intercept=False, tol=1e-10,
        max_iter=100_000,
    ).fit(X, y)  # fmt: skip
    ours = fitted(X, y, loss="squared_hinge", fit_intercept=False)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert not ours.intercept_.any()


@pytest.mark.sampled
@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge"])
@pytest.mark.parametrize("k", [2, 3])
def test_rows_may_be_sparse_repeated_weighted_or_on_threads(loss, k):
    X, y = problem(k=k)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.6, X, 0.0)
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    weighted = fitted(X, y, weight.astype(float), loss=loss)
    repeated = fitted(np.repeat(X, weight, axis=0), np.repeat(y, weight), loss=loss)
    sparse = fitted(sp.csr_array(X), y, weight.astype(float), loss=loss)
    for other in (repeated, sparse):
        assert other.objective_ == pytest.approx(weighted.objective_, rel=1e-12)
        np.testing.assert_allclose(other.coef_, weighted.coef_, atol=1e-7)
        assert np.array_equal(other.selected_, weighted.selected_)
    alone = fitted(X, y, weight.astype(float), loss=loss, n_jobs=1)
    assert np.array_equal(alone.coef_, weighted.coef_)


def test_weights_of_features_are_those_of_the_objective():
    X, y = problem()
    p = np.random.default_rng(2).uniform(0.2, 3.0, X.shape[1])
    clf = fitted(X, y, l2=1e-3, penalty_weights=p)
    W = np.column_stack([clf.coef_, clf.intercept_])
    net = Net("logistic", X, y, 0.02, 1e-3, p=p)
    assert clf.objective_ == pytest.approx(net.value(W), rel=1e-12)
    assert net.violation(W).max() <= np.sqrt(2.0 * net.curvatures().max() * clf.gap_) + 1e-14
    # A feature of weight p is one that is 1 / p times as large and of weight 1: without squares.
    scaled = fitted(X / p, y)
    plain = fitted(X, y, penalty_weights=p)
    np.testing.assert_allclose(plain.coef_ * p, scaled.coef_, atol=1e-7)


def test_penalty_weights_alone_are_those_of_the_squares():
    X, y = problem()
    p = np.full(X.shape[1], 2.0)
    clf = LinearClassifier(l2=1e-3, penalty_weights=p, tol=1e-12).fit(X, y)
    same = LinearClassifier(l2=2e-3, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(clf.coef_, same.coef_, atol=1e-6)
    assert clf.penalty == "l2"


def test_standardised_features_are_penalised_in_their_own_units():
    X, y = load_breast_cancer(return_X_y=True)
    clf = fitted(X, y, standardize=True, l1=0.01, l2=1e-4)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    same = fitted(Z, y, l1=0.01, l2=1e-4)
    assert clf.objective_ == pytest.approx(same.objective_, rel=1e-10)
    np.testing.assert_allclose(clf.coef_ * X.std(axis=0), same.coef_, atol=1e-5)
    assert np.array_equal(clf.selected_, same.selected_)
    assert np.array_equal(clf.zero_, same.zero_)


def test_a_run_that_is_cut_goes_on_with_the_same_bits():
    X, y = problem(n=200, d=30, k=3)
    recorder = Recorder()
    whole = fitted(X, y, callbacks=[recorder])
    assert len(recorder.states) > 3
    for state in recorder.states[:3]:
        again = fitted(X, y, callbacks=[Resumed(state)])
        assert np.array_equal(again.coef_, whole.coef_)
        assert again.gap_ == whole.gap_
        assert np.array_equal(again.zero_, whole.zero_)


def test_a_warm_start_ends_where_a_cold_one_does():
    X, y = problem()
    clf = fitted(X, y, l1=0.05, warm_start=True)
    clf.set_params(l1=0.02).fit(X, y)
    assert clf.objective_ == pytest.approx(fitted(X, y).objective_, rel=1e-12)


def test_files_copies_and_replay_keep_all_of_it(tmp_path):
    X, y = problem(k=3)
    p = np.linspace(0.5, 2.0, X.shape[1])
    clf = fitted(X, y, penalty_weights=p)
    separatrix.save(clf, tmp_path / "model.sep")
    for other in (separatrix.load(tmp_path / "model.sep"), pickle.loads(pickle.dumps(clf))):
        assert (other.l1, other.penalty) == (0.02, "l1")
        assert np.array_equal(other.penalty_weights, p)
        assert np.array_equal(other.zero_, clf.zero_)
        assert np.array_equal(other.coef_, clf.coef_)
        assert other.trace_.penalty == clf.trace_.penalty
    steps = list(clf.trace_.replay(X, y))
    assert np.array_equal(steps[-1].weights[:, :-1] == 0.0, clf.coef_ == 0.0)
    with pytest.raises(ValueError, match="penalty l2 only"):
        clf.trace_.recording(X, y)
    assert clone(clf).get_params()["l1"] == 0.02


def test_rows_in_files_give_the_same_fit(tmp_path):
    X, y = problem(k=3)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    source = separatrix.read(tmp_path / "X.npy", target=tmp_path / "y.npy")
    there, here = LinearClassifier(l1=0.02).fit(source), LinearClassifier(l1=0.02).fit(X, y)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-8)
    assert np.array_equal(there.zero_, here.zero_)


def test_scikit_learn_selects_what_is_selected():
    X, y = problem()
    clf = fitted(X, y)
    kept = SelectFromModel(clf, prefit=True).get_support()
    assert np.array_equal(kept, np.abs(clf.coef_[0]) >= 1e-5)


def test_without_l1_nothing_is_proven_zero():
    X, y = problem()
    clf = LinearClassifier().fit(X, y)
    assert not clf.zero_.any()
    assert clf.selected_.all()
    assert not clf.undecided_.any()
    assert clf.penalty == "l2"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"l1": -0.1}, "l1 must be a finite number of at least 0"),
        ({"l1": np.nan}, "l1 must be"),
        ({"l1": np.inf}, "l1 must be"),
        ({"penalty_weights": [1.0] * 14}, "14 entries, but there are 15 features"),
        ({"penalty_weights": [-1.0] + [1.0] * 14}, "not negative, got -1 for feature 0"),
        ({"penalty_weights": [np.nan] + [1.0] * 14}, "got nan for feature 0"),
        ({"penalty_weights": np.ones((1, 15))}, "one number for each feature"),
        ({"penalty_weights": "balanced"}, "one number for each feature"),
        ({"penalty_weights": np.zeros(15)}, "all penalty_weights are 0"),
        ({"loss": "hinge"}, "l1 is not for loss='hinge'.*squared_hinge"),
        ({"loss": "perceptron"}, "l1 is not for loss='perceptron'.*squared_hinge"),
        ({"loss": "hinge", "l1": 0.0, "penalty_weights": np.ones(15)}, "penalty_weights is not"),
        ({"solver": LBFGS()}, r"LBFGS takes l2 alone.*ProximalNewton\(\)"),
        ({"solver": DualAscent()}, r"DualAscent takes l2 alone.*ProximalNewton\(\)"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_and_leaves_the_fit_as_it_was(given, why):
    X, y = problem()
    clf = fitted(X, y)
    before = clf.coef_.copy()
    clf.set_params(**given)
    with pytest.raises(ValueError, match=why):
        clf.fit(X, y)
    assert np.array_equal(clf.coef_, before)


def test_a_loss_of_ones_own_is_taken_if_it_curves():
    class Smooth(MarginLoss):
        max_curvature = 0.25

        def phi(self, m):
            return np.logaddexp(0.0, -m)

        def slope(self, m):
            return -1.0 / (1.0 + np.exp(m))

        def curvature(self, m):
            return np.exp(-m) / (1.0 + np.exp(-m)) ** 2

    X, y = problem()
    clf = fitted(X, y, loss=Smooth())
    np.testing.assert_allclose(clf.coef_, fitted(X, y).coef_, atol=1e-6)
    assert clf.gap_ is None
    assert not clf.zero_.any()


def test_diagnose_looks_at_the_objective_of_the_fit():
    X, y = problem(n=300)
    found = separatrix.diagnose(fitted(X, y, l2=1e-3), X, y)
    assert all("without penalty" not in finding.name for finding in found.findings)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("loss", "rate"),
    [("logistic", "auto"), ("logistic", 0.15), ("squared_hinge", "auto"), ("squared_hinge", 0.08)],
)
def test_proximal_gradients_find_the_same_minimum(loss, rate):
    X, y = problem()
    p = np.linspace(0.5, 1.5, X.shape[1])
    given = {"loss": loss, "l2": 1e-3, "penalty_weights": p, "l1": 0.05}
    solver = GradientDescent(learning_rate=rate)
    clf = fitted(X, y, **given, solver=solver, tol=1e-10, max_iter=20_000)
    same = fitted(X, y, **given)
    assert clf.stop_ == "optimal"
    assert clf.objective_ == pytest.approx(same.objective_, rel=1e-9)
    assert np.array_equal(clf.selected_, same.selected_)
    assert np.array_equal(clf.zero_, same.zero_)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(("n", "d", "flip_y"), [(120, 15, 0.01), (120, 15, 0.3), (30, 60, 0.1)])
@pytest.mark.parametrize("solver", ["auto", GradientDescent()])
def test_tanh_squared_ends_at_a_stationary_point(k, n, d, flip_y, solver):
    X, y = problem(n, d, k, flip_y=flip_y)
    given = {"loss": "tanh_squared", "l1": 0.05, "tol": 1e-12, "max_iter": 1000}
    clf = fitted(X, y, **given, solver=solver)
    assert isinstance(clf.solver_, ProximalNewton if solver == "auto" else GradientDescent)
    assert (clf.stop_, clf.gap_, clf.zero_.any()) == ("tol", None, False)
    signs = np.where(y[:, None] == (1 if k == 2 else np.arange(k)), 1.0, -1.0)
    tanh = np.tanh(signs * (X @ clf.coef_.T + clf.intercept_))
    slopes = -2.0 * (1.0 - tanh) * (1.0 - tanh**2) * signs / len(X)
    g, w = slopes.T @ X, clf.coef_
    away = np.where(w == 0.0, np.maximum(np.abs(g) - 0.05, 0.0), np.abs(g + 0.05 * np.sign(w)))
    assert away.max() < 1e-6
    assert np.abs(slopes.sum(axis=0)).max() < 1e-6
    assert (w == 0.0).any()


def test_a_loss_that_is_neither_convex_nor_a_square_goes_by_gradients():
    class Sigmoid(MarginLoss):
        convex = False

        def phi(self, m):
            return 1.0 / (1.0 + np.exp(m))

        def slope(self, m):
            return -self.phi(m) * self.phi(-m)

        def curvature(self, m):
            return self.phi(m) * self.phi(-m) * (self.phi(-m) - self.phi(m))

    X, y = problem()
    clf = fitted(X, y, loss=Sigmoid(), tol=1e-9, max_iter=20_000, l1=0.01)
    assert isinstance(clf.solver_, GradientDescent)
    assert clf.stop_ == "tol"
    with pytest.raises(ValueError, match=r"not convex and no square; use GradientDescent\(\)"):
        clf.set_params(solver=ProximalNewton()).fit(X, y)


def test_a_loss_without_curvature_goes_by_gradients():
    class Slope(MarginLoss):
        def phi(self, m):
            return np.logaddexp(0.0, -m)

        def slope(self, m):
            return -1.0 / (1.0 + np.exp(m))

    X, y = problem()
    clf = fitted(X, y, loss=Slope(), max_iter=20_000, l1=0.05)
    assert isinstance(clf.solver_, GradientDescent)
    np.testing.assert_allclose(clf.coef_, fitted(X, y, l1=0.05).coef_, atol=1e-4)
