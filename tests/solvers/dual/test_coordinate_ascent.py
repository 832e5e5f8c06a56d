"""Coordinate ascent of the dual, where systems would be too large."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from dual_problems import KINDS, LOSSES, climb, problem, rows

from separatrix import loops
from separatrix.solvers import thresholds
from separatrix.solvers.dual.binary_coordinate_ascent import begun


@pytest.mark.sampled
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


@pytest.mark.sampled(1)
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


def test_a_stop_asked_for_ends_the_pass(small_systems):
    X, y = rows(0, 2000, 5)
    loops.request_stop()
    try:
        with pytest.raises(loops.Interrupted):
            climb(problem(X, y))
    finally:
        loops.clear_stop()


@pytest.mark.parametrize(("loss", "l2"), [("hinge", 1e-3), ("squared_hinge", 0.1)])
def test_weights_that_epochs_left_prove_no_more_than_their_alphas_do(loss, l2):
    X, y = rows(6, 200, 8)
    weight = np.random.default_rng(0).integers(0, 4, 200).astype(float)
    objective = problem(X, y, loss, l2, weight, False)
    run = begun(objective, np.zeros((1, 9)), np.random.default_rng(0))
    proven_by_drifted_weights = 0
    for _ in range(6):
        with np.errstate(all="ignore"):
            run.round()
        exact = _dual(loss, X, y, weight, l2, run.alpha)
        assert Fraction(run.bound) <= exact if run.visits else run.bound <= exact + 1e-15
        assert run.bound == pytest.approx(float(exact), rel=1e-9)
        proven_by_drifted_weights += 0.0 < run.visits < np.inf
    assert proven_by_drifted_weights >= 2


def _dual(loss, X, y, weight, l2, alpha):
    """In fractions."""
    total, a = Fraction(int(weight.sum())), [Fraction(each) for each in alpha.tolist()]
    p = [Fraction(int(c)) / total for c in weight]
    own = [each - each**2 / 4 if loss == "squared_hinge" else each for each in a]
    w = [
        sum(p[i] * a[i] * int(y[i]) * Fraction(x) for i, x in enumerate(column))
        for column in X.T.tolist()
    ]
    gain = sum(share * each for share, each in zip(p, own, strict=True))
    return gain - sum(each**2 for each in w) / (4 * Fraction(l2))
