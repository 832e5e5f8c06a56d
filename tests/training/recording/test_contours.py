"""Contours against curves whose place and length are known."""

from __future__ import annotations

import numpy as np

from separatrix.training.recording.contours import UNITS, contour


def circle(size=81):
    across, up = np.meshgrid(np.linspace(-1, 1, size), np.linspace(-1, 1, size))
    return across**2 + up**2


def test_pieces_lie_on_the_circle_and_go_once_round_it():
    pieces = np.array(contour(circle(), 0.49), float)
    ends = pieces.reshape(-1, 2) / UNITS * 2.0 - 1.0
    np.testing.assert_allclose(np.hypot(*ends.T), 0.7, atol=2e-3)
    moved = (pieces[:, 2:] - pieces[:, :2]) / UNITS * 2.0
    assert abs(np.hypot(*moved.T).sum() - 2 * np.pi * 0.7) < 0.05


def test_columns_go_across_and_rows_upwards():
    values = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert {piece[0] for piece in contour(values, 0.25)} == {250}
    assert {piece[1] for piece in contour(values.T, 0.25)} == {250}


def test_no_level_no_pieces():
    assert contour(circle(), 5.0) == []
    assert contour(np.zeros((4, 4)), 0.5) == []


def test_what_is_not_finite_is_left_out():
    values = circle()
    values[:, :40] = np.inf
    ends = np.array(contour(values, 0.49))
    assert len(ends)
    assert ends[:, [0, 2]].min() >= UNITS // 2 - 1
