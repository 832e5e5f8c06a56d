"""The hinge over rows that are read block by block, against the same rows in memory."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from problems import correlated

from separatrix import (
    L2,
    ArraySource,
    DualAscent,
    Objective,
    ProximalPoint,
    Source,
    Stop,
    get_loss,
    minimize,
)
from separatrix.data import Block
from separatrix.solvers import thresholds
from separatrix.solvers.dual import streamed_proximal_point

BLOCK = 250


class OneBuffer(Source):
    """Blocks that are read into one place, one after another, and counted."""

    def __init__(self, X, y, classes, weight=None):
        self.X, self.y, self.classes, self.weight = X, y, classes, weight
        self.n_features, self.reads = X.shape[1], 0

    @property
    def n_rows(self):
        return len(self.y) if self.weight is None else int(np.count_nonzero(self.weight))

    @property
    def weight_sum(self):
        return float(len(self.y) if self.weight is None else self.weight.sum())

    def blocks(self):
        self.reads += 1
        buffer = np.empty((BLOCK, self.n_features))
        for start in range(0, len(self.y), BLOCK):
            rows = slice(start, min(start + BLOCK, len(self.y)))
            some = buffer[: rows.stop - start]
            some[:] = self.X[rows]
            weight = None if self.weight is None else self.weight[rows].copy()
            yield Block(some, self.y[rows].copy(), weight, start)
        buffer[:] = np.nan


def problem(k, l2=1e-3, weighted=False, intercept=True, n=3000, d=10):
    """Of a source and of the same rows in memory."""
    X, y = correlated(n, d, 1e2)
    if k > 2:
        rng = np.random.default_rng(1)
        y = np.argmax(X @ rng.standard_normal((d, k)) + rng.gumbel(size=(n, k)), axis=1)
    weight = np.random.default_rng(2).integers(0, 3, n).astype(float) if weighted else None
    loss = get_loss("hinge") if k == 2 else get_loss("hinge").multiclass()
    classes = np.arange(k)
    there, here = OneBuffer(X, y, classes, weight), ArraySource(X, y, classes, weight)
    return Objective(loss, L2(l2), there, intercept), Objective(loss, L2(l2), here, intercept)


@pytest.fixture
def a_third_in_memory(monkeypatch):
    monkeypatch.setattr(thresholds, "GATHERED_BYTES", 1000 * 10 * 8)
    monkeypatch.setattr(streamed_proximal_point, "GATHERED_BYTES", 1000 * 10 * 8)


@pytest.mark.sampled
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_few_reads_reach_the_minimum(a_third_in_memory, k, weighted, intercept):
    there, here = problem(k, weighted=weighted, intercept=intercept)
    expected = minimize(here, DualAscent(), stop=Stop(tol=1e-11))
    found = minimize(there, DualAscent(), stop=Stop(tol=1e-10))
    assert found.stop == "optimal"
    assert found.state["ran"] == "working sets"
    assert here.value(found.weights)[0] == pytest.approx(expected.objective, rel=1e-10)
    assert there.source.reads <= 12  # with the moments, the sample and the last proof
    # Each block may give one row more than its share, of either kind.
    blocks = -(-3000 // BLOCK)
    assert found.state["kept_bytes"] <= thresholds.GATHERED_BYTES + 2 * blocks * 80


@pytest.mark.sampled(1)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("solver", [DualAscent(), ProximalPoint()], ids=str)
def test_every_bound_on_the_way_is_one(a_third_in_memory, k, solver):
    there, here = problem(k)
    least = minimize(here, DualAscent(), stop=Stop(tol=1e-12)).objective
    steps = solver.steps(there, np.zeros(there.shape), np.random.default_rng(0))
    for step in islice(steps, 8):
        assert step.lower_bound <= least * (1.0 + 1e-12)
        assert step.objective == pytest.approx(here.value(step.weights)[0], rel=1e-12)
    assert step.lower_bound > 0.5 * least


@pytest.mark.sampled(1)
@pytest.mark.parametrize("k", [2, 3])
def test_where_too_few_rows_fit_proximal_points_go_on(monkeypatch, k):
    monkeypatch.setattr(thresholds, "GATHERED_BYTES", 40 * 10 * 8)
    there, here = problem(k, n=1000)
    expected = minimize(here, DualAscent(), stop=Stop(tol=1e-11))
    found = minimize(there, DualAscent(), stop=Stop(tol=1e-10))
    assert found.state["ran"] == "working sets, then proximal point"
    assert found.stop == "optimal"
    assert here.value(found.weights)[0] == pytest.approx(expected.objective, rel=1e-10)


@pytest.mark.sampled
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_proximal_points_of_a_sample_of_the_free_rows(monkeypatch, k, weighted):
    monkeypatch.setattr(streamed_proximal_point, "GATHERED_BYTES", 500 * 10 * 8)
    there, here = problem(k, weighted=weighted, n=1500)
    expected = minimize(here, ProximalPoint(), stop=Stop(tol=1e-11))
    found = minimize(there, ProximalPoint(), stop=Stop(tol=1e-10))
    assert found.stop == "optimal"
    assert here.value(found.weights)[0] == pytest.approx(expected.objective, rel=1e-10)
    assert found.state["center"].shape == (1500, 1 if k == 2 else k)


@pytest.mark.sampled
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("gathered", [40, 200])
@pytest.mark.parametrize("solver", [DualAscent(), ProximalPoint()], ids=str)
def test_a_run_goes_on_from_any_state_with_the_same_bits(monkeypatch, k, gathered, solver):
    monkeypatch.setattr(thresholds, "GATHERED_BYTES", gathered * 10 * 8)
    there, _ = problem(k, n=500)
    start, rng = np.zeros(there.shape), np.random.default_rng(0)
    whole = list(islice(solver.steps(there, start, rng), 5))
    for cut in (1, 2, 3):
        rest = solver.steps(there, start, np.random.default_rng(9), whole[cut - 1].state)
        for expected, step in zip(whole[cut:], islice(rest, 5 - cut), strict=True):
            np.testing.assert_array_equal(step.weights, expected.weights)
            assert (step.objective, step.lower_bound) == (expected.objective, expected.lower_bound)
