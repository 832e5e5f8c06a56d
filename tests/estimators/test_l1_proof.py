"""What LinearClassifier proves with l1: its minimum, and weights that are 0."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from l1_oracles import Net, fitted, problem
from sklearn.datasets import make_classification


def test_an_empty_feature_is_zero_and_is_said_to_be():
    X, y = problem(d=6, seed=1)
    wide = np.zeros((len(X), 40))
    wide[:, 2:8] = X
    dense, sparse = fitted(wide, y), fitted(sp.csr_array(wide), y)
    for clf in (dense, sparse):
        assert clf.zero_.shape == (1, 40)
        assert clf.zero_[0, :2].all()
        assert clf.zero_[0, 8:].all()
        assert not (clf.zero_ & clf.selected_).any()
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-8)


@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge", "one_vs_rest_logistic"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_feature_of_weight_0_is_free_and_the_minimum_proven(intercept, loss, k, l2):
    X, y = problem(k=k, flip_y=0.2)
    p = np.ones(X.shape[1])
    p[[0, 3]] = 0.0
    clf = fitted(X, y, loss=loss, l1=0.1, l2=l2, penalty_weights=p, fit_intercept=intercept)
    assert clf.stop_ == "optimal"
    assert clf.gap_ <= 1e-12 * clf.objective_
    assert clf.selected_[:, [0, 3]].any()
    assert not clf.zero_[:, [0, 3]].any()
    assert clf.zero_.any()
    W = np.column_stack([clf.coef_, clf.intercept_])
    net = Net(loss, X, y, 0.1, l2, p=p, intercept=intercept)
    assert clf.objective_ == pytest.approx(net.value(W), rel=1e-12)
    assert net.violation(W).max() <= np.sqrt(2.0 * net.curvatures().max() * clf.gap_) + 1e-13
    loose = fitted(X, y, loss=loss, l1=0.1, l2=l2, penalty_weights=p, fit_intercept=intercept,
                   tol=1e-3)  # fmt: skip
    assert loose.objective_ - loose.gap_ <= clf.objective_ * (1.0 + 1e-13)
    assert not (loose.zero_ & clf.selected_).any()


def test_a_minimum_that_free_features_take_away_is_not_proven():
    """They separate the rows: no penalty keeps their weights from growing."""
    X, y = problem()
    X[:, 0] = np.where(y == 1, 1.0, -1.0) + 0.1 * X[:, 0]
    p = np.ones(X.shape[1])
    p[0] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = fitted(X, y, l1=0.1, penalty_weights=p, max_iter=15)
    assert clf.stop_ != "optimal" or clf.objective_ <= 1e-9
    assert clf.gap_ is None or clf.objective_ - clf.gap_ <= 1e-12


@pytest.mark.slow
def test_no_feature_that_is_proven_zero_is_ever_selected():
    """A loose fit must not say more than a tight one finds."""
    proven = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, d, k = rng.integers(6, 40), rng.integers(2, 30), int(rng.integers(2, 4))
        X = rng.standard_normal((n, d)) @ np.diag(10.0 ** rng.uniform(-1, 1, d))
        X += rng.choice([0.0, 3.0]) * rng.standard_normal(d)
        y = np.append(np.arange(k), rng.integers(0, k, n - k))
        loss = rng.choice(["logistic", "squared", "squared_hinge"])
        given = {
            "loss": str(loss), "l1": 10.0 ** rng.uniform(-3, 0), "fit_intercept": bool(seed % 3),
            "l2": float(rng.choice([0.0, 1e-3])),
        }  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tight = fitted(X, y, **given)
            for tol in (1e-1, 1e-2, 1e-4):
                loose = fitted(X, y, **given, tol=tol)
                assert not (loose.zero_ & tight.selected_).any(), (seed, tol)
                assert not (loose.zero_ & loose.selected_).any()
                proven += int(loose.zero_.sum())
        assert np.array_equal(tight.undecided_, ~tight.zero_ & ~tight.selected_)
    assert proven > 400


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share", [0.1, 1e-2, 1e-3, 1e-4])
def test_a_softmax_with_few_rows_ends_proven(seed, share):
    given = {"n_informative": 10, "n_classes": 3, "random_state": seed}
    for d in (20, 35):
        X, y = make_classification(n_samples=20, n_features=d, **given)
        clf = fitted(X, y, l1=share * largest_strength(X, y), tol=1e-8, n_jobs=1)
        assert clf.stop_ == "optimal"
        assert clf.gap_ <= 1e-8 * clf.objective_


def largest_strength(X, y):
    """The l1 from which on nothing is selected: the largest pull at the fit of the biases."""
    own = (y[:, None] == np.arange(3)) - np.bincount(y) / len(y)
    return np.abs(own.T @ X).max() / len(X)


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_strength_leaves_nothing_and_a_little_less_something(seed):
    X, y = problem(k=3, seed=seed)
    largest = largest_strength(X, y)
    with pytest.warns(UserWarning, match="no feature is selected"):
        assert not fitted(X, y, l1=largest * (1.0 + 1e-12)).coef_.any()
    assert fitted(X, y, l1=0.999 * largest).coef_.any()


def test_an_l1_that_leaves_nothing_is_said():
    X, y = problem()
    with pytest.warns(UserWarning, match=r"l1=100 is so large that no feature is selected"):
        clf = fitted(X, y, l1=100.0)
    share = np.mean(y)
    assert clf.intercept_[0] == pytest.approx(np.log(share / (1.0 - share)))
    assert clf.zero_.all()
    p = np.where(np.arange(X.shape[1]) < 2, 0.0, 1.0)
    with pytest.warns(UserWarning, match="its bias and the features of weight 0 alone"):
        clf = fitted(X, y, l1=100.0, penalty_weights=p)
    assert clf.selected_.sum() == 2
