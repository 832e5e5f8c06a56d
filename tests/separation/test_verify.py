"""Certificates that hold, and fail when they or the data are changed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from conftest import CORNERS, LOGIC
from oracles import quasi, signed

from separatrix import ArraySource, separability
from separatrix.separation import Witness


def test_a_row_with_both_labels():
    X = [[1.0, 2.0], [1.0, 2.0], [0.0, 1.0], [5.0, 5.0]]
    found = separability(X, [0, 1, 0, 1], exact=True)
    assert found.witness.rows.tolist() == [0, 1]
    assert found.witness.weights == (Fraction(1, 2), Fraction(1, 2))
    assert found.verdict == "quasi-separable"
    assert found.boundary.tolist() == [0, 1]


def test_what_a_witness_says():
    X, y = CORNERS, np.array(LOGIC["xor"])
    rows, weights = separability(X, y).witness
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ signed(X, y)[rows] == pytest.approx(np.zeros(3), abs=1e-15)
    found = separability(X, y)
    total = signed(X, y).sum(axis=0)
    rows, weights = found.interior
    assert total + weights @ signed(X, y)[rows] == pytest.approx(np.zeros(3), abs=1e-12)


@pytest.mark.parametrize("exact", [False, True])
def test_a_changed_certificate_fails(exact):
    X, y = quasi()
    sets = [separability(X, y, exact=exact), separability(CORNERS, LOGIC["xor"], exact=exact)]
    for found in sets:
        rows, weights = found.witness
        other = np.array([float(w) for w in weights])
        changes = [
            {"witness": Witness(rows, tuple(w + Fraction(k, 99) for k, w in enumerate(weights)))},
            {"witness": Witness(rows, -other)},
            {"witness": Witness(rows[:-1], other[:-1] / other[:-1].sum())},
            {"witness": Witness(rows + 100, weights)},
            {"witness": Witness(rows, other * 1.01)},
            {"witness": None},
            {"interior": Witness(rows, other)},
            {"interior": None},
            {"verdict": "separable"},
        ]
        for change in changes:
            assert not replace(found, **change).verify(exact=exact), change
    found = sets[0]
    for change in (
        {"boundary": found.boundary[1:]},
        {"boundary": np.append(found.boundary, 4)},
        {"verdict": "overlapping"},
        {"direction": -found.direction},
        {"direction": found.direction + 1e-3, "exact_direction": None},
    ):
        assert not replace(found, **change).verify(exact=exact), change
    found = separability(CORNERS, LOGIC["and"], exact=exact)
    assert found.verify(exact=exact)
    for change in ({"direction": -found.direction}, {"direction": found.direction * [1, 1, 0]}):
        assert not replace(found, **change).verify(exact=exact)


def test_other_data_do_not_fit_the_certificate():
    found = separability(CORNERS, LOGIC["and"])
    assert found.verify(CORNERS, LOGIC["and"])
    assert not found.verify(CORNERS, LOGIC["xor"])
    assert not found.verify(CORNERS[:, :1], LOGIC["and"])


def test_verify_takes_a_source_and_knows_other_labels():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    found = separability(X, y)
    assert found.verify(ArraySource(X, 2.0 * y - 1.0, np.array([0, 1])))
    assert not found.verify(X, y + 1)
    with pytest.raises(ValueError, match="y is missing"):
        found.verify(X)


def test_a_residual_whose_square_overflows():
    X = np.random.default_rng(0).normal(size=(30, 3)) * 1e300
    found = separability(X, np.arange(30) % 2)
    assert 0.0 <= found.residual <= 1e-12 * found.radius
    assert "overlapping" in str(found)
