"""Bars against margins that are counted by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsClassifier

from separatrix import LinearClassifier, MarginDisplay

X, Y = load_iris(return_X_y=True)


def heights(bars):
    return np.array([bar.get_height() for bar in bars])


def test_bars_count_the_rows_and_hatched_ones_the_mistakes():
    y = Y == 1
    clf = LinearClassifier().fit(X, y)
    display = MarginDisplay.from_estimator(clf, X, y, bins=7)
    margins = np.where(y, 1, -1) * (X @ clf.coef_[0] + clf.intercept_)
    np.testing.assert_allclose(display.margins, margins)
    assert 0.0 in display.edges_
    for number, (low, high) in enumerate(zip(display.edges_, display.edges_[1:], strict=False)):
        inside = (margins >= low) & (margins < high)
        right, wrong = heights(display.right_)[number], heights(display.mistakes_)[number]
        assert right + wrong == inside.sum()
        assert (wrong if low >= 0 else right) == 0
    assert display.mistakes_[0].get_hatch()
    count = np.sum(clf.predict(X) != y)
    assert display.ax_.get_title() == f"LinearClassifier: {count} mistakes in 150 rows"


def test_a_margin_of_0_is_a_mistake():
    display = MarginDisplay(np.array([0.0, 0.0, 1.0])).plot()
    assert heights(display.mistakes_).sum() == 2
    assert heights(display.right_).sum() == 1
    alone = MarginDisplay(np.zeros(3)).plot()
    assert heights(alone.mistakes_).sum() == 3
    right = MarginDisplay(np.array([1.0, 2.0])).plot(name="all")
    assert heights(right.mistakes_).sum() == 0
    assert right.ax_.get_title() == "all: no mistake in 2 rows"


def test_of_many_classes_it_is_the_lead_over_the_best_rival():
    clf = LinearClassifier().fit(X, Y)
    scores = clf.decision_function(X)
    display = MarginDisplay.from_predictions(Y, scores)
    own = scores[np.arange(150), Y]
    rivals = [max(np.delete(row, c)) for row, c in zip(scores, Y, strict=True)]
    np.testing.assert_allclose(display.margins, own - rivals)


@pytest.mark.parametrize("table", [lambda X: X, pd.DataFrame, lambda X: X.tolist()])
def test_rows_are_judged_by_the_fits_that_did_not_see_them(table):
    y = Y == 2
    results = cross_validate(
        LinearClassifier(), table(X), y, cv=3, return_estimator=True, return_indices=True
    )
    display = MarginDisplay.from_cv_results(results, table(X), y)
    expected = [
        np.where(y[test], 1, -1) * (X[test] @ fit.coef_[0] + fit.intercept_)
        for fit, test in zip(results["estimator"], results["indices"]["test"], strict=True)
    ]
    np.testing.assert_allclose(display.margins, np.concatenate(expected))
    assert display.ax_.get_title().startswith("LinearClassifier, rows held out: ")
    with pytest.raises(ValueError, match="return_estimator=True, return_indices=True"):
        MarginDisplay.from_cv_results({"estimator": []}, X, y)


def test_what_has_no_margins_is_refused():
    with pytest.raises(TypeError, match="KNeighborsClassifier has no decision_function"):
        MarginDisplay.from_estimator(KNeighborsClassifier().fit(X, Y), X, Y)
    for wrong in ([], [np.nan], [[1.0]]):
        with pytest.raises(ValueError, match="finite numbers"):
            MarginDisplay(np.array(wrong))
