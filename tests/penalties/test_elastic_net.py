from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from separatrix import L2, LBFGS, ArraySource, Objective, get_loss
from separatrix.penalties import REGISTRY, ElasticNet, from_dict
from separatrix.training.minimize import minimize as minimized

W = np.array([[1.0, -2.0, 0.0, 7.0], [0.5, 0.0, -3.0, -9.0]])
P = (1.0, 0.5, 2.0)


def plain_value(w, l1, l2, p=P):
    return sum(p[j] * (l1 * abs(row[j]) + l2 * row[j] ** 2) for row in w for j in range(len(p)))


def test_the_value_is_as_written_and_leaves_the_bias_alone():
    assert ElasticNet(0.3, 0.7, P).value(W) == pytest.approx(plain_value(W, 0.3, 0.7))
    assert ElasticNet(0.3, 0.0).value(W) == pytest.approx(0.3 * 6.5)
    assert ElasticNet(0.0, 0.7).value(W) == pytest.approx(L2(0.7).value(W))


def test_gradient_and_diagonal_are_those_of_the_squares():
    penalty, squares = ElasticNet(0.3, 0.7, P), ElasticNet(0.0, 0.7, P)
    for row, column in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[row, column] = 1e-4
        slope = (squares.value(W + step) - squares.value(W - step)) / 2e-4
        assert penalty.gradient(W)[row, column] == pytest.approx(slope, abs=1e-9)
        curvature = squares.value(W + step) - 2.0 * squares.value(W) + squares.value(W - step)
        assert penalty.diagonal(W.shape)[row, column] == pytest.approx(curvature / 1e-8, abs=1e-6)


@pytest.mark.parametrize("step", [0.1, 1.0, 4.0])
def test_prox_is_the_minimum_of_its_own_problem(step):
    rng = np.random.default_rng(1)
    at = 2.0 * rng.standard_normal((2, 4))
    found = ElasticNet(0.4, 0.9, P).prox(at, step)
    assert np.array_equal(found[:, -1], at[:, -1])
    for row, j in np.ndindex(2, 3):
        x = at[row, j]
        best = minimize_scalar(
            lambda v, x=x, j=j: (v - x) ** 2 / (2.0 * step) + 0.4 * P[j] * abs(v),
            bounds=(-10.0, 10.0), method="bounded", options={"xatol": 1e-12},
        ).x  # fmt: skip
        assert found[row, j] == pytest.approx(best, abs=1e-6)
    assert (found == 0.0).any() or step < 1.0


@pytest.mark.parametrize("l1", [0.0, 0.4, 2.0])
def test_the_conjugate_is_the_largest_difference(l1):
    rng = np.random.default_rng(0)
    V, penalty = rng.standard_normal((2, 3)), ElasticNet(l1, 0.3, P)
    grid = np.linspace(-8.0, 8.0, 160_001)
    largest = sum(
        np.max(V[row, j] * grid - P[j] * (l1 * np.abs(grid) + 0.3 * grid**2))
        for row, j in np.ndindex(V.shape)
    )
    assert penalty.conjugate(V) == pytest.approx(largest, abs=1e-7)


def test_the_lasso_has_a_conjugate_inside_its_box_only():
    lasso, V = ElasticNet(0.5, 0.0, (1.0, 2.0)), np.array([[1.0, -0.5]])
    assert lasso.conjugate(V) == np.inf
    scale = lasso.dual_scale(V)
    assert scale == pytest.approx(0.5)
    assert lasso.conjugate(scale * V) == 0.0
    assert lasso.conjugate(1.0001 * scale * V) == np.inf
    assert lasso.dual_scale(0.1 * V) == 1.0
    assert lasso.dual_scale(np.zeros((1, 2))) == 1.0
    assert ElasticNet(0.5, 1e-3).dual_scale(V) == 1.0
    assert ElasticNet(0.5, 1.0, (0.0, 1.0)).dual_scale(V) == 0.0  # a free feature must balance


@pytest.mark.sampled
@pytest.mark.parametrize("gain", [0.01, 0.3, 1.0, 5.0, np.inf])
@pytest.mark.parametrize(
    "penalty", [ElasticNet(0.4, 0.3, P), ElasticNet(0.4, 0.0, P), ElasticNet(0.0, 0.1), L2(0.2)]
)
def test_dual_scale_is_the_best_of_all_scales(gain, penalty):
    rng = np.random.default_rng(5)
    for size in (0.1, 1.0, 10.0):
        V = size * rng.standard_normal((2, 3))
        scale = penalty.dual_scale(V, gain)
        assert 0.0 <= scale <= 1.0
        if np.isfinite(gain):
            values = {s: s * gain - penalty.conjugate(s * V) for s in np.linspace(0.0, 1.0, 201)}
            best = max(values, key=values.get)
            near = np.linspace(max(best - 0.005, 0.0), min(best + 0.005, 1.0), 201)
            most = max(values[best], *(s * gain - penalty.conjugate(s * V) for s in near))
            assert scale * gain - penalty.conjugate(scale * V) >= most - 1e-12
        else:
            assert scale == 1.0 or penalty.conjugate(1.000001 * scale * V) == np.inf


