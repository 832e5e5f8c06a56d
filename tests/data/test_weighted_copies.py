"""Weighted copies of rows against an array in which the copies are written out."""

from __future__ import annotations

import numpy as np
import pytest
from source_kinds import SOURCES, D, N, both, data, every_source, every_weight

from separatrix import L2, ArraySource, Objective, get_loss, minimize
from separatrix.data import InMemory
from separatrix.data.class_weighted import ClassWeightedSource
from separatrix.data.weighted_copies import (
    Probabilities,
    SmoothedLabels,
    SumOfCopies,
    WeightedCopies,
)
from separatrix.objective.sums import Value
from separatrix.solvers import GradientDescent, choose
from separatrix.training.stopping import Stop


def shares(k, seed=3):
    found = np.random.default_rng(seed).dirichlet(np.ones(k), N)
    found[:40] = np.eye(k)[np.arange(40) % k]  # some certain labels, so copies of weight 0
    return found


def written_out(X, classes, weight, P):
    k = len(classes)
    w = np.ones(N) if weight is None else weight
    y = np.repeat(np.arange(k), N)
    return ArraySource(
        np.vstack([X] * k), 2.0 * y - 1.0 if k == 2 else y, classes, (w[:, None] * P).T.ravel()
    )


def posed(kind, k, weighted):
    """Objectives of copies, and of the same rows in one array."""
    X, y, classes, weight = data(k, weighted)
    P = shares(k)
    source = SOURCES[kind](X, y, classes, weight)
    form = get_loss("logistic").for_classes(k)
    there = Objective(form, L2(0.01), WeightedCopies(source, Probabilities(P)))
    return there, Objective(form, L2(0.01), written_out(X, classes, weight, P))


@every_source
@both
@every_weight
def test_sums_are_those_of_written_out_copies(kind, k, weighted):
    there, here = posed(kind, k, weighted)
    W = np.random.default_rng(1).standard_normal(here.shape)
    assert there.source.n_rows == here.source.n_rows
    assert there.source.length == k * N
    assert not isinstance(there.source, InMemory)
    np.testing.assert_allclose(there.source.weight_sum, here.source.weight_sum, rtol=1e-12)
    for ask in (
        lambda of: of.value(W),
        lambda of: of.value_and_gradient(W)[:3],
        lambda of: of.hessian(W, here.standardization)[1],
        lambda of: of.hessian_product(W, W),
        lambda of: of.class_sums,
        lambda of: of.moments,
        lambda of: of.source.class_weight_sums(),
        lambda of: of.largest_eigenvalue(),
    ):
        found, expected = ask(there), ask(here)
        if not isinstance(found, tuple):
            found, expected = (found,), (expected,)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@every_source
def test_minimum_and_proof(kind):
    there, here = posed(kind, 2, weighted=True)
    found = [minimize(each, choose(each), stop=Stop(tol=1e-12)) for each in (there, here)]
    assert [each.stop for each in found] == ["optimal", "optimal"]
    np.testing.assert_allclose(found[0].weights, found[1].weights, atol=1e-5)


@pytest.mark.sampled(4)
@every_source
def test_row_by_row(kind):
    """An online solver sees every copy, also where a part of a cluster is one block."""
    source = WeightedCopies(SOURCES[kind](*data(2, False)), SmoothedLabels(0.05))
    there = Objective(get_loss("logistic"), L2(0.01), source)
    result = minimize(there, GradientDescent(batch_size=1), stop=Stop(max_iter=30))
    exact = minimize(there, choose(there), stop=Stop(tol=1e-10)).objective
    assert result.objective - exact < 0.1 * (there.value_at_zeros - exact)


@pytest.mark.parametrize("by_position", [False, True])
def test_samples_and_rows(by_position):
    X, y, classes, weight = data(2, False)
    copies = Probabilities(shares(2)) if by_position else SmoothedLabels(0.2)
    source = WeightedCopies(SOURCES["chunked"](X, y, classes, weight), copies)
    some = source.sample(50)
    assert 40 <= len(some.y) <= 50
    np.testing.assert_allclose(some.weights.sum() / len(some.y), 0.5, atol=0.1)
    whole = source.sample(10 * N)
    assert len(whole.y) == source.n_rows
    np.testing.assert_allclose(whole.weights.sum(), N)
    blocks = [block for block in source.blocks() if len(block.y)]
    assert [block.start for block in blocks] == np.cumsum(
        [0, *(len(block.y) for block in blocks[:-1])]
    ).tolist()
    taken = source.take(np.array([0, 3, 2 * N - 1]))
    np.testing.assert_array_equal(taken.block().X, X[[0, 3, N - 1]])


def test_smoothed_labels():
    X, y, classes, _ = data(2, False)
    source = WeightedCopies(ArraySource(X, y, classes), SmoothedLabels(0.125))
    assert (source.n_rows, source.weight_sum, source.n_features) == (2 * N, N, D)
    sums = source.class_weight_sums()
    share = np.mean(y > 0)
    np.testing.assert_allclose(sums[1] / N, 0.875 * share + 0.125 * (1.0 - share))


def test_a_fingerprint_knows_rows_and_copies():
    X, y, classes, _ = data(2, False)
    one, other = ArraySource(X, y, classes), ArraySource(X + 1.0, y, classes)
    names = [
        WeightedCopies(source, copies).fingerprint()
        for source in (one, other)
        for copies in (SmoothedLabels(0.1), SmoothedLabels(0.2), Probabilities(shares(2)),
                       Probabilities(shares(2, seed=4)))
    ]  # fmt: skip
    assert len(set(names)) == len(names)
    again = WeightedCopies(ClassWeightedSource(one, np.ones(2)), SmoothedLabels(0.1))
    assert (
        again.fingerprint()
        == WeightedCopies(ClassWeightedSource(one, np.ones(2)), SmoothedLabels(0.1)).fingerprint()
    )


def test_copies_share_the_rows():
    X, y, classes, _ = data(2, False)
    block = ArraySource(X, y, classes).block()
    for copy in SmoothedLabels(0.1).of(block):
        assert np.shares_memory(copy.X, X)
    assert SumOfCopies(Value(get_loss("logistic"), np.zeros((1, D + 1))), SmoothedLabels(0.1)).of(
        block
    )[0] == pytest.approx(N * np.log(2.0))
