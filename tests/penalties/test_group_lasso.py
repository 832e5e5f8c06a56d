from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from separatrix import L2, LBFGS, ArraySource, GroupLasso, Objective, get_loss
from separatrix.penalties import ElasticNet, from_dict
from separatrix.training.minimize import minimize as minimized

W = np.array([[1.0, -2.0, 0.0, 4.0, 7.0], [0.5, 0.0, -3.0, 0.0, -9.0]])
GROUPS, P = (0, 1, 0, 1), (0.5, 2.0, 0.5, 2.0)
PENALTIES = [
    GroupLasso(0.3, 0.7, P, GROUPS),
    GroupLasso(0.3, 0.0, None, GROUPS),
    GroupLasso(0.3, 0.7, P, "classes"),
    GroupLasso(0.3, 0.0),
    GroupLasso(0.3, 0.2, P, GROUPS, (3, 5)),  # groups with features that are not here
]


def blocks(penalty, k=2):
    """Weights (class, feature), threshold and p of every block, by hand."""
    p = penalty.weights or (1.0,) * 4
    if penalty.groups == "classes":
        return [([(c, j) for c in range(k)], penalty.l1 * p[j], p[j]) for j in range(4)]
    found = []
    for g in (0, 1):
        inside = [j for j in range(4) if GROUPS[j] == g]
        size = len(inside) if penalty.sizes is None else penalty.sizes[g]
        factor = penalty.l1 * p[inside[0]] * math.sqrt(size)
        found += [([(c, j) for j in inside], factor, p[inside[0]]) for c in range(k)]
    return found


def length(V, block):
    return math.sqrt(sum(V[at] ** 2 for at in block))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_value_is_as_written_and_leaves_the_bias_alone(penalty):
    by_hand = sum(t * length(W, at) for at, t, _ in blocks(penalty))
    assert penalty.rest(W).sum() == pytest.approx(by_hand, rel=1e-15)
    p = penalty.weights or (1.0,) * 4
    squares = sum(penalty.l2 * p[j] * W[c, j] ** 2 for c in range(2) for j in range(4))
    assert penalty.value(W) == pytest.approx(by_hand + squares, rel=1e-15)
    assert 0.5 * np.sum(penalty.gradient(W) * W) == pytest.approx(squares)
    assert np.array_equal(penalty.diagonal(W.shape) * W, penalty.gradient(W))


def test_groups_of_one_are_an_elastic_net():
    V, one = W[:, :-1], GroupLasso(0.3, 0.7, P, (3, 1, 0, 2))
    net = ElasticNet(0.3, 0.7, P)
    assert one.value(W) == pytest.approx(net.value(W), rel=1e-15)
    assert one.conjugate(V) == pytest.approx(net.conjugate(V), rel=1e-15)
    assert one.dual_scale(V, 0.2) == pytest.approx(net.dual_scale(V, 0.2), rel=1e-14)
    assert one.largest(W) == net.largest(W)
    np.testing.assert_allclose(one.prox(W, 0.7), net.prox(W, 0.7), rtol=1e-15)
    np.testing.assert_allclose(one.violation(W, -W), net.violation(W, -W), rtol=1e-14)
    two = GroupLasso(0.3, 0.7, P, "classes")  # of two classes, which have one vector
    assert two.value(W[:1]) == pytest.approx(net.value(W[:1]), rel=1e-15)
    np.testing.assert_allclose(two.prox(W[:1], 0.7), net.prox(W[:1], 0.7), rtol=1e-15)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("step", [0.1, 1.0, np.array([0.5, 2.0, 0.5, 2.0, 9.0])])
