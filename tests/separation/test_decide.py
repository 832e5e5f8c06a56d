"""Verdicts on planes through the origin, and verdicts by a number of reads."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import CORNERS, LOGIC
from oracles import kesler, oracle, random_problem, signed

from separatrix import ArraySource, separability
from separatrix.data.validation import array_source, check_rows
from separatrix.separation import decide


class Counted(ArraySource):
    """An array that counts how often it is read."""

    reads = 0

    def total(self, part):
        self.reads += 1
        return super().total(part)


def counted(X, y):
    labels = np.unique(y)
    return Counted(X, np.where(y == labels[1], 1.0, -1.0), labels)


# ---- without an intercept --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_planes_through_the_origin(seed):
    X, y = random_problem(seed)
    if seed % 3 == 0:
        X[len(X) // 2] = 0.0  # a row that no plane through the origin gets right
    for form in (X, sp.csr_array(X)):
        found = separability(form, y, exact=seed % 2 == 0, fit_intercept=False)
        assert found.verdict == oracle(signed(X, y)[:, :-1])
        assert found.verify()
        assert found.verify(form, y, exact=True)
        if found.direction is not None:
            assert found.direction.shape == (1, X.shape[1] + 1)
            assert found.intercept == 0.0
        assert found.infinite_intercept is None
        assert len(found.infinite_coefficients) == X.shape[1]
        assert "through the origin" in str(found)


@pytest.mark.parametrize("seed", range(30))
def test_planes_through_the_origin_for_many_classes(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (int(rng.integers(3, 25)), 2)).astype(float)
    y = np.argmax(X @ rng.standard_normal((2, 3)) + (seed % 2) * rng.standard_normal(
        (len(X), 3)), axis=1)  # fmt: skip
    y[:3] = 0, 1, 2
    Z = kesler(X, y).reshape(-1, 3, 3)[:, :, :2].reshape(-1, 6)
    found = separability(X, y, fit_intercept=False)
    assert found.verdict == oracle(Z)
    assert found.verify()
    assert found.verify(exact=True)
    for (a, b), verdict in found.pairs.items():
        these = np.isin(y, [a, b])
        assert verdict == oracle(signed(X[these], y[these])[:, :-1])


def test_the_margin_of_a_plane_through_the_origin():
    X = np.array([[1.0, 0.0], [3.0, 4.0], [-1.0, -2.0]])
    found = separability(X, [1, 1, 0], fit_intercept=False)
    assert found.radius == pytest.approx(5.0)
    assert found.margin == pytest.approx(1.0)  # (1, 0) and its own plane
    assert separability(CORNERS, LOGIC["or"], fit_intercept=False).verdict == "quasi-separable"


def test_rows_of_nothing_but_zeros_overlap_without_an_intercept():
    for form in (np.zeros((4, 2)), sp.csr_array((4, 2))):
        found = separability(form, [0, 1, 0, 1], fit_intercept=False)
        assert found.verdict == "overlapping"
        assert found.verify(exact=True)


def test_a_plane_off_the_origin_is_no_certificate_of_one_through_it():
    found = separability([[1.0], [-2.0]], [1, 0], fit_intercept=False)
    assert found.verify()
    moved = found.direction + np.array([[0.0, 1e-6]])
    assert not replace(found, direction=moved, exact_direction=None).verify()


# ---- by a number of reads --------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_a_verdict_reads_no_more_than_it_may(seed, intercept):
    X, y = random_problem(seed)
    Z = signed(X, y) if intercept else signed(X, y)[:, :-1]
    for most in count():
        source = counted(X, y)
        found = decide(source, intercept=intercept, most_reads=most)
        assert source.reads <= most
        if found is not None:
            break
        assert source.reads >= most - 1  # a read of the rows that are left is a share of one
    assert found.verdict == oracle(Z)
    assert found.verify(exact=True)
    assert most <= 60


def test_a_verdict_of_many_rows_takes_few_reads():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30_000, 4))
    X[:, 3] = (rng.random(30_000) < 0.01) * (X[:, 0] > 0.0)  # comes with one class only
    y = np.where(X[:, 3] > 0.0, 1, rng.integers(0, 2, 30_000))
    source = counted(X, y)
    found = decide(source, intercept=True, most_reads=100, feature_names=list("abcd"))
    assert found.verdict == "quasi-separable"
    assert found.infinite_coefficients == {"a": "finite", "b": "finite", "c": "finite", "d": "+inf"}
    assert decide(source, intercept=True, most_reads=3) is None


def test_products_with_many_sparse_features_are_counted():
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 2000), density=0.1, format="csr", rng=rng)  # none of one class only
    y = rng.integers(0, 2, 300)
    source = array_source(check_rows(X), y)
    assert decide(source, intercept=True, most_reads=12) is None
    assert decide(source, intercept=True, most_reads=5000).verdict == "separable"


def test_many_classes_are_decided_without_their_pairs():
    X = np.vstack([CORNERS, CORNERS + 5.0, CORNERS - 5.0])
    y = np.repeat([0, 1, 2], 4)
    source = ArraySource(X, y, np.array([0, 1, 2]))
    found = decide(source, intercept=True, most_reads=50)
    assert found.verdict == "separable"
    assert found.pairs is None
    assert "separable" in str(found)
