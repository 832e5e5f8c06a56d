"""Verdicts against a plain linear program, in floating point and in whole numbers."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from conftest import CORNERS, LOGIC
from hypothesis import given
from hypothesis import strategies as st
from oracles import best_margin, kesler, oracle, random_problem, signed

from separatrix import separability
from separatrix.separation import PairWitness
from separatrix.separation.search import SeparabilitySearch


@pytest.mark.parametrize("seed", range(80))
def test_the_verdict_is_that_of_a_plain_program_and_is_proven(seed):
    X, y = random_problem(seed)
    found = separability(X, y, exact=seed % 2 == 0)
    assert found.verdict == oracle(signed(X, y))
    assert found.verify()
    assert found.verify(exact=True)
    assert found.verify(X, y, exact=True)
    # Only weights that are positive beyond their rounding need no exact arithmetic.
    assert found.exact or (seed % 2 == 1 and found.verdict != "separable")
    if found.witness is not None:
        assert len(found.witness.rows) <= X.shape[1] + 2
        assert len(found.interior.rows) <= X.shape[1] + 1


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_whole_numbers_alone_come_to_the_same_verdict(seed, monkeypatch):
    X, y = random_problem(seed)
    rows = separability(X, y).signed
    search = SeparabilitySearch(rows)
    monkeypatch.setattr(
        search, "_separator", lambda: search._exact_separator(np.ones(rows.dimension))
    )
    monkeypatch.setattr(search, "improve", lambda *_: None)
    decision = search.decide()
    assert decision.verdict == oracle(signed(X, y))
    assert decision.exact


def test_logic():
    for name, verdict in (("and", "separable"), ("or", "separable"), ("xor", "overlapping")):
        assert separability(CORNERS, LOGIC[name]).verdict == verdict


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.booleans()), min_size=2))
def test_grids_of_whole_numbers(rows):
    X = np.array([r[:2] for r in rows], float)
    y = np.array([r[2] for r in rows])
    y[:2] = False, True
    found = separability(X, y)
    assert found.verdict == oracle(signed(X, y))
    assert found.verify(exact=True)


def test_a_tie_that_floating_point_cannot_see():
    """0.1 + 0.2 is more than 0.3, but not by what a linear program would notice."""
    X = np.array([[0.3], [0.1 + 0.2]])
    found = separability(X, [0, 1])
    assert found.verdict == "separable"
    assert found.verify(exact=True)
    assert separability(X[::-1], [0, 1]).verdict == "separable"
    three = np.array([[0.3], [0.1 + 0.2], [0.3]])
    assert separability(three, [0, 1, 1]).verdict == "quasi-separable"


def test_a_sum_that_vanishes_but_for_rounding_ends_the_search():
    X = np.full((32, 1), 7e-7)  # 16 times 7e-7 less 16 times 7e-7 is not 0 in floats
    found = separability(X, np.arange(32) % 2)
    assert found.verdict == "overlapping"
    assert found.verify(exact=True)


def test_every_row_in_both_classes_is_proven_exactly():
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = X[:, 0] > 0
    found = separability(np.vstack([X, X]), np.append(y, ~y))
    assert found.verdict == "overlapping"
    assert found.verify(exact=True)


@pytest.mark.parametrize("seed", range(24))
def test_many_classes_jointly_and_in_pairs(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 5))
    X = rng.integers(-3, 4, (int(rng.integers(k, 25)), 2)).astype(float)
    W = rng.standard_normal((k, 3))
    y = np.argmax(X @ W[:, :2].T + W[:, 2] + rng.choice([0, 1]) * rng.standard_normal(
        (len(X), k)), axis=1)  # fmt: skip
    y[:k] = np.arange(k)
    found = separability(X, y, exact=seed % 2 == 1)
    assert found.verdict == oracle(kesler(X, y))
    assert found.verify(exact=True)
    for (a, b), verdict in found.pairs.items():
        these = np.isin(y, [a, b])
        assert verdict == oracle(signed(X[these], y[these]))
    if found.verdict == "separable":
        Z = kesler(X, y)
        assert found.margin == pytest.approx(best_margin(Z), rel=1e-4)
        assert found.mistake_bound == pytest.approx(2 * (found.radius / found.margin) ** 2)
        assert found.coef.shape == (k, 2)
    else:
        assert isinstance(found.witness, PairWitness)
        assert len(found.witness.rows) <= (k - 1) * 3 + 1
    json.dumps(found.to_dict())


def test_pairs_may_be_separable_where_all_together_are_not():
    """Three blades of a pinwheel: a line keeps any two apart, but no three scores agree on it."""
    blades = [[-1, 1], [5, 1]], [[-0.37, -1.37], [-3.37, 3.83]], [[1.37, 0.37], [-1.63, -4.83]]
    found = separability(np.concatenate(blades), [0, 0, 1, 1, 2, 2])
    assert found.verdict == "overlapping"
    assert set(found.pairs.values()) == {"separable"}
    assert found.verify(exact=True)


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[2**53], [2**53 + 1]]),
        np.array([[2**64 - 1], [2**64 - 2]], dtype=np.uint64),
        np.array([[1], [1 + np.finfo(np.longdouble).eps]], dtype=np.longdouble),
        np.array([[Fraction(1, 3)], [Fraction(2, 3)]], dtype=object),
        [[2**53], [2**53 + 1]],
    ],
)
def test_rows_that_double_precision_rounds_are_refused(rows):
    if np.asarray(rows).dtype == np.longdouble and np.finfo(np.longdouble).eps == 2.0**-52:
        pytest.skip("long doubles are doubles here")
    with pytest.raises(ValueError, match="not exact in double precision"):
        separability(rows, [0, 1])
    assert separability(np.array([[2**60], [2**60 + 2**30]]), [0, 1]).verdict == "separable"
