"""Ellipses against the variances of AROW."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import AROW, ConfidenceDisplay, Perceptron


def fitted(k=2, d=4):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, d))
    return AROW(random_state=0).fit(X, rng.integers(0, k, 60)), X


def test_half_axes_are_standard_deviations():
    clf, _ = fitted()
    display = ConfidenceDisplay.from_estimator(clf, features=(1, 3), deviations=2.0, name="mine")
    (ellipse,) = display.ellipses_
    assert tuple(ellipse.get_center()) == tuple(clf.coef_[0, [1, 3]])
    assert ellipse.get_width() == pytest.approx(4.0 * np.sqrt(clf.coef_variance_[0, 1]))
    assert ellipse.get_height() == pytest.approx(4.0 * np.sqrt(clf.coef_variance_[0, 3]))
    assert display.ax_.get_xlabel() == "weight of x1"
    assert len(display.ax_.patches) == 1
    circle = ConfidenceDisplay.from_estimator(clf, start=True, deviations=2.0).ax_.patches[1]
    assert circle.get_radius() == 2.0
    assert display.ax_.get_title() == "mine: 2 standard deviations of each weight"


def test_every_class_has_an_ellipse_and_a_pipeline_may_end_in_the_model():
    clf, X = fitted(k=3)
    display = ConfidenceDisplay.from_estimator(clf)
    assert len(display.ellipses_) == len(display.points_) == 3
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["0", "1", "2"]
    chain = make_pipeline(StandardScaler(), AROW(random_state=0)).fit(X, X[:, 0] > 0)
    named = ConfidenceDisplay.from_estimator(chain, features=("x2", "x0"), ax=display.ax_)
    assert named.ax_ is display.ax_
    assert named.names == ["x2", "x0"]


def test_what_cannot_be_drawn_is_refused():
    clf, X = fitted()
    with pytest.raises(TypeError, match="Perceptron has none"):
        ConfidenceDisplay.from_estimator(Perceptron().fit(X, X[:, 0] > 0))
    for features in ((0, 4), (0,), (-1, 0), ("a", "b")):
        with pytest.raises(ValueError, match="two numbers below 4"):
            ConfidenceDisplay.from_estimator(clf, features=features)
    with pytest.raises(ValueError, match="expected"):
        ConfidenceDisplay([[0.0, 1.0]], variances=[[1.0]], names=("a", "b"))
    with pytest.raises(ValueError, match="2 classes"):
        ConfidenceDisplay([[0.0, 1.0]], variances=[[1.0, 1.0]], names=("a", "b"), classes=[1, 2])
