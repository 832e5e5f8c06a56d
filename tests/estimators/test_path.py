"""path: sparse models for one strength after another, against plain proximal gradients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from l1_oracles import Net, fitted, mean_loss, problem
from sklearn.linear_model import LogisticRegression

import separatrix
from separatrix import LinearClassifier, path
from separatrix.estimators.path import EXPLAINED, NO_CHANGE

LOSSES = ("logistic", "squared", "squared_hinge", "one_vs_rest_logistic")


def nets(found, name, X, y, **given):
    """The problem at every strength."""
    for s in found.strengths:
        yield Net(name, X, y, found.l1_ratio * s, (1.0 - found.l1_ratio) * s / 2.0, **given)


@pytest.mark.sampled
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("k", "l1_ratio"), [(2, 1.0), (3, 0.5)])
def test_every_fit_is_the_minimum(name, k, l1_ratio):
    X, y = problem(n=80, d=8, k=k)
    found = path(X, y, loss=name, l1_ratio=l1_ratio, strengths=4, smallest=0.05, tol=1e-10)
    alone = null_weights(Net(name, X, y, 1.0, 0.0))
    null = mean_loss(name, X, y, alone, np.ones(len(X)), k)[0]
    for i, net in enumerate(nets(found, name, X, y)):
        least = net.value(net.minimum())
        W = np.column_stack([found.coefficients[i], found.intercepts[i]])
        assert found.objectives[i] == pytest.approx(net.value(W), rel=1e-12)
        assert found.objectives[i] - found.gaps[i] <= least + 1e-12
        assert found.objectives[i] == pytest.approx(least, abs=1e-9)
        assert found.gaps[i] <= 1e-10 * found.objectives[i]
        assert found.nonzeros[i] == np.count_nonzero(found.coefficients[i])
        loss = mean_loss(name, X, y, W, np.ones(len(X)), k)[0]
        assert found.deviance[i] == pytest.approx(1.0 - loss / null, abs=1e-9)


def null_weights(net):
    """The fit of the biases and the free features, in long doubles."""
    strong = Net(net.name, net.X, net.y, 1e3, 0.0, net.c, net.p, net.intercept)
    W = strong.minimum(steps=200_000)
    assert not np.any(W[:, :-1][:, net.p > 0])
    return W


@pytest.mark.sampled
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("standardize", [False, True])
def test_the_largest_strength_is_the_smallest_that_leaves_only_the_bias(name, k, standardize):
    X, y = problem(k=k, d=8)
    c = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    found = path(
        X, y, loss=name, l1_ratio=0.7, strengths=3, sample_weight=c, standardize=standardize
    )
    Z = X
    if standardize:
        mean = np.average(X, axis=0, weights=c)
        Z = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=c))
    net = Net(name, Z, y, 1.0, 0.0, c)
    pull = np.abs(net.smooth_gradient(null_weights(net)))[:, :-1].max()
    assert found.strengths[0] == pytest.approx(float(pull) / 0.7, rel=1e-9)
    assert not found.coefficients[0].any()
    assert found.coefficients[1].any()
    for share, selected in ((1.0, False), (0.999, True)):
        s = share * found.strengths[0]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *args, **given: None)  # nothing is selected
            clf = fitted(X, y, c, loss=name, l1=0.7 * s, l2=0.15 * s, standardize=standardize)
        assert clf.coef_.any() == selected


@pytest.mark.parametrize("seed", range(15))
def test_at_the_largest_strength_the_fit_is_the_null_model_and_below_it_not(seed):
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(20, 80)), int(rng.integers(3, 12)), 2 + seed % 2
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    p = np.where(rng.random(d) < 0.3, 0.0, 1.0) * (seed % 3 != 0) + (seed % 3 == 0)
    p[0] = 1.0
    given = {"loss": LOSSES[seed % 4], "penalty_weights": p, "n_jobs": 1}
    largest = path(X, y, strengths=1, l1_ratio=0.5, **given).strengths[0]
    for solver in ("auto", separatrix.ProximalNewton()):
        for share, selected in ((1.0, False), (0.999, True)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # nothing is selected
                l1, l2 = 0.5 * share * largest, 0.25 * share * largest
                clf = fitted(X, y, l1=l1, l2=l2, solver=solver, **given)
            assert clf.coef_[:, p > 0.0].any() == selected
            assert clf.stop_ == "optimal"


def test_features_of_weight_0_are_in_the_null_model():
    X, y = problem(d=6)
    p = np.array([0.0, 1.0, 2.0, 0.5, 1.0, 1.0])
    found = path(X, y, strengths=4, smallest=0.1, penalty_weights=p, tol=1e-9)
    net = Net("logistic", X, y, 1.0, 0.0, p=p)
    W = null_weights(net)
    pull = np.abs(net.smooth_gradient(W))[0, 1:-1] / p[1:]
    assert found.strengths[0] == pytest.approx(float(pull.max()), rel=1e-8)
    np.testing.assert_allclose(found.coefficients[0, 0], W[0, :-1], atol=1e-6)
    assert found.deviance[0] == pytest.approx(0.0, abs=1e-8)
    for i, net in enumerate(nets(found, "logistic", X, y, p=p)):
        assert found.objectives[i] == pytest.approx(net.value(net.minimum()), abs=1e-9)


@pytest.mark.parametrize(("k", "groups"), [(2, [0, 0, 1, 1, 2, 2]), (3, "classes")])
def test_groups_enter_together_from_where_the_first_pulls_hard_enough(k, groups):
    X, y = problem(d=6, k=k)
    found = path(X, y, groups=groups, strengths=3, smallest=0.5)
    net = Net("logistic", X, y, 1.0, 0.0)
    pull = net.smooth_gradient(null_weights(net)).astype(float)[:, :-1]
    lengths = [np.linalg.norm(pull[:, j : j + 2]) / np.sqrt(2) for j in (0, 2, 4)]
    if groups == "classes":
        lengths = np.linalg.norm(pull, axis=0)
    assert found.strengths[0] == pytest.approx(max(lengths), rel=1e-9)
    assert found.nonzeros.tolist()[0] == 0 < found.nonzeros[1]
    together = found.coefficients != 0.0
    if groups == "classes":
        assert np.all(together.all(axis=1) == together.any(axis=1))
    else:
        assert np.all(together[:, :, ::2] == together[:, :, 1::2])


def test_scikit_learns_saga_finds_the_same_path():
    X, y = problem()
    found = path(X, y, l1_ratio=0.8, strengths=4, smallest=0.03, tol=1e-12)
    for i, s in list(enumerate(found.strengths))[1:]:  # saga is slow to find a bias alone
        theirs = LogisticRegression(
            C=1.0 / (s * len(X)), l1_ratio=0.8, solver="saga", tol=1e-11, max_iter=100_000
        ).fit(X, y)
        np.testing.assert_allclose(found.coefficients[i], theirs.coef_, atol=2e-5)
        np.testing.assert_allclose(found.intercepts[i], theirs.intercept_, atol=2e-5)


def test_the_grid_has_equal_ratios_and_its_own_ends():
    X, y = problem()
    found = path(X, y, strengths=7)
    assert found.strengths[-1] == pytest.approx(1e-4 * found.strengths[0])
    ratios = found.strengths[1:] / found.strengths[:-1]
    np.testing.assert_allclose(ratios, ratios[0])
    wide = path(X[:10], np.arange(10) % 2, strengths=4)
    assert wide.strengths[-1] == pytest.approx(1e-2 * wide.strengths[0])
    assert path(X, y, strengths=3, smallest=0.5).strengths[-1] == found.strengths[0] / 2


def test_strengths_that_are_given_are_all_fitted_from_large_to_small():
    X, y = problem()
    found = path(X, y, strengths=[0.01, 0.2, 0.05, 0.01])
    assert found.strengths.tolist() == [0.2, 0.05, 0.01]
    alone = fitted(X, y, l1=0.05, tol=1e-6)
    assert found.objectives[1] == pytest.approx(alone.objective_, rel=1e-6)


def test_a_grid_ends_where_nearly_all_is_explained():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    y = X[:, 0] > 0.0  # separable: the loss goes to 0
    found = path(X, y, strengths=30, smallest=1e-6)
    assert len(found.strengths) < 30
    assert found.deviance[-1] >= EXPLAINED > found.deviance[-2]
    assert len(path(X, y, strengths=found.strengths[0] * np.geomspace(1, 1e-6, 9)).gaps) == 9


def test_a_grid_ends_where_nothing_changes_any_more():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = X[:, 0] + 3.0 * rng.standard_normal(400) > 0.0
    found = path(X, y)
    assert len(found.strengths) < 100
    gains = np.diff(found.deviance) / found.deviance[1:]
    assert gains[-1] < NO_CHANGE <= gains[3:-1].min()


def test_sparse_dense_and_a_source_are_alike(tmp_path):
    X, y = problem(n=200)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    names = ",".join([*(f"x{j}" for j in range(X.shape[1])), "label"])
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "rows.csv", table, "%.17g", ",", header=names, comments="")
    source = separatrix.read(tmp_path / "rows.csv", target="label")
    given = {"strengths": 5, "tol": 1e-10, "standardize": True}
    dense = path(X, y, **given)
    for other in (path(sp.csr_array(X), y, **given), path(source, **given)):
        np.testing.assert_allclose(other.strengths, dense.strengths, rtol=1e-9)
        np.testing.assert_allclose(other.objectives, dense.objectives, rtol=1e-9)
        np.testing.assert_array_equal(other.nonzeros, dense.nonzeros)


def test_features_that_no_row_stores_have_no_weights():
    X, y = problem(n=60, d=6)
    wide = sp.lil_array((60, 5000))
    wide[:, 10:16] = X
    p = np.ones(5000)
    p[12] = 3.0
    found = path(wide.tocsr(), y, strengths=3, smallest=0.1, penalty_weights=p)
    alone = path(X, y, strengths=3, smallest=0.1, penalty_weights=p[10:16])
    assert found.coefficients.shape == (3, 1, 5000)
    np.testing.assert_allclose(found.coefficients[:, :, 10:16], alone.coefficients, atol=1e-4)
    assert not found.coefficients[:, :, :10].any()


def test_rows_of_weight_2_are_rows_twice_also_without_a_bias():
    X, y = problem(n=80)
    c = np.where(np.arange(80) % 3, 1.0, 2.0)
    twice = np.repeat(np.arange(80), c.astype(int))
    given = {"strengths": 4, "fit_intercept": False, "tol": 1e-10}
    weighed, repeated = path(X, y, sample_weight=c, **given), path(X[twice], y[twice], **given)
    np.testing.assert_allclose(weighed.objectives, repeated.objectives, rtol=1e-9)
    assert not weighed.intercepts.any()


def test_tanh_squared_has_a_path_without_proof():
    X, y = problem()
    found = path(X, y, loss="tanh_squared", strengths=4, smallest=0.1)
    assert np.isnan(found.gaps).all()
    assert not found.coefficients[0].any()
    assert found.nonzeros[-1] > 0


def test_free_features_may_leave_nothing_to_explain():
    X, y = problem()
    X[:, 0], p = np.where(y == 1, 3.0, -3.0), np.where(np.arange(15) == 0, 0.0, 1.0)
    with pytest.raises(ValueError, match="beyond the bias and the features of weight 0"):
        path(X, y, loss="squared_hinge", penalty_weights=p)
    found = path(X, y, loss="squared_hinge", penalty_weights=p, strengths=[0.1, 0.01])
    assert found.deviance.tolist() == [0.0, 0.0]
    assert found.nonzeros.tolist() == [1, 1]


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["logistic", "hinge", "squared_hinge", "squared"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_path_without_l1_is_for_every_loss(name, k):
    X, y = problem(k=k, d=8)
    c = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    found = path(X, y, loss=name, l1_ratio=0, strengths=4, smallest=1e-4, sample_weight=c)
    assert found.strengths[-1] == pytest.approx(found.strengths[0] * 1e-4)
    for at, s in enumerate(found.strengths):
        alone = LinearClassifier(name, l2=s / 2).fit(X, y, c)
        assert found.objectives[at] == pytest.approx(alone.objective_, rel=1e-5)
        assert found.at(s).l1 == 0.0
    if name == "logistic":
        p = np.array([c[y == label].sum() for label in np.unique(y)]) / c.sum()
        null = -np.sum(p * np.log(p))
        fit = found.at(found.strengths[-1])
        chance = fit.predict_proba(X)[np.arange(len(y)), np.searchsorted(fit.classes_, y)]
        loss = -np.average(np.log(chance), weights=c)
        assert found.deviance[-1] == pytest.approx(1 - loss / null, rel=1e-4)
    assert np.all(np.diff(found.deviance) > 0)
    assert found.deviance[0] < found.deviance[-1] < 1
