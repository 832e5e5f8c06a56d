"""Bounds by the curvature of a sample, against minima by SciPy evaluated in long doubles."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from separatrix import L2, LBFGS, ArraySource, LinearClassifier, Objective, get_loss
from separatrix.proofs import gap, sampled_bound
from separatrix.proofs.sampled_bound import SampledBound
from separatrix.proofs.smooth_bound import smooth_lower_bound
from separatrix.solvers.dual.proximal_point import reduced_run


def table(seed, n=300, d=4, k=2, *, loss="logistic", l2=1e-4, weighted=False, intercept=True):
    """Rows, labels and weights, and the objective of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.uniform(-1, 1, d)
    number = np.argmax(X @ rng.standard_normal((d, k)) + rng.gumbel(size=(n, k)), axis=1)
    number[:k] = np.arange(k)
    weight = rng.integers(0, 4, n) * rng.uniform(0.1, 2.0, n) if weighted else np.ones(n)
    weight[:k] = 1.0
    y = number.astype(np.int64) if k > 2 else np.where(number > 0, 1.0, -1.0)
    form = get_loss(loss) if k == 2 else get_loss(loss).multiclass()
    source = ArraySource(X, y, np.arange(k), weight)
    return X, number, weight, Objective(form, L2(l2), source, intercept)


def plain(X, number, weight, loss, l2, W):
    """J at W in long doubles."""
    W, X, c = (np.asarray(each, dtype=np.longdouble) for each in (W, X, weight))
    scores = X @ W[:, :-1].T + W[:, -1]
    k = len(W)
    if loss == "logistic" and k > 1:
        top = scores.max(axis=1, keepdims=True)
        own = np.take_along_axis(scores, number[:, None], axis=1)[:, 0]
        value = top[:, 0] + np.log(np.exp(scores - top).sum(axis=1)) - own
    else:
        signs = np.where(number[:, None] == (1 if k == 1 else np.arange(k)), 1, -1)
        m = signs * scores
        if loss == "logistic":
            value = (np.log1p(np.exp(-np.abs(m))) + np.maximum(-m, 0)).sum(axis=1)
        else:
            value = (np.maximum(1 - m, 0) ** 2).sum(axis=1)
    return (c * value).sum() / c.sum() + l2 * (W[:, :-1] ** 2).sum()


def minimum(X, number, weight, loss, l2, intercept, k):
    """The least J that SciPy finds, and where."""
    shape = (1 if k == 2 else k, X.shape[1] + 1)

    def value(w):
        W = w.reshape(shape) * np.append(np.ones(X.shape[1]), float(intercept))
        return float(plain(X, number, weight, loss, l2, W))

    options = {"maxfun": 100_000, "ftol": 1e-14, "gtol": 1e-9}
    found = scipy.optimize.minimize(
        value, np.zeros(shape[0] * shape[1]), method="L-BFGS-B", options=options
    )
    return found.fun, found.x.reshape(shape) * np.append(np.ones(X.shape[1]), float(intercept))


@pytest.mark.sampled
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("k", [2, 3])
def test_no_bound_is_above_the_minimum(loss, k):
    rng = np.random.default_rng(1)
    for seed in range(6):
        l2 = 10.0 ** rng.uniform(-7, 1)
        intercept, weighted = seed % 3 != 0, seed % 2 == 1
        X, number, weight, objective = table(
            seed, 80, 2, k, loss=loss, l2=l2, weighted=weighted, intercept=intercept
        )
        least, there = minimum(X, number, weight, loss, l2, intercept, k)
        for size in (0.0, 1e-4, 0.3, 30.0):
            W = there + size * rng.standard_normal(there.shape)
            W[:, -1] *= float(intercept)
            at = objective.value_and_gradient(W)
            for rows in (1, 5, 40):
                run = SampledBound(
                    objective, objective.sample(rows), W, at, objective.standardization
                )
                for enough in (1e-12, 1.0):
                    bound, allowance = run.climb(enough * at.value, 20.0)
                    assert bound - allowance <= least * (1 + 1e-13), (seed, size, rows)


