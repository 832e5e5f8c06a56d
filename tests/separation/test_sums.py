"""Sums of signed rows: each can be sent away, writes nothing, and is that of plain NumPy."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from oracles import kesler, signed

from separatrix import Block
from separatrix.data.wrapped import SumOfMapped
from separatrix.separation.exact_sums import ExactSum
from separatrix.separation.scales import Division, LowestBits
from separatrix.separation.signed_blocks import MarginSelection, SignedRowEncoding
from separatrix.separation.sums import Extremes, Gather, LowMargins, SelectedSum, StratifiedSample


def rows(k):
    """A block in the middle of others, whose arrays refuse to be written, and all of its z."""
    rng = np.random.default_rng(k)
    X, labels = rng.standard_normal((30, 3)), rng.integers(0, k, 30)
    y = np.where(labels > 0, 1.0, -1.0) if k == 2 else labels
    for array in (X, y):
        array.flags.writeable = False
    return Block(X, y, None, 100), signed(X, labels) if k == 2 else kesler(X, labels)


def sums(k):
    encoding = SignedRowEncoding(k)
    W = np.random.default_rng(9).standard_normal((encoding.stacked, 4))
    low = MarginSelection(W, at_most=0.5)
    return {
        "extremes": Extremes(encoding),
        "low": LowMargins(encoding, low, 7),
        "sample": StratifiedSample(encoding, np.full(k, 0.5)),
        "gather": Gather(encoding, np.array([3, 102, 104, 129, 130])),
        "selected": SelectedSum(encoding, low),
        "all": SelectedSum(encoding, None),
        "exact": ExactSum(encoding, None),
        "bits": LowestBits(),
        "scaled": SumOfMapped(SelectedSum(encoding, None), Division(np.array([1, 0, -2]))),
    }


def same(one, other):
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", sums(2))
def test_it_can_be_sent_to_where_the_rows_are(name, k):
    sum, (block, _) = sums(k)[name], rows(k)
    sent = pickle.loads(pickle.dumps(sum))
    assert same(sent.of(block), sum.of(block))
    with pytest.raises(FrozenInstanceError):
        sum.encoding = None


@pytest.mark.parametrize("k", [2, 3])
def test_they_are_those_of_plain_numpy(k):
    (block, Z), asked = rows(k), sums(k)
    (largest,), (norm,), (counts,) = asked["extremes"].of(block)
    np.testing.assert_array_equal(largest, [*np.abs(block.X).max(axis=0), 1.0])
    assert norm == pytest.approx(np.sqrt((block.X**2).sum(axis=1) + 1.0).max())
    assert counts.sum() == 30
    total, count = asked["all"].of(block)
    np.testing.assert_allclose(total.ravel(), Z.sum(axis=0), atol=1e-13)
    assert count == len(Z)
    (exact,) = asked["exact"].of(block)
    assert [Fraction(int(v), 1 << 1074) for v in exact] == [
        sum(map(Fraction, column), Fraction(0)) for column in Z.T.tolist()
    ]
    halved = block.X * [0.5, 1.0, 4.0]
    scaled, _ = asked["scaled"].of(block)
    np.testing.assert_array_equal(scaled, asked["all"].of(block._replace(X=halved))[0])


@pytest.mark.parametrize("k", [2, 3])
def test_the_lowest_margins_are_chosen(k):
    (block, Z), asked = rows(k), sums(k)["low"]
    margins = Z @ asked.selection.W.ravel()
    (ids,), (found,), count = asked.of(block)
    assert count == np.sum(margins <= 0.5) > 7
    np.testing.assert_allclose(np.sort(found), np.sort(margins)[:7], rtol=1e-12)
    stacked = asked.encoding.stacked
    assert np.all((ids >= 100 * stacked) & (ids < 130 * stacked))
