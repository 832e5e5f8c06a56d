"""Iterative parameter mixing: against the same in plain loops, and against its theorem."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from cluster_engine import clustered
from conftest import quiet
from sklearn.base import clone
from source_kinds import EDGES, SOURCES, both, csr, data, every_weight

from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    Checkpoint,
    DualAscent,
    ElasticNet,
    GradientDescent,
    LinearClassifier,
    Objective,
    Perceptron,
    Rosenblatt,
    Stop,
    get_loss,
    minimize,
    separability,
)

FILLED = [(a, b) for a, b in pairwise(EDGES) if a < b]


def mixed_perceptron(X, y, weight, passes):
    """Two classes, row by row in the order given: weights, and k_i of every pass and part."""
    Z, w, total, reported = np.column_stack([X, np.ones(len(X))]), np.zeros(X.shape[1] + 1), 0.0, []
    steps = 0
    for _ in range(passes):
        ends, mistakes, sums, seen = [], [], 0.0, 0
        for start, stop in FILLED:
            v, mistakes_made = w.copy(), 0.0
            for row in range(start, stop):
                if weight[row] == 0.0:
                    continue
                if y[row] * (Z[row] @ v) <= 0.0:
                    v = v + weight[row] * y[row] * Z[row]
                    mistakes_made += weight[row]
                sums, seen = sums + v, seen + 1
            ends.append(v)
            mistakes.append(mistakes_made)
        reported.append(mistakes)
        longest = max(np.count_nonzero(weight[a:b]) for a, b in FILLED)
        steps, total = steps + longest, total + longest / seen * sums
        if sum(mistakes):
            w = sum(k * v for k, v in zip(mistakes, ends, strict=True)) / sum(mistakes)
    return w, total / steps, reported


@quiet
@every_weight
@pytest.mark.parametrize("sparse", [False, True])
def test_the_perceptron_is_mixed_by_mistakes(weighted, sparse):
    X, y, classes, weight = data(2, weighted)
    source = clustered(csr(X) if sparse else X, y, classes, weight, EDGES)
    ones = np.ones(len(y)) if weight is None else weight
    w, average, reported = mixed_perceptron(X, y, ones, 4)
    for keep, expected in (("last", w), ("average", average)):
        clf = Perceptron(max_iter=4, shuffle=False, keep=keep).fit(source)
        found = np.append(clf.coef_[0], clf.intercept_)
        scale = np.linalg.norm(found) / np.linalg.norm(expected)  # weights are 1 in the mean
        assert scale == pytest.approx(1.0 if weight is None else len(y[ones > 0]) / ones.sum())
        np.testing.assert_allclose(found, scale * expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(clf.history_["mistakes"], np.sum(reported, axis=1))


def mixed_descent(X, y, step, l2, passes, batch):
    """The logistic loss in mini-batches, all parts with equal shares."""
    Z, w = np.column_stack([X, np.ones(len(X))]), np.zeros(X.shape[1] + 1)
    for _ in range(passes):
        ends = []
        for start, stop in FILLED:
            v = w.copy()
            for first in range(start, stop, batch):
                z, sign = Z[first : min(first + batch, stop)], y[first : min(first + batch, stop)]
                slope = -(sign / (1.0 + np.exp(sign * (z @ v)))) @ z / len(z)
                v = v - step * (slope + 2.0 * l2 * np.append(v[:-1], 0.0))
            ends.append(v)
        w = np.mean(ends, axis=0)
    return w


@quiet
@pytest.mark.parametrize("batch", [1, 16])
def test_other_losses_are_mixed_with_equal_shares(batch):
    X, y, classes, _ = data(2, weighted=False)
    objective = Objective(get_loss("logistic"), L2(0.01), clustered(X, y, classes, None, EDGES))
    solver = GradientDescent(batch, shuffle=False, learning_rate=0.01)
    found = minimize(objective, solver, stop=Stop(max_iter=5, tol=None)).last[0]
    np.testing.assert_allclose(found, mixed_descent(X, y, 0.01, 0.01, 5, batch), rtol=1e-9)


def received(w, u, q):
    """Weights nearer to 0 by what they are owed, the bias apart, and what they have received."""
    owed = np.maximum(np.where(w > 0.0, u + q, u - q), 0.0)
    owed[-1] = 0.0
    nearer = np.sign(w) * np.maximum(np.abs(w) - owed, 0.0)
    return nearer, q + nearer - w


def mixed_descent_with_l1(X, y, step, l1, passes):
    """The same row by row, all weights after each; what is owed is mixed as the weights are."""
    Z, w = np.column_stack([X, np.ones(len(X))]), np.zeros(X.shape[1] + 1)
    u, q = 0.0, np.zeros(X.shape[1] + 1)
    for _ in range(passes):
        ends = []
        for start, stop in FILLED:
            v, due, paid = w.copy(), u, q.copy()
            for row in range(start, stop):
                v = v + step * y[row] / (1.0 + np.exp(y[row] * (Z[row] @ v))) * Z[row]
                due += step * l1
                v, paid = received(v, due, paid)
            ends.append((v, due, paid))
        w, u, q = (np.mean([end[i] for end in ends], axis=0) for i in range(3))
        w, q = received(w, u, q)
    return w


@quiet
def test_an_l1_penalty_that_is_owed_is_mixed_with_the_weights():
    X, y, classes, _ = data(2, weighted=False)
    source = clustered(X, y, classes, None, EDGES)
    objective = Objective(get_loss("logistic"), ElasticNet(0.3), source)
    solver = GradientDescent(1, shuffle=False, learning_rate=0.01)
    found = minimize(objective, solver, stop=Stop(max_iter=6, tol=None)).last[0]
    expected = mixed_descent_with_l1(X, y, 0.01, 0.3, 6)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert np.array_equal(found == 0.0, expected == 0.0)
    assert (found == 0.0).any()


@quiet
@both
@pytest.mark.parametrize("seed", range(5))
def test_on_separable_rows_it_keeps_to_the_bound_of_the_theorem(k, seed):
    """Theorem 3: the mistakes of parts, each times its share, are at most (R / gamma)^2."""
    X, y, classes, _ = data(k, weighted=False, separated=True, seed=seed)
    found = separability(X, y)
    assert found.verdict == "separable"
    source, sums, before = clustered(X, y, classes, None, EDGES), [], [0]

    def count(step, info):
        per_part = [np.count_nonzero((step.rows >= a) & (step.rows < b)) for a, b in FILLED]
        before.append(sum(per_part))
        sums.append(sum(n * n for n in per_part) / max(sum(per_part), 1))

    clf = Perceptron(
        max_iter=10**6, patience=None, monitor=found, callbacks=[count], random_state=1
    )
    clf.fit(source)
    assert clf.stop_ == "no mistakes"
    assert clf.score(source) == 1.0
    assert clf.history_["mistakes"].tolist() == before[1:]
    assert sum(sums) <= found.mistake_bound
    reported = clf.history_
    assert reported["mistake_bound"][-1] == pytest.approx(len(FILLED) * found.mistake_bound)
    assert reported["mistakes_so_far"][-1] == sum(before) <= reported["mistake_bound"][-1]


@pytest.mark.sampled(1)
@quiet
@both
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
def test_descent_gets_near_the_minimum_of_all_rows(k, loss):
    rows = data(k, weighted=True)
    form = get_loss(loss) if k == 2 else get_loss(loss).multiclass()
    there, here = (
        Objective(form, L2(0.01), source)
        for source in (SOURCES["cluster"](*rows), ArraySource(*rows))
    )
    found = minimize(there, GradientDescent(1), stop=Stop(max_iter=300, tol=None), seed=3)
    least = minimize(here, DualAscent() if loss == "hinge" else LBFGS(), stop=Stop(tol=1e-10))
    assert here.value(found.weights)[0] < (1.1 if loss == "hinge" else 1.05) * least.objective


@quiet
@pytest.mark.parametrize(
    "options", [{}, {"class_weight": "balanced"}, {"shuffle": False}, {"l2": 1e-3}]
)
def test_bits_depend_neither_on_workers_nor_on_lost_parts(options):
    def lose(step, info):
        sources[-1].engine.lost = [1, info.iteration % len(EDGES[1:])]

    model = Perceptron(max_iter=6, tol=None, random_state=2, **options)
    sources = [clustered(*data(3, weighted=True), EDGES, workers) for workers in (1, 4, 20)]
    fits = [clone(model).fit(source) for source in sources[:2]]
    fits.append(clone(model).set_params(callbacks=[lose]).fit(sources[-1]))
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)
        np.testing.assert_array_equal(fit.intercept_, fits[0].intercept_)


@quiet
def test_only_weights_and_sums_travel():
    """No pass, and nothing before the first, moves the rows of a part."""
    source = clustered(*data(2, weighted=True), EDGES)
    Perceptron(max_iter=3, random_state=0).fit(source)
    solver = GradientDescent(8, shuffle=False)
    LinearClassifier(solver=solver, max_iter=3, standardize=True, tol=None).fit(source)
    assert not [ask for ask in source.engine.asked if type(ask).__name__ == "Fetched"]


@quiet
@pytest.mark.parametrize(
    "model",
    [
        Perceptron(max_iter=9, random_state=0),
        LinearClassifier(solver=GradientDescent(4, average=True), max_iter=9, random_state=0),
        LinearClassifier(l1=0.05, solver=GradientDescent(1), max_iter=9, random_state=0),
    ],
    ids=["perceptron", "descent", "l1"],
)
def test_a_run_that_was_cut_is_taken_up_again(model, tmp_path):
    whole = clone(model).fit(SOURCES["cluster"](*data(2, weighted=True)))
    for last in (4, None):
        calls = [
            Checkpoint(tmp_path / "run.ckpt"),
            lambda step, info, last=last: info.iteration == last,
        ]
        found = clone(model).set_params(callbacks=calls)
        found.fit(SOURCES["cluster"](*data(2, weighted=True)))
    assert found.n_iter_ == whole.n_iter_ == 9
    np.testing.assert_array_equal(found.coef_, whole.coef_)
    np.testing.assert_array_equal(found.intercept_, whole.intercept_)


@quiet
def test_a_step_only_rescales_and_one_part_is_one_machine():
    X, y, classes, _ = data(2, weighted=False)
    fits = [
        Perceptron(max_iter=5, shuffle=False, learning_rate=rate, keep="last").fit(source)
        for rate, source in [
            (1.0, clustered(X, y, classes, None, EDGES)),
            (0.1, clustered(X, y, classes, None, EDGES)),
            (1.0, clustered(X, y, classes, None, [0, len(y)])),
            (1.0, ArraySource(X, y, classes)),
        ]
    ]
    np.testing.assert_allclose(fits[1].coef_, 0.1 * fits[0].coef_, rtol=1e-12)
    np.testing.assert_allclose(fits[2].coef_, fits[3].coef_, rtol=1e-12)
    assert not np.allclose(fits[0].coef_, fits[3].coef_)


@quiet
def test_what_was_mixed_is_not_replayed():
    X, y, classes, _ = data(2, weighted=False)
    clf = Perceptron(max_iter=3).fit(clustered(X, y, classes, None, EDGES))
    with pytest.raises(ValueError, match=r"9 parts at once|7 parts at once.*fit to arrays"):
        next(clf.trace_.replay(X, y))
    objective = Objective(get_loss("perceptron"), L2(0.0), clustered(X, y, classes, None, EDGES))
    steps = Rosenblatt(shuffle=False).updates(objective, np.zeros((1, 5)), np.random.default_rng(0))
    assert math.isfinite(next(steps).objective)
