"""Verdicts against a plain linear program, and certificates that hold, or fail when changed."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import CORNERS, LOGIC
from hypothesis import given
from hypothesis import strategies as st
from oracles import kesler, oracle, random_problem, signed

from separatrix import ArraySource, Block, Source, separability
from separatrix.separation import PairWitness, Witness, thresholds
from separatrix.separation.search import Search


@pytest.mark.parametrize("seed", range(200))
def test_the_verdict_is_that_of_a_plain_program_and_is_proven(seed):
    X, y = random_problem(seed)
    found = separability(X, y, exact=seed % 2 == 0)
    assert found.verdict == oracle(signed(X, y))
    assert found.verify()
    assert found.verify(exact=True)
    assert found.verify(X, y, exact=True)
    # Only weights that are positive beyond their rounding need no exact arithmetic.
    assert found.exact or (seed % 2 == 1 and found.verdict == "overlapping")
    if found.witness is not None:
        assert len(found.witness.rows) <= X.shape[1] + 2
        assert len(found.interior.rows) <= X.shape[1] + 1


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_whole_numbers_alone_come_to_the_same_verdict(seed, monkeypatch):
    X, y = random_problem(seed)
    rows = separability(X, y).signed
    search = Search(rows)
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


# ---- separable -----------------------------------------------------------------------------


def best_margin(Z):
    """Nearest point of the hull by plain projected steps on two rows at a time."""
    share = np.full(len(Z), 1.0 / len(Z))
    for _ in range(20000):
        x = share @ Z
        m = Z @ x
        low, high = int(np.argmin(m)), int(np.argmax(np.where(share > 0.0, m, -np.inf)))
        step = Z[low] - Z[high]
        if m[high] - m[low] <= 1e-12 or step @ step == 0.0:
            break
        t = min(share[high], (m[high] - m[low]) / (step @ step))
        share[low], share[high] = share[low] + t, share[high] - t
    return np.linalg.norm(share @ Z)


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_margin(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3))
    X = X[abs(X @ [1.0, -2.0, 0.5] + 0.3) > 0.4]
    y = X @ [1.0, -2.0, 0.5] + 0.3 > 0.0
    found, Z = separability(X, y), signed(X, y)
    w = np.append(found.coef[0], found.intercept)
    assert np.linalg.norm(w) == pytest.approx(1.0)
    assert (Z @ w).min() == pytest.approx(found.margin)
    assert found.margin == pytest.approx(best_margin(Z), rel=1e-5)
    low, high = found.margin_bounds
    assert low <= high <= low * (1 + 1e-6)
    rows, share = found.support
    assert np.linalg.norm(share @ Z[rows]) == pytest.approx(high)
    assert (Z @ w)[rows] == pytest.approx(found.margin)
    radius = np.linalg.norm(Z, axis=1).max()
    assert found.radius == pytest.approx(radius)
    assert found.mistake_bound == pytest.approx((radius / found.margin) ** 2)


@pytest.mark.parametrize("margin", [1e-2, 1e-6])
def test_a_thin_gap_between_features_of_all_scales(margin):
    rng = np.random.default_rng(1)
    scale = 10.0 ** rng.uniform(-3, 3, 6)
    U = rng.standard_normal((300, 6))
    side = np.sign(U[:, 0])
    U[:, 0] = side * (np.abs(U[:, 0]) + margin)
    found = separability(U * scale, side)
    low, high = found.margin_bounds
    assert found.verdict == "separable"
    assert 0.0 < low <= high
    assert high - low <= max(1e-6 * high, 1e-14 * found.radius)


def test_more_features_than_rows(rng):
    X = rng.standard_normal((20, 1000))
    y = rng.integers(0, 2, 20)
    found = separability(X, y)
    assert found.verdict == "separable"
    assert found.verify(exact=True)
    assert found.margin_bounds[1] <= found.margin * (1 + 1e-6)
    twice = separability(np.vstack([X, X[:1]]), np.append(y, 1 - y[0]))
    assert twice.verdict == "quasi-separable"
    assert sorted(twice.witness.rows) == [0, 20]
    assert twice.witness.weights == pytest.approx([0.5, 0.5])
    assert twice.verify(exact=True)


def test_many_features_that_overlap(rng, monkeypatch):
    monkeypatch.setattr(thresholds, "NEWTON_DIMENSION", 10)
    X = rng.standard_normal((400, 20))
    X[:, 3] = X[:, 4]
    y = rng.integers(0, 2, 400)
    found = separability(X, y)
    assert found.verdict == oracle(signed(X, y)) == "overlapping"
    assert found.verify(exact=True)


# ---- not separable -------------------------------------------------------------------------


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


def quasi():
    X = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3]], float)
    return X, np.array([0, 1, 0, 1, 1, 1])


def test_quasi_separable_data_and_the_coefficients_that_run_away():
    X, y = quasi()
    found = separability(pd.DataFrame(X, columns=["rare", "x"]), y)
    assert found.verdict == "quasi-separable"
    assert found.boundary.tolist() == [0, 1, 2, 3]
    assert found.infinite_coefficients == {"rare": "+inf", "x": "finite"}
    margins = signed(X, y) @ np.append(found.coef[0], found.intercept)
    assert margins == pytest.approx([0, 0, 0, 0, 1, 1], abs=1e-12)
    flipped = separability(X * [-1, 1], y)
    assert flipped.infinite_coefficients == {"x0": "-inf", "x1": "finite"}
    copied = separability(np.column_stack([X, 2 * X[:, 0], np.ones(6)]), y)
    words = ["not identified", "finite", "not identified", "not identified"]
    assert list(copied.infinite_coefficients.values()) == words
    assert copied.verify(exact=True)


def test_infinite_coefficients_of_the_other_verdicts():
    assert separability([[0.0], [1.0]], [0, 1]).infinite_coefficients == {"x0": "+inf"}
    fan = separability([[0, 0], [1, 2], [2, 1], [3, 3]], [0, 1, 1, 1]).infinite_coefficients
    assert set(fan.values()) == {"infinite, sign not determined"}
    xor = separability(CORNERS, LOGIC["xor"]).infinite_coefficients
    assert set(xor.values()) == {"finite"}


# ---- certificates that were changed ----------------------------------------------------------


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


# ---- forms of data -------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match="a name twice"):
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


# ---- many classes --------------------------------------------------------------------------


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


# ---- in words --------------------------------------------------------------------------------


def test_words_html_and_plain_data():
    told = str(separability(CORNERS, LOGIC["and"]))
    assert "are separable" in told
    assert "at most 51 mistakes" in told
    found = separability(CORNERS, LOGIC["xor"])
    told = str(found)
    assert f"a margin above {found.residual:.3g}" in told
    assert "never stops" in told
    X, y = quasi()
    found = separability(X, y, exact=True, feature_names=["a<b", "x"])
    assert "a<b (+inf)" in str(found)
    assert "cancel exactly" in str(found)
    assert "a&lt;b" in found._repr_html_()
    assert "<strong>quasi-separable</strong>" in found._repr_html_()
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["boundary"] == [0, 1, 2, 3]
    assert plain["infinite_coefficients"] == {"a<b": "+inf", "x": "finite"}
    assert repr(found) == "<Separability: quasi-separable, 6 rows, 2 features>"


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


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e-17])
def test_a_separator_of_a_margin_beyond_rounding_still_has_margins_above_zero(scale):
    X = np.random.default_rng(0).normal(size=(30, 3)) * scale
    found = separability(X, X[:, 0] > 0)
    assert found.verdict == "separable"
    lower, upper = found.margin_bounds
    assert 0.0 < lower <= upper
    assert np.min(signed(X, X[:, 0] > 0) @ np.append(found.coef[0], found.intercept)) > 0.0


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


def test_subnormal_features_are_scaled_without_overflow():
    X = np.random.default_rng(0).normal(size=(30, 3)) * 1e-320
    assert separability(X, X[:, 0] > 0).verdict == "separable"
    assert separability(X, np.arange(30) % 2).verdict == "overlapping"
