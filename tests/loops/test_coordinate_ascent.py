"""The compiled epoch of dual coordinate ascent, against its twin and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from dual_problems import KINDS, LOSSES, rows, stored
from loops import twins
from loops.twins import squared_norms

from separatrix import (
    get_loss,
    loops,
)
from separatrix.losses import Hinge, Logistic


@pytest.mark.parametrize("level", loops.levels())
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_compiled_pass_equals_its_twin(level, kind, weighted, loss):
    X, y = rows(9, 80, 7)
    X[np.abs(X) < 0.5] = 0.0
    X[5] = 0.0
    rng = np.random.default_rng(0)
    held = stored(X, kind)
    given = {
        "inv_weight_sum": 1 / 80, "row_norm2": squared_norms(held), "inv_2l2": 20.0,
        "bias_inv_penalty": 15.0,
        "weight": rng.uniform(0, 2, 80) if weighted else None, "shrink_margin": 0.5,
    }  # fmt: skip
    now, ends = loops.level(), []
    loops.use_level(level)
    try:
        for one_pass in (loops.coordinate_epoch, twins.coordinate_epoch):
            alpha, w = np.zeros(80), np.zeros(8)
            order = np.random.default_rng(3).permutation(80)
            met = []
            for _ in range(4):
                met.append(one_pass(held, y, get_loss(loss), alpha, w, order, **given))
                order = order[: met[-1].n_active]
            ends.append((alpha, w, order, met))
    finally:
        loops.use_level(now)
    for compiled, twin in zip(ends[0][:3], ends[1][:3], strict=True):
        np.testing.assert_allclose(compiled, twin, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ends[0][3], ends[1][3], rtol=1e-9, atol=1e-11)
    assert (met[-1].n_active < 80) == (loss != "logistic")


@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_that_a_pass_meets_is_that_of_its_start(loss):
    """From the definition, where the weights hardly move: alphas as good as 1e-4."""
    X, y = rows(4, 60, 5)
    l2, s = 0.5, get_loss(loss)
    alpha, w = np.zeros(60), np.zeros(6)
    given = {"inv_weight_sum": 1 / 60, "row_norm2": (X**2).sum(axis=1), "inv_2l2": 0.5 / l2}
    phi = {"hinge": lambda m: np.maximum(0, 1 - m), "logistic": lambda m: np.log1p(np.exp(-m)),
           "squared_hinge": lambda m: np.maximum(0, 1 - m) ** 2}[loss]  # fmt: skip
    conjugate = {
        "hinge": lambda a: -a, "squared_hinge": lambda a: a * a / 4 - a,
        "logistic": lambda a: a * np.log(a) + (1 - a) * np.log(1 - a),
    }[loss]  # fmt: skip
    compared = 0
    for number in range(12):
        w[:5] = (alpha * y) @ X / 60 / (2 * l2)
        margins = y * (X @ w[:5])
        if number:
            true = np.mean(phi(margins) + conjugate(alpha)) + 2 * l2 * w[:5] @ w[:5]
        before = w.copy()
        order = np.random.default_rng(number).permutation(60)
        met = loops.coordinate_epoch(X, y, s, alpha, w, order, **given)
        if number and abs(w - before).max() < 1e-3:
            compared += 1
            assert 0.3 * true - 1e-12 <= met.gap <= 1.3 * true + 1e-12
    assert compared > 1
    assert met.gap < 1e-6


@pytest.mark.parametrize("curvature", [0.0, 1e-9, 0.3, 5.0, 1e4, 1e9])
def test_a_logistic_alpha_answers_the_margin_it_leads_to(curvature):
    rng = np.random.default_rng(0)
    for one_pass in (loops.coordinate_epoch, twins.coordinate_epoch):
        for m in (-800.0, -3.0, 0.0, 0.7, 40.0, 800.0):
            alpha, w = np.round(rng.uniform(size=1)), np.array([m, 0.0])
            X, y = np.ones((1, 1)), np.ones(1)
            for _ in range(8):  # each begins where the last one ended
                one_pass(X, y, Logistic(), alpha, w, np.arange(1), inv_weight_sum=1.0,
                         row_norm2=np.array([1.0]), inv_2l2=curvature)  # fmt: skip
            assert alpha[0] == pytest.approx(-Logistic().slope(w[0]), rel=1e-6, abs=1e-9)


def test_a_row_without_features_goes_to_its_bound():
    for one_pass in (loops.coordinate_epoch, twins.coordinate_epoch):
        alpha, w = np.zeros(2), np.zeros(2)
        one_pass(np.zeros((2, 1)), np.array([1.0, -1.0]), Hinge(), alpha, w, np.arange(2),
                 inv_weight_sum=0.5, row_norm2=np.zeros(2), inv_2l2=1.0)  # fmt: skip
        np.testing.assert_array_equal(alpha, 1.0)


def test_rows_that_do_not_exist_are_refused():
    X, y = rows(0, 10, 2)
    with pytest.raises(ValueError, match="order: expected numbers from 0 to 9"):
        loops.coordinate_epoch(X, y, Hinge(), np.zeros(10), np.zeros(3), np.array([10]),
                               inv_weight_sum=0.1, row_norm2=np.ones(10), inv_2l2=1.0)  # fmt: skip
