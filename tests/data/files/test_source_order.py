"""Rows that are read in a random order, and rows that are held out."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import quiet
from read_pieces import N, all_rows, data, pieces_of

import separatrix
from separatrix import LinearClassifier, Perceptron
from separatrix.data import Shuffle
from separatrix.data.blocks import row_hash


def visited(source, shuffle):
    return np.concatenate([visit.block.start + visit.order for visit in source.visits(shuffle)])


@pytest.mark.parametrize("cached", [False, True])
def test_a_shuffled_pass_visits_every_row_once_in_an_order_of_its_seed(cached, tmp_path):
    X, y = data()
    options = {"cache": tmp_path} if cached else {}
    source = separatrix.read(pieces_of(X, y), block_rows=32, **options)
    orders = [visited(source, Shuffle(seed, number)) for seed in (1, 2) for number in (0, 1)]
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.arange(N))
    assert len({order.tobytes() for order in orders}) == 4
    np.testing.assert_array_equal(visited(source, Shuffle(1, 0)), orders[0])
    np.testing.assert_array_equal(
        visited(source, Shuffle(1, 0, 2)), np.concatenate([orders[0], orders[1]])
    )
    blocks = orders[0] // 32
    # Neighbours come from all blocks of a window of two, which with a cache lie anywhere.
    first = set(blocks[: 2 * 32].tolist())
    assert len(first) == 2
    assert set(blocks[:16].tolist()) == first
    assert (first == {0, 1}) == (not cached)


def test_orders_do_not_depend_on_the_pieces_of_a_reader():
    X, y = data()
    fits = [
        Perceptron(max_iter=3, tol=None, random_state=3).fit(
            separatrix.read(pieces_of(X, y, size=size), block_rows=32)
        )
        for size in (5, 100)
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


@pytest.mark.slow
@quiet
def test_shuffled_rows_reach_the_minimum():
    X, y = data()
    source = separatrix.read(pieces_of(X, y), block_rows=32)
    solver = separatrix.GradientDescent(1)
    found = LinearClassifier(solver=solver, max_iter=100, tol=None, random_state=0).fit(source)
    lowest = LinearClassifier(tol=1e-10).fit(X, y)
    assert found.objective_ < 1.02 * lowest.objective_


def held_out(share):
    """By the definition, in Python's whole numbers: SplitMix64 of the number of the row."""
    mask = (1 << 64) - 1
    found = []
    for row in range(N):
        z = (row + 1) * 0x9E3779B97F4A7C15 & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        found.append((z ^ z >> 31) < share * 2**64)
    return np.array(found)


@pytest.mark.sampled
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_validation_rows_are_those_of_a_hash_and_not_trained_on(cached, weighted, tmp_path):
    X, y = data()
    out, weight = held_out(0.2), (np.arange(N) % 4).astype(float) if weighted else None
    weights = np.ones(N) if weight is None else weight
    options = {"cache": tmp_path} if cached else {}
    source = separatrix.read(pieces_of(X, y, weight), block_rows=64, validation=0.2, **options)
    for each, rows in ((source, ~out), (source.validation, out)):
        found, labels = all_rows(each)
        np.testing.assert_array_equal(found, X[rows])
        np.testing.assert_array_equal(labels, 2.0 * y[rows] - 1.0)
        assert each.n_rows == np.count_nonzero(weights[rows])
        assert each.weight_sum == weights[rows].sum()
        starts = [block.start for block in each.blocks()]
        lengths = [len(block.y) for block in each.blocks()]
        np.testing.assert_array_equal(starts, np.cumsum([0, *lengths[:-1]]))
    there = LinearClassifier(tol=1e-10).fit(source)
    here = LinearClassifier(tol=1e-10).fit(X[~out], y[~out], weights[~out])
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    margin = (2.0 * y - 1.0) * (X @ there.coef_[0] + there.intercept_[0])
    loss = np.average(np.logaddexp(0.0, -margin[out]), weights=weights[out])
    assert there.history_["validation_loss"].shape == there.history_["pass"].shape
    assert there.history_["validation_loss"][-1] == pytest.approx(loss, rel=1e-6)
    assert "validation_loss" not in here.history_


def test_validation_of_many_classes_and_of_averages():
    X, y = data(3)
    source = separatrix.read(pieces_of(X, y), block_rows=64, validation=0.3)
    fit = Perceptron(max_iter=4, tol=None, random_state=0, keep="average").fit(source)
    out = held_out(0.3)
    scores = X @ fit.coef_.T + fit.intercept_
    own = scores[np.arange(N), y]
    scores[np.arange(N), y] = -np.inf
    loss = np.maximum(scores.max(axis=1) - own, 0.0)[out].mean()
    assert fit.history_["validation_loss"][-1] == pytest.approx(loss)


def test_validation_that_leaves_a_class_untrained():
    X, y = data()
    rare = np.zeros(N, dtype=int)
    rare[np.flatnonzero(held_out(0.2))[0]] = 1
    with pytest.raises(ValueError, match="every row of the class 1"):
        separatrix.read(pieces_of(X, rare), validation=0.2)
    with pytest.raises(ValueError, match="holds out none"):
        separatrix.read(pieces_of(X[:3], y[:3]), validation=1e-9)


def test_row_hash_is_even():
    assert row_hash(7, 3).tolist() == row_hash(0, 10)[7:].tolist()
    shares = np.histogram(row_hash(0, 100_000).astype(float), 10, (0.0, 2.0**64))[0]
    assert np.all(np.abs(shares - 10_000) < 500)