@pytest.mark.parametrize(("loss", "k"), [("logistic", 2), ("logistic", 4), ("squared_hinge", 4)])
def test_it_is_as_near_as_the_sample_is_large(loss, k):
    X, number, _, objective = table(3, 4000, 10, k, loss=loss, l2=1e-6)
    steps = LBFGS(factored_features=0).steps(
        objective, np.zeros(objective.shape), np.random.default_rng(0)
    )
    best = LinearClassifier(loss, l2=1e-6, tol=1e-12).fit(X, number).objective_
    for step in steps:
        if step.objective - best <= 1e-6 * best:
            break
    excess, W = step.objective - best, step.weights
    at = objective.value_and_gradient(W)
    run = SampledBound(objective, objective.sample(800), W, at, objective.standardization)
    bound, _ = run.climb(20.0 * excess, 20.0)
    assert best - 20.0 * excess <= bound <= best
    assert best - smooth_lower_bound(objective, W, at)[0] > 200.0 * excess


def test_what_a_sample_cannot_prove_is_given_up_at_once():
    _, _, _, objective = table(0, 4000, 10, 3, l2=1e-6)
    W = np.zeros(objective.shape)
    run = SampledBound(
        objective, objective.sample(400), W, objective.value_and_gradient(W),
        objective.standardization,
    )  # fmt: skip
    run.climb(1e-6, 100.0)
    assert run.hopeless(1e-6)
    assert run.reads < 0.5


def test_a_difference_of_gradients_is_a_product_with_the_hessian(monkeypatch):
    _, _, _, objective = table(0, 500, 5, 3, l2=1e-3)
    W = 0.1 * np.random.default_rng(0).standard_normal(objective.shape)
    seen = []

    def solve(product, right, *rest, **more):
        image = product(right)
        exact = objective.standardization
        V = exact.to_weights(right)
        seen.append((image, exact.gradient(run.part.hessian_product(W, V))))
        return np.zeros_like(right), 0.0

    monkeypatch.setattr(sampled_bound, "conjugate_gradients", solve)
    at = objective.value_and_gradient(W)
    run = SampledBound(objective, objective.sample(100), W, at, objective.standardization)
    run.climb(0.9 * (at.value - run.bound), 0.7)
    assert seen
    for image, exact in seen:
        assert np.allclose(image, exact, rtol=1e-3, atol=1e-4 * np.abs(exact).max())


@pytest.mark.parametrize("l2", [1e-2, 1e-4, 1e-6])
def test_a_proof_takes_no_more_than_two_steps_beyond_the_minimum(l2, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 30))
    scores = X @ (3.0 * rng.standard_normal((30, 5)) / np.sqrt(30))
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    best = LinearClassifier(l2=l2, tol=1e-11).fit(X, y).objective_
    reads, update = [0.0], gap.SampledBound.climb

    def climb(self, enough, most_reads):
        found = update(self, enough, most_reads)
        reads[0] += self.reads
        return found

    monkeypatch.setattr(gap.SampledBound, "climb", climb)
    fit = LinearClassifier(l2=l2, tol=1e-6, solver=LBFGS()).fit(X, y)
    J = fit.history_["objective"]
    first = np.flatnonzero(J - best <= 1e-7 * best)
    arrived = first[0] if len(first) else len(J)
    assert fit.stop_ == "optimal"
    assert fit.gap_ <= 1e-6 * fit.objective_
    assert fit.objective_ - best <= fit.gap_
    assert len(J) - 1 <= arrived + 2
    assert reads[0] <= 5.0


@pytest.mark.parametrize(
    ("n", "last_step", "tried"),
    [(20_000, 40.0, False), (20_000, 5.0, True), (20_000, np.inf, True), (60_000, 40.0, True)],
)
def test_a_dear_sample_is_spared_where_another_step_will_do(n, last_step, tried, monkeypatch):
    X, number, _, objective = table(0, n, 5, l2=1e-6)
    fit = LinearClassifier(l2=1e-6, tol=1e-4).fit(X, number)
    W = np.column_stack([fit.coef_, fit.intercept_])
    at = objective.value_and_gradient(W)
    missing = at.value - smooth_lower_bound(objective, W, at)[0]
    tracker = gap.GapTracker(
        objective, 0.1 * missing / at.value, reduced_run, reads=10
    )  # ten times too much
    tracker.best = at.value, last_step * missing  # the step before made it smaller by this factor
    seen = []
    monkeypatch.setattr(gap.SampledBound, "climb", lambda *_: seen.append(1) or (0.0, 0.0))
    tracker.evaluate(W, at, remains=1e-3 * 0.1 * missing)
    assert bool(seen) == tried
