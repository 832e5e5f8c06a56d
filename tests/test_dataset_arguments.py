"""Arguments of the datasets: seeds and generators, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import datasets

CLOUDS = [
    datasets.overlapping,
    datasets.ring,
    datasets.spirals,
    datasets.blobs,
    datasets.sorted_by_class,
    datasets.badly_scaled,
]

MAKERS = [*CLOUDS, datasets.separable]


@pytest.mark.parametrize("name", ["nand", "XOR", None, ["and"]])
def test_an_unknown_gate_is_refused_with_the_known_ones(name):
    with pytest.raises(ValueError, match=r"unknown gate .*; choose one of and, or, xor"):
        datasets.logic(name)


@pytest.mark.parametrize("labels", [(1, 1), (0, 1, 2), (0,), 5])
def test_labels_must_be_two(labels):
    with pytest.raises(ValueError, match="labels must be two different labels"):
        datasets.logic("and", labels)


@pytest.mark.parametrize("maker", MAKERS)
def test_the_same_seed_gives_the_same_rows(maker):
    X, y = maker(random_state=7)[:2]
    assert X.dtype == np.float64
    assert y.dtype == np.int64
    assert len(X) == len(y)
    again, y_again = maker(random_state=np.int64(7))[:2]
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(y_again, y)
    assert not np.array_equal(maker(random_state=8)[0], X)
    assert not np.array_equal(maker()[0], maker()[0])


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
def test_a_generator_goes_on(maker, source):
    one, other = source(3), source(3)
    first, second = maker(random_state=one)[0], maker(random_state=one)[0]
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(maker(random_state=other)[0], first)
    np.testing.assert_array_equal(maker(random_state=other)[0], second)


@pytest.mark.parametrize("maker", [m for m in MAKERS if m is not datasets.sorted_by_class])
def test_the_rows_come_shuffled(maker):
    y = maker(random_state=0)[1]
    changes = np.count_nonzero(np.diff(y))
    assert 0.3 * len(y) < changes < 0.8 * len(y)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("random_state", [-1, "seed", 1.5, True])
def test_a_bad_random_state_is_refused(maker, random_state):
    with pytest.raises(ValueError, match="random_state must be an int of at least 0, a numpy Gen"):
        maker(random_state=random_state)


@pytest.mark.parametrize(
    ("maker", "arguments", "message"),
    [
        ("separable", {"n": 1}, r"n must be a whole number of at least 2 \(one row of each class"),
        ("separable", {"d": 0}, "d must be a whole number of at least 1, got 0"),
        ("separable", {"margin": 0}, "margin must be a finite number of at least 1e-10 and at mos"),
        ("separable", {"margin": -1.0}, "margin must be .* got -1.0"),
        ("separable", {"margin": np.nan}, "margin must be .* got nan"),
        ("separable", {"margin": 1e11}, "margin must be .* at most 1e"),
        ("overlapping", {"n": 7, "d": 3}, "n must be a whole number of at least 8 .for d=3, two"),
        ("overlapping", {"separation": -1}, "separation must be a finite number of at least 0, g"),
        ("overlapping", {"separation": np.inf}, "separation must be a finite number"),
        ("ring", {"n": 5}, "n must be a whole number of at least 6 .three rows of each class"),
        ("ring", {"noise": -0.1}, "noise must be a finite number of at least 0, got -0.1"),
        ("spirals", {"n": 1}, "n must be a whole number of at least 2"),
        ("spirals", {"turns": 0}, "turns must be a finite number above 0, got 0"),
        ("spirals", {"noise": np.nan}, "noise must be a finite number"),
        ("blobs", {"k": 1}, "k must be a whole number of at least 2, got 1"),
        ("blobs", {"k": 5, "n": 4}, r"at least 5 \(one row of each of k=5 classes\), got 4"),
        ("blobs", {"d": 0}, "d must be a whole number of at least 1"),
        ("blobs", {"spread": -1}, "spread must be a finite number of at least 0"),
        ("sorted_by_class", {"n": 5}, "n must be a whole number of at least 6"),
        ("badly_scaled", {"d": 1}, r"at least 2 \(one feature at each end of the scale\), got 1"),
        ("badly_scaled", {"n": 11}, "n must be a whole number of at least 12"),
        ("badly_scaled", {"decades": -1}, "decades must be a finite number of at least 0 and at"),
        ("badly_scaled", {"decades": 201}, "decades must be .* at most 200, got 201"),
    ],
)
def test_bad_arguments_are_refused_in_words(maker, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(datasets, maker)(**arguments)


@pytest.mark.parametrize("value", [2.5, "10", None, True])
def test_a_count_must_be_an_int(value):
    with pytest.raises(TypeError, match="n must be a whole number of at least"):
        datasets.overlapping(value)


@pytest.mark.parametrize("value", ["1", None, True, [1.0]])
def test_a_size_must_be_a_number(value):
    with pytest.raises(TypeError, match="margin must be a finite number"):
        datasets.separable(margin=value)