@pytest.mark.parametrize("size", [1e-155, 1e-170, 1e-300])
@pytest.mark.parametrize("penalty", [L2(1.0), ElasticNet(0.0, 1.0), ElasticNet(0.0, 1e-300)])
def test_dual_scale_where_squares_underflow(penalty, size):
    V = np.array([[size]])
    assert penalty.dual_scale(V, 0.5) == 1.0
    assert 0.0 <= penalty.dual_scale(V, -0.5) <= 1.0


def test_dual_scale_and_the_others_of_l2():
    V = np.array([[1.0, -2.0]])
    assert (L2(0.1).dual_scale(V), L2().dual_scale(V), L2().dual_scale(0.0 * V)) == (1.0, 0.0, 1.0)
    assert np.array_equal(L2(0.1).prox(W, 3.0), W)
    assert np.array_equal(L2(0.1).violation(W, -W), np.abs(W))
    assert (L2().largest(W), L2().largest(0.0 * W)) == (np.inf, 0.0)
    assert L2(0.1).with_l2(0.5) == L2(0.5)
    assert L2(0.1).on_features(np.array([1])) == L2(0.1)


def test_violation_is_the_distance_to_the_subdifferential():
    g = np.array([[0.2, 0.9, -0.9, 0.1]])
    at = np.array([[0.0, 0.0, 2.0, 5.0]])
    found = ElasticNet(0.5, 0.0, P).violation(at, g)
    # -g must lie in [-0.5, 0.5], in [-0.25, 0.25], be -1 and be 0.
    assert np.allclose(found, [[0.0, 0.65, 0.1, 0.1]])


def test_the_largest_strength_is_the_first_that_holds_every_feature_at_zero():
    g, penalty = np.array([[0.2, -0.9, 0.4, 0.0]]), ElasticNet(1.0, 0.0, P)
    largest = penalty.largest(g)
    assert largest == pytest.approx(1.8)
    zeros = np.zeros((1, 4))
    assert not ElasticNet(largest, 0.0, P).violation(zeros, g).any()
    assert ElasticNet(0.999 * largest, 0.0, P).violation(zeros, g).any()
    assert ElasticNet(1.0, 0.0, (1.0, 0.0, 1.0)).largest(g) == pytest.approx(0.4)


def test_plain_data_and_parts():
    penalty = ElasticNet(0.3, 0.7, P)
    assert from_dict(json.loads(json.dumps(penalty.to_dict()))) == penalty
    assert set(REGISTRY) == {"l2", "elastic_net", "group_lasso", "constrained_elastic_net"}
    assert penalty.on_features(np.array([2, 0])) == ElasticNet(0.3, 0.7, (2.0, 1.0))
    assert ElasticNet(0.3).on_features(np.array([1])) == ElasticNet(0.3)
    assert penalty.with_l2(0.0) == ElasticNet(0.3, 0.0, P)


def test_what_grows_with_every_weight():
    assert ElasticNet(1.0).coercive
    assert ElasticNet(0.0, 1.0).coercive
    assert not ElasticNet(0.0, 0.0).coercive
    assert not ElasticNet(1.0, 1.0, (0.0, 1.0)).coercive
    assert L2(0.1).coercive
    assert not L2().coercive


@pytest.mark.parametrize("penalty", [L2(0.3), ElasticNet(0.3, 0.7, P), ElasticNet(0.3, 0.0)])
def test_value_is_the_rest_and_the_squares(penalty):
    squares = 0.5 * np.sum(penalty.gradient(W) * W)
    assert penalty.value(W) == pytest.approx(penalty.rest(W).sum() + squares)


def test_a_solver_that_would_ignore_it_refuses_it():
    source = ArraySource(np.eye(2), np.array([-1.0, 1.0]), np.array([0, 1]))
    objective = Objective(get_loss("logistic"), ElasticNet(0.1, 0.1), source)
    with pytest.raises(ValueError, match=r"LBFGS takes l2 alone.*use ProximalNewton\(\)"):
        minimized(objective, LBFGS())
