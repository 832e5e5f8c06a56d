"""Separators, bands, hulls and meeting points against the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.datasets import load_iris

from separatrix import CertificateDisplay, datasets, separability

X, Y = load_iris(return_X_y=True)
TWO, KINDS = X[:100, :2], Y[:100]


def holds(corners, points):
    """Whether a convex polygon, its corners in order, has all these points in it or on its edge."""
    sides = np.roll(corners, -1, axis=0) - corners
    away = np.atleast_2d(points)[:, None] - corners
    turns = sides[:, 0] * away[..., 1] - sides[:, 1] * away[..., 0]
    return bool(np.all(turns >= -1e-9) or np.all(turns <= 1e-9))


def scores(display, points):
    return points @ display.slope + display.offset


def test_the_band_is_empty_and_pinned_by_the_rows_with_rings():
    display = CertificateDisplay.from_data(TWO, KINDS)
    found = separability(TWO, KINDS)
    signed = np.where(KINDS == 1, 1, -1) * scores(display, TWO)
    assert signed.min() == pytest.approx(found.margin)
    np.testing.assert_allclose(scores(display, display.points), scores(display, TWO))
    edges = np.abs(scores(display, np.asarray(display.marked_.get_offsets())))
    np.testing.assert_allclose(edges, found.margin)
    assert display.line_.levels.tolist() == [-display.margin, 0.0, display.margin]
    for level, path in zip(display.line_.levels, display.line_.get_paths(), strict=True):
        np.testing.assert_allclose(scores(display, path.vertices), level, atol=1e-9)
    assert display.band_.levels.tolist() == [-display.margin, display.margin]
    assert display.hulls_ == []
    assert display.meeting_ is None
    assert display.ax_.get_title().startswith("separable: margin 0.052")
    named = display.plot(name="iris").ax_.get_title()
    assert named.startswith("iris, separable: margin 0.052")


@pytest.mark.parametrize("table", [np.asarray, sp.csr_array])
def test_distances_to_the_separator_stay_true_in_many_dimensions(table):
    display = CertificateDisplay.from_data(table(X[:100]), KINDS)
    found = separability(X[:100], KINDS)
    np.testing.assert_allclose(display.plane.axes @ display.plane.axes.T, np.eye(2), atol=1e-12)
    true = X[:100] @ found.coef[0] + found.intercept[0]
    np.testing.assert_allclose(scores(display, display.points), true, atol=1e-12)
    assert display.slope[1] == pytest.approx(0.0, abs=1e-12)
    w = found.coef[0] / np.linalg.norm(found.coef[0])
    rest = (X[:100] - X[:100].mean(axis=0)) @ (np.eye(4) - np.outer(w, w))
    largest = np.linalg.svd(rest)[1][0]
    assert np.linalg.norm(display.points[:, 1]) == pytest.approx(largest, rel=1e-3)


@pytest.mark.parametrize("columns", [[2, 3], [0, 1, 2, 3]])
def test_both_hulls_hold_the_meeting_point(columns):
    rows, y = X[50:][:, columns], Y[50:]
    display = CertificateDisplay.from_data(rows, y)
    star = np.array([line[0] for line in display.meeting_.get_data()])
    found = separability(rows, y)
    lam = np.zeros(len(y))
    lam[found.witness.rows] = np.array([float(v) for v in found.witness.weights])
    for label, hull in zip([1, 2], display.hulls_, strict=True):
        mixed = lam[y == label] @ display.points[y == label] / lam[y == label].sum()
        np.testing.assert_allclose(mixed, star, atol=1e-9)
        corners = hull.get_xy()[:-1]
        assert holds(corners, star)
        assert holds(corners, display.points[y == label])
        assert not holds(corners, display.points)  # the other class sticks out
        assert len(corners) < np.sum(y == label)
    np.testing.assert_array_equal(display.marked, display.points[found.witness.rows])
    assert display.slope is None
    assert display.ax_.get_title().startswith("overlapping: hulls meet")


def test_rows_that_every_weak_separator_leaves_on_the_boundary_have_rings():
    rows = np.array([[0, 0], [1, 0], [2, 0], [3, 0], [1, 1], [2, -1.0]])
    display = CertificateDisplay.from_data(rows, [0, 1, 0, 1, 0, 1])
    assert display.verdict == "quasi-separable"
    np.testing.assert_array_equal(display.marked, rows[:4])
    np.testing.assert_allclose(scores(display, rows[:4]), 0.0, atol=1e-12)
    assert display.band_ is None
    assert display.meeting[1] == pytest.approx(0.0)
    assert 1.0 <= display.meeting[0] <= 2.0
    assert display.ax_.get_title() == "quasi-separable: 4 rows stay on the boundary"


def test_flipped_rows_are_all_on_one_side_of_a_line_through_0():
    rows, signs = X[:100, 2:] - [2.5, 0.8], np.where(KINDS == 1, 1, -1)
    display = CertificateDisplay.from_data(rows, KINDS, fit_intercept=False, flipped=True)
    np.testing.assert_array_equal(display.points, rows * signs[:, None])
    assert display.offset == 0.0
    assert (display.points @ display.slope).min() == pytest.approx(display.margin)
    assert display.band_.levels[0] == display.margin
    number = np.array([[0.0], [1.0], [4.0], [5.0]])
    display = CertificateDisplay.from_data(number, [0, 0, 1, 1], flipped=True)
    np.testing.assert_array_equal(display.points, [[0, -1], [-1, -1], [4, 1], [5, 1]])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("y x0", "y")


def test_0_is_a_mixture_of_flipped_witness_rows():
    rows, y = datasets.logic("xor")
    display = CertificateDisplay.from_data(rows, y, flipped=True)
    (hull,) = display.hulls_
    assert holds(hull.get_xy()[:-1], [0.0, 0.0])
    both = np.vstack([display.marked.T, np.ones(len(display.marked))])
    mixture = linprog(np.zeros(both.shape[1]), A_eq=both, b_eq=[0, 0, 1])
    assert mixture.success
    assert display.meeting_.get_label() == "origin"


def test_what_cannot_be_drawn_is_refused():
    xor = datasets.logic("xor")
    for call, words in (
        (lambda: CertificateDisplay.from_data(X, Y), "3 classes: pass the rows of two"),
        (lambda: CertificateDisplay.from_data(*xor, fit_intercept=False), "flipped=True"),
        (lambda: CertificateDisplay.from_separability(separability(*xor), X[:4], xor[1]),
         "is about 4 rows of 2 features, and X has shape"),
        (lambda: CertificateDisplay.from_data(X[:100, 2:3], KINDS), "at least two features"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            call()
