"""What the dual asks of a loss, row by row."""

from __future__ import annotations

import numpy as np
import pytest
from dual_problems import problem, rows

from separatrix.losses import Hinge, Logistic, SquaredHinge
from separatrix.proofs.binary_dual import BinaryDualLoss, dual_loss_of
from separatrix.proofs.crammer_singer import project_to_simplex


def test_the_best_bias_is_the_best_of_all_turns():
    rng = np.random.default_rng(0)
    dual_loss = BinaryDualLoss(Hinge())
    for _ in range(50):
        n = int(rng.integers(1, 12))
        y, scores = rng.choice([-1.0, 1.0], n), np.round(rng.standard_normal(n), 1)
        weight = rng.integers(1, 4, n).astype(float)
        values = [weight @ np.maximum(0, 1 - y * (scores + b)) for b in y - scores]
        found = weight @ np.maximum(0, 1 - y * (scores + dual_loss.best_bias(y, scores, weight)))
        assert found == pytest.approx(min(values), abs=1e-12)


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge()])
def test_the_best_bias_of_a_smooth_loss_has_no_slope(loss):
    rng = np.random.default_rng(0)
    dual_loss = BinaryDualLoss(loss)
    for size in (1e-3, 1.0, 30.0):
        y, scores = np.append(rng.choice([-1.0, 1.0], 40), [-1, 1]), size * rng.standard_normal(42)
        weight = rng.uniform(0, 2, 42)
        m = y * (scores + dual_loss.best_bias(y, scores, weight))
        assert (weight * y) @ loss.slope(m) == pytest.approx(0.0, abs=1e-9)
    one_side = dual_loss.best_bias(np.ones(3), np.zeros(3), None)
    assert np.isfinite(one_side)
    assert one_side >= 0.0


def test_the_projection_is_the_nearest_point_of_the_simplex():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((200, 4)) * 10.0 ** rng.uniform(-3, 8, (200, 1))
    nearest = project_to_simplex(points)
    assert nearest.min() >= 0.0
    np.testing.assert_allclose(nearest.sum(axis=1), 1.0, rtol=1e-14)
    # No corner lies on the far side: (point - nearest).(corner - nearest) <= 0 for all of them.
    away = points - nearest
    lead = away.max(axis=1) - np.sum(away * nearest, axis=1)
    assert np.all(lead <= 1e-14 * (1.0 + np.abs(points).max(axis=1)))


def test_a_response_is_the_slope_of_what_it_smooths():
    X, y = rows(0, 30, 3, 3)
    objective = problem(X, y)
    rng = np.random.default_rng(0)
    dual_loss = dual_loss_of(objective)
    scores, change = rng.standard_normal((2, 30, 3))
    center = project_to_simplex(rng.standard_normal((30, 3)))

    def value(t):
        s = scores + t * change
        alpha = dual_loss.alpha(y, s, center, 0.7)
        return dual_loss.value(y, s, alpha, center, 0.7)

    h = 1e-6
    slope = -np.sum(
        dual_loss.neg_slope(y, dual_loss.alpha(y, scores, center, 0.7)) * change, axis=1
    )
    np.testing.assert_allclose((value(h) - value(-h)) / (2 * h), slope, atol=1e-5)
