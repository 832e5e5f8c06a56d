"""Which coefficients run away, against plain linear programs over all weak separators."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import CORNERS, LOGIC
from oracles import oracle, quasi, random_problem, signed
from scipy.optimize import linprog

from benchmarks.data import ONE_HOT_KINDS, one_hot_of_kind
from separatrix import separability
from separatrix.separation import thresholds
from separatrix.separation.weight_space import weight_space


def words(Z):
    """One word per column: is it determined by the rows, and which signs can it have?"""
    n, d = Z.shape
    rank = np.linalg.matrix_rank(Z)
    found = []
    for j in range(d):
        e = np.eye(d)[j]
        if np.linalg.matrix_rank(np.vstack([Z, e])) > rank:
            found.append("not identified")
            continue
        most = [
            -linprog(-sign * e, A_ub=-Z, b_ub=np.zeros(n), bounds=[(-1.0, 1.0)] * d).fun
            for sign in (1.0, -1.0)
        ]
        up, down = (value > 1e-8 for value in most)
        found.append({(True, False): "+inf", (False, True): "-inf", (False, False): "finite",
                      (True, True): "infinite, sign not determined"}[up, down])  # fmt: skip
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", [s for s in range(80) if s % 4 != 3])
def test_every_word_is_that_of_plain_programs(seed, intercept):
    X, y = random_problem(seed)
    Z = signed(X, y) if intercept else signed(X, y)[:, :-1]
    found = separability(X, y, fit_intercept=intercept)
    reported = list(found.infinite_coefficients.values())
    expected = words(Z)
    assert reported == expected[: X.shape[1]]
    assert found.infinite_intercept == (expected[-1] if intercept else None)
    if found.verdict != "overlapping" and "not identified" not in expected:
        names = [*found.feature_names, "(intercept)"]
        away = {n: w for n, w in zip(names, expected, strict=False) if w != "finite"}
        assert found.runaway == away


def test_the_intercept_has_a_word_of_its_own():
    assert separability([[0.0], [1.0]], [0, 1]).infinite_intercept == "-inf"
    X = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3]], float)
    pinned = separability(X, [0, 1, 0, 1, 1, 1])
    assert pinned.infinite_intercept == "finite"
    assert pinned.runaway == {"x0": "+inf"}
    # The baseline is pure: what runs away is the intercept, and the feature back from it.
    base = separability(1.0 - X[:, :1], [0, 1, 0, 1, 1, 1])
    assert base.infinite_intercept == "+inf"
    assert base.runaway == {"x0": "-inf", "(intercept)": "+inf"}
    assert json.loads(json.dumps(base.to_dict()))["infinite_intercept"] == "+inf"


def test_a_rare_level_of_a_full_one_hot_is_named():
    X = np.eye(3)[[0, 0, 0, 0, 1, 1, 1, 1, 2, 2]]
    found = separability(X, [0, 1, 0, 1, 0, 1, 1, 0, 1, 1], feature_names=["a", "b", "rare"])
    assert set(found.infinite_coefficients.values()) == {"not identified"}
    assert found.infinite_intercept == "not identified"
    assert found.runaway == {"rare": "+inf"}
    assert "rare (+inf)" in str(found)
    assert "intercept" not in str(found)
    assert found.to_dict()["runaway"] == {"rare": "+inf"}


@pytest.mark.parametrize("seed", range(20))
def test_levels_of_one_class_only_run_away_and_no_others(seed):
    rng = np.random.default_rng(seed)
    levels = int(rng.integers(3, 7))
    level = np.append(np.arange(levels), rng.integers(0, levels, 30))
    pure = rng.integers(0, 3, levels)  # 0 and 1: of one class only, 2: of both
    pure[0] = 2
    y = np.where(pure[level] == 2, rng.integers(0, 2, len(level)), pure[level])
    level, y = np.append(level, [0, 0]), np.append(y, [0, 1])
    for j in np.flatnonzero(pure == 2):
        level, y = np.append(level, [j, j]), np.append(y, [0, 1])
    X = np.eye(levels)[level]
    expected = {f"x{j}": ("-inf", "+inf")[pure[j]] for j in range(levels) if pure[j] < 2}
    for intercept in (True, False):
        found = separability(X, y, fit_intercept=intercept)
        assert found.runaway == expected
        assert found.verdict == ("quasi-separable" if expected else "overlapping")


def test_many_classes_name_the_features_that_run_away():
    level = np.repeat([0, 1, 2], [6, 6, 3])
    X = np.column_stack([np.eye(3)[level], np.tile([0.0, 1.0, 2.0], 5)])
    y = np.array([0, 1, 2, 2, 1, 0, 1, 2, 0, 0, 2, 1, 1, 1, 1])
    found = separability(X, y, feature_names=["a", "b", "rare", "x"])
    assert found.verdict == "quasi-separable"
    assert found.infinite_coefficients is None
    assert found.runaway == {"rare": "infinite"}
    assert "rare (infinite)" in str(found)


def test_overlapping_rows_let_nothing_run_away():
    X = np.repeat([[0.0], [1.0]], 2, axis=0)
    found = separability(X, [0, 1, 0, 1])
    assert found.verdict == oracle(signed(X, np.array([0, 1, 0, 1]))) == "overlapping"
    assert found.runaway == {}
    assert found.infinite_intercept == "finite"


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


def table(seed):
    """Small one-hot columns, some without their first levels, and a number."""
    rng = np.random.default_rng(seed)
    X, y = one_hot_of_kind(int(rng.integers(10, 60)), 9, ONE_HOT_KINDS[seed % 4], 3, seed)
    y[:2] = -1, 1
    X = X.toarray()
    if seed % 2:
        X = np.column_stack([np.delete(X, [0, 3, 6], axis=1), rng.integers(0, 3, len(y))])
    return X, y


@pytest.mark.sampled(2)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_few_coordinates_give_the_same_coefficients(seed, intercept, monkeypatch):
    X, y = table(seed)
    monkeypatch.setattr(thresholds, "SPARSE_SHARE", 1.0)
    monkeypatch.setattr(thresholds, "FACE_FEATURES", 100)
    expected = separability(X, y, fit_intercept=intercept)
    assert weight_space(expected.signed, np.empty(0, np.int64)) is None
    words, spread = expected.infinite_coefficients, expected.infinite_intercept
    monkeypatch.setattr(thresholds, "FACE_FEATURES", 1)
    found = separability(sp.csr_array(X), y, fit_intercept=intercept)
    if found.verdict != "overlapping":
        assert weight_space(found.signed, np.empty(0, np.int64)) is not None
    assert found.verdict == expected.verdict
    assert found.infinite_coefficients == words
    assert found.infinite_intercept == spread
    if found.direction is None:
        assert found.runaway == {}
        return
    # Weights of these features alone, with these signs, have the margins of the direction.
    names = [*found.feature_names, "(intercept)"]
    Z = signed(X, y)
    w = found.direction[0] / np.abs(found.direction).max()
    at = [names.index(name) for name in found.runaway]
    few = np.linalg.lstsq(Z[:, at], Z @ w, rcond=None)[0]
    assert Z[:, at] @ few == pytest.approx(Z @ w, abs=1e-9)
    if "not identified" not in [*words.values(), spread]:
        assert found.runaway == expected.runaway
