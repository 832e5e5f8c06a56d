"""Verdicts far from 0 and at extreme scales: certificates checked with Python's fractions alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import kesler, oracle, signed

from separatrix import separability
from separatrix.separation import PairWitness, rational


def problem(seed, k):
    """Small whole numbers, among which every verdict occurs."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(k + 1, 26)), int(rng.integers(1, 5))
    X = rng.integers(-3, 4, (n, d)).astype(float)
    noise = rng.choice([0.0, 0.5, 2.0]) * rng.standard_normal((n, k))
    y = np.argmax(X @ rng.standard_normal((d, k)) + noise, axis=1)
    y[:k] = np.arange(k)
    return X, y


# ---- an oracle in fractions ------------------------------------------------------------------


def fractions(X, y, k, intercept):
    """The signed rows by their numbers, as lists of fractions."""
    rows = {}
    for i, (x, own) in enumerate(zip(X.astype(float).tolist(), y.tolist(), strict=True)):
        z = [Fraction(v) for v in x] + [Fraction(1)] * intercept
        if k == 2:
            rows[i] = [v if own else -v for v in z]
            continue
        for rival in set(range(k)) - {own}:
            blocks = [[Fraction(0)] * len(z) for _ in range(k)]
            blocks[own], blocks[rival] = z, [-v for v in z]
            rows[i * k + rival] = [v for block in blocks for v in block]
    return rows


def only_solution(rows, right):
    """x with ``sum x_i rows_i = right``, by elimination; None unless there is exactly one."""
    table = [[*column, b] for *column, b in zip(*rows, right, strict=True)]
    n, place = len(rows), 0
    for j in range(n):
        pivot = next((i for i in range(place, len(table)) if table[i][j]), None)
        if pivot is None:
            return None
        table[place], table[pivot] = table[pivot], table[place]
        table[place] = [v / table[place][j] for v in table[place]]
        for i in range(len(table)):
            if i != place and table[i][j]:
                times = table[i][j]
                table[i] = [a - times * b for a, b in zip(table[i], table[place], strict=True)]
        place += 1
    return None if any(row[-1] for row in table[place:]) else [row[-1] for row in table[:place]]


def numbers(given, k):
    if isinstance(given, PairWitness):
        return (given.rows * k + given.rivals).tolist()
    return np.asarray(given.rows).tolist()


def weights_hold(given, Z, right, k, width):
    """Whether positive weights of these rows alone give the sum, close to those reported."""
    rows = [Z[i] for i in numbers(given, k)]
    solved = only_solution(rows, right) if rows else []
    if solved is None or (not rows and any(right)):
        return False
    near = all(abs(Fraction(w) - v) <= v * Fraction(1, 10**6) for w, v in zip(
        given.weights, solved, strict=True))  # fmt: skip
    return near and all(v > 0 for v in solved) and len(rows) <= width


def proven(found, X, y, intercept=True):
    """Whether the certificate proves the verdict."""
    k = len(np.unique(y))
    Z = fractions(X, y, k, intercept)
    boundary = set()
    if found.verdict != "overlapping":
        d = X.shape[1]
        w = found.exact_direction or [Fraction(v) for v in found.direction.ravel().tolist()]
        w = [v for i, v in enumerate(w) if intercept or i % (d + 1) != d]
        margins = {i: sum(a * b for a, b in zip(z, w, strict=True)) for i, z in Z.items()}
        if found.verdict == "separable":
            return min(margins.values()) > 0
        flat = found.boundary if k == 2 else found.boundary @ [k, 1]
        boundary = set(flat.tolist())
        if any((m != 0) if i in boundary else (m <= 0) for i, m in margins.items()):
            return False
    width = len(next(iter(Z.values())))
    added = [z for i, z in Z.items() if not boundary or i in boundary]
    total = [-sum(column) for column in zip(*added, strict=True)]
    summed = {i: [*z, Fraction(1)] for i, z in Z.items()}
    one = [Fraction(0)] * width + [Fraction(1)]
    return weights_hold(found.witness, summed, one, k, width + 1) and weights_hold(
        found.interior, Z, total, k, width
    )


