"""Bars and markers against the weights of the fit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib import colors
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import CoefficientDisplay, KernelPerceptron, LinearClassifier

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)


def test_the_largest_weights_come_first_with_the_names_of_the_pipeline():
    clf = make_pipeline(StandardScaler(), LinearClassifier(l2=1e-2)).fit(X, Y)
    display = CoefficientDisplay.from_estimator(clf, top=5)
    coef = clf[-1].coef_[0]
    largest = sorted(range(30), key=lambda j: -abs(coef[j]))[:5]
    assert display.order_.tolist() == largest
    assert [bar.get_width() for bar in display.bars_] == [coef[j] for j in largest]
    assert [bool(bar.get_hatch()) for bar in display.bars_] == [coef[j] < 0 for j in largest]
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [X.columns[j] for j in largest]
    tops = [bar.get_y() for bar in display.bars_]
    assert tops == sorted(tops, reverse=True)
    assert display.ax_.get_title() == "LinearClassifier: 5 largest of 30 weights"
    assert display.ax_.get_xlabel() == "weight, above 0 for 1"


@pytest.mark.parametrize("table", [np.asarray, sp.csr_array])
def test_times_the_deviation_of_the_features(table):
    rows = X.to_numpy()[:, :4]
    clf = LogisticRegression(max_iter=5000).fit(rows, Y)  # another library's will do
    display = CoefficientDisplay.from_estimator(clf, table(rows))
    np.testing.assert_allclose(display.coefs[0], clf.coef_[0] * rows.std(axis=0))
    assert display.names == ["x0", "x1", "x2", "x3"]
    assert display.ax_.get_xlabel() == "scaled weight, above 0 for 1"


def test_every_class_has_its_marker():
    rows, y = load_iris(return_X_y=True, as_frame=True)
    clf = LinearClassifier().fit(rows, y)
    display = CoefficientDisplay.from_estimator(clf)
    assert display.bars_ is None
    for markers, weights in zip(display.markers_, clf.coef_, strict=True):
        np.testing.assert_array_equal(markers.get_offsets()[:, 0], weights[display.order_])
    assert len({m.get_paths()[0].vertices.tobytes() for m in display.markers_}) == 3


def test_undecided_weights_are_hollow():
    rows = X.assign(copy=X["worst radius"])
    clf = LinearClassifier(l1=0.02, l2=0.0, standardize=True).fit(rows, Y)
    display = CoefficientDisplay.from_estimator(clf, top=31)
    paper = colors.to_rgba(display.ax_.get_facecolor())
    nonzero, zero = clf.nonzero_[0, display.order_], clf.zero_[0, display.order_]
    assert nonzero.any()
    assert not (nonzero | zero).all()
    hollow = [bar.get_facecolor() == paper for bar in display.bars_]
    assert hollow == [not known for known in nonzero | zero]
    proven, undecided = (len(markers.get_offsets()) for markers in display.zeros_)
    assert (proven, undecided) == (zero.sum(), clf.undecided_.sum())
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "sign proven" in words
    assert "undecided" in words
    plain = CoefficientDisplay.from_estimator(LinearClassifier(l2=1e-2).fit(X[["mean radius"]], Y))
    assert plain.ax_.get_legend() is None  # no penalty that makes weights 0


def test_undecided_weights_of_a_class_are_hollow():
    rows, y = load_iris(return_X_y=True, as_frame=True)
    clf = LinearClassifier(l1=0.05, l2=0.0, tol=1e-4).fit(rows, y)
    display = CoefficientDisplay.from_estimator(clf)
    known = (clf.nonzero_ | clf.zero_)[:, display.order_]
    assert known.any()
    paper = colors.to_rgba(display.ax_.get_facecolor())
    for markers, proven in zip(display.markers_, known, strict=True):
        inner = [tuple(each) == paper for each in markers.get_facecolors()]
        assert inner == [not each for each in proven]


def test_what_has_no_weights_is_refused():
    kernel = KernelPerceptron(random_state=0).fit(X.to_numpy()[:50], Y[:50])
    with pytest.raises(TypeError, match="KernelPerceptron has no coef_"):
        CoefficientDisplay.from_estimator(kernel)
    with pytest.raises(ValueError, match="3 weights and 1 names"):
        CoefficientDisplay(np.ones(3), names=["a"], classes=np.array([0, 1]))
    with pytest.raises(ValueError, match="top must be 1 or more"):
        CoefficientDisplay(np.ones(1), names=["a"], classes=np.array([0, 1])).plot(top=0)
    with pytest.raises(ValueError, match=r"proven has the shape \(1, 2\)"):
        CoefficientDisplay(
            np.ones(1), names=["a"], classes=np.array([0, 1]), proven=np.ones(2, dtype=bool)
        )
