"""Lines and markers against the intervals."""

from __future__ import annotations

import numpy as np
import pytest
from inspection.inference.cases import EXACT, table

from separatrix import ForestDisplay, LinearClassifier, inference


def ends(lines):
    return np.array([segment[:, 0] for segment in lines.get_segments()])


def filled(markers, count):
    colours = markers.get_facecolors()
    return [tuple(colour) != (1.0, 1.0, 1.0, 1.0) for colour in colours[:count]]


def test_intervals_of_two_classes():
    X, y = table(70)
    found = inference(LinearClassifier(**EXACT).fit(X, y), X, y, intervals="profile", level=0.9)
    display = ForestDisplay.from_inference(found, name="moths")
    np.testing.assert_allclose(ends(display.lines_[0]), found.intervals[:4])
    np.testing.assert_allclose(display.markers_[0].get_offsets()[:, 0], found.coef[:4])
    away = (found.intervals[:4, 0] > 0) | (found.intervals[:4, 1] < 0)
    assert filled(display.markers_[0], 4) == away.tolist()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["x0", "x1", "x2", "x3"]
    assert display.ax_.get_xlabel() == "coefficient and 90 % interval"
    assert display.ax_.get_title() == f"moths: {away.sum()} of 4 intervals exclude 0"
    assert len(ForestDisplay.from_inference(found, intercept=True).coef) == 5


def test_odds_ratios_of_classes():
    X, y = table(71, k=3)
    found = inference(LinearClassifier(**EXACT).fit(X, y), X, y, features=["x0", "x2"])
    display = ForestDisplay.from_inference(found, odds_ratios=True)
    assert display.ax_.get_xscale() == "log"
    for number, lines in enumerate(display.lines_):
        own = slice(2 * number, 2 * number + 2)
        np.testing.assert_allclose(ends(lines), np.exp(found.intervals[own]))
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == ["1", "2"]
    heights = [m.get_offsets()[:, 1] for m in display.markers_]
    assert np.all(heights[0] > heights[1])  # apart, in the order of the classes


@pytest.mark.sampled(1)
@pytest.mark.parametrize("odds_ratios", [False, True])
def test_infinite_ends_are_arrows(odds_ratios):
    intervals = np.array([[-1.0, np.inf], [-np.inf, -0.5], [1.0, 2.0], [-np.inf, np.inf]])
    coef = np.array([np.inf, -np.inf, 1.5, 0.0])
    display = ForestDisplay(
        coef, intervals=intervals, names=list("abcd"), odds_ratios=odds_ratios
    ).plot()
    arrows = {line.get_marker(): line.get_ydata().tolist() for line in display.ax_.lines[:2]}
    assert arrows == {"<": [-1.0, -3.0], ">": [0.0, -3.0]}
    assert np.isfinite(ends(display.lines_[0])).all()
    assert filled(display.markers_[0], 4) == [False, True, True, False]
    display.figure_.canvas.draw()


def test_what_cannot_be_plotted_is_refused():
    with pytest.raises(ValueError, match="a name and two ends for each"):
        ForestDisplay(np.ones(2), intervals=np.ones((2, 2)), names=["a"])
    with pytest.raises(ValueError, match="1 coefficients and 2 classes"):
        ForestDisplay(np.ones(1), intervals=np.ones((1, 2)), names=["a"], classes=[0, 1])
    X, y = table(72)
    clf = LinearClassifier(**EXACT).fit(X, y)
    with pytest.raises(ValueError, match="only an intercept"):
        ForestDisplay.from_inference(inference(clf, X, y, features="(intercept)"))
    squared = LinearClassifier("squared", **EXACT).fit(X, y)
    with pytest.raises(ValueError, match="no odds"):
        ForestDisplay.from_inference(inference(squared, X, y), odds_ratios=True)


@pytest.mark.parametrize("odds_ratios", [False, True])
def test_infinite_coefficients_without_an_interval_are_arrows(odds_ratios):
    nan = np.full(2, np.nan)
    intervals = np.array([nan, [1.0, 2.0], nan, nan])
    coef = np.array([np.inf, 1.5, -np.inf, np.nan])
    display = ForestDisplay(
        coef, intervals=intervals, names=list("abcd"), odds_ratios=odds_ratios
    ).plot()
    drawn = {
        line.get_marker(): line.get_ydata().tolist()
        for line in display.ax_.lines
        if line.get_marker() in "<>" and len(line.get_xdata())
    }
    assert drawn == {"<": [-2.0], ">": [0.0]}
    display.figure_.canvas.draw()
