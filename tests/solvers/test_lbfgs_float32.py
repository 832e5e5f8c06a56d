"""L-BFGS by sums in float32 over float32 rows: everything that a fit reports is exact."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import newton

from separatrix import L2, LBFGS, ArraySource, LinearClassifier, Objective, get_loss, loops
from separatrix.losses import Logistic
from separatrix.solvers import lbfgs


def table(n=600, d=20, seed=0, mean=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + rng.logistic(size=n) > 0.3, 1.0, -1.0)
    return ((X + mean) * scale).astype(np.float32), y


def classes(n=900, d=20, k=5, mean=0.0, scale=1.0):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal((d, k)) + 2.0 * rng.standard_normal((n, k))).argmax(axis=1)
    return ((X + mean) * scale).astype(np.float32), y


def descended(loss="logistic", **given):
    return LinearClassifier(loss, solver=LBFGS(), **given)


def objective_of(X, y, l2=1e-3, weight=None, intercept=True, n_jobs=None):
    source = ArraySource(X, y, np.array([-1, 1]), weight, n_jobs)
    return Objective(get_loss("logistic"), L2(l2), source, intercept)


@pytest.fixture
def large(monkeypatch):
    """Small tables are treated as large ones are."""
    monkeypatch.setattr(lbfgs, "FLOAT32_BYTES", 0.0)


def evaluations(monkeypatch):
    """Whether each read of the rows was in float32."""
    seen = []
    plain = Objective.value_and_gradient

    def watched(self, W):
        seen.append(self.float32_sums)
        return plain(self, W)

    monkeypatch.setattr(Objective, "value_and_gradient", watched)
    return seen


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_minimum_is_that_of_exact_sums(large, weighted, intercept, monkeypatch):
    X, y = table()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    seen = evaluations(monkeypatch)
    fit = descended(l2=1e-3, tol=1e-12, fit_intercept=intercept).fit(X, y, weight)
    first = seen.index(False)
    assert first >= 4
    assert not any(seen[first:])  # once exact, always exact
    assert fit.stop_ == "optimal"
    exact = descended(l2=1e-3, tol=1e-12, fit_intercept=intercept)
    exact.fit(X.astype(np.float64), y, weight)
    np.testing.assert_allclose(fit.coef_, exact.coef_, rtol=0, atol=1e-6)
    assert fit.objective_ == pytest.approx(exact.objective_, rel=1e-12)
    if intercept:
        weights, J = newton(X.astype(np.float64), y, 1e-3, weight)
        np.testing.assert_allclose(np.append(fit.coef_, fit.intercept_), weights, atol=1e-6)
        assert fit.objective_ == pytest.approx(J, rel=1e-12)


def test_what_is_reported_of_every_step_is_exact(large):
    X, y = table()
    objective = objective_of(X, y)
    steps = list(islice(LBFGS().steps(objective, np.zeros((1, 21)), np.random.default_rng(0)), 4))
    for step in steps:
        at = objective.value_and_gradient(step.weights)
        assert (step.objective, step.mistakes) == (at.value, at.mistakes)
        np.testing.assert_array_equal(step.gradient, at.gradient)
    fit = descended(l2=1e-3, tol=1e-4).fit(X, y)
    optimum = descended(l2=1e-3, tol=1e-13).fit(X.astype(np.float64), y).objective_
    assert 0.0 <= fit.objective_ - optimum <= fit.gap_ <= 1e-4 * fit.objective_


@pytest.mark.parametrize("make", [table, classes])
def test_bits_do_not_depend_on_threads(large, make, monkeypatch):
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_BYTES", 1 << 12)
    X, y = make()
    ends = [descended(l2=1e-3, tol=1e-9, n_jobs=jobs).fit(X, y).coef_ for jobs in (1, 2, 3)]
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[0], ends[2])


def test_states_go_on(large, monkeypatch):
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_BYTES", 1 << 12)
    X, y = table()
    objective, start = objective_of(X, y), np.zeros((1, 21))
    whole = list(islice(LBFGS().steps(objective, start, np.random.default_rng(0)), 5))
    rest = LBFGS().steps(objective, start, np.random.default_rng(1), whole[0].state)
    for expected, step in zip(whole[1:], rest, strict=False):
        np.testing.assert_array_equal(step.weights, expected.weights)


@pytest.mark.parametrize(("mean", "scale"), [(1e3, 1.0), (0.0, 1e-30), (0.0, 1e15), (50.0, 1e-6)])
@pytest.mark.parametrize("make", [table, classes])
def test_rows_that_floats_can_hardly_hold(large, make, mean, scale):
    X, y = make(mean=mean, scale=scale)
    l2 = 1e-3 * scale**2
    fits = [descended(l2=l2, tol=1e-6).fit(rows, y) for rows in (X, X.astype(np.float64))]
    assert {fit.stop_ for fit in fits} == {"optimal"}
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-6)


@pytest.mark.parametrize("k", [3, 5, 11])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_the_minimum_over_many_classes_is_that_of_exact_sums(large, loss, k, monkeypatch):
    X, y = classes(k=k)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    seen = evaluations(monkeypatch)
    fit = descended(loss, l2=1e-3, tol=1e-10).fit(X, y, weight)
    first = seen.index(False)
    assert first >= 4
    assert not any(seen[first:])
    exact = descended(loss, l2=1e-3, tol=1e-10).fit(X.astype(np.float64), y, weight)
    assert fit.stop_ == exact.stop_ == "optimal"
    assert fit.objective_ == pytest.approx(exact.objective_, rel=1e-9)
    np.testing.assert_allclose(fit.coef_, exact.coef_, rtol=0, atol=1e-4)


def test_sums_too_rough_to_lower_j_are_not_followed(large, monkeypatch):
    X, y = table()
    plain = loops.batch_pass

    def wrong(*args, float32_sums=False, gradient=None, **given):
        sums = plain(*args, float32_sums=float32_sums, gradient=gradient, **given)
        if float32_sums and gradient is not None:
            gradient *= -1.0
        return (-sums[0], sums[1]) if float32_sums else sums

    monkeypatch.setattr(loops, "batch_pass", wrong)
    fit = descended(l2=1e-3, tol=1e-9).fit(X, y)
    assert fit.stop_ == "optimal"


def test_rough_steps_end_with_an_exact_one(large, monkeypatch):
    monkeypatch.setattr(lbfgs, "ONE_STEP", 1e-4)
    X, y = table()
    places = []
    plain = Objective.value_and_gradient

    def watched(self, W):
        places.append((self.float32_sums, W.tobytes()))
        return plain(self, W)

    monkeypatch.setattr(Objective, "value_and_gradient", watched)
    objective, start = objective_of(X, y), np.zeros((1, 21))
    step = next(LBFGS().steps(objective, start, np.random.default_rng(0)))
    assert [rough for rough, _ in places] == [True] * (len(places) - 1) + [False]
    assert len({W for _, W in places}) == len(places)  # no place is read twice
    assert places[-1][1] == step.weights.tobytes()


def test_where_rough_sums_tell_too_low_a_j_it_stays_and_is_reported_exactly(large, monkeypatch):
    monkeypatch.setattr(lbfgs, "ONE_STEP", 1e-4)
    X, y = table()
    plain = Objective.value_and_gradient

    def low(self, W):
        at = plain(self, W)
        return at._replace(value=0.999 * at.value) if self.float32_sums else at

    monkeypatch.setattr(Objective, "value_and_gradient", low)
    objective, start = objective_of(X, y), np.zeros((1, 21))
    seen = evaluations(monkeypatch)
    steps = LBFGS().steps(objective, start, np.random.default_rng(0))
    first = next(steps)
    assert seen[-3:] == [True, False, False]  # a step that seems to raise J, and none
    at = plain(objective, first.weights)
    assert (first.objective, first.mistakes) == (at.value, at.mistakes)
    np.testing.assert_array_equal(first.gradient, at.gradient)
    assert next(steps).objective < first.objective
    assert descended(l2=1e-3, tol=1e-9).fit(X, y).stop_ == "optimal"


def test_a_start_near_the_minimum_is_not_left(large, monkeypatch):
    X, y = table()
    objective = objective_of(X, y)
    near = descended(l2=1e-3, tol=1e-12).fit(X, y)
    W = np.append(near.coef_, near.intercept_)[None]
    seen = evaluations(monkeypatch)
    step = next(LBFGS().steps(objective, W, np.random.default_rng(0)))
    assert seen == [True, False]
    np.testing.assert_array_equal(step.weights, W)


def test_rows_and_losses_that_gain_nothing_are_summed_exactly(large, monkeypatch):
    class Mine(Logistic):
        pass

    X, y = table(200, 5)
    seen = evaluations(monkeypatch)
    for rows, loss in (
        (X.astype(np.float64), "logistic"), (sp.csr_array(X), "logistic"), (X, Mine()),
    ):  # fmt: skip
        descended(loss, l2=1e-3).fit(rows, y)
    assert not any(seen)
    monkeypatch.setattr(lbfgs, "FLOAT32_BYTES", 1e7)
    descended(l2=1e-3).fit(X, y)
    assert not any(seen)


def test_an_interrupt_among_rough_steps_keeps_where_they_led(large, monkeypatch):
    X, y = table()
    plain = Objective.value_and_gradient
    reads = []

    def interrupted(self, W):
        reads.append(self.float32_sums)
        if self.float32_sums and len(reads) == 5:
            loops.request_stop()
            raise loops.Interrupted
        return plain(self, W)

    monkeypatch.setattr(Objective, "value_and_gradient", interrupted)
    with pytest.warns(UserWarning, match="interrupted after 1 passes"):
        fit = descended(l2=1e-3).fit(X, y)
    assert fit.stop_ == "interrupted"
    assert fit.score(X, y) > 0.7
