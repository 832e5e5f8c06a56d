"""Coordinate descent by columns against long doubles and plain proximal gradients."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import OwnLogistic
from l1_oracles import Net, problem
from sklearn.base import clone
from sparse_problems import objective

from separatrix import (
    L2,
    CoordinateDescent,
    ElasticNet,
    GroupLasso,
    LinearClassifier,
    Newton,
    ProximalNewton,
    Stop,
    minimize,
    path,
)
from separatrix.rows import DenseRows
from separatrix.solvers import choose, coordinate_descent, model_descent
from separatrix.solvers.coordinate_descent import working_set

LOSSES = ("logistic", "squared", "squared_hinge")
KINDS = ("tall", "wide", "odd", "weighted", "without bias", "sparse", "sparse odd", "float32")


def table(kind, k):
    X, y = problem(n=20, d=30, k=k) if kind == "wide" else problem(n=60, d=8, k=k)
    rng = np.random.default_rng(1)
    if "odd" in kind:  # a feature twice, a constant one, one far from 0, of another scale, empty
        X[:, 1], X[:, 2], X[:, 5] = X[:, 0], 3.0, 0.0
        X[:, 3] += 100.0
        X[:, 4] *= 1e2
    if "sparse" in kind:
        X = np.where(rng.random(X.shape) < 0.5, X, 0.0)
    if kind == "float32":
        X = X.astype(np.float32).astype(np.float64)
    weight = rng.integers(0, 4, len(X)).astype(float) if kind == "weighted" else None
    p = rng.uniform(0.3, 2.0, X.shape[1]) if kind == "weighted" else None
    rows = sp.csr_array(X) if "sparse" in kind else X
    return X, rows.astype(np.float32) if kind == "float32" else rows, y, weight, p


def form(loss, k):
    return "one_vs_rest_logistic" if loss == "logistic" and k > 2 else loss


def solved(of, tol=1e-12):
    return minimize(of, CoordinateDescent(), stop=Stop(tol=tol, max_iter=200))


@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_weight_stands_still(kind, loss, k, l2):
    X, rows, y, weight, p = table(kind, k)
    l1, loss, bias = 0.15, form(loss, k), kind != "without bias"
    penalty = ElasticNet(l1, l2, None if p is None else tuple(p))
    found = solved(objective(rows, y, loss, penalty, weight, bias))
    net = Net(loss, X, y, l1, l2, weight, p, bias)
    assert found.stop == "optimal"
    gap = found.proof.gap
    assert gap <= 1e-12 * found.objective
    assert found.objective == pytest.approx(net.value(found.weights), rel=1e-12)
    allowed = np.sqrt(2.0 * net.curvatures() * gap) + 1e-13 * (1.0 + np.abs(X).max())
    assert np.all(net.violation(found.weights) <= allowed)
    assert np.any(found.weights[:, :-1] == 0.0)
    assert np.any(found.weights[:, :-1] != 0.0)
    if not bias:
        assert not found.weights[:, -1].any()


@pytest.mark.parametrize("l2", [0.0, 1e-2])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_that_of_plain_proximal_gradients(loss, k, l2):
    X, y = problem(n=60, d=8, k=k, seed=3)
    loss = form(loss, k)
    found = solved(objective(X, y, loss, ElasticNet(0.03, l2)))
    net = Net(loss, X, y, 0.03, l2)
    least = net.value(net.minimum(steps=5000))
    assert found.objective == pytest.approx(least, rel=1e-9)
    assert found.objective - found.proof.gap <= least * (1.0 + 1e-14)


@pytest.mark.parametrize("sparse", [False, True])
def test_working_sets_that_grow_and_shrink_lead_to_the_same_minimum(sparse, monkeypatch):
    monkeypatch.setattr(coordinate_descent, "SMALLEST_WORKING_SET", 2)
    X, y = problem(n=80, d=60, seed=2)
    X = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)) if sparse else X
    of = objective(X, y, "logistic", ElasticNet(0.01, 1e-3))
    W = np.zeros(of.shape)
    features, whole = working_set(of, W, of.value_and_gradient(W).gradient)
    assert len(features) == 2
    assert not whole
    there = minimize(of, ProximalNewton(), stop=Stop(tol=1e-12))
    assert solved(of).objective == pytest.approx(there.objective, rel=1e-11)


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_are_those_of_the_rows_that_count(sparse):
    X, y = problem(n=30, d=9)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    weight = np.random.default_rng(0).integers(0, 3, 30).astype(float)
    of = objective(sp.csr_array(X) if sparse else X, y, "logistic", ElasticNet(0.1), weight)
    w = np.random.default_rng(1).standard_normal(9)
    for features in ([1, 4, 7], [0, 1, 7, 8], [], [2], [2, 3, 5]):
        some = of.with_penalty(L2(0.1)).columns(np.array(features, np.int64))
        centred = X[weight > 0][:, features] - some.means[features]
        np.testing.assert_allclose(some.scores(w[features]), centred @ w[features], atol=1e-13)
    assert some.means.any() != sparse


def test_a_plain_square_and_free_features_are_taken_too():
    X, y = problem(n=100, d=12)
    of = objective(X, y, "logistic", L2(1e-3))
    newton = minimize(of, Newton(), stop=Stop(tol=1e-12)).objective
    assert solved(of).objective == pytest.approx(newton, rel=1e-12)
    free = of.with_penalty(ElasticNet(0.5, 0.0, (0.0, 0.0) + (1.0,) * 10))
    found, expected = (
        minimize(free, solver, stop=Stop(tol=1e-10))
        for solver in (CoordinateDescent(), ProximalNewton())
    )
    assert found.stop == expected.stop == "optimal"
    assert found.objective == pytest.approx(expected.objective, rel=1e-10)
    assert found.weights[0, :2].all()
    assert not found.weights[0, 2:-1].any()


def test_where_it_starts_does_not_matter():
    X, y = problem(k=3)
    X[:, 4] = 3.0  # constant: a weight that it was given goes to the bias
    of = objective(X, y, "squared_hinge", ElasticNet(0.02, 0.0))
    start = np.random.default_rng(0).standard_normal(of.shape)
    far = minimize(of, CoordinateDescent(), stop=Stop(tol=1e-11), start=start)
    assert far.stop == "optimal"
    assert far.objective == pytest.approx(solved(of).objective, rel=1e-11)
    assert not far.weights[:, 4].any()
    too_far = minimize(of, CoordinateDescent(), stop=Stop(tol=1e-11), start=1e200 * start)
    assert too_far.stop == "optimal"


@pytest.mark.parametrize("loss", LOSSES)
def test_steps_never_lead_upwards_and_go_on_from_their_state(loss, monkeypatch):
    monkeypatch.setattr(coordinate_descent, "SMALLEST_WORKING_SET", 3)
    X, y = problem(n=200, d=40)
    of = objective(X, y, loss, ElasticNet(0.01, 0.0))
    rng = np.random.default_rng(0)
    steps = CoordinateDescent().steps(of, np.zeros(of.shape), rng)
    whole = [next(steps) for _ in range(6)]
    values = [step.objective for step in whole]
    assert all(after <= before * (1.0 + 1e-15) for before, after in pairwise(values))
    again = CoordinateDescent().steps(of, np.zeros(of.shape), rng, whole[2].state)
    for step in whole[3:]:
        assert np.array_equal(next(again).weights, step.weights)


def test_threads_change_no_bit_and_int64_indices_nothing():
    X, y = problem(n=3000, d=300)
    X = sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    given = {"l1": 0.01, "l2": 0.0, "solver": CoordinateDescent()}
    one, two = (LinearClassifier(n_jobs=jobs, **given).fit(X, y) for jobs in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert np.array_equal(LinearClassifier(**given).fit(X, y).coef_, one.coef_)


def test_features_that_are_alike_are_distinguished_to_the_end():
    """Steps of single weights crawl there, and are extrapolated."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 1)) + 0.02 * rng.standard_normal((300, 60))
    y = (X @ rng.standard_normal(60) + 0.1 * rng.standard_normal(300) > 0).astype(int)
    of = objective(X, y, "logistic", ElasticNet(1e-4, 1e-6))
    found, expected = (
        minimize(of, solver, stop=Stop(tol=1e-10))
        for solver in (CoordinateDescent(), ProximalNewton())
    )
    assert found.stop == "optimal"
    assert found.objective == pytest.approx(expected.objective, rel=1e-10)


