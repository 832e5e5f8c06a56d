"""``standardize=True``: the minimum on scaled rows, reported in the units of the given features."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from chunked import Chunked
from conftest import quiet
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    LBFGS,
    CoordinateAscent,
    GradientDescent,
    LeastSquares,
    LinearClassifier,
    LinearClassifierCV,
    Newton,
    Rosenblatt,
    diagnose,
    get_loss,
)
from separatrix.data.validation import array_source, check_rows

pytestmark = quiet
N, D = 300, 5
BY_ROW = GradientDescent(learning_rate=0.1, batch_size=1)
SOLVERS = {
    "logistic": (LBFGS(), Newton(), "auto"),
    "squared": (LeastSquares(), LBFGS(), "auto"),
    "hinge": (CoordinateAscent(), "auto"),
    "squared_hinge": ("auto",),
}


def chunked(X, y, weight=None):
    whole = array_source(check_rows(X), y, sample_weight=weight)
    return Chunked(whole, (0, 0, 70, 71, 250, N))


def data(k=2, seed=0):
    """Features of scales and offsets far apart, one of them constant."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((N, D))
    scores = Z @ rng.standard_normal((D, k)) + 1.5 * rng.standard_normal((N, k))
    X = Z * [1e-4, 1.0, 30.0, 1e5, 2.0] + [3.0, 0.0, -40.0, 1e6, 0.5]
    X[:, 4] = 2.5
    weight = rng.integers(0, 4, N).astype(float)
    return X, np.array(["a", "b", "c"])[scores.argmax(axis=1)], weight


def scaled_by_hand(X, weight=None, centre=True):
    """Rows, means and scales in plain NumPy; a constant column keeps its scale."""
    c = np.ones(len(X)) if weight is None else weight
    mean = np.average(X, axis=0, weights=c)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=c))
    scale = np.where(np.ptp(X[c > 0], axis=0) == 0.0, 1.0, deviation)
    mean = mean if centre else np.zeros(X.shape[1])
    return (X - mean) / scale, mean, scale


def objective_by_hand(clf, X, y, weight, scale):
    """The penalised mean loss at the coefficients as they are reported: two classes."""
    margins = np.where(y == clf.classes_[1], 1.0, -1.0) * (X @ clf.coef_[0] + clf.intercept_[0])
    phi = get_loss(clf.loss).phi(margins)
    return np.average(phi, weights=weight) + clf.l2 * np.sum((scale * clf.coef_[0]) ** 2)


@pytest.mark.sampled
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(("loss", "solver"), [(k, s) for k, v in SOLVERS.items() for s in v])
def test_the_minimum_is_that_of_rows_scaled_by_scikit_learn(loss, solver, k, intercept):
    if k == 3 and isinstance(solver, CoordinateAscent):
        solver = "auto"
    X, y, _ = data(k)
    if not intercept and isinstance(solver, CoordinateAscent):
        X[:, 0] -= 3.0  # 30,000 deviations off the origin would ask single rows for too much
    options = {"l2": 1e-2, "solver": solver, "tol": 1e-9, "fit_intercept": intercept}
    scaler = StandardScaler(with_mean=intercept).fit(X)
    there = LinearClassifier(loss, **options).fit(scaler.transform(X), y)
    clf = LinearClassifier(loss, standardize=True, **options).fit(X, y)
    assert clf.stop_ == there.stop_ == "optimal"
    assert abs(clf.objective_ - there.objective_) <= clf.gap_ + there.gap_ + 1e-12
    np.testing.assert_allclose(clf.scale_, scaler.scale_, rtol=1e-10)
    expected = there.decision_function(scaler.transform(X))
    np.testing.assert_allclose(clf.decision_function(X), expected, atol=1e-3)
    if k == 2:
        assert clf.objective_ == pytest.approx(
            objective_by_hand(clf, X, y, None, clf.scale_), rel=1e-8
        )
    assert there.scale_ is None


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", ["dense", "sparse", "chunks", "sparse chunks"])
def test_weighted_moments_and_every_kind_of_source(form, intercept):
    X, y, weight = data()
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.3, 0.0, X)
    Z, _, scale = scaled_by_hand(X, weight, intercept)
    options = {"l2": 1e-2, "tol": 1e-10, "fit_intercept": intercept}
    there = LinearClassifier(**options).fit(Z, y, weight)
    rows = sp.csr_array(X) if "sparse" in form else X
    clf = LinearClassifier(standardize=True, **options)
    clf = clf.fit(chunked(rows, y, weight)) if "chunks" in form else clf.fit(rows, y, weight)
    np.testing.assert_allclose(clf.scale_, scale, rtol=1e-10)
    assert clf.objective_ == pytest.approx(there.objective_, rel=2e-10)
    assert clf.objective_ == pytest.approx(objective_by_hand(clf, X, y, weight, scale), rel=1e-9)
    assert clf.gap_ <= 1e-10 * clf.objective_
    np.testing.assert_allclose(clf.predict_proba(X), there.predict_proba(Z), atol=1e-4)


