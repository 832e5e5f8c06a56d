"""Cross-validation where squares of features overflow or underflow: right, or refused."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import overlapping, quiet
from sklearn.model_selection import StratifiedKFold

from separatrix import LinearClassifierCV
from separatrix.numeric.linear_systems import NotFinite, cholesky_solver, solve

# Some best scores are those of the smallest l2, which these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore:the best score is that of")

X, Y = overlapping(40, 4, seed=3)
LOSSES = ["logistic", "squared", "squared_hinge", "hinge"]
CASES = [(loss, cv) for loss in LOSSES for cv in (4, "loo") if (loss, cv) != ("hinge", "loo")]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_matrix_that_is_not_finite_is_refused(wrong):
    matrix = np.eye(5)
    matrix[1, 3] = matrix[3, 1] = wrong
    with pytest.raises(NotFinite, match="not finite in floating point: scale the features"):
        solve(matrix, np.ones(5))
    with pytest.raises(NotFinite, match="not finite"):
        cholesky_solver(matrix)(np.ones(5))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("loss", "cv"), CASES)
@pytest.mark.parametrize("power", [-490, 490])
def test_no_scale_changes_the_scores(loss, cv, power):
    settings = {"l2s": 5, "cv": cv, "scoring": "loss"}
    plain = LinearClassifierCV(loss, **{"scoring": None, **settings}).fit(X, Y)
    scaled = LinearClassifierCV(loss, **{"scoring": None, **settings}).fit(np.ldexp(X, power), Y)
    np.testing.assert_allclose(scaled.l2_path_, np.ldexp(plain.l2_path_, 2 * power), rtol=1e-12)
    np.testing.assert_allclose(
        scaled.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], rtol=1e-5
    )
    assert np.all(scaled.predict(np.ldexp(X, power)) == plain.predict(X))


def loss_without_features(loss):
    """Of the rows left out, by the best constant score of those of each fold, in the mean."""
    means = []
    for train, test in StratifiedKFold(4).split(X, Y):
        share = np.mean(Y[train] == 1.0)
        y = Y[test]
        if loss == "logistic":
            means.append(np.mean(np.log1p(np.exp(-y * np.log(share / (1.0 - share))))))
        else:  # the constant is the mean label: every margin is below 1
            means.append(np.mean((1.0 - y * (2.0 * share - 1.0)) ** 2))
    return np.mean(means)


@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge"])
@pytest.mark.parametrize(
    ("scale", "l2s"),
    [(1e-150, [1e10]), (1e-160, [1e10, 1e-4]), (1e-320, [1.0, 1e-4]), (1e-5, [1e290])],
)
@pytest.mark.parametrize("columns", [slice(None), slice(0, 2)])
def test_features_that_a_penalty_outweighs_by_far_are_as_if_absent(loss, scale, l2s, columns):
    rows = np.zeros_like(X)
    rows[:, columns] = X[:, columns] * scale
    clf = LinearClassifierCV(loss, l2s=l2s, cv=4, scoring="loss", tol=1e-10).fit(rows, Y)
    expected = -loss_without_features(loss)
    np.testing.assert_allclose(clf.cv_results_["mean_test_score"], expected, rtol=1e-6)
    accuracy = LinearClassifierCV(loss, l2s=l2s, cv="loo", scoring=None).fit(rows, Y).cv_results_
    # Without a row, the other class has the majority, or nearly has.
    most = max(np.mean(Y == 1.0), np.mean(Y == -1.0))
    assert np.all(accuracy["mean_test_score"] <= most)


def test_one_tiny_column_does_not_spoil_the_others():
    tiny = X.copy()
    tiny[:, 0] *= 1e-150
    without = X.copy()
    without[:, 0] = 0.0
    settings = {"l2s": [1e10, 1.0, 1e-3], "cv": 4, "scoring": "loss", "tol": 1e-10}
    settings = {"scoring": None, **settings}
    fits = [LinearClassifierCV(**settings).fit(rows, Y) for rows in (tiny, without)]
    np.testing.assert_allclose(*(fit.cv_results_["mean_test_score"] for fit in fits), rtol=1e-6)


@pytest.mark.parametrize("loss", [*LOSSES, "tanh_squared", "perceptron"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", [1e-155, 1e-160, 1e-320])
def test_a_grid_for_features_whose_squares_underflow_is_refused(loss, intercept, scale):
    clf = LinearClassifierCV(loss, cv=4, fit_intercept=intercept, scoring=None)
    with pytest.raises(ValueError, match="the features are too small for a grid of l2"):
        clf.fit(X * scale, Y)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e10, 1e-160])
def test_constant_features_have_a_grid(value):
    clf = LinearClassifierCV(l2s=3, cv=4, scoring=None).fit(np.full((40, 3), value), Y)
    np.testing.assert_array_equal(clf.l2_path_, [1.0, 1e-4, 1e-8])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", [1e155, 1e160, 1e300])
def test_features_whose_squares_overflow_are_refused(loss, scale):
    for rows in (X * scale, np.where(np.arange(4) < 2, X * scale, X)):
        with pytest.raises(ValueError, match="the features are too large"):
            LinearClassifierCV(loss, cv=4, scoring=None).fit(rows, Y)


@quiet
def test_scores_of_rows_far_outside_are_reported_without_numpys_warnings():
    rows = X.copy()
    rows[:5] *= 1e150
    table = LinearClassifierCV("squared", l2s=[1e10, 1e-4], cv=4, scoring="loss").fit(rows, Y)
    mean, deviation = (table.cv_results_[f"{name}_test_score"] for name in ("mean", "std"))
    splits = np.array([table.cv_results_[f"split{i}_test_score"] for i in range(4)])
    assert np.all(np.isfinite(mean))
    np.testing.assert_allclose(deviation, 1e200 * (splits / 1e200).std(axis=0))


def test_a_penalty_that_overflows_is_left_out_exactly():
    clf = LinearClassifierCV("squared", l2s=[1e308, 1e300], cv="loo", scoring="loss").fit(X, Y)
    rest = (Y.sum() - Y) / (len(Y) - 1)
    expected = -np.mean((1.0 - Y * rest) ** 2)
    np.testing.assert_allclose(clf.cv_results_["mean_test_score"], expected, rtol=1e-12)
