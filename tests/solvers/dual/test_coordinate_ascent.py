"""Coordinate ascent of the dual, where systems would be too large."""

from __future__ import annotations

import numpy as np
import pytest
from dual_problems import KINDS, LOSSES, climb, problem, rows

from separatrix import (
    loops,
)
from separatrix.losses import Hinge
from separatrix.numeric.rows import squared_norms
from separatrix.solvers import thresholds
from separatrix.solvers.dual.coordinate_ascent import CoordinateAscentRun
from separatrix.solvers.dual.losses import dual_loss_of


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l2", [1e-4, 1e-2])
@pytest.mark.parametrize("loss", LOSSES)
def test_single_alphas_reach_the_same_minimum(
    kind, loss, l2, intercept, small_systems, monkeypatch
):
    X, y = rows(6, 120, 8)
    X[np.abs(X) < 0.4] = 0.0
    X[7] = 0.0
    weight = np.random.default_rng(0).integers(0, 4, 120).astype(float)
    objective = problem(X, y, loss, l2, weight, intercept, kind)
    step = climb(objective, 1e-8, 400)
    if loss == "hinge":
        phase = "coordinate ascent" if l2 > 1e-3 else "proximal point"  # where they crawl
        assert step.state["phase"] == phase
    assert step.objective == pytest.approx(objective.value(step.weights)[0], rel=1e-12)
    assert step.mistakes == objective.value(step.weights)[1]
    monkeypatch.setattr(thresholds, "FACTORED_UNKNOWNS", 1500)
    other = climb(objective, 1e-10)
    assert step.objective == pytest.approx(other.objective, rel=1e-8)
    assert step.lower_bound <= other.objective


@pytest.mark.parametrize("intercept", [True, False])
def test_single_alphas_are_climbed_alike_on_any_threads(intercept, small_systems, monkeypatch):
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_BYTES", 1 << 12)
    X, y = rows(3, 300, 8)
    X[np.abs(X) < 0.6] = 0.0
    for loss in LOSSES:
        ends = [
            climb(problem(X, y, loss, 1e-3, None, intercept, "csr", jobs), 1e-7)
            for jobs in (1, 2, 3)
        ]
        for end in ends[1:]:
            np.testing.assert_array_equal(end.weights, ends[0].weights)
            assert end.lower_bound == ends[0].lower_bound


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("weighted", [True, False])
def test_planes_only_climb_and_weights_follow_the_alphas(kind, weighted, small_systems):
    """Each step after a pass, against the dual from its definition, of more features than rows."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 150)) * (rng.random((120, 150)) < 0.3)
    y = np.where(X @ rng.standard_normal(150) + 4.0 * rng.standard_normal(120) > 0.0, 1.0, -1.0)
    weight = rng.integers(0, 4, 120).astype(float) if weighted else None
    objective = problem(X, y, "hinge", 2e-3, weight, False, kind)
    c = (np.ones(120) if weight is None else weight) / objective.source.weight_sum
    at = CoordinateAscentRun(objective, dual_loss_of(objective), np.zeros(120), seed=7)
    heights, subspace_step = [], at._subspace_step

    def dual():
        pull = (c * at.alpha * y) @ X
        np.testing.assert_allclose(at.W[0, :-1], pull / (2 * 2e-3), atol=1e-9)
        assert np.all((at.alpha >= 0.0) & (at.alpha <= 1.0))
        return c @ at.alpha - pull @ pull / (4 * 2e-3)

    def watched(*given):
        before = dual()
        there = subspace_step(*given)
        heights.append((before, dual()))
        return there

    at._subspace_step = watched
    while at.subspace and at.rounds < 9:
        at.round()
    assert len(heights) > 10
    before, after = np.transpose(heights)
    assert np.all(after >= before - 1e-14)
    assert np.mean(after > before) > 0.5
    assert at.gaps[-1] < 1e-5 * at.lowest
    assert climb(objective, 1e-12).objective == pytest.approx(at.lowest, rel=1e-5)


def test_a_stop_asked_for_ends_the_pass(small_systems):
    X, y = rows(0, 2000, 5)
    given = {"inv_weight_sum": 1 / 2000, "row_norm2": squared_norms(X), "inv_2l2": 10.0}
    loops.request_stop()
    try:
        for one_pass in (loops.coordinate_epoch, loops.coordinate_epoch_twin):
            with pytest.raises(loops.Interrupted):
                one_pass(X, y, Hinge(), np.zeros(2000), np.zeros(6), np.arange(2000), **given)
        with pytest.raises(loops.Interrupted):
            climb(problem(X, y))
    finally:
        loops.clear_stop()