# ---- far from 0 ------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("offset", [0.0, 1e7, 1e8, 1e9, 1e15])
@pytest.mark.parametrize("seed", range(8))
def test_whole_numbers_far_from_zero(seed, offset, k):
    X, y = problem(seed, k)
    expected = oracle(signed(X, y) if k == 2 else kesler(X, y))  # shifts change no verdict
    forms = [X + offset if seed % 2 else sp.csr_array(X + offset)]
    if offset <= 1e7 and seed % 2 == 0:
        forms.append((X + offset).astype(np.float32))
    for form in forms:
        found = separability(form, y, exact=seed % 3 == 0)
        assert found.verdict == expected
        assert found.verify()
        assert found.verify(exact=True)
        assert proven(found, X + offset, y)


@pytest.mark.sampled
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("offset", [1e7, 1e8, 1e9])
@pytest.mark.parametrize("seed", range(8))
def test_planes_through_the_origin_and_rows_far_from_it(seed, offset, k):
    X, y = problem(seed, k)
    found = separability(X + offset, y, fit_intercept=False)
    assert found.verify()
    assert found.verify(exact=True)
    assert proven(found, X + offset, y, intercept=False)


def test_timestamps_one_second_apart():
    found = separability([[1e9], [1e9 + 1], [1e9], [1e9 + 2]], [0, 1, 1, 0])
    assert found.verdict == "overlapping"
    assert found.verify()
    assert found.verify(exact=True)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", [31, 96, 232, 345])
@pytest.mark.parametrize("offset", [1e7, 1e8])
def test_programs_that_cannot_be_solved_leave_it_to_whole_numbers(seed, offset):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (13, 4)).astype(float)
    y = rng.integers(0, 3, 13)
    y[:3] = 0, 1, 2
    found = separability(X + offset, y)
    assert found.verdict == oracle(kesler(X, y))
    assert proven(found, X + offset, y)


def test_timestamps_among_many_rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([1.7e9 + rng.integers(0, 10**6, 5000), rng.standard_normal(5000)])
    y = (X[:, 0] - 1.7e9 > 5e5).astype(int)
    apart = separability(X, y)
    assert apart.verdict == "separable"
    assert apart.verify()
    y[:50] = rng.integers(0, 2, 50)
    mixed = separability(X, y)
    assert mixed.verdict == "overlapping"
    assert mixed.verify()
    assert mixed.verify(exact=True)


def test_a_system_with_a_large_right_hand_side_is_solved():
    A = np.array([[3]], object)
    b = np.array([2**1001 + 1], object)
    solved = rational.solve(A, b)
    assert solved.each() == (Fraction(2**1001 + 1, 3),)


# ---- extreme scales (warnings are errors) ----------------------------------------------------

POWERS = [-1074, -1060, -1022, -1000, -600, -100, 0, 0, 100, 600, 1000, 1020]


@pytest.mark.parametrize("seed", range(30))
def test_powers_of_two_change_no_verdict_and_no_word(seed):
    rng = np.random.default_rng(seed)
    k = 3 if seed % 3 == 2 else 2
    X, y = problem(seed, k)
    powers = rng.choice(POWERS, X.shape[1]) if seed % 2 else np.full(X.shape[1], rng.choice(POWERS))
    scaled = np.ldexp(X, powers)
    found = separability(sp.csr_array(scaled) if seed % 4 == 1 else scaled, y)
    plain = separability(X, y)
    assert found.verdict == plain.verdict == oracle(signed(X, y) if k == 2 else kesler(X, y))
    assert found.verify()
    assert found.verify(exact=True)
    assert proven(found, scaled, y)
    assert found.infinite_coefficients == plain.infinite_coefficients
    assert found.infinite_intercept == plain.infinite_intercept
    assert str(found)
    assert found.to_dict()["verdict"] == plain.verdict
    if found.margin is not None:
        low, high = found.margin_bounds
        assert 0.0 <= low <= high


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(30))
def test_rows_of_all_scales_through_the_origin(seed):
    rng = np.random.default_rng(seed)
    X, y = problem(seed, 2)
    scaled = np.ldexp(X, rng.choice([-1000, -500, 0, 500, 1000], (len(X), 1)))
    found = separability(scaled, y, fit_intercept=False)
    assert found.verdict == oracle(signed(X, y)[:, :-1])
    assert found.verify()
    assert found.verify(exact=True)
    assert str(found)


def test_one_feature_of_numbers_of_all_sizes():
    X = np.array([[1e-300], [1e300], [1e-5], [2e300], [-3e-300]])
    for y, verdict in (([0, 1, 0, 1, 0], "separable"), ([0, 1, 1, 0, 0], "overlapping")):
        found = separability(X, y)
        assert found.verdict == verdict
        assert found.verify()
        assert proven(found, X, np.array(y))
