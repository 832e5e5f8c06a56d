"""LinearClassifier(bounds=...): the minimum, its proof, and exact bounds."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from bounded_problems import ORACLE, Problem, drawn, losses
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning

import separatrix
from separatrix import (
    LBFGS,
    ConstrainedElasticNet,
    CoordinateDescent,
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    ProximalNewton,
)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("l1", [0.0, 0.01])
@pytest.mark.parametrize("l2", [0.0, 1e-4, 0.1])
@pytest.mark.sampled(24)
def test_fits_reach_the_minimum_of_another_solver(seed, l1, l2):
    rng, X, y, c, low, high = drawn(seed)
    name = ("logistic", "squared_hinge", "squared")[seed % 3]
    standardize, intercept = bool(seed % 2), bool(seed % 4)
    if l2:
        low, high = (np.where(rng.random(len(e)) < 0.2, end, e) for e, end in (
            (low, -np.inf), (high, np.inf)))  # fmt: skip
    clf = LinearClassifier(
        name, l1=l1, l2=l2, bounds=(low, high), standardize=standardize, fit_intercept=intercept,
        tol=1e-10,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "l1=0.01 is so large", UserWarning)
        clf.fit(X, y, sample_weight=c)
    w = clf.coef_[0]
    assert clf.stop_ == "optimal"
    assert np.all(w >= low)
    assert np.all(w <= high)
    problem = Problem(X, y, name, l1, l2, c, scale=clf.scale_ if standardize else 1.0)
    assert clf.objective_ == pytest.approx(problem.value(w, clf.intercept_[0]), rel=1e-11)
    least = problem.least(low, high, intercept)
    assert clf.objective_ <= least + 1e-9 * (1.0 + least)
    assert clf.objective_ - clf.gap_ <= least * (1.0 + 1e-12)


def test_a_loose_fit_never_claims_too_small_a_gap():
    for seed in range(6):
        _, X, y, c, low, high = drawn(100 + seed)
        l2 = (0.0, 1e-3, 1.0)[seed % 3]
        common = {"l2": l2, "bounds": (low, high), "standardize": bool(seed % 2)}
        exact = LinearClassifier(**common, tol=1e-13).fit(X, y, sample_weight=c)
        for iterations in (1, 2):
            for solver in (ProximalNewton(), GradientDescent()):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    loose = LinearClassifier(
                        **common, tol=1e-13, max_iter=iterations, solver=solver
                    ).fit(X, y, sample_weight=c)
                assert loose.objective_ - loose.gap_ <= exact.objective_
                assert np.all((loose.coef_ >= low) & (loose.coef_ <= high))


def test_the_conditions_of_a_minimum_hold():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    low, high = np.full(30, -0.1), np.full(30, 0.2)
    clf = LinearClassifier(l1=0.003, l2=1e-3, bounds=(low, high), tol=1e-13).fit(X, y)
    w, problem = clf.coef_[0], Problem(X, y, "logistic", 0.003, 1e-3)
    g = problem.slope(w, clf.intercept_[0])
    inside = (w > low) & (w < high) & (w != 0.0)
    assert {True, False} == {*inside.tolist()}
    assert np.abs((g[:-1] + 0.003 * np.sign(w))[inside]).max() < 1e-6
    assert np.all(g[:-1][w == high] <= -0.003)
    assert np.all(g[:-1][w == low] >= 0.003)
    assert np.all(np.abs(g[:-1][w == 0.0]) <= 0.003)
    assert abs(g[-1]) < 1e-6
    # a weight of 0 that is proven to be 0 has its slope strictly inside
    assert clf.zero_.sum() == (w == 0.0).sum() > 0


def test_nonnegative_weights_need_no_penalty_and_zeros_are_proven():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    clf = LinearClassifier(l2=0.0, bounds=(0, None), tol=1e-10).fit(X, y)
    assert clf.stop_ == "optimal"
    assert clf.objective_ <= Problem(X, y).least(0.0, np.inf) + 1e-9
    assert clf.zero_.sum() == (clf.coef_ == 0.0).sum() == 29
    assert not np.signbit(clf.coef_).any()
    free = LinearClassifier(
        l2=1e-2,
        penalty_weights=[0.0] * 3 + [1.0] * 27,
        bounds=({4: 0.0, 1: -0.05}, None),
        tol=1e-10,
    ).fit(X, y)
    low = np.full(30, -np.inf)
    low[[1, 4]] = -0.05, 0.0
    p = np.repeat([0.0, 1.0], [3, 27])
    assert free.stop_ == "optimal"
    assert free.objective_ <= Problem(X, y, l2=1e-2, p=p).least(low, np.inf) + 1e-9


def test_a_minimum_exists_only_if_no_allowed_direction_separates():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]), np.array([0, 0, 1, 1])
    with pytest.warns(ConvergenceWarning, match="no minimum"):
        assert LinearClassifier(l2=0.0, bounds=(-1, None)).fit(X, y).stop_ == "no minimum"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stays = LinearClassifier(l2=0.0, bounds=(None, 0)).fit(X, y)
    assert stays.stop_ != "no minimum"  # whatever separates these rows is not allowed
    assert stays.objective_ == pytest.approx(np.log(2.0))
    assert LinearClassifier(l2=0.0, bounds=(-1, 1)).fit(X, y).stop_ == "optimal"


@pytest.mark.parametrize("standardize", [False, True])
def test_bounds_hold_exactly_in_the_units_of_the_features(standardize):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 20)) * np.exp(rng.standard_normal(20) * 3.0) + 1e3
    y = rng.integers(0, 2, 60)
    low = -np.exp(rng.standard_normal(20) * 3.0) * 1e-3
    high = -low * rng.random(20)
    clf = LinearClassifier(bounds=(low, high), standardize=standardize, tol=1e-8).fit(X, y)
    w = clf.coef_[0]
    assert np.all((w >= low) & (w <= high))
    assert np.any((w == low) | (w == high))
    fixed = LinearClassifier(bounds=(low, low), standardize=standardize, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(fixed.coef_[0], low)
    assert fixed.stop_ == "optimal"
    seen = []
    LinearClassifier(
        bounds=(low, high), standardize=standardize,
        callbacks=[lambda step, info: seen.append(step.weights[0, :-1].copy())],
    ).fit(X, y)  # fmt: skip
    assert np.all((np.array(seen) >= low) & (np.array(seen) <= high))
    last = list(clf.trace_.replay(X, y))[-1]
    np.testing.assert_array_equal(last.weights[0, :-1], w)


def test_units_of_the_features_change_nothing_else():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((80, 4)), rng.integers(0, 2, 80)
    plain = LinearClassifier(bounds=(0, 0.05), standardize=True, tol=1e-12).fit(X, y)
    for unit in (1e-100, 1e-8, 1e8, 1e100):
        other = LinearClassifier(bounds=(0, 0.05 / unit), standardize=True, tol=1e-12)
        other.fit(X * unit, y)
        np.testing.assert_allclose(other.coef_ * unit, plain.coef_, rtol=1e-6, atol=1e-9)
        assert other.stop_ == "optimal"
        assert other.coef_.max() <= 0.05 / unit


def test_sparse_dense_weighted_and_repeated_rows_agree():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((70, 6)) * (rng.random((70, 6)) < 0.5)
    X[3], y, c = 0.0, rng.integers(0, 2, 70), rng.integers(0, 4, 70)
    common = {"bounds": (-0.1, [0.3, None, 0.0, 0.1, np.inf, 0.2]), "l2": 1e-3, "tol": 1e-12}
    dense = LinearClassifier(**common).fit(X, y, sample_weight=c)
    sparse = LinearClassifier(**common).fit(sp.csr_array(X), y, sample_weight=c)
    repeated = LinearClassifier(**common).fit(np.repeat(X, c, axis=0), np.repeat(y, c))
    frozen = np.asfortranarray(X)
    frozen.setflags(write=False)
    other = LinearClassifier(**common).fit(frozen, y, sample_weight=c)
    for fit in (sparse, repeated, other):
        np.testing.assert_allclose(fit.coef_, dense.coef_, atol=1e-8)
        np.testing.assert_array_equal(fit.coef_ == -0.1, dense.coef_ == -0.1)
        assert abs(fit.objective_ - dense.objective_) <= fit.gap_ + dense.gap_


def test_features_that_no_row_has_keep_their_bounds():
    X = sp.lil_array((40, 300))
    X[:, 7] = np.linspace(-1.0, 1.0, 40)[:, None]
    y = np.arange(40) >= 20
    low = np.full(300, -1.0)
    low[5] = 0.5
    clf = LinearClassifier(l2=1e-2, bounds=(low, 1.0)).fit(sp.csr_array(X), y)
    assert clf.coef_[0, 5] == 0.5
    assert clf.objective_ == pytest.approx(
        Problem(X.toarray(), y, l2=1e-2).value(clf.coef_[0], clf.intercept_[0]), rel=1e-11
    )


@pytest.mark.parametrize("name", ["logistic", "one_vs_rest_logistic"])
@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_more_classes_have_the_same_bounds_for_each(name, l2):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    low, high = np.array([-0.5, 0.0, -1.0, 0.25]), np.array([0.5, 3.0, 1.0, 0.25])
    clf = LinearClassifier(name, l2=l2, bounds=(low, high), tol=1e-10).fit(X, y)
    assert clf.stop_ == "optimal"
    assert np.all((clf.coef_ >= low) & (clf.coef_ <= high))

    def value(v):
        W = v.reshape(3, 5)
        S, own = X @ W[:, :-1].T + W[:, -1], np.eye(3)[y]
        if name == "logistic":
            top = S.max(axis=1, keepdims=True)
            logs = top + np.log(np.exp(S - top).sum(axis=1, keepdims=True))
            mean, G = np.mean(logs - S[np.arange(150), y][:, None]), (np.exp(S - logs) - own) / 150
        else:
            sign = 2.0 * own - 1.0
            value, slope = losses(name, sign * S)
            mean, G = value.sum() / 150, sign * slope / 150
        gradient = np.column_stack([G.T @ X + 2.0 * l2 * W[:, :-1], G.sum(axis=0)])
        return mean + l2 * np.sum(W[:, :-1] ** 2), gradient.ravel()

    ends = [*zip(low, high, strict=True), (None, None)] * 3
    start = np.tile(np.append(np.clip(0.0, low, high), 0.0), 3)
    least = minimize(value, start, jac=True, method="L-BFGS-B", bounds=ends, options=ORACLE).fun
    assert clf.objective_ <= least + 1e-9
    assert clf.objective_ - clf.gap_ <= least * (1.0 + 1e-12)


# ---- monotone ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((50, 4))
    return X, (X[:, 0] - X[:, 1] + rng.standard_normal(50) > 0.0).astype(int)


def test_bounds_in_every_form_mean_the_same(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    expected = LinearClassifier(bounds=([0, -np.inf, 0.1, -0.2], 0.3)).fit(X, y).coef_
    for bounds in (
        ([0, None, 0.1, -0.2], [0.3] * 4),
        ({"a": 0, "c": 0.1, "d": -0.2}, 0.3),
        ({0: 0, 2: 0.1, 3: -0.2, 1: None}, np.full(4, 0.3)),
        {"a": (0, 0.3), "b": (None, 0.3), "c": (0.1, 0.3), 3: [-0.2, 0.3]},
        np.array([[0, -np.inf, 0.1, -0.2], [0.3] * 4]),
    ):
        found = LinearClassifier(bounds=bounds).fit(frame, y).coef_
        np.testing.assert_allclose(found, expected, atol=1e-9)
    given = ConstrainedElasticNet(0.0, 1e-4, None, (0.0, None, 0.1, -0.2), (0.3,) * 4)
    np.testing.assert_array_equal(LinearClassifier(penalty=given).fit(X, y).coef_, expected)
    unbounded = LinearClassifier(bounds=(None, np.inf), tol=1e-12).fit(X, y)
    np.testing.assert_allclose(
        unbounded.coef_, LinearClassifier(tol=1e-12).fit(X, y).coef_, atol=1e-5
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bounds": (1, 0)}, "the bounds of feature 'x0' are 1 and 0: expected low <= high"),
        ({"bounds": (np.inf, None)}, "finite number between"),
        ({"bounds": (np.nan, 0)}, "the low bound must be a number, None or infinite, got nan"),
        ({"bounds": ([0, 0, 0, np.nan], 1)}, "must be a number"),
        ({"bounds": (0, "one")}, "high bound must be a number"),
        ({"bounds": ([0, 1], None)}, r"shape \(2,\), but there are 4 features"),
        ({"bounds": 3}, r"bounds must be a pair \(low, high\)"),
        ({"bounds": (0, 1, 2)}, "bounds must be a pair"),
        ({"bounds": {"age": (0, 1)}}, "bounds names the feature 'age', which is unknown"),
        ({"bounds": ({7: 0}, 1)}, "bounds names the feature 7"),
        ({"bounds": {0: 1}}, "bounds must be a pair"),
        ({"monotone": "increasing"}, "monotone must be a dict"),
        ({"monotone": {"x0": "increasing"}}, "'x0', which is no column with a feature for each"),
        ({"monotone": [([0, 1], "up")]}, "the direction 'up'"),
        ({"monotone": [[0, 1, 2]]}, "got the entry"),
        ({"monotone": [([0], "increasing")]}, "two features or more"),
        ({"monotone": [([0, 9], "increasing")]}, "monotone names the feature 9"),
        ({"monotone": [([0, 1, 0], "increasing")]}, "'x0' twice"),
        ({"monotone": [([0, 1], "increasing")], "l1": 0.1}, "need l1=0, got l1=0.1"),
        ({"monotone": [([0, 1], "increasing")], "l2": 0.0}, "need l2 > 0"),
        ({"monotone": [([0, 1], "increasing")], "bounds": {0: (0, 1)}}, "different bounds"),
        ({"bounds": (0, 1), "groups": "classes", "l1": 0.1}, "combined with GroupLasso"),
        ({"bounds": (0, 1), "loss": "hinge"}, "bounds is not for loss='hinge'"),
        ({"bounds": (0, 1), "loss": "tanh_squared"}, "bounds needs a convex loss"),
        ({"bounds": (0, 1), "loss": "perceptron"}, "perceptron"),
        ({"bounds": (0, 1), "bias_reduction": "mdypl"}, "combined with bias_reduction"),
        ({"bounds": (0, 1), "certify_predictions": True}, "the weights have constraints"),
        ({"bounds": (0, 1), "solver": LBFGS()}, "LBFGS takes l2 alone.* no bounds"),
        ({"bounds": (0, 1), "solver": CoordinateDescent()}, "CoordinateDescent does not take"),
        ({"bounds": (0, 1), "solver": GradientDescent(batch_size=1)}, "batch_size=1.* not take"),
        ({"bounds": (0, 1), "solver": GradientDescent(average=True)}, "average=True.* not take"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_changes(rows, given, message):
    clf = LinearClassifier().fit(*rows)
    before = {**vars(clf)}
    clf.set_params(**given)
    with pytest.raises(ValueError, match=message):
        clf.fit(*rows)
    assert {name: value for name, value in vars(clf).items() if name not in given} == {
        name: value for name, value in before.items() if name not in given
    }


def test_what_does_not_support_constraints_says_so(rows):
    X, y = rows
    clf = LinearClassifier(bounds=(0, None)).fit(X, y)
    with pytest.raises(ValueError, match="partial_fit goes row by row and does not take bounds"):
        clf.partial_fit(X, y)
    with pytest.raises(ValueError, match="standard errors are wrong"):
        separatrix.inference(clf, X, y)
    for ask in (separatrix.diagnose, separatrix.certify):
        with pytest.raises(ValueError, match="constraints"):
            ask(clf, X, y)
    with pytest.raises(ValueError, match="constraints: fit without bounds"):
        clf.certified(X, X, y)
    for other in (LinearClassifierCV, KernelPerceptron):
        with pytest.raises(TypeError, match="has no parameter 'bounds'"):
            other(bounds=(0, 1))
    Y = np.eye(3)[np.arange(50) % 3]
    with pytest.raises(ValueError, match="monotone is for one score at a time"):
        LinearClassifier(monotone=[([0, 1], "increasing")]).fit(X, Y.argmax(axis=1))
    rest = LinearClassifier("one_vs_rest_logistic", monotone=[([0, 1], "increasing")])
    for fit in (rest.fit(X, Y.argmax(axis=1)), rest.fit(X, Y.astype(int))):
        assert fit.stop_ == "optimal"
        assert np.all(fit.coef_[:, 1] >= fit.coef_[:, 0])


def test_auto_and_gradient_descent_reach_the_same_minimum(rows):
    X, y = rows
    for given in ({"bounds": (0, 0.2)}, {"monotone": [([0, 1, 2], "increasing")]}):
        auto = LinearClassifier(**given, l2=1e-2, tol=1e-10).fit(X, y)
        assert "ProximalNewton()  # weights have bounds" in repr(auto.solver_)
        other = LinearClassifier(**given, l2=1e-2, tol=1e-10, solver=GradientDescent()).fit(X, y)
        assert auto.stop_ == other.stop_ == "optimal"
        assert abs(auto.objective_ - other.objective_) <= auto.gap_ + other.gap_


def test_a_start_out_of_the_bounds_is_moved_into_them(rows):
    X, y = rows
    plain = LinearClassifier(bounds=(0.1, 0.2), tol=1e-10).fit(X, y)
    far = LinearClassifier(bounds=(0.1, 0.2), tol=1e-10, start=np.full(5, -3.0)).fit(X, y)
    np.testing.assert_allclose(far.coef_, plain.coef_, atol=1e-6)
    again = clone(plain).set_params(warm_start=True).fit(X, y)
    again.fit(X, y)
    assert again.n_iter_ == 1


def test_model_files_and_copies_keep_the_constraints(rows, tmp_path):
    X, y = rows
    bounds = {0: (0.0, None), 1: (None, 0.125)}
    clf = LinearClassifier(bounds=bounds, monotone=[([2, 3], "increasing")], standardize=True).fit(
        X, y
    )
    assert clone(clf).get_params()["bounds"] == bounds
    assert "monotone=[([2, 3], 'increasing')]" in repr(clf)
    separatrix.save(clf, tmp_path / "model.sep")
    for other in (separatrix.load(tmp_path / "model.sep"), pickle.loads(pickle.dumps(clf))):
        assert other.bounds == bounds
        assert other.trace_.penalty == clf.trace_.penalty
        last = list(other.trace_.replay(X, y))[-1]
        np.testing.assert_array_equal(last.weights[0, :-1], clf.coef_[0])
        np.testing.assert_array_equal(other.set_params(warm_start=False).fit(X, y).coef_, clf.coef_)
