"""What is proven not to be 0 is not 0 at minima that are known."""

from __future__ import annotations

import numpy as np
import pytest
from planted_nets import AWAY, near, objective_of, parts, planted

from separatrix import L2, ArraySource, ElasticNet, Objective, get_loss
from separatrix.proofs import selection
from separatrix.proofs.curvature_ball import factor_rounding, lower_factor
from separatrix.proofs.gap import GapTracker
from separatrix.proofs.least_hessian import FarthestScores, LeastHessian
from separatrix.proofs.screening import proven_zeros, slack
from separatrix.proofs.selection import proven_nonzeros
from separatrix.solvers.dual.proximal_point import reduced_run


def proof_at(objective, W, tol=1e-9):
    proof = GapTracker(objective, tol, reduced_run, reads=100)
    proof.close(W, W, None)
    return proof


def ties(net):
    """Features that another equal column with the same weight of the penalty can replace."""
    same = np.all(net.X[:, :, None] == net.X[:, None, :], axis=0) & ~np.eye(len(net.p), dtype=bool)
    return np.any(same & (net.p[:, None] >= net.p), axis=1) if net.l2 == 0.0 else np.zeros(1, bool)


@parts(range(60), 60, 600, 1200)
def test_no_weight_that_is_proven_nonzero_is_ever_0(seeds):
    """Problems with planted minima, from weights near them and far from them."""
    proven = weights = 0
    for seed in seeds:
        of = planted(seed)
        rng, objective = np.random.default_rng(seed), objective_of(of.net, seed % 2 == 0)
        least = of.weights[:, :-1]
        for away in rng.choice(AWAY, 2, replace=False):
            W = near(of, rng, away)
            W[:, :-1][least == 0.0] *= rng.random() < 0.5
            proof = proof_at(objective, W)
            zeros = proven_zeros(proof) & (W[:, :-1] == 0.0)
            found = proven_nonzeros(proof, W, zeros)
            assert np.all(np.sign(W[:, :-1])[found] == np.sign(least)[found]), (seed, away)
            assert not np.any(found & ties(of.net)), (seed, away)
            proven += np.count_nonzero(found)
            weights += np.count_nonzero(least)
    assert proven > 0.3 * weights


@pytest.mark.parametrize("name", ["logistic", "squared", "squared_hinge", "softmax", "columns"])
def test_the_least_second_derivative_is_below_those_nearby(name):
    rng = np.random.default_rng(0)
    k = 3 if name in ("softmax", "columns") else 2
    X, y = rng.standard_normal((40, 4)), rng.integers(0, k, 40)
    y[:k] = range(k)
    loss = {"softmax": "logistic", "columns": "one_vs_rest_logistic"}.get(name, name)
    loss = get_loss(loss).for_classes(k)
    source = ArraySource(X, np.where(y, 1.0, -1.0) if k == 2 else y, np.arange(k))
    objective = Objective(loss, ElasticNet(0.01, 0.0), source)
    W, features = rng.standard_normal(objective.shape), np.arange(4)
    own, within = objective.standardization, 0.5
    least = source.total(LeastHessian(loss, W, features, own, within))[0]
    size = np.abs(X) @ np.ones(4) + 1.0
    for _ in range(20):
        V = W + rng.uniform(-1, 1, W.shape) * 0.5 * within / size.max()
        here = source.total(LeastHessian(loss, V, features, own, 0.0))[0]
        assert np.linalg.eigvalsh(here - least).min() > -1e-9
    assert np.abs(here).max() > 0.0


def test_the_farthest_score_is_that_of_the_rows():
    rng = np.random.default_rng(1)
    X, T, weight = rng.standard_normal((30, 3)), rng.standard_normal((5, 3)), np.ones(30)
    X[7], weight[7] = 1e3, 0.0
    source = ArraySource(X, np.where(np.arange(30) % 2, 1.0, -1.0), np.arange(2), weight)
    at = np.array([0, 2])
    asked = FarthestScores((T,), np.ones((1, 4)), at, np.ones(2))
    (far,), (rounding,) = source.total(asked)
    lengths = np.linalg.norm(np.column_stack([X[:, at], np.ones(30)]) @ T.T, axis=1)
    assert lengths[weight > 0].max() <= far[0] <= lengths[weight > 0].max() * (1 + 1e-12)
    assert 0.0 < rounding < 1e-12


def test_the_sum_of_slacks_is_at_most_the_gap_at_a_minimum():
    below = 0
    for seed in range(40):
        of = planted(seed)
        proof = proof_at(objective_of(of.net, False), near(of, np.random.default_rng(seed), 1e-3))
        total = float(np.sum(slack(proof) * np.abs(of.weights[:, :-1])))
        assert total <= proof.gap
        below += total > 1e-3 * proof.gap
    assert below > 5


def test_a_factor_is_below_the_second_derivative_however_it_was_rounded():
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((50, 6))
    gram, penalty = Z.T @ Z / 50, np.zeros(6)
    factor = lower_factor(gram, penalty, factor_rounding(gram, penalty, 50))
    assert np.linalg.eigvalsh(gram - factor @ factor.T).min() > 0.0
    gram[:, 5], gram[5] = gram[:, 4], gram[4]  # singular
    assert lower_factor(gram, penalty, factor_rounding(gram, penalty, 50)) is None


def test_without_absolute_values_the_squares_prove_it(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 3))
    source = ArraySource(
        X, np.where(X[:, 0] + rng.standard_normal(60) > 0, 1.0, -1.0), np.arange(2)
    )
    objective = Objective(get_loss("logistic"), L2(0.1), source)
    W = np.array([[0.5, 1e-3, 0.0, 0.0]])
    proof = proof_at(objective, W)
    radius = np.sqrt(proof.gap / 0.1)
    monkeypatch.setattr(selection.NearbyMinimum, "bounds", None)  # needs no read of the data
    expected = np.abs(W[:, :-1]) > radius
    assert np.array_equal(proven_nonzeros(proof, W, np.zeros((1, 3), bool)), expected)


def test_work_is_limited():
    of = next(of for of in map(planted, range(60)) if np.any(of.weights[:, :-1]) and not of.net.l2)
    proof = proof_at(objective_of(of.net, False), of.weights)
    zeros = proven_zeros(proof) & (of.weights[:, :-1] == 0.0)
    assert proven_nonzeros(proof, of.weights, zeros).any()
    assert not proven_nonzeros(proof, of.weights, zeros, work=1.0).any()


def test_rows_that_are_stored_sparse_prove_the_same():
    of = next(of for of in map(planted, range(7, 60)) if np.any(of.weights[:, :-1]))
    found = []
    for sparse in (False, True):
        proof = proof_at(objective_of(of.net, sparse), of.weights)
        zeros = proven_zeros(proof) & (of.weights[:, :-1] == 0.0)
        found.append(proven_nonzeros(proof, of.weights, zeros))
        assert found[-1].any()
    assert np.array_equal(*found)