def test_prox_is_the_minimum_of_its_own_problem(penalty, step):
    at = np.random.default_rng(1).standard_normal((2, 5))
    found = penalty.prox(at, step)
    assert np.array_equal(found[:, -1], at[:, -1])
    steps = np.broadcast_to(step, 5)
    for block, threshold, _ in blocks(penalty):
        here = np.array([at[one] for one in block])
        s = steps[block[0][1]]

        def value(v, here=here, s=s, t=threshold):
            return np.sum((v - here) ** 2) / (2.0 * s) + t * np.sqrt(np.sum(v**2))

        best = minimize(value, here, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14})
        mine = np.array([found[one] for one in block])
        assert value(mine) <= best.fun + 1e-12
        assert not mine.any() or mine.all() or not here.all()


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_conjugate_is_the_largest_difference(penalty):
    V = np.random.default_rng(0).standard_normal((2, 4))
    if penalty.l2 == 0.0:
        V *= 0.05
        assert penalty.conjugate(V) == 0.0
        assert penalty.conjugate(100.0 * V) == np.inf
        return
    # Along a block the best w points where v does: w = r v / |v|.
    grid, largest = np.linspace(0.0, 40.0, 40_001), 0.0
    for block, threshold, p in blocks(penalty):
        own = length(V, block)
        largest += np.max(own * grid - threshold * grid - penalty.l2 * p * grid**2)
    assert penalty.conjugate(V) == pytest.approx(largest, abs=1e-6)


@pytest.mark.sampled
@pytest.mark.parametrize("gain", [0.01, 0.3, 1.0, 5.0, np.inf])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_dual_scale_is_the_best_of_all_scales(gain, penalty):
    rng = np.random.default_rng(5)
    for size in (0.01, 0.1, 1.0, 10.0):
        V = size * rng.standard_normal((2, 4))
        scale = penalty.dual_scale(V, gain)
        assert 0.0 <= scale <= 1.0
        assert np.isfinite(penalty.conjugate(scale * V))
        if np.isfinite(gain):
            values = [s * gain - penalty.conjugate(s * V) for s in np.linspace(0.0, 1.0, 301)]
            assert scale * gain - penalty.conjugate(scale * V) >= max(values) - 1e-12
        else:
            assert scale == 1.0 or penalty.conjugate(1.000001 * scale * V) == np.inf


def test_rounding_never_leaves_a_scaled_point_outside_its_ball():
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(50), 200)
    penalty = GroupLasso(0.3, 0.0, None, tuple(groups.tolist()))
    for _ in range(20):
        V = rng.standard_normal((1, 10_000))
        inside = penalty.dual_scale(V) * V.astype(np.longdouble)
        lengths = np.sqrt(np.add.reduceat(inside[0] ** 2, np.arange(0, 10_000, 200)))
        assert np.all(lengths <= np.longdouble(0.3) * np.sqrt(np.longdouble(200)))
        assert penalty.conjugate(penalty.dual_scale(V) * V) == 0.0


@pytest.mark.parametrize("penalty", PENALTIES)
def test_violation_is_the_distance_to_the_subdifferential(penalty):
    g, at = np.random.default_rng(3).standard_normal((2, 2, 5))
    zeros = blocks(penalty)[::2]
    for block, _, _ in zeros:
        for one in block:
            at[one] = 0.0
    found = penalty.violation(at, g)
    assert np.array_equal(found[:, -1], np.abs(g[:, -1]))
    for block, threshold, _ in blocks(penalty):
        own, weight = np.array([g[one] for one in block]), np.array([at[one] for one in block])
        reported = length(found, block)
        if weight.any():
            rest = own + threshold * weight / np.sqrt(np.sum(weight**2))
            assert reported == pytest.approx(np.sqrt(np.sum(rest**2)), rel=1e-14)
        else:
            assert reported == pytest.approx(
                max(np.sqrt(np.sum(own**2)) - threshold, 0.0), abs=1e-15
            )


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_largest_strength_is_the_first_that_holds_every_group_at_zero(penalty):
    g = np.random.default_rng(4).standard_normal((2, 5))
    g[:, -1] = 0.0
    by_hand = max(penalty.l1 * length(g, at) / t for at, t, _ in blocks(penalty))
    largest = penalty.largest(g)
    assert largest == pytest.approx(by_hand, rel=1e-15)
    rest = {"l2": 0.0, "weights": penalty.weights, "groups": penalty.groups, "sizes": penalty.sizes}
    zeros = np.zeros((2, 5))
    assert not GroupLasso((1.0 + 1e-15) * largest, **rest).violation(zeros, g).any()
    assert GroupLasso(0.999 * largest, **rest).violation(zeros, g).any()
    free = GroupLasso(1.0, 0.0, (0.0, 1.0, 0.0, 1.0), GROUPS)
    assert free.largest(g) == pytest.approx(
        max(length(g, [(c, 1), (c, 3)]) for c in (0, 1)) / 2**0.5
    )


