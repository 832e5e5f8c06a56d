"""Regions, lines and rows against what the classifier says."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import BoundaryDisplay, KernelPerceptron, LinearClassifier, datasets

IRIS = load_iris(as_frame=True)


def points_of(contours):
    """Every point that a set of contour lines goes through."""
    return np.concatenate([path.vertices for path in contours.get_paths()])


def test_the_lines_are_where_the_scores_have_the_levels():
    X, y = IRIS.data.to_numpy()[50:, 2:], IRIS.target.to_numpy()[50:]
    clf = LinearClassifier("hinge", l2=1e-2).fit(X, y)
    display = BoundaryDisplay.from_estimator(clf, X, y, levels=(-1, 0, 1))
    (lines,) = display.lines_
    assert lines.levels.tolist() == [-1, 0, 1]
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        scores = path.vertices @ clf.coef_[0] + clf.intercept_
        np.testing.assert_allclose(scores, level, atol=1e-9)
    drawn = np.concatenate([rows.get_offsets() for rows in display.rows_])
    np.testing.assert_array_equal(drawn, X)  # they are sorted by class
    wrong = clf.predict(X) != y
    np.testing.assert_array_equal(display.mistakes_.get_offsets(), X[wrong])
    assert display.ax_.get_title() == f"LinearClassifier: 100 rows, {wrong.sum()} mistakes"
    assert display.figure_ is display.ax_.figure


def test_shapes_differ_as_colours_do():
    X, y = IRIS.data.to_numpy()[:, :2], IRIS.target_names[IRIS.target]
    display = BoundaryDisplay.from_estimator(LinearClassifier().fit(X, y), X, y)
    colours = {tuple(rows.get_facecolor()[0]) for rows in display.rows_}
    shapes = {rows.get_paths()[0].vertices.tobytes() for rows in display.rows_}
    assert len(colours) == len(shapes) == 3
    reported = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert reported == ["setosa", "versicolor", "virginica", "mistake"]


def test_the_surface_between_two_of_three_classes():
    X, y = IRIS.data.to_numpy()[:, :2], IRIS.target.to_numpy()
    clf = LinearClassifier(l2=1e-3).fit(X, y)
    display = BoundaryDisplay.from_estimator(clf, X, y, pairs=True, grid_resolution=60)
    assert len(display.pairs_) == len(display.lines_) == 3
    for (a, b), surface in zip([(0, 1), (0, 2), (1, 2)], display.pairs_, strict=True):
        w, bias = clf.coef_[a] - clf.coef_[b], clf.intercept_[a] - clf.intercept_[b]
        np.testing.assert_allclose(points_of(surface) @ w + bias, 0.0, atol=1e-9)
    corners = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(display.predicted.ravel(), clf.predict(corners))


def test_two_principal_components_are_a_section_through_the_mean():
    X, y = load_breast_cancer(return_X_y=True)
    clf = make_pipeline(StandardScaler(), LinearClassifier(l2=1e-2)).fit(X, y)
    display = BoundaryDisplay.from_estimator(clf, X, y, grid_resolution=20)
    U, S, V = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    signs = np.sign(np.sum(U[:, :2] * S[:2] * display.points, axis=0))
    np.testing.assert_allclose(display.points, U[:, :2] * S[:2] * signs, rtol=1e-6, atol=1e-6)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    rows = X.mean(axis=0) + (grid * signs) @ V[:2]
    np.testing.assert_allclose(display.scores.ravel(), clf.decision_function(rows), atol=1e-6)
    assert "principal plane (99.8% of variance)" in display.ax_.get_title()


@pytest.mark.parametrize("table", [np.asarray, sp.csr_array, pd.DataFrame])
def test_rows_fade_with_their_distance_from_the_slice_which_the_title_states(table):
    X, y = IRIS.data.to_numpy()[:100], IRIS.target.to_numpy()[:100]
    X = np.column_stack([X, np.full(100, 3.0)])  # a constant feature is nowhere off the slice
    clf = LinearClassifier(l2=1e-3).fit(X, y)
    given = table(X) if table is not pd.DataFrame else pd.DataFrame(X, columns=list("abcde"))
    fitted = LinearClassifier(l2=1e-3).fit(given, y)
    display = BoundaryDisplay.from_estimator(fitted, given, y, features=(0, 1), grid_resolution=9)
    away = np.hypot(*((X[:, 2:4] - X[:, 2:4].mean(axis=0)) / X[:, 2:4].std(axis=0)).T)
    expected = 1.0 - 0.75 * np.minimum(away / (2.0 * away.mean()), 1.0)
    np.testing.assert_allclose(display.opacity, expected)
    for label, rows in enumerate(display.rows_):
        np.testing.assert_allclose(rows.get_facecolor()[:, 3], expected[y == label])
    there = X.copy()
    there[:, 2:] = X[:, 2:].mean(axis=0)
    outside = np.sum(clf.predict(there) != clf.predict(X))
    assert outside > 5
    assert display.ax_.get_title().split("\n") == [
        "LinearClassifier: 100 rows, no mistake with all 5 features",
        "slice: others at their mean; distant rows fade",
        f"{outside} rows are drawn outside their predicted region",
    ]
    own = display.plot(plt.figure().add_subplot(), scatter_kwargs={"alpha": 0.5})
    assert np.unique(own.rows_[0].get_facecolor()[:, 3]).tolist() == [0.5]
    flat = np.where(np.arange(5) < 2, X, X.mean(axis=0))  # all rows on the slice: none fades
    display = BoundaryDisplay.from_estimator(
        LinearClassifier().fit(flat, y), flat, y, features=(0, 1), grid_resolution=9
    )
    np.testing.assert_allclose(display.opacity, 1.0, atol=1e-6)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_chosen_features_of_a_frame_leave_the_others_at_their_mean(table):
    names = ["a", "b", "c", "d"]
    X, y = IRIS.data.to_numpy(), IRIS.target.to_numpy() > 1
    frame = table(dict(zip(names, X.T, strict=True)))
    clf = LinearClassifier().fit(frame, y)
    display = BoundaryDisplay.from_estimator(clf, frame, y, features=("c", 1), grid_resolution=5)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("c", "b")
    assert "others at their mean" in display.ax_.get_title()
    np.testing.assert_array_equal(display.points, X[:, [2, 1]])
    mean = X.mean(axis=0)
    at = np.array([mean[0], display.xx1[3, 1], display.xx0[3, 1], mean[3]])
    assert display.scores[3, 1] == pytest.approx(at @ clf.coef_[0] + clf.intercept_[0])


def test_sparse_rows_kernels_and_classifiers_that_only_predict():
    X, y = datasets.ring(random_state=0)
    display = BoundaryDisplay.from_estimator(
        KernelPerceptron(gamma=2.0, random_state=0).fit(X, y), sp.csr_array(X), y
    )
    np.testing.assert_allclose(np.sort(display.points, axis=0), np.sort(X, axis=0))
    near = KNeighborsClassifier().fit(X, y)
    display = BoundaryDisplay.from_estimator(near, X, y, grid_resolution=30)
    assert display.scores is None
    assert len(display.lines_) == 1


def test_one_class_everywhere_draws_no_line_and_many_rows_are_drawn_in_part():
    X, y = np.arange(6000.0).reshape(3000, 2), np.tile([0, 1], 1500)
    clf = LinearClassifier(l2=1.0, fit_intercept=False).fit(X, y)
    clf.coef_, clf.intercept_ = np.zeros((1, 2)), np.ones(1)
    display = BoundaryDisplay.from_estimator(clf, X, y)
    assert display.lines_ == []
    assert len(display.points) == 2000
    assert "3,000 rows, 1,500 mistakes\n2,000 of the rows drawn" in display.ax_.get_title()


def test_what_is_given_replaces_the_looks():
    X, y = datasets.logic("and")
    clf, ax = LinearClassifier().fit(X, y), plt.figure().add_subplot()
    display = BoundaryDisplay.from_estimator(
        clf, X, y, ax=ax, name="AND", line_kwargs={"c": "red", "lw": 3}, scatter_kwargs={"s": 99}
    )
    assert display.ax_ is ax
    assert display.lines_[0].get_linewidths()[0] == 3
    np.testing.assert_array_equal(display.lines_[0].get_edgecolor()[0], [1, 0, 0, 1])
    assert display.rows_[0].get_sizes().tolist() == [99]
    again = display.plot(name="again", ax=plt.figure().add_subplot())
    assert again is display
    assert again.ax_.get_title().startswith("again: 4 rows")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": np.ones((4, 1))}, "expected rows of at least two features"),
        ({"y": [0, 1]}, "one label for each of the rows"),
        ({"features": (0, 0)}, "two different ones"),
        ({"features": (0, 7)}, "there is no feature 7: X has 2"),
        ({"features": ("x0", "age")}, "there is no feature 'age'; names are x0, x1"),
        ({"grid_resolution": 1}, "grid_resolution must be 2 or more"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change, words):
    X, y = datasets.logic("and")
    given = {"X": X, "y": y, **change}
    with pytest.raises(ValueError, match=words):
        BoundaryDisplay.from_estimator(LinearClassifier().fit(X, y), **given)


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch):
    X, y = datasets.logic("and")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'separatrix\[plot\]'"):
        BoundaryDisplay.from_estimator(LinearClassifier().fit(X, y), X, y)
