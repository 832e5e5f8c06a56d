"""Paths against fits of each l2 by itself."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from separatrix import LinearClassifier, LinearClassifierCV, PathDisplay, Perceptron, path

X, Y = load_iris(return_X_y=True)


@pytest.mark.filterwarnings("ignore:the best score is that of")
def test_weights_are_those_of_single_fits_and_scores_those_of_the_search():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    clf = LinearClassifierCV(l2s=[1e-3, 1e-1, 10.0], cv=4, rule="one_standard_error", scoring=None)
    clf.fit(frame, Y == 1)
    display = PathDisplay.from_estimator(clf, frame, Y == 1)
    assert display.l2s.tolist() == [10.0, 1e-1, 1e-3]
    for at, l2 in enumerate(display.l2s):
        alone = LinearClassifier(l2=l2).fit(X, Y == 1)
        drawn = [line.get_ydata()[at] for line in display.weights_]
        np.testing.assert_allclose(drawn, alone.coef_[0], rtol=1e-2, atol=1e-4)
    scores, results = display.axes_[0], clf.cv_results_
    np.testing.assert_array_equal(display.scores_.get_ydata(), results["mean_test_score"])
    assert display.scores_.axes is scores
    heights = display.band_.get_paths()[0].vertices[:, 1]
    low = results["mean_test_score"] - results["standard_error"]
    assert heights.min() == pytest.approx(low.min())
    names = {text.get_text() for text in display.ax_.get_legend().get_texts()}
    assert names == {"a", "b", "c", "d"}
    assert display.ax_.get_title() == ""
    assert scores.get_title() == f"LinearClassifierCV: l2 = {clf.l2_:.3g} chosen"


def test_the_best_value_and_the_one_of_one_standard_error():
    results = {
        "l2": np.array([1.0, 0.1, 0.01, 0.001]),
        "mean_test_score": np.array([0.5, 0.84, 0.9, 0.8]),
        "standard_error": np.array([0.01, 0.02, 0.07, 0.03]),
    }
    display = PathDisplay.from_cv_results(results)
    assert (display.best_l2, display.one_standard_error_l2) == (0.01, 0.1)
    upright = {line.get_xdata()[0]: line.get_linestyle() for line in display.ax_.get_lines()[1:]}
    assert upright == {0.01: "--", 0.1: ":"}
    assert display.ax_.get_xscale() == "log"
    other = PathDisplay.from_cv_results(results, l2=0.001)
    assert other.ax_.get_lines()[-1].get_xdata()[0] == 0.001


def test_the_largest_weights_are_named_and_runaways_do_not_hide_them():
    l2s = np.array([1.0, 1e-2])
    coefs = np.zeros((2, 1, 9))
    coefs[0, 0] = np.arange(9) / 10
    coefs[1, 0] = [100.0, *np.zeros(8)]
    display = PathDisplay(l2s, coefs=coefs, l2=1.0).plot()
    reported = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert sorted(reported) == ["x3", "x4", "x5", "x6", "x7", "x8"]
    assert display.ax_.get_yscale() == "symlog"
    assert len(display.weights_) == 9


def test_weights_of_standardised_features_are_those_per_deviation():
    clf = LinearClassifier(standardize=True)
    display = PathDisplay.from_estimator(clf, X * [1, 1e3, 1, 1e-3], Y == 2, l2s=[1e-2, 1.0])
    alike = PathDisplay.from_estimator(clf, X, Y == 2, l2s=[1e-2, 1.0])
    np.testing.assert_allclose(display.coefs, alike.coefs, rtol=1e-2)
    scaled = LinearClassifier(l2=1.0).fit((X - X.mean(axis=0)) / X.std(axis=0), Y == 2)
    np.testing.assert_allclose(display.coefs[0], scaled.coef_, rtol=1e-2)
    assert display.ax_.get_ylabel() == "scaled weight"


def test_several_classes_without_scores():
    display = PathDisplay.from_estimator(LinearClassifier(), X, Y, l2s=[1e-2, 1.0])
    assert display.scores_ is None
    assert len(display.weights_) == 12
    assert display.coefs.shape == (2, 3, 4)


def test_what_has_no_path_is_refused():
    clf = LinearClassifierCV(l2s=3, scoring=None).fit(X, Y)
    for call, error, words in (
        (lambda: PathDisplay.from_estimator(Perceptron(), X, Y), TypeError, "no path of l2"),
        (lambda: PathDisplay.from_estimator(LinearClassifier(), X, Y), ValueError, "give l2s"),
        (lambda: PathDisplay.from_estimator(clf, X, Y, l2s=[1.0]), ValueError, "leave out l2s"),
        (lambda: PathDisplay.from_estimator(LinearClassifier(), X, Y, l2s=[0.0]), ValueError,
         "above 0"),
        (lambda: PathDisplay.from_cv_results({"l2": [1.0]}), ValueError,
         "no mean_test_score, standard_error"),
        (lambda: PathDisplay([1.0]), ValueError, "nothing to draw"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rule", ["best", "one_standard_error"])
def test_a_search_along_strengths_is_plotted_with_both_choices(rule):
    frame = pd.DataFrame(X, columns=list("abcd"))
    clf = LinearClassifierCV(
        l1_ratio=[0.5, 1.0], strengths=6, cv=3, scoring="loss", rule=rule, standardize=True
    ).fit(frame, Y == 2)
    display = PathDisplay.from_estimator(clf, frame, Y == 2)
    scores, counts, weights = display.axes_
    table = clf.cv_results_
    own = table["l1_ratio"] == clf.l1_ratio_
    mean, error = table["mean_test_score"][own], table["standard_error"][own]
    np.testing.assert_array_equal(display.l2s, table["strength"][own])
    np.testing.assert_array_equal(display.scores_.get_ydata(), mean)
    heights = display.band_.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == ((mean - error).min(), (mean + error).max())
    # Both choices, found by hand, are marked in every part, and named next to the scores.
    best = display.l2s[mean.argmax()]
    simplest = display.l2s[np.flatnonzero(mean >= mean.max() - error[mean.argmax()])[0]]
    assert best < simplest
    assert clf.strength_ == (best if rule == "best" else simplest)
    for ax in display.axes_:
        upright = {
            line.get_linestyle(): line.get_xdata()[0]
            for line in ax.get_lines()
            if len(set(line.get_xdata())) == 1
        }
        assert upright == {"--": best, ":": simplest}
    named = [text.get_text() for text in scores.get_legend().get_texts()]
    assert named == [
        "mean", "one standard error", f"best mean: {best:.3g}",
        f"within one standard error: {simplest:.3g}",
    ]  # fmt: skip
    for at, strength in enumerate(display.l2s):
        alone = LinearClassifier(
            l1=clf.l1_ratio_ * strength, l2=(1 - clf.l1_ratio_) * strength / 2, standardize=True
        )
        with warnings.catch_warnings(action="ignore"):  # nothing is selected at the first
            alone.fit(frame, Y == 2)
        drawn = [line.get_ydata()[at] for line in display.weights_]
        np.testing.assert_allclose(drawn, (alone.coef_ * alone.scale_)[0], atol=1e-2)
        assert abs(display.nonzeros_.get_ydata()[at] - np.count_nonzero(alone.coef_)) <= 1
    assert (display.nonzeros_.axes, weights.get_xlabel()) == (counts, "strength")
    assert scores.get_title() == f"LinearClassifierCV: strength = {clf.strength_:.3g} chosen"
    with pytest.raises(ValueError, match="leave out l2s"):
        PathDisplay.from_estimator(clf, frame, Y == 2, l2s=[1.0])
    alone = PathDisplay.from_cv_results(table)
    np.testing.assert_array_equal(alone.scores_.get_ydata(), mean)
    assert (alone.best_l2, alone.one_standard_error_l2) == (best, simplest)
    assert alone.ax_.get_xlabel() == "strength"


def test_a_path_with_scores_is_plotted_with_them():
    found = path(X, Y == 2, strengths=5, standardize=True, cv=3)
    display = PathDisplay.from_path(found)
    assert len(display.axes_) == 3
    np.testing.assert_array_equal(display.scores_.get_ydata(), found.cv_results["mean_test_score"])
    assert display.best_l2 == found.best_strength
    assert display.one_standard_error_l2 == found.one_standard_error_strength
    squares = path(X, Y == 2, l1_ratio=0, strengths=5, standardize=True, cv=3)
    display = PathDisplay.from_path(squares)
    assert (len(display.axes_), display.ax_.get_xlabel()) == (2, "l2")
    np.testing.assert_array_equal(display.l2s, squares.strengths / 2)


def test_a_path_of_sparse_models_is_drawn_along_its_strengths():
    found = path(pd.DataFrame(X, columns=list("abcd")), Y, strengths=5, standardize=True)
    display = PathDisplay.from_path(found)
    upper, lower = display.axes_
    np.testing.assert_array_equal(display.nonzeros_.get_ydata(), found.nonzeros)
    np.testing.assert_array_equal(display.nonzeros_.get_xdata(), found.strengths)
    assert display.nonzeros_.axes is upper
    drawn = np.array([line.get_ydata() for line in display.weights_]).T.reshape(5, 3, 4)
    np.testing.assert_allclose(drawn, found.coefficients * X.std(axis=0), rtol=1e-12)
    assert (lower.get_xlabel(), lower.get_ylabel()) == ("strength", "scaled weight")
    assert {text.get_text()[0] for text in lower.get_legend().get_texts()} <= set("abcd")
    assert upper.get_title() == "path, l1_ratio = 1"
    plain = PathDisplay.from_path(path(X, Y == 1, strengths=3), name="mine")
    assert plain.axes_[0].get_title() == "mine"
    assert plain.ax_.get_ylabel() == "weight"
    with pytest.raises(TypeError, match="ndarray is not a path: expected the result of separatrix"):
        PathDisplay.from_path(found.coefficients)