def test_scales_of_a_group_become_one():
    squares = np.array([1.0, 2.0, 3.0, 5.0])
    assert GroupLasso(1.0, groups=GROUPS).common_squares(squares).tolist() == [2.0, 3.5, 2.0, 3.5]
    free = GroupLasso(1.0, weights=(0.0, 1.0, 0.0, 1.0), groups=GROUPS)
    assert free.common_squares(squares).tolist() == [1.0, 3.5, 3.0, 3.5]
    for other in (GroupLasso(1.0), L2(1.0), ElasticNet(1.0)):
        assert other.common_squares(squares) is squares


def test_tiny_weights_have_a_length():
    tiny = np.array([[3e-200, 4e-200, 0.0]])
    assert GroupLasso(1.0, groups=(0, 0)).lengths(tiny[:, :-1])[0, 0] == pytest.approx(5e-200)
    assert GroupLasso(1.0, groups=(0, 0)).prox(tiny, 1e-200).any()
    assert not GroupLasso(1.0, groups=(0, 0)).prox(tiny, 1e-199).any()


def test_plain_data_and_parts():
    for penalty in PENALTIES:
        assert from_dict(json.loads(json.dumps(penalty.to_dict()))) == penalty
    penalty = GroupLasso(0.3, 0.7, P, GROUPS)
    some = penalty.on_features(np.array([2, 1]))
    assert some == GroupLasso(0.3, 0.7, (0.5, 2.0), (0, 1), (2, 2))
    assert some.on_features(np.array([1])) == GroupLasso(0.3, 0.7, (2.0,), (1,), (2, 2))
    left = np.zeros((2, 3))
    left[:, :-1] = W[:, [2, 1]]
    whole = np.zeros((2, 5))
    whole[:, [2, 1]] = W[:, [2, 1]]
    assert some.value(left) == pytest.approx(penalty.value(whole), rel=1e-15)
    classes = GroupLasso(0.3, 0.7, P)
    assert classes.on_features(np.array([1, 0])) == GroupLasso(0.3, 0.7, (2.0, 0.5))
    assert penalty.with_l2(0.0) == GroupLasso(0.3, 0.0, P, GROUPS)
    assert penalty.coercive
    assert not GroupLasso(1.0, 1.0, (0.0, 1.0), (0, 1)).coercive


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"groups": (0, 2)}, r"no feature is in group 1 and there is a group 2.*numbers them anew"),
        ({"groups": (1, 2)}, "no feature is in group 0"),
        ({"groups": (0, 10**9)}, "no feature is in group 1 "),
        ({"groups": (-1, 0)}, "from 0 on, got -1"),
        ({"groups": (0.5, 1.0)}, "a whole number for each feature"),
        ({"groups": ()}, "a whole number for each feature"),
        ({"groups": "features"}, "groups must be 'classes'"),
        ({"groups": (0, 3), "sizes": (1, 1)}, "below 2"),
        ({"groups": (0, 0), "weights": (1.0, 2.0)}, "group 0 are 1 and, for feature 1, 2"),
    ],
)
def test_groups_that_are_none_are_refused(given, why):
    with pytest.raises(ValueError, match=why):
        GroupLasso(0.1, **given)


def test_a_solver_that_would_ignore_it_refuses_it():
    source = ArraySource(np.eye(2), np.array([-1.0, 1.0]), np.array([0, 1]))
    objective = Objective(get_loss("logistic"), GroupLasso(0.1, 0.1), source)
    with pytest.raises(ValueError, match=r"LBFGS takes l2 alone.*use ProximalNewton\(\)"):
        minimized(objective, LBFGS())