def test_a_repeated_row_is_a_weighted_one():
    X, y, weight = data()
    at = np.repeat(np.arange(N), weight.astype(int))
    clf = LinearClassifier(l2=1e-2, tol=1e-10, standardize=True)
    weighted = clf.fit(X, y, weight).objective_
    assert clf.fit(X[at], y[at]).objective_ == pytest.approx(weighted, rel=1e-9)


def test_it_does_not_matter_in_which_units_features_are_measured():
    X, y, _ = data()
    clf = LinearClassifier(l2=1e-2, standardize=True)
    one, W = clf.fit(X, y).objective_, clf.coef_
    units = 2.0 ** np.array([300, -300, 7, 0, 500])
    assert clf.fit(X * units, y).objective_ == pytest.approx(one, rel=1e-12)
    np.testing.assert_allclose(clf.coef_ * units, W, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_scales_whose_squares_leave_floating_point(sparse):
    X, y, _ = data()
    Z, _, scale = scaled_by_hand(X)
    extreme = np.ldexp(X, np.array([900, -800, -850, 850, 0]))
    rows = sp.csr_array(extreme) if sparse else extreme
    clf = LinearClassifier(l2=1e-2, standardize=True).fit(rows, y)
    there = LinearClassifier(l2=1e-2).fit(Z, y)
    assert clf.objective_ == pytest.approx(there.objective_, rel=2e-6)
    np.testing.assert_allclose(clf.scale_, np.ldexp(scale, [900, -800, -850, 850, 0]), rtol=1e-8)
    assert clf.score(extreme, y) == there.score(Z, y)


def test_a_weight_that_would_be_beyond_floating_point_is_refused():
    X, y, _ = data()
    X[:, 1] *= 1e-310
    clf = LinearClassifier(standardize=True)
    with pytest.raises(ValueError, match=r"feature 1 varies by only .*another unit"):
        clf.fit(X, y)
    assert not hasattr(clf, "coef_")


def test_float32_rows_stay_float32():
    X, y, _ = data()
    X = X.astype(np.float32)
    clf = LinearClassifier(l2=1e-2, standardize=True).fit(X, y)
    exact = LinearClassifier(l2=1e-2, standardize=True).fit(X.astype(np.float64), y)
    assert clf.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    by_blocks = LinearClassifier(l2=1e-2, standardize=True).fit(chunked(X, y))
    assert by_blocks.objective_ == pytest.approx(clf.objective_, rel=1e-6)


def test_solvers_that_go_row_by_row_see_scaled_rows():
    X, y, _ = data()
    Z, mean, scale = scaled_by_hand(X)
    for solver in (Rosenblatt(), BY_ROW):
        options = {"solver": solver, "max_iter": 4, "tol": None, "random_state": 0}
        loss = "perceptron" if isinstance(solver, Rosenblatt) else "logistic"
        there = LinearClassifier(loss, l2=0.0, **options).fit(Z, y)
        clf = LinearClassifier(loss, l2=0.0, standardize=True, **options).fit(X, y)
        np.testing.assert_allclose(clf.coef_ * scale, there.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(
            clf.intercept_ + clf.coef_ @ mean, there.intercept_, rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize(
    "solver", ["auto", GradientDescent(batch_size=1, learning_rate=0.1), LBFGS()]
)
def test_replay_and_callbacks_show_weights_of_the_features_as_given(solver):
    X, y, _ = data()
    seen = []
    clf = LinearClassifier(
        solver=solver, standardize=True, max_iter=5, random_state=0,
        callbacks=[lambda step, info: seen.append(step.weights.copy())],
    ).fit(X, y)  # fmt: skip
    *_, last = clf.trace_.replay(X, y)
    np.testing.assert_array_equal(last.weights, seen[-1])
    np.testing.assert_array_equal(last.weights, np.column_stack([clf.coef_, clf.intercept_]))
    assert not last.weights.flags.writeable


def test_a_start_is_for_the_features_as_given():
    X, y, _ = data()
    clf = LinearClassifier(l2=1e-2, standardize=True, tol=1e-8).fit(X, y)
    there, objective = np.column_stack([clf.coef_, clf.intercept_])[0], clf.objective_
    again = LinearClassifier(l2=1e-2, standardize=True, tol=1e-8, start=there, solver=LBFGS())
    assert again.fit(X, y).history_["objective"][0] == pytest.approx(objective, rel=1e-7)
    clf.set_params(warm_start=True, solver=LBFGS())
    assert clf.fit(X, y).history_["objective"][0] == pytest.approx(objective, rel=1e-7)


def test_what_cannot_be_is_refused():
    X, y, _ = data()
    clf = LinearClassifier(standardize=True)
    with pytest.raises(ValueError, match=r"standardize=True needs .* partial_fit sees only a few"):
        clf.partial_fit(X, y)
    with pytest.raises((TypeError, ValueError), match="standardize"):
        LinearClassifier(standardize="yes").fit(X, y)


def test_a_stream_after_such_a_fit_goes_on_from_its_weights():
    X, y, _ = data()
    clf = LinearClassifier(l2=0.0, solver=BY_ROW, max_iter=3, standardize=True, random_state=0)
    clf.fit(X, y)
    w, x = np.append(clf.coef_, clf.intercept_), np.append(X[7], 1.0)
    clf.set_params(standardize=False).partial_fit(x[None, :-1], clf.classes_[1:])
    expected = w + 0.1 * x / (1.0 + np.exp(w @ x))  # of a row of the larger class
    np.testing.assert_allclose(np.append(clf.coef_, clf.intercept_), expected, rtol=1e-9)
    assert clf.scale_ is None


def test_rows_without_weight_may_lie_anywhere():
    X, y, weight = data()
    weight[:5] = 0.0
    clf = LinearClassifier(l2=1e-2, standardize=True)
    expected = clf.fit(X, y, weight).objective_
    X[:5] = 1e307
    for rows in (X, sp.csr_array(X)):
        assert clf.fit(rows, y, weight).objective_ == pytest.approx(expected, rel=1e-7)
    assert clf.fit(chunked(X, y, weight)).objective_ == pytest.approx(expected, rel=1e-7)


def test_a_diagnosis_is_of_the_scaled_rows():
    X, y, _ = data()
    clf = LinearClassifier(l2=1e-2, standardize=True).fit(X, y)
    causes = {finding.cause for finding in diagnose(clf, X, y).findings}
    assert "different scales" not in causes
    assert "not converged" not in causes


@pytest.mark.sampled
@pytest.mark.parametrize("scoring", [None, "loss", "roc_auc"])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_fold_is_scaled_by_the_rows_that_it_trains_on(sparse, scoring):
    X, y, _ = data()
    l2s, cv = [1.0, 1e-2, 1e-4], StratifiedKFold(3)
    rows = sp.csr_array(X) if sparse else X
    options = {"l2s": l2s, "cv": cv, "standardize": True, "tol": 1e-9}
    clf = LinearClassifierCV(scoring=scoring, **options).fit(rows, y)
    for l2, mean in zip(l2s, clf.cv_results_["mean_test_score"], strict=True):
        piped = make_pipeline(StandardScaler(), LinearClassifier(l2=l2, tol=1e-9))
        name = {None: "accuracy", "loss": "neg_log_loss"}.get(scoring, scoring)
        expected = cross_val_score(piped, X, y, cv=cv, scoring=name).mean()
        assert mean == pytest.approx(expected, rel=1e-6)
    last = LinearClassifier(l2=clf.l2_, standardize=True, tol=1e-9).fit(rows, y)
    assert clf.objective_ == pytest.approx(last.objective_, rel=1e-8)
    np.testing.assert_allclose(clf.scale_, last.scale_)


def test_folds_are_scaled_by_weighted_rows():
    X, y, weight = data()
    split = np.arange(N) % 3 > 0
    cv = [(np.flatnonzero(split), np.flatnonzero(~split))]
    clf = LinearClassifierCV(l2s=[0.1], cv=cv, standardize=True, scoring="loss", tol=1e-9)
    clf.fit(X, y, weight)
    Z, mean, scale = scaled_by_hand(X[split], weight[split])
    there = LinearClassifier(l2=0.1, tol=1e-9).fit(Z, y[split], weight[split])
    probability = there.predict_proba((X[~split] - mean) / scale)
    own = probability[np.arange((~split).sum()), (y[~split] == "b").astype(int)]
    expected = np.average(np.log(own), weights=weight[~split])
    assert clf.cv_results_["mean_test_score"][0] == pytest.approx(expected, rel=1e-6)


def test_leaving_out_single_rows_is_refused():
    X, y, _ = data()
    for loss in ("squared", "logistic"):
        with pytest.raises(ValueError, match=r"cv='loo' .*standardize=True .*use cv=5"):
            LinearClassifierCV(loss, cv="loo", standardize=True, scoring=None).fit(X, y)


def test_the_grid_of_penalties_is_that_of_scaled_rows():
    X, y, _ = data()
    Z, _, _ = scaled_by_hand(X)
    one = LinearClassifierCV(l2s=3, cv=3, standardize=True, scoring=None).fit(X, y).l2_path_
    np.testing.assert_allclose(
        one, LinearClassifierCV(l2s=3, cv=3, scoring=None).fit(Z, y).l2_path_, rtol=1e-9
    )
