"""Coordinates of wide rows, and least squares without each row, against plain NumPy."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC
from wide_rows import WAYS, go, losses_of, plain_loss, wide

from separatrix import LBFGS, LinearClassifier, LinearClassifierCV
from separatrix.data import ArraySource
from separatrix.data.validation import check_rows
from separatrix.estimators.cv import press, row_space, thresholds
from separatrix.losses import get_loss
from separatrix.objective import Objective
from separatrix.penalties import L2

# Some best scores are those of the smallest l2, which these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore:the best score is that of")

# ---- room ------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("shape", [(40, 90), (90, 40)])
def test_too_many_rows_and_features_are_refused_before_any_work(loss, shape, monkeypatch):
    monkeypatch.setattr(row_space, "FACTORED_BYTES", 8 * 8 * 39**2)
    X, y = wide(*shape), np.arange(shape[0]) % 2
    clf = LinearClassifierCV(loss, cv="loo", scoring=None)
    message = f"on {shape[0]} rows of {shape[1]} features needs about 8 matrices of 40 x 40 numbers"
    with pytest.raises(ValueError, match=message + ".*GB: use cv=5"):
        clf.fit(X, y)
    assert not hasattr(clf, "l2_path_")
    LinearClassifierCV(loss, cv=3, l2s=2, scoring=None).fit(X, y)
    if shape[0] < shape[1]:
        LinearClassifierCV(loss, cv="loo", l2s=2, scoring=None).fit(X[:39], y[:39])


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_room_is_that_of_rows_squared(loss, way, make, monkeypatch):
    go(way, monkeypatch)
    n, d = 100, 4000
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.1), np.arange(n) % 2
    rows = make(X)
    LinearClassifierCV(loss, cv="loo", l2s=[1.0], scoring=None).fit(rows[:20], y[:20])  # imports
    tracemalloc.start()
    LinearClassifierCV(loss, cv="loo", l2s=[1.0, 0.1], scoring=None).fit(rows, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * n * d + 8 * thresholds.FACTORED_COPIES * n * n  # d x d: 128 MB


def test_room_of_least_squares_on_sparse_rows(monkeypatch):
    n, d = 600, 60_000
    X = sp.random_array((n, d), density=1e-3, rng=np.random.default_rng(0), format="csr")
    y = np.arange(n) % 2
    for way in WAYS[1:]:
        go(way, monkeypatch)
        tracemalloc.start()
        source = ArraySource(check_rows(X), 2.0 * y - 1.0, np.arange(2))
        problem = Objective(get_loss("squared"), L2(0.0), source)
        press.press_scores(problem, np.array([1.0, 1e-2]))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 8 * thresholds.FACTORED_COPIES * n * n  # n x d: 288 MB


# ---- coordinates, and folds fitted to them ---------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("by_products", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_products_of_coordinates_are_those_of_rows(
    make, by_products, intercept, weighted, monkeypatch
):
    if by_products:
        monkeypatch.setattr(row_space, "SVD_VALUES", 0)
    X = np.concatenate([wide(8, 40), wide(8, 40)[:3]])
    y = np.where(np.arange(11) % 2, 1.0, -1.0)
    weight = np.arange(11.0) if weighted else None
    source = ArraySource(check_rows(make(X)), y, np.arange(2), weight)
    objective = Objective(get_loss("logistic"), L2(1.0), source, intercept)
    space = row_space.RowSpace.of(objective, 1.0)
    mean = np.average(X, axis=0, weights=weight) * intercept
    rows = space.objective.in_memory.block().X
    np.testing.assert_allclose(rows @ rows.T, (X - mean) @ (X - mean).T, atol=1e-12)
    assert rows.shape == (11, np.linalg.matrix_rank(X - mean))
    U = np.random.default_rng(0).standard_normal((3, rows.shape[1] + 1))
    W = space.weights(U)
    np.testing.assert_allclose(X @ W[:, :-1].T + W[:, -1], rows @ U[:, :-1].T + U[:, -1])
    np.testing.assert_allclose(np.sum(W[:, :-1] ** 2, 1), np.sum(U[:, :-1] ** 2, 1))


@pytest.mark.sampled
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_folds_are_scored_as_by_fits_to_the_rows(loss, k, intercept):
    X, y = wide(24, 60, seed=k), np.arange(24) % k
    weight = 1.0 + np.arange(24) % 3
    settings = {"l2s": [1.0, 1e-1, 1e-2], "tol": 1e-9, "fit_intercept": intercept}
    found = LinearClassifierCV(loss, **settings, cv=KFold(4), scoring="loss").fit(X, y, weight)
    for i, (train, test) in enumerate(KFold(4).split(X)):
        for j, l2 in enumerate(found.l2_path_):
            fit = LinearClassifier(loss, l2=l2, tol=1e-11, fit_intercept=intercept)
            fit.fit(X[train], y[train], weight[train])
            s = X[test] @ fit.coef_.T + fit.intercept_
            expected = np.average(plain_loss(loss, k, y[test], s), weights=weight[test])
            got = -found.cv_results_[f"split{i}_test_score"][j]
            assert got == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_wide_rows_are_fitted_by_coordinates_unless_a_solver_is_named(monkeypatch):
    seen = []
    of = row_space.RowSpace.of
    monkeypatch.setattr(
        row_space.RowSpace, "of", lambda *args: seen.append(len(args[0].in_memory.y)) or of(*args)
    )
    X, y = wide(20, 60), np.arange(20) % 2

    def asked(rows=X, **params):
        seen.clear()
        LinearClassifierCV(**{"l2s": [1.0], "cv": 3, "max_iter": 50, **params}, scoring=None).fit(
            rows, y
        )
        return len(seen)

    for loss in ("hinge", "squared_hinge", "logistic", "squared"):
        assert asked(loss=loss) == 1
    assert asked(loss="tanh_squared") == asked(solver=LBFGS()) == 0  # not the same steps
    assert asked(X[:, :30]) == 0
    assert asked(sp.csr_array(X + 3.0)) == 1
    assert asked(sp.csr_array(X)) == 0  # fewer values than coordinates


@pytest.mark.parametrize("k", [2, 3])
def test_a_scorer_sees_weights_of_the_features(k):
    X, y = wide(30, 80), np.arange(30) % k
    shapes = []

    def scoring(fit, rows, labels):
        shapes.append((fit.coef_.shape[1], rows.shape[1]))
        return float(np.mean(fit.predict(rows) == labels))

    settings = {"loss": "logistic", "l2s": [10.0, 1.0, 1e-1], "cv": KFold(3), "tol": 1e-8}
    mine = LinearClassifierCV(**{"scoring": None, **settings}).fit(X, y)
    by_scorer = LinearClassifierCV(**settings, scoring=scoring).fit(X, y)
    assert set(shapes) == {(80, 80)}
    np.testing.assert_allclose(
        by_scorer.cv_results_["mean_test_score"], mine.cv_results_["mean_test_score"]
    )


def test_folds_of_wide_rows_are_as_low_as_those_of_liblinear():
    X, y = wide(40, 200), np.arange(40) % 2
    l2, train = 0.05, np.arange(40) % 4 != 0
    kept = []

    def scoring(fit, rows, labels):
        kept.append(fit.coef_[0])
        return 0.0

    splits = [(np.flatnonzero(train), np.flatnonzero(~train))]
    LinearClassifierCV(
        "hinge", l2s=[l2], cv=splits, scoring=scoring, fit_intercept=False, tol=1e-8
    ).fit(X, y)
    C = 1.0 / (2.0 * l2 * train.sum())
    peer = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=100_000)
    peer.fit(X[train], y[train])
    m = (2.0 * y[train] - 1.0) * (X[train] @ np.array([kept[0], peer.coef_[0]]).T).T
    norms = [np.sum(kept[0] ** 2), np.sum(peer.coef_[0] ** 2)]
    ours, theirs = np.maximum(0.0, 1.0 - m).mean(axis=1) + l2 * np.array(norms)
    assert ours <= theirs * (1.0 + 1e-6)


def test_wide_features_that_are_constant_have_scores():
    X, y = np.full((12, 30), 0.3), np.arange(12) % 2
    for loss in ("logistic", "squared_hinge", "hinge", "squared"):
        clf = LinearClassifierCV(loss, l2s=[1.0], cv=3, scoring="loss").fit(X, y)
        expected = np.log(2.0) if loss == "logistic" else 1.0
        assert -clf.cv_results_["mean_test_score"][0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.sampled
@pytest.mark.parametrize("cv", [3, "loo"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_threads_change_no_bit_of_wide_rows(loss, cv, monkeypatch):
    monkeypatch.setattr(row_space, "SVD_VALUES", 0)
    X, y = wide(130, 700), np.arange(130) % 2
    one, two = (
        LinearClassifierCV(loss, l2s=[1.0, 0.1], cv=cv, scoring="loss", n_jobs=n).fit(X, y)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.sampled
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_smooth_losses_without_each_wide_row_are_brute_force(loss, make):
    X, y = wide(20, 90), np.arange(20) % 2
    l2s = [1.0, 1e-2]
    clf = LinearClassifierCV(loss, l2s=l2s, cv="loo", scoring="loss").fit(make(X), y)
    for i in range(20):
        rest = np.arange(20) != i
        for j, l2 in enumerate(l2s):
            fit = LinearClassifier(loss, l2=l2, tol=1e-12).fit(X[rest], y[rest])
            expected = plain_loss(loss, 2, y[[i]], X[[i]] @ fit.coef_.T + fit.intercept_)
            assert losses_of(clf, 20)[i, j] == pytest.approx(expected[0], abs=5e-4)
    assert clf.loo_check_.largest_error <= 1e-4
