"""The same verdict from rows in every form: sparse, from any source, of any type and size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import CORNERS, LOGIC
from oracles import random_problem, signed

from separatrix import ArraySource, Block, Source, separability


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_sparse_rows_are_the_same_rows(seed):
    X, y = random_problem(seed)
    dense, sparse = separability(X, y), separability(sp.csr_array(X), y)
    assert dense.verdict == sparse.verdict
    assert sparse.verify(exact=True)
    wide = sp.csr_array((X.ravel(), np.tile(np.arange(X.shape[1]) * 700, len(X)),
                         np.arange(0, X.size + 1, X.shape[1])), shape=(len(X), 3000))  # fmt: skip
    found = separability(wide, y)
    assert found.verdict == dense.verdict
    assert found.verify(exact=True)
    if found.margin is not None:
        assert found.margin == pytest.approx(dense.margin, rel=2e-6)


class Halves(Source):
    """A source of the simplest kind: two blocks, and a row that does not count."""

    def __init__(self, X, y, weight):
        self.X, self.y, self.weight = X, y, weight
        self.n_features, self.classes = X.shape[1], np.array([0, 1])

    n_rows = property(lambda self: int(np.count_nonzero(self.weight)))
    weight_sum = property(lambda self: float(self.weight.sum()))

    def blocks(self):
        half = len(self.y) // 2
        for part in (slice(0, half), slice(half, None)):
            yield Block(self.X[part], self.y[part], self.weight[part], part.start)


def test_any_source_and_rows_of_weight_zero():
    X = np.vstack([CORNERS, [[1.0, 1.0]]])
    y = np.array([-1.0, -1.0, -1.0, 1.0, -1.0])
    weight = np.array([1.0, 2.0, 1.0, 1.0, 0.0])
    for source in (Halves(X, y, weight), ArraySource(X, y, np.array([0, 1]), weight)):
        found = separability(source)
        assert found.verdict == "separable"
        assert found.n_rows == 4
        assert found.margin == pytest.approx(1 / np.sqrt(17))
        assert found.verify(exact=True)
    weight[4] = 1.0
    found = separability(Halves(X, y, weight))
    assert found.verdict == "quasi-separable"
    assert found.verify(exact=True)


def test_bad_input_is_refused_with_what_to_do():
    source = ArraySource(CORNERS, np.array([-1.0, -1.0, 1.0, 1.0]), np.array([0, 1]))
    with pytest.raises(ValueError, match="without y"):
        separability(source, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="y is missing"):
        separability(CORNERS)
    with pytest.raises(ValueError, match="one class"):
        separability(CORNERS, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="3 names for 2 features"):
        separability(CORNERS, LOGIC["and"], feature_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="a duplicate"):
        separability(CORNERS, LOGIC["and"], feature_names=["a", "a"])
    with pytest.raises(ValueError, match="NaN"):
        separability([[np.nan], [1.0]], [0, 1])


@pytest.mark.parametrize("scale", [1e300, 1e100, 1e-100, 1e-300, 1.0])
@pytest.mark.parametrize("name", ["and", "xor"])
def test_huge_and_tiny_numbers(scale, name):
    found = separability(CORNERS * scale, LOGIC[name])
    assert found.verdict == separability(CORNERS, LOGIC[name]).verdict
    assert found.verify(exact=True)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_other_types_of_numbers(dtype):
    X = np.asfortranarray(CORNERS.astype(dtype))
    X.flags.writeable = False
    found = separability(X, LOGIC["and"])
    assert found.margin == pytest.approx(1 / np.sqrt(17))
    assert found.verify(exact=True)


def test_float32_is_taken_at_its_word():
    X = np.array([[0.1], [0.2], [0.3]], np.float32)
    found = separability(X, [0, 1, 0], exact=True)
    z = signed(X.astype(float), np.array([0, 1, 0]))
    combined = [sum(w * Fraction(v) for w, v in zip(found.witness.weights, z[found.witness.rows, j],
                                                    strict=True)) for j in (0, 1)]  # fmt: skip
    assert combined == [0, 0]


def test_one_row_per_class_constant_features_and_empty_rows():
    assert separability([[0.0], [1e-9]], [0, 1]).verify(exact=True)
    constant = separability(np.ones((4, 2)), [0, 1, 0, 1])
    assert constant.verdict == "overlapping"
    assert constant.verify(exact=True)
    empty = separability(sp.csr_array((3, 4)), [0, 1, 1])
    assert empty.verdict == "overlapping"
    assert empty.verify(exact=True)


def test_subnormal_features_are_scaled_without_overflow():
    X = np.random.default_rng(0).normal(size=(30, 3)) * 1e-320
    assert separability(X, X[:, 0] > 0).verdict == "separable"
    assert separability(X, np.arange(30) % 2).verdict == "overlapping"