def test_a_loss_of_ones_own_is_taken():
    class Curved(OwnLogistic):
        def curvature(self, m):
            return np.exp(-np.abs(m)) / (1.0 + np.exp(-np.abs(m))) ** 2

    X, y = problem()
    found = LinearClassifier(Curved(), l1=0.02, solver=CoordinateDescent(), tol=1e-12).fit(X, y)
    expected = LinearClassifier("logistic", l1=0.02, tol=1e-10).fit(X, y)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)


def test_auto_takes_it_for_wide_and_for_sparse_rows():
    X, y = problem(n=600, d=8)
    for rows, loss, suits in (
        (X[:300], "logistic", True), (X, "logistic", False), (sp.csr_array(X), "squared", True),
        (sp.csr_array(X), "tanh_squared", False),
    ):  # fmt: skip
        solver = choose(objective(rows, y[: rows.shape[0]], loss, ElasticNet(0.02)))
        assert isinstance(solver, CoordinateDescent if suits else ProximalNewton)
    assert not isinstance(choose(objective(X, y, "logistic", L2(0.02))), CoordinateDescent)
    many = problem(n=300, d=8, k=3)
    assert isinstance(choose(objective(*many, "logistic", ElasticNet(0.02))), ProximalNewton)
    assert isinstance(choose(objective(*many, "squared", ElasticNet(0.02))), CoordinateDescent)


