"""Sums along one tree do not depend on where leaves are added."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.numeric.tree_sum import Node, TreeSum


def halves(values):
    """The same tree from above: the left half has the largest power of two below all."""
    if len(values) == 1:
        return values[0]
    left = 1
    while 2 * left < len(values):
        left *= 2
    return halves(values[:left]) + halves(values[left:])


@pytest.mark.parametrize("n", [*range(1, 20), 64, 100])
def test_bits_do_not_depend_on_who_folds_which_leaves(n):
    rng = np.random.default_rng(n)
    values = (rng.standard_normal(n) * 10.0 ** rng.integers(-8, 8, n)).tolist()
    expected = halves(values)
    whole = TreeSum(Node(0, number, (value,)) for number, value in enumerate(values))
    assert whole.total() == (expected,)
    for _ in range(20):
        cuts = sorted(rng.integers(0, n + 1, rng.integers(0, 6)).tolist())
        tree = TreeSum()
        for first, stop in zip([0, *cuts], [*cuts, n], strict=True):
            some = TreeSum(Node(0, leaf, (values[leaf],)) for leaf in range(first, stop))
            assert len(some.nodes) <= 2 * max(1, n.bit_length())
            for node in some.nodes:
                tree.add(node)
        assert tree.total() == (expected,)


def test_leaves_that_add_nothing_change_nothing():
    values = [None, (1.0, [1]), None, None, (2.0, [2]), (3.0, [3]), None]
    tree = TreeSum(Node(0, number, value) for number, value in enumerate(values))
    assert tree.total() == (6.0, [1, 2, 3])
    assert TreeSum(Node(0, number, None) for number in range(5)).total() is None
    assert TreeSum().total() is None


def test_what_was_given_is_not_written():
    first, second = np.ones(3), np.ones(3)
    (found,) = TreeSum([Node(0, 0, (first,)), Node(0, 1, (second,))]).total()
    np.testing.assert_array_equal(found, 2.0)
    np.testing.assert_array_equal(first, 1.0)
