"""Bounds on weights, and weights in order, as a penalty."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import minimize

from separatrix import L2, ConstrainedElasticNet, ElasticNet, GroupLasso
from separatrix.penalties import constrained, from_dict

INF = float("inf")


def exact_of_one(v, t, a, low, high):
    """The largest ``v w - t |w| - a w^2 / 2`` between the bounds, in fractions."""
    if v == INF:
        return INF
    v, t, a = map(Fraction, (v, t, a))
    candidates = [Fraction(e) for e in (low, high, 0.0) if abs(e) < INF]
    candidates += [(v - t) / a, (v + t) / a] if a else []
    found = [v * w - t * abs(w) - a * w * w / 2 for w in candidates if low <= w <= high]
    if a == 0 and ((high == INF and v > t) or (low == -INF and v < -t)):
        return INF
    return max(found)


def exact_of_chain(v, curvature, units, low, high):
    """The largest ``sum v w - a w^2 / 2``, w / units in order between bounds: all partitions."""
    n, best = len(v), None
    u = [Fraction(each) for each in units]
    pull = [Fraction(each) * s for each, s in zip(v, u, strict=True)]
    squares = [Fraction(each) * s * s for each, s in zip(curvature, u, strict=True)]
    for cuts in product((False, True), repeat=n - 1):
        edges = [0, *(i + 1 for i in range(n - 1) if cuts[i]), n]
        levels = []
        for start, end in pairwise(edges):
            level = sum(pull[start:end]) / sum(squares[start:end])
            level = max(level, Fraction(low)) if low > -INF else level
            levels += [min(level, Fraction(high)) if high < INF else level] * (end - start)
        if all(a <= b for a, b in pairwise(levels)):
            value = sum(
                p * w - q * w * w / 2 for p, q, w in zip(pull, squares, levels, strict=True)
            )
            best = value if best is None else max(best, value)
    return best


@pytest.mark.parametrize("l2", [0.0, 1e-3, 0.5])
@pytest.mark.parametrize("l1", [0.0, 0.25])
def test_the_conjugate_is_that_of_fractions_and_never_below(l1, l2):
    rng = np.random.default_rng(0)
    low = (0.0, None, -1.0, 0.5, -3.0, None, 2.0, 0.0)
    high = (None, 0.0, 1.0, 0.5, -2.0, None, 1e6, 0.0)
    lows = [-INF if end is None else end for end in low]
    highs = [INF if end is None else end for end in high]
    weights = (1.0, 2.0, 0.0, 1.0, 0.5, 1.0, 1.0, 0.0)
    penalty = ConstrainedElasticNet(l1, l2, weights, low, high)
    for size in (1e-9, 0.1, 1.0, 1e3):
        for v in (*(size * rng.standard_normal((20, 8))), np.zeros(8), np.full(8, l1)):
            parts = [
                exact_of_one(
                    v[j], Fraction(l1) * Fraction(p), 2 * Fraction(l2) * Fraction(p), *ends
                )
                for j, (p, *ends) in enumerate(zip(weights, lows, highs, strict=True))
            ]
            found = penalty.conjugate(v[None])
            if INF in parts:
                assert found == INF
                continue
            exact = sum(parts)
            assert Fraction(found) >= exact
            assert found == pytest.approx(
                float(exact), rel=1e-13, abs=1e-13 * float(sum(map(abs, parts)))
            )


@pytest.mark.parametrize("bounds", [(-INF, INF), (0.0, INF), (-0.5, 0.25), (0.25, 0.25)])
@pytest.mark.parametrize("units", [None, (1.0, 3.0, 0.125, 2.0, 1.0)])
def test_the_conjugate_of_a_chain_is_the_best_of_all_partitions(bounds, units):
    rng = np.random.default_rng(1)
    weights, low, high = (1.0, 2.0, 1.0, 0.5, 1.0), *bounds
    u = np.ones(5) if units is None else np.array(units)
    penalty = ConstrainedElasticNet(
        0.0, 0.5, weights, tuple(low * u), tuple(high * u), ((2, 0, 3, 1),), units
    )
    chain = [2, 0, 3, 1]
    for v in (*rng.standard_normal((30, 5)), np.zeros(5), np.ones(5), -np.arange(5.0)):
        v[4] = 0.0
        exact = exact_of_chain(v[chain], np.array(weights)[chain], u[chain], low, high)
        alone = exact_of_one(0.0, 0, 1, low, high)
        found = penalty.conjugate(v[None])
        assert Fraction(found) >= exact + alone
        assert found == pytest.approx(float(exact + alone), rel=1e-12, abs=1e-13)


def test_prox_is_the_minimum_of_its_own_problem():
    rng = np.random.default_rng(2)
    chained = ConstrainedElasticNet(0.0, 0.1, low=(-0.5,) * 4, high=(1.0,) * 4, chains=((3, 1, 0),))
    boxed = ConstrainedElasticNet(
        0.4, 0.1, (1.0, 2.0, 0.0, 1.0), (0.0, -1.0, 0.25, None), (1.0,) * 4
    )
    for penalty, step in product((chained, boxed), (0.3, np.array([0.5, 1.0, 2.0, 0.25, 1.0]))):
        steps = np.broadcast_to(step, 5)
        for z in rng.standard_normal((10, 5)):
            near = penalty.prox(z[None], step)[0]
            assert near[4] == z[4]

            def cost(w, z=z, penalty=penalty, steps=steps):
                value = penalty.value(np.append(w, 0.0)[None]) - L2(0.1).value(
                    np.append(w, 0.0)[None]
                )
                if penalty.weights is not None:
                    value = penalty.l1 * np.sum(np.array(penalty.weights) * np.abs(w))
                return np.sum((w - z[:4]) ** 2 / (2 * steps[:4])) + value

            best = cost(near[:4])
            for _ in range(40):  # convex: no allowed point near it, or far from it, is better
                other = near + rng.standard_normal(5) * rng.choice([1e-6, 1e-2, 1.0])
                other = penalty.feasible(other[None])[0, :4]
                assert cost(other) >= best - 1e-15


def test_values_projections_and_units():
    penalty = ConstrainedElasticNet(0.0, 0.5, low=(0.0, None, -1.0), high=(None, 1.0, -1.0))
    assert penalty.value(np.array([[1.0, -2.0, -1.0, 9.0]])) == 3.0
    assert penalty.value(np.array([[-1e-300, 0.0, -1.0, 9.0]])) == INF
    W = penalty.feasible(np.array([[-0.0, 3.0, 5.0, 9.0]]))
    assert W.tolist() == [[0.0, 1.0, -1.0, 9.0]]
    assert not np.signbit(W[0, 0])
    assert penalty.feasible(W) is W
    scale = np.array([3.0, 0.1, 7.0])
    other = penalty.in_units(scale)
    np.testing.assert_array_equal(other.low, (0.0, None, -7.0))
    rng = np.random.default_rng(3)
    for _ in range(300):
        low = rng.standard_normal(3)
        scale = np.exp(rng.standard_normal(3))
        given = ConstrainedElasticNet(low=tuple(low), high=tuple(low))
        there = np.append(given.in_units(scale).low, 0.0)[None]
        back = given.snapped(there / np.append(scale, 1.0))
        np.testing.assert_array_equal(back[0, :3], low)
        seen = back.copy()
        seen[:, :3] *= scale
        assert given.in_units(scale).value(seen) == 0.0


def test_faces_join_equal_neighbours_and_fix_weights_at_bounds():
    penalty = ConstrainedElasticNet(
        0.0, 1.0, low=(None,) * 3 + (0.0,), high=(1.0,) * 3 + (None,), chains=((0, 1, 2),)
    )
    labels = penalty.faces(np.array([[0.5, 0.5, 1.0, 0.0, 3.0]])).labels[0]
    assert labels[0] == labels[1] >= 0
    assert labels[2] == labels[3] == -1
    labels = penalty.faces(np.array([[0.25, 1.0, 1.0, 2.0, 3.0]])).labels[0]
    assert labels[0] >= 0
    assert labels[1] == labels[2] == -1
    assert labels[3] >= 0
    slope = ConstrainedElasticNet(0.5, low=(None,) * 2).faces(np.array([[-2.0, 0.0, 1.0]]))
    assert slope.slope[0, 0] == -0.5
    assert slope.labels[0, 1] == -1


def test_violation_is_zero_exactly_at_a_minimum():
    penalty = ConstrainedElasticNet(0.5, low=(0.0,) * 5, high=(1.0,) * 5)
    W = np.array([[0.0, 0.0, 1.0, 0.5, 0.0, 0.0]])
    g = np.array([[-0.5, 9.0, -9.0, -0.5, -1.5, 0.0]])
    np.testing.assert_array_equal(penalty.violation(W, g)[0], [0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    chained = ConstrainedElasticNet(0.0, 1.0, low=(None,) * 3, chains=((0, 1, 2),))
    W = np.array([[1.0, 1.0, 2.0, 0.0]])
    assert chained.violation(W, np.array([[-1.0, 1.0, 0.0, 0.0]])).max() == 0.0
    assert chained.violation(W, np.array([[1.0, -1.0, 0.0, 0.0]])).max() > 0.0


def test_the_scale_of_a_dual_point_is_the_best():
    rng = np.random.default_rng(4)
    penalty = ConstrainedElasticNet(
        0.1, 0.05, low=(0.0, -1.0, 0.5, None), high=(None, 1.0, 2.0, 0.0)
    )
    for V in rng.standard_normal((12, 1, 4)) * 3.0:
        gain = abs(rng.standard_normal())
        s = penalty.dual_scale(V, gain)
        tried = np.linspace(0.0, 1.0, 200)
        values = tried * gain - penalty.conjugates(V, tried)
        assert s * gain - penalty.conjugate(s * V) >= values.max() - 1e-12
    lasso = ConstrainedElasticNet(0.1, low=(0.0,))
    assert lasso.dual_scale(np.array([[0.4]])) == pytest.approx(0.25)
    assert lasso.dual_scale(np.array([[-0.4]])) == 1.0


def test_zeros_and_errors_of_a_dual_point():
    rng = np.random.default_rng(5)
    penalty = ConstrainedElasticNet(
        0.3, 0.2, (1.0, 1.0, 0.0, 1.0), (0.0, None, -1.0, 1.0), (None, 0.0, 1.0, 2.0)
    )
    for V in rng.standard_normal((12, 1, 4)):
        error = np.abs(rng.standard_normal(4)) * 0.1
        zero = penalty.zero_within(V, error)[0]
        outward, extra = penalty.outward(V, error)
        for sign in product((-1.0, 0.0, 1.0), repeat=4):
            U = V + error * np.array(sign)
            assert penalty.conjugate(U) <= penalty.conjugate(outward) + extra + 1e-15
            assert not np.any(penalty._box.maximiser(U)[0][zero])
    assert penalty.zero_within(np.array([[-5.0, 5.0, 0.0, 0.0]]), np.zeros(4))[0].tolist() == [
        True, True, False, False,
    ]  # fmt: skip
    chained = ConstrainedElasticNet(0.0, 0.2, low=(0.0,) * 4, chains=((0, 1, 2),))
    for V in rng.standard_normal((12, 1, 4)):
        error = np.abs(rng.standard_normal(4)) * 0.1
        outward, extra = chained.outward(V, error)
        for sign in product((-1.0, 1.0), repeat=4):
            U = V + error * np.array(sign)
            assert chained.conjugate(U) <= chained.conjugate(outward) + extra + 1e-15


def test_it_survives_json_and_leaves_out_features():
    penalty = ConstrainedElasticNet(
        0.0, 0.5, (1.0,) * 4, (None, -INF, 0.0, 0.0), (INF,) * 4, ((2, 3),), (1.0,) * 4
    )
    assert from_dict(json.loads(json.dumps(penalty.to_dict(), allow_nan=False))) == penalty
    some = penalty.on_features(np.array([3, 0, 2]))
    assert some.chains == ((2, 0),)
    assert some.low == (0.0, None, 0.0)
    assert penalty.on_features(np.array([0, 3])).chains == ()
    with pytest.raises(ValueError, match="there are 5 features"):
        penalty.check_features(5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": (1.0,), "high": (0.0,)}, "low <= high"),
        ({"low": (float("nan"),)}, "low <= high"),
        ({"low": (INF,)}, "finite number"),
        ({"high": (0.0, -INF)}, "finite number"),
        ({"l2": 1.0, "chains": ((0, 1),)}, "chains need low"),
        ({"l2": 1.0, "low": (None,) * 2, "chains": ((0, 0),)}, "each feature once"),
        ({"l2": 1.0, "low": (None,) * 2, "chains": ((0, 2),)}, "below 2"),
        ({"l1": 1.0, "l2": 1.0, "low": (None,) * 2, "chains": ((0, 1),)}, "need l1=0"),
        ({"low": (None,) * 2, "chains": ((0, 1),)}, "need l2 > 0"),
        ({"l2": 1.0, "low": (0.0, None), "chains": ((0, 1),)}, "different bounds"),
    ],
)
def test_bad_constraints_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        ConstrainedElasticNet(**given)


def test_which_penalties_take_constraints():
    assert constrained(L2(0.5), low=(0.0,)).l2 == 0.5
    assert constrained(ElasticNet(0.5, 0.25, (2.0,)), high=(0.0,)).weights == (2.0,)
    with pytest.raises(ValueError, match="GroupLasso"):
        constrained(GroupLasso(0.5), low=(0.0,))


def test_isotonic_projection_is_that_of_another_solver():
    rng = np.random.default_rng(6)
    units, step = np.array([1.0, 2.0, 0.5, 1.0]), np.array([1.0, 0.5, 2.0, 3.0, 1.0])
    penalty = ConstrainedElasticNet(
        0.0, 1.0, low=(None,) * 4, chains=((0, 1, 2, 3),), units=tuple(units)
    )
    order = {"type": "ineq", "fun": lambda w: np.diff(w / units)}
    for z in rng.standard_normal((10, 5)):
        found = penalty.prox(z[None], step)[0, :4]
        other = minimize(
            lambda w, z=z: np.sum((w - z[:4]) ** 2 / step[:4]), np.zeros(4), method="SLSQP",
            constraints=[order], options={"ftol": 1e-15},
        )  # fmt: skip
        np.testing.assert_allclose(found, other.x, atol=1e-6)
        assert np.sum((found - z[:4]) ** 2 / step[:4]) <= other.fun + 1e-12
