"""Sparse rows, whose verdicts need neither linear programs nor long whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import oracle, random_problem, signed

from benchmarks.data import ONE_HOT_KINDS, one_hot_of_kind
from separatrix import separability
from separatrix.separation import thresholds
from separatrix.separation.null_space import null_space


@pytest.fixture
def work(monkeypatch):
    """The number of linear programs and of solved systems of whole numbers."""
    counts = {"linprog": 0, "solve": 0, "farkas": 0}

    def counted(module, name):
        function = getattr(module, name)

        def call(*args, **options):
            counts[name] += 1
            return function(*args, **options)

        monkeypatch.setattr(module, name, call)

    from separatrix.separation import linear_program, rational, search, settled

    counted(linear_program, "linprog")
    counted(rational, "solve")
    counted(search, "farkas")
    counted(settled, "farkas")
    return counts


def strictly(X, y, found):
    """Margins of the direction, in fractions."""
    weights = found.exact_direction or [Fraction(float(v)) for v in found.direction.ravel()]
    weights = np.array(weights, object)
    dense = X.toarray().astype(np.int64).astype(object)
    return y * (dense.dot(weights[:-1]) + weights[-1])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("kind", ONE_HOT_KINDS)
def test_one_hot_tables_need_no_linear_program(kind, dense, work):
    X, y = one_hot_of_kind(600, 80, kind, seed=3)
    found = separability(X.toarray() if dense else X, y)
    assert work == {"linprog": 0, "solve": 0, "farkas": 0}
    expected = kind if "quasi" not in kind else "quasi-separable"
    assert found.verdict == expected == oracle(signed(X.toarray(), y))
    assert found.verify()
    if found.direction is not None:
        margins = strictly(X, y, found)
        on = np.empty(0, np.int64) if found.boundary is None else found.boundary
        assert np.array_equal(np.flatnonzero(margins == 0), on)
        assert np.all(margins >= 0)


def test_the_boundary_of_a_sum_is_every_row_that_no_weak_separator_gets_right(work):
    X, y = one_hot_of_kind(600, 80, "quasi-sum", seed=3)
    found = separability(X, y)
    assert sum(work.values()) == 0
    Z = signed(X.toarray(), y)
    inside = np.setdiff1d(np.arange(len(y)), found.boundary)
    assert oracle(Z[found.boundary]) == "overlapping"
    assert len(inside) > 0


@pytest.mark.sampled
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_small_tables_of_every_kind(seed, exact, monkeypatch):
    monkeypatch.setattr(thresholds, "FACE_FEATURES", 2)
    rng = np.random.default_rng(seed)
    X, y = one_hot_of_kind(
        int(rng.integers(8, 60)), 12, ONE_HOT_KINDS[seed % 4], levels=3, seed=seed
    )
    y[:2] = -1, 1
    if seed % 3 == 0:  # rows with both labels
        X, y = sp.vstack([X, X[:5]], format="csr"), np.append(y, -y[:5])
    found = separability(X, y, exact=exact)
    assert found.verdict == oracle(signed(X.toarray(), y))
    assert found.verify()
    assert found.verify(exact=True)
    assert found.verify(X, y, exact=True)


@pytest.mark.sampled
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(16))
def test_small_numbers_of_every_kind(seed, intercept, monkeypatch):
    monkeypatch.setattr(thresholds, "FACE_FEATURES", 1)
    monkeypatch.setattr(thresholds, "SPARSE_SHARE", 1.0)
    X, y = random_problem(seed)
    Z = signed(X, y)
    found = separability(sp.csr_array(X), y, fit_intercept=intercept)
    assert found.verdict == oracle(Z if intercept else Z[:, :-1])
    assert found.verify(exact=True)


def test_a_rare_level_that_another_feature_explains_is_on_the_boundary(monkeypatch):
    """Rows that cancel at first do not span the others, which cancel, too."""
    monkeypatch.setattr(thresholds, "FACE_FEATURES", 1)
    noise = [[1, 0, 0]] * 4 + [[0, 0, 0]] * 4
    clear = [[20, 20, 1], [-20, -20, 1], [20, 20, 0], [-20, -20, 0]]
    X = np.array(noise + clear, float)
    y = np.array([1, -1, 1, -1, -1, 1, -1, 1, 1, -1, 1, -1])
    for form in (X, sp.csr_array(X)):
        found = separability(form, y)
        assert found.verdict == oracle(signed(X, y))
        assert found.verify(exact=True)


def test_weights_of_rows_are_those_of_the_given_order():
    X, y = one_hot_of_kind(600, 80, "overlapping", seed=3)
    found = separability(X, y)
    assert np.all(np.diff(found.witness.rows) > 0)
    Z = signed(X.toarray(), y)
    total = np.asarray(found.witness.weights, float) @ Z[found.witness.rows]
    assert np.abs(total).max() < 1e-12
    total = np.asarray(found.interior.weights, float) @ Z[found.interior.rows]
    assert np.abs(total + Z.sum(axis=0)).max() < 1e-8 * len(y)


# ---- null spaces ---------------------------------------------------------------------------------


def rank(Z):
    """By elimination in fractions."""
    rows, found = [[Fraction(int(v)) for v in row] for row in Z], 0
    for j in range(Z.shape[1]):
        pivot = next((i for i in range(found, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            factor = rows[i][j] / rows[found][j]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_null_space_is_that_of_elimination_in_fractions(seed):
    rng = np.random.default_rng(seed)
    n, d, r = int(rng.integers(1, 30)), int(rng.integers(1, 9)), int(rng.integers(1, 5))
    Z = rng.integers(-1, 2, (n, r)) @ rng.integers(-1, 2, (r, d))
    found = null_space(sp.csr_array(Z.astype(float)))
    V = found.vectors.toarray()
    assert V.shape == (d, d - rank(Z))
    assert not np.any(Z @ V.astype(int))
    own = V[found.dependent]
    assert np.array_equal(own != 0, np.eye(V.shape[1], dtype=bool))


def test_rare_rows_are_not_missed():
    """Only one row of many has the last feature: a sample of the rows would leave it out."""
    Z = np.zeros((5000, 3))
    Z[:, 0] = 1.0
    Z[4321, 2] = 1.0
    found = null_space(sp.csr_array(Z))
    assert found.dependent.tolist() == [1]
    assert found.vectors.toarray().tolist() == [[0.0], [1.0], [0.0]]


def test_columns_of_fractions_are_left_alone():
    Z = np.array([[0.1, 0.2, 1.0, 1.0], [0.3, 0.6, 0.0, 0.0], [0.1, 0.2, 1.0, 1.0]])
    assert null_space(sp.csr_array(Z)).dependent.tolist() == [3]
    huge = np.array([[2.0**60, 2.0**60, 3.0, 3.0], [0.0, 0.0, 1.0, 1.0]])
    assert null_space(sp.csr_array(huge)).dependent.tolist() == [3]