def test_what_it_cannot_do_is_refused_by_name():
    X, y = problem()
    for loss in ("hinge", "perceptron"):
        with pytest.raises(ValueError, match=f"cannot minimise '{loss}'.*squared_hinge"):
            minimize(objective(X, y, loss, ElasticNet(0.02)), CoordinateDescent())
    with pytest.raises(ValueError, match=r"is not convex; use ProximalNewton\(\)"):
        minimize(objective(X, y, "tanh_squared", ElasticNet(0.02)), CoordinateDescent())
    with pytest.raises(ValueError, match=r"groups do not allow; use ProximalNewton\(\)"):
        minimize(objective(X, y, "logistic", GroupLasso(0.1, 0.0, (0,) * 15)), CoordinateDescent())
    with pytest.raises(ValueError, match=r"use ProximalNewton\(\), or .*one_vs_rest_logistic"):
        minimize(objective(*problem(k=3), "logistic", ElasticNet(0.02)), CoordinateDescent())


@pytest.mark.parametrize("scale", [100.0, 1e3])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_that_are_very_wrong_have_no_curvature_and_it_arrives_all_the_same(kind, scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    y = X[:, 0] + 0.5 * rng.standard_normal(60) > 0.0
    clf = LinearClassifier(l1=1e-3, l2=0.0, solver=CoordinateDescent())
    near = clf.fit(X, y).objective_
    start = np.zeros((1, 9))
    start[0, [0, 3]] = -scale, scale  # margins down to -200 and -2,000
    far = clone(clf).set_params(start=start).fit(kind(X), y)
    assert far.stop_ == "optimal"
    assert far.objective_ == pytest.approx(near, rel=1e-6)


def test_a_working_set_holds_what_pulls_hardest_and_says_whether_more_do():
    X, y = problem(n=60, d=500)
    of = objective(X, y, "logistic", ElasticNet(1e-9))
    W = np.zeros(of.shape)
    W[0, :3] = 1.0
    at = of.value_and_gradient(W)
    pull = np.abs(at.gradient[0, :-1] - at.gradient[0, -1] * X.mean(axis=0)) / X.std(axis=0)
    hardest = np.argsort(-pull)
    hardest = hardest[hardest > 2]
    features, whole = working_set(of, W, at.gradient)
    np.testing.assert_array_equal(features, np.sort(np.append(np.arange(3), hardest[:47])))
    assert not whole
    strong = of.with_penalty(ElasticNet(1e9))
    features, whole = working_set(strong, W, at.gradient)
    np.testing.assert_array_equal(features, np.arange(3))
    assert whole


def test_columns_that_store_nothing_cost_nothing():
    X, y = problem(n=40, d=6)
    X[:, 2:] = 0.0
    of = objective(sp.csr_array(X), y, "logistic", ElasticNet(0.01))
    assert of.columns(np.arange(2)).epochs_a_read == 1.0
    assert of.columns(np.array([3, 5])).epochs_a_read == 80.0
    assert solved(of).stop == "optimal"


def test_along_a_path_columns_are_copied_once(monkeypatch):
    X, y = problem(n=60, d=500)
    copied = []
    taken = DenseRows.columns

    def copy(rows, features, means):
        copied.extend(features.tolist())
        return taken(rows, features, means)

    monkeypatch.setattr(DenseRows, "columns", copy)
    found = path(X, y, strengths=20, smallest=0.2, solver=CoordinateDescent())
    assert len(found.strengths) == 20
    assert len(copied) < 2 * len(set(copied))


@pytest.mark.parametrize("full", [0.01, 0.3])
@pytest.mark.parametrize("most", [0, 1 << 22])
def test_products_of_sparse_columns_are_those_of_dense_ones(full, most, monkeypatch):
    monkeypatch.setattr(model_descent, "MOST_FILLED", most)
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((200, 12)), rng.random(200)
    X[rng.random(X.shape) > full] = 0.0
    rows = objective(sp.csr_array(X), np.arange(200) % 2, "logistic", ElasticNet(0.1))
    sparse = rows.columns(np.arange(12)).rows
    expected = (X * weight[:, None]).T @ X
    np.testing.assert_allclose(model_descent.products(sparse, weight), expected, atol=1e-12)
