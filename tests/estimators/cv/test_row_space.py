"""Coordinates of wide rows, and least squares without each row, against plain NumPy."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.svm import LinearSVC

from separatrix import LBFGS, LinearClassifier, LinearClassifierCV
from separatrix.data import ArraySource
from separatrix.data.validation import check_rows
from separatrix.estimators.cv import press, row_space, thresholds
from separatrix.losses import get_loss
from separatrix.objective import Objective
from separatrix.penalties import L2

STORED = {
    "dense": np.asarray,
    "float32": lambda X: np.asarray(X, np.float32),
    "fortran": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
}
WAYS = ("rows", "inverses", "eigenvectors")


def go(way, monkeypatch):
    """Take this way to least squares without each row, whatever the size."""
    if way != "rows":
        monkeypatch.setattr(row_space, "SVD_VALUES", 0)
        monkeypatch.setattr(press, "FEW_PENALTIES", 0 if way == "eigenvectors" else 10**6)


def wide(n, d, seed=0, empty=True):
    """Rows of which some values are 0, one row all of them, with a constant feature."""
    rng = np.random.default_rng(seed)
    X = np.round(8.0 * rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)) / 8.0
    X[:, d // 2] = 1.5
    if empty:
        X[n // 2] = 0.0
    return X


def residuals_left_out(X, Y, weight, l2, intercept):
    """Of every row, by lstsq on the others with the penalty as further rows: (n, k)."""
    n, d = X.shape
    found = np.full(Y.shape, np.nan)
    for i in range(n):
        rest = (np.arange(n) != i) & (weight > 0)
        if weight[i] == 0.0:
            continue
        c = weight[rest]
        mean, target = (c @ X[rest] / c.sum(), c @ Y[rest] / c.sum()) if intercept else (0, 0)
        A = np.vstack([(X[rest] - mean) * np.sqrt(c)[:, None], np.sqrt(c.sum() * l2) * np.eye(d)])
        B = np.vstack([(Y[rest] - target) * np.sqrt(c)[:, None], np.zeros((d, Y.shape[1]))])
        w = np.linalg.lstsq(A, B, rcond=None)[0]
        found[i] = Y[i] - (X[i] - mean) @ w - target
    return found


def columns(y, k):
    """The targets, -1 and +1."""
    return np.where(y[:, None] == (np.arange(k) if k > 2 else 1), 1.0, -1.0)


def losses_of(clf, n):
    return -np.array([clf.cv_results_[f"split{i}_test_score"] for i in range(n)])


def plain_loss(loss, k, y, s):
    """Of every row, by its scores (n, 1) or (n, k)."""
    if k > 2 and loss in ("hinge", "logistic"):
        own = np.take_along_axis(s, y[:, None], axis=1)
        if loss == "hinge":
            return np.max(s - own + (np.arange(k) != y[:, None]), axis=1)
        return np.log(np.sum(np.exp(s - own), axis=1))
    m = columns(y, k) * s
    each = {
        "hinge": np.maximum(0.0, 1.0 - m),
        "squared_hinge": np.maximum(0.0, 1.0 - m) ** 2,
        "logistic": np.log1p(np.exp(-m)),
        "squared": (1.0 - m) ** 2,
    }
    return each[loss].sum(axis=1)


# ---- least squares without each row ----------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("way", [*WAYS, "tall", "tall products"])
def test_least_squares_without_each_row_is_brute_force(way, k, intercept, weighted, monkeypatch):
    go(way, monkeypatch) if way in WAYS else None
    if way == "tall products":
        monkeypatch.setattr(press, "SVD_VALUES", 0)
    n, d = (12, 25) if way in WAYS else (25, 6)
    X, y = wide(n, d), np.arange(n) % k
    weight = np.random.default_rng(1).integers(0, 4, n) * 0.5 if weighted else np.ones(n)
    weight[:k] = 1.0
    l2s = [3.0, 1e-1, 1e-4]
    expected = np.array([residuals_left_out(X, columns(y, k), weight, l2, intercept) for l2 in l2s])
    for make in STORED.values():
        clf = LinearClassifierCV(
            "squared", l2s=l2s, cv="loo", scoring="loss", fit_intercept=intercept
        ).fit(make(X), y, sample_weight=weight if weighted else None)
        rtol = 1e-4 if make is STORED["float32"] else 1e-7
        np.testing.assert_allclose(losses_of(clf, n), np.sum(expected**2, axis=2).T, rtol=rtol)


@pytest.mark.parametrize("way", WAYS)
def test_weights_of_classes_count_as_those_of_rows_and_folds_of_one_row_agree(way, monkeypatch):
    go(way, monkeypatch)
    X, y = wide(14, 30), np.arange(14) % 2
    settings = {"loss": "squared", "l2s": [1.0, 1e-2], "scoring": "loss"}
    by_class = LinearClassifierCV(**settings, cv="loo", class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    by_row = LinearClassifierCV(**settings, cv="loo").fit(X, y, np.where(y == 1, 5.0, 1.0))
    folds = LinearClassifierCV(**settings, cv=LeaveOneOut(), class_weight={0: 1.0, 1: 5.0})
    folds.fit(X, y)
    for name in ("mean_test_score", "std_test_score", "standard_error"):
        np.testing.assert_allclose(by_class.cv_results_[name], by_row.cv_results_[name])
        np.testing.assert_allclose(by_class.cv_results_[name], folds.cv_results_[name], rtol=1e-7)


def test_rows_of_weight_0_are_as_if_absent_and_all_weights_may_be_multiplied():
    X, y = wide(10, 30, empty=False), np.arange(10) % 2
    weight = np.array([1.0, 2.0, 0.0, 1.0, 0.5, 3.0, 1.0, 0.0, 1.0, 1.0])
    kept = weight > 0
    settings = {"loss": "squared", "l2s": [1.0, 1e-2], "cv": "loo", "scoring": "loss"}
    some = LinearClassifierCV(**settings).fit(X[kept], y[kept], weight[kept])
    for factor in (1.0, 1e-200, 1e200):
        every = LinearClassifierCV(**settings).fit(X, y, factor * weight)
        found = losses_of(every, 10)
        assert np.all(np.isnan(found[~kept]))
        np.testing.assert_allclose(found[kept], losses_of(some, kept.sum()), rtol=1e-9)
        assert every.l2_ == some.l2_


@pytest.mark.parametrize("ratio", [1e-6, 1e6])
def test_a_row_that_weighs_far_more_or_less_than_others(ratio):
    X, y = wide(9, 20), np.arange(9) % 2
    weight = np.ones(9)
    weight[3] = ratio
    clf = LinearClassifierCV("squared", l2s=[1e-1], cv="loo", scoring="loss").fit(X, y, weight)
    expected = residuals_left_out(X, columns(y, 2), weight, 1e-1, True)
    np.testing.assert_allclose(losses_of(clf, 9), expected**2, rtol=1e-6)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_the_fewest_rows(n, intercept, way, monkeypatch):
    go(way, monkeypatch)
    X, y = np.random.default_rng(n).standard_normal((n, 7)), np.arange(n) % 2
    clf = LinearClassifierCV(
        "squared", l2s=[1.0, 1e-3], cv="loo", scoring="loss", fit_intercept=intercept
    ).fit(X, y)
    for j, l2 in enumerate(clf.l2_path_):
        expected = residuals_left_out(X, columns(y, 2), np.ones(n), l2, intercept)
        np.testing.assert_allclose(losses_of(clf, n)[:, [j]], expected**2, rtol=1e-7)


@pytest.mark.parametrize("way", WAYS)
def test_repeated_rows_and_constant_features(way, monkeypatch):
    go(way, monkeypatch)
    X, y = np.repeat(wide(5, 30), 3, axis=0), np.arange(15) % 2
    clf = LinearClassifierCV("squared", l2s=[1e-2], cv="loo", scoring="loss").fit(X, y)
    expected = residuals_left_out(X, columns(y, 2), np.ones(15), 1e-2, True)
    np.testing.assert_allclose(losses_of(clf, 15), expected**2, rtol=1e-6)
    flat = LinearClassifierCV("squared", l2s=[1e-2], cv="loo", scoring="loss")
    flat.fit(np.full((15, 30), 0.1), y)
    signs = 2.0 * y - 1.0
    constant = (signs - (signs.sum() - signs) / 14) ** 2
    np.testing.assert_allclose(losses_of(flat, 15)[:, 0], constant, rtol=1e-9)


@pytest.mark.parametrize("scale", [2.0**-240, 2.0**240])
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "hinge"])
def test_no_scale_of_wide_rows_changes_the_scores(loss, scale):
    X, y = wide(14, 40), np.arange(14) % 2
    for cv in (3,) if loss == "hinge" else (3, "loo"):
        plain, scaled = (
            LinearClassifierCV(loss, l2s=4, cv=cv, scoring="loss").fit(X * s, y) for s in (1, scale)
        )
        np.testing.assert_allclose(
            scaled.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], rtol=1e-5
        )


def test_penalties_lost_in_the_products_of_rows_are_not_left_to_them(monkeypatch):
    monkeypatch.setattr(row_space, "SVD_VALUES", 0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 40)) * np.logspace(-3, 3, 40)
    X[1] = X[0] + 1e-6 * rng.standard_normal(40)
    y = np.arange(10) % 2
    for make in (np.asarray, sp.csr_array):
        for l2 in (1e-2, 1e-7, 1e-12):
            clf = LinearClassifierCV("squared", l2s=[l2], cv="loo", scoring="loss").fit(make(X), y)
            expected = residuals_left_out(X, columns(y, 2), np.ones(10), l2, True)
            np.testing.assert_allclose(losses_of(clf, 10), expected**2, rtol=1e-5)


# ---- room ------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("shape", [(40, 90), (90, 40)])
def test_too_many_rows_and_features_are_refused_before_any_work(loss, shape, monkeypatch):
    monkeypatch.setattr(row_space, "FACTORED_BYTES", 8 * 8 * 39**2)
    X, y = wide(*shape), np.arange(shape[0]) % 2
    clf = LinearClassifierCV(loss, cv="loo")
    message = f"on {shape[0]} rows of {shape[1]} features needs about 8 matrices of 40 x 40 numbers"
    with pytest.raises(ValueError, match=message + ".*GB: use cv=5"):
        clf.fit(X, y)
    assert not hasattr(clf, "l2_path_")
    LinearClassifierCV(loss, cv=3, l2s=2).fit(X, y)
    if shape[0] < shape[1]:
        LinearClassifierCV(loss, cv="loo", l2s=2).fit(X[:39], y[:39])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_room_is_that_of_rows_squared(loss, way, make, monkeypatch):
    go(way, monkeypatch)
    n, d = 100, 4000
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.1), np.arange(n) % 2
    rows = make(X)
    LinearClassifierCV(loss, cv="loo", l2s=[1.0]).fit(rows[:20], y[:20])  # imports
    tracemalloc.start()
    LinearClassifierCV(loss, cv="loo", l2s=[1.0, 0.1]).fit(rows, y)
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
        LinearClassifierCV(**{"l2s": [1.0], "cv": 3, "max_iter": 50, **params}).fit(rows, y)
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
    mine = LinearClassifierCV(**settings).fit(X, y)
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
