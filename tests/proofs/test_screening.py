"""What is proven to be 0 is 0, and no bound is above the minimum: where that is known."""

from __future__ import annotations

import numpy as np
import pytest
from planted_nets import AWAY, near, objective_of, parts, planted
from sparse_problems import objective, solved

from separatrix import GroupLasso
from separatrix.proofs.gap import GapTracker
from separatrix.proofs.screening import proven_zeros
from separatrix.solvers.dual.proximal_point import reduced_run
from separatrix.training import ending
from separatrix.training.ending import _without_proven_zeros, _without_specks

NARROW = (116, 645, 670, 782, 1007, 1036)  # where a ball of half the radius would be wrong


@parts((*range(100), *NARROW), 100, 500, 1000, 1500, 2000)
def test_no_weight_that_is_proven_zero_may_move(seeds):
    """Two thousand problems, each from weights near the minimum and far from it."""
    proven = proofs = tight = 0
    for seed in seeds:
        of = planted(seed)
        rng = np.random.default_rng(seed)
        objective, least = objective_of(of.net, seed % 2 == 0), of.least
        for away in rng.choice(AWAY, 2, replace=False):
            W = near(of, rng, away)
            proof = GapTracker(objective, 1e-12, reduced_run, reads=100)
            proof.evaluate(W)
            assert proof.value == pytest.approx(of.net.value(W), rel=1e-12), seed
            assert proof.lower_bound <= least * (1.0 + 1e-15), (seed, away)
            zeros = proven_zeros(proof)
            assert not np.any(zeros & of.may_move), (seed, away)
            proofs += proof.dual is not None
            proven += np.count_nonzero(zeros)
            tight += proof.gap <= 1e-10 * least
    assert proofs > 0.6 * len(seeds)
    assert proven > 0.6 * len(seeds)
    assert tight > 0.1 * len(seeds)


@parts(range(15), 15, 50, 100, 150)
def test_no_group_that_is_proven_zero_may_move(seeds):
    """Hundreds of proofs, of groups within a class and over the classes."""
    proven = proofs = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n, d, k = int(rng.integers(6, 30)), int(rng.integers(2, 16)), int(rng.integers(2, 4))
        X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d)
        X += rng.choice([0.0, 3.0]) * rng.standard_normal(d)
        y = np.append(np.arange(k), rng.integers(0, k, n - k))
        numbers = np.unique(rng.integers(0, 1 + d // 2, d), return_inverse=True)[1]
        groups = "classes" if seed % 3 == 0 else tuple(numbers.tolist())
        penalty = GroupLasso(10.0 ** rng.uniform(-2, 0), rng.choice([0.0, 1e-3]), None, groups)
        loss = ("logistic", "squared", "squared_hinge")[seed % 3]
        of = objective(X, y, loss, penalty, intercept=seed % 4 > 0)
        best = solved(of, 1e-13)
        moves = best.weights[:, :-1] != 0.0
        for away in AWAY[1:]:
            way = rng.standard_normal(of.shape) * (rng.random(of.shape) < 0.5)
            way[:, :-1] /= np.sqrt(np.mean(X**2, axis=0))
            way[:, -1] *= of.intercept
            proof = GapTracker(of, 1e-12, reduced_run, reads=100)
            proof.evaluate(best.weights + away * way)
            assert proof.lower_bound <= best.objective * (1.0 + 1e-14), (seed, away)
            zeros = proven_zeros(proof)
            assert not np.any(zeros & moves), (seed, away)
            proofs += proof.dual is not None
            proven += np.count_nonzero(zeros)
    assert proofs > 2 * len(seeds)
    assert proven > 6 * len(seeds)


def tight(of, away):
    """A proof at weights near the minimum, with some that are proven 0 moved away from it."""
    objective = objective_of(of.net, False)
    proof = GapTracker(objective, 1e-9, reduced_run, reads=100)
    proof.evaluate(of.weights)
    W = of.weights.copy()
    W[:, :-1][proven_zeros(proof)] = away
    proof.close(W, W, None)
    return W, proof


def test_weights_that_are_proven_zero_are_set_to_it():
    changed = 0
    for seed in range(60):
        of = planted(seed)
        W, proof = tight(of, 1e-8)
        superfluous, gap = proven_zeros(proof) & (W[:, :-1] != 0.0), proof.gap
        V = _without_proven_zeros(W, proof)
        assert np.array_equal(V[:, -1], W[:, -1])
        assert not V[:, :-1][superfluous].any()
        assert proof.value == pytest.approx(of.net.value(V), rel=1e-12)  # of these, not of W
        assert proof.value - proof.gap <= of.least * (1.0 + 1e-15)
        assert proof.gap <= gap or proof.proven
        changed += superfluous.any()
    assert changed > 20


def test_a_change_that_leads_too_far_up_is_not_made(monkeypatch):
    of = next(of for of in map(planted, range(60)) if np.any(of.weights[:, :-1] != 0.0))
    W, proof = tight(of, 0.0)
    known = proof.to_state()
    monkeypatch.setattr(ending, "proven_zeros", lambda proof: W[:, :-1] != 0.0)  # which is false
    assert np.array_equal(_without_proven_zeros(W, proof), W)
    assert str(proof.to_state()) == str(known)


def test_weights_that_j_knows_are_no_specks(monkeypatch):
    of = next(of for of in map(planted, range(60)) if np.any(of.weights[:, :-1] != 0.0))
    W, proof = tight(of, 0.0)
    known = proof.to_state()
    monkeypatch.setattr(ending, "SPECKS", (1e9,))
    assert np.array_equal(_without_specks(W, proof), W)
    assert str(proof.to_state()) == str(known)
