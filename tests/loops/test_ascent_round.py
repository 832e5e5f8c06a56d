"""Rounds of epochs, compiled: against the twin, and against the dual from its definition."""

from __future__ import annotations

import numpy as np
import pytest
from dual_problems import KINDS, LOSSES, rows, stored
from loops import twins
from loops.twins import squared_norms
from scipy.special import xlogy

from separatrix import get_loss, loops
from separatrix.losses import Hinge, Logistic

ORDERS = loops.EpochOrders(seed=7, first=3, block_rows=4, blocks_per_group=5)
L2 = {"hinge": 2e-3, "squared_hinge": 1e-4, "logistic": 2e-4}  # at which epochs may crawl
NEG_CONJUGATE = {
    "hinge": lambda alpha: alpha,
    "squared_hinge": lambda alpha: alpha - 0.25 * alpha**2,
    "logistic": lambda alpha: -xlogy(alpha, alpha) - xlogy(1.0 - alpha, 1.0 - alpha),
}


def overlapping_rows(loss):
    """About as many features as rows, fewer for a loss whose dual is curved more by itself."""
    rng, d = np.random.default_rng(2), {"hinge": 150, "squared_hinge": 90, "logistic": 60}[loss]
    X = rng.standard_normal((120, d)) * (rng.random((120, d)) < 0.3)
    y = np.where(X @ rng.standard_normal(d) + 4.0 * rng.standard_normal(120) > 0.0, 1.0, -1.0)
    return X, y, rng.integers(0, 4, 120).astype(float)


def offsets(y):
    """Of either sign, and mostly right."""
    return 0.5 * y + np.random.default_rng(5).standard_normal(len(y))


def given(X, weight, loss="hinge", **others):
    total = len(X) if weight is None else weight.sum()
    return {
        "inv_weight_sum": 1 / total, "row_norm2": (X**2).sum(axis=1), "inv_2l2": 0.5 / L2[loss],
        "weight": weight, "orders": ORDERS, "careful": 6.0, "identified": 1.8,
        "stands_out": 3.0,
    } | others  # fmt: skip


def one_epoch(X, y, loss, alpha, w, active=None, seed=0, one_round=loops.ascent_round, **others):
    """Every active row once, in a random order."""
    numbers = {
        "inv_weight_sum": 1 / len(y), "row_norm2": squared_norms(X), "orders":
        loops.EpochOrders(seed, 0, len(y), 1), "most_epochs": 1, "enough": 0.0, "careful": 1.0,
        "identified": 0.0,
    }  # fmt: skip
    active = np.arange(len(y)) if active is None else active
    return one_round(X, y, loss, alpha, w, active, **numbers | others)


@pytest.mark.parametrize("level", loops.levels())
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_compiled_epoch_with_a_bias_equals_its_twin(level, kind, weighted, loss):
    X, y = rows(9, 80, 7)
    X[np.abs(X) < 0.5] = 0.0
    X[5] = 0.0
    rng = np.random.default_rng(0)
    given = {
        "inv_2l2": 20.0, "bias_inv_penalty": 15.0, "shrink_margin": 0.5,
        "weight": rng.uniform(0, 2, 80) if weighted else None,
    }  # fmt: skip
    now, ends = loops.level(), []
    loops.use_level(level)
    try:
        for one_round in (loops.ascent_round, twins.ascent_round):
            alpha, w, active = np.zeros(80), np.zeros(8), np.arange(80)
            ran = []
            for seed in range(4):
                ran.append(one_epoch(stored(X, kind), y, get_loss(loss), alpha, w, active, seed,
                                      one_round, **given))  # fmt: skip
                active = active[: ran[-1].n_active]
            ends.append((alpha, w, active, ran))
    finally:
        loops.use_level(now)
    for compiled, twin in zip(*ends, strict=True):
        np.testing.assert_allclose(compiled, twin, rtol=1e-9, atol=1e-11)
    assert (len(active) < 80) == (loss != "logistic")


@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_that_an_epoch_finds_is_that_of_its_start(loss):
    """From the definition, where the weights hardly move: alphas as good as 1e-4."""
    X, y = rows(4, 60, 5)
    l2, alpha, w = 0.5, np.zeros(60), np.zeros(6)
    phi = {"hinge": lambda m: np.maximum(0, 1 - m), "logistic": lambda m: np.log1p(np.exp(-m)),
           "squared_hinge": lambda m: np.maximum(0, 1 - m) ** 2}[loss]  # fmt: skip
    compared = 0
    for number in range(12):
        w[:5] = (alpha * y) @ X / 60 / (2 * l2)
        true = np.mean(phi(y * (X @ w[:5])) - NEG_CONJUGATE[loss](alpha)) + 2 * l2 * w[:5] @ w[:5]
        before = w.copy()
        found = one_epoch(X, y, get_loss(loss), alpha, w, seed=number, inv_2l2=0.5 / l2)
        if abs(w - before).max() < 1e-3:
            compared += 1
            assert 0.3 * true - 1e-12 <= found.gap <= 1.3 * true + 1e-12
    assert compared > 1
    assert found.gap < 1e-6


@pytest.mark.parametrize("curvature", [0.0, 1e-9, 0.3, 5.0, 1e4, 1e9])
@pytest.mark.parametrize("one_round", [loops.ascent_round, twins.ascent_round])
def test_a_logistic_alpha_answers_the_margin_it_leads_to(curvature, one_round):
    rng = np.random.default_rng(0)
    for m in (-800.0, -3.0, 0.0, 0.7, 40.0, 800.0):
        alpha, w = np.round(rng.uniform(size=1)), np.array([m, 0.0])
        for _ in range(8):  # each begins where the last one ended
            with np.errstate(divide="ignore", invalid="ignore"):
                one_epoch(np.ones((1, 1)), np.ones(1), Logistic(), alpha, w, inv_2l2=curvature,
                          one_round=one_round)  # fmt: skip
        assert alpha[0] == pytest.approx(-Logistic().slope(w[0]), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("one_round", [loops.ascent_round, twins.ascent_round])
def test_a_row_without_features_goes_to_its_bound(one_round):
    alpha, w = np.zeros(2), np.zeros(2)
    one_epoch(np.zeros((2, 1)), np.array([1.0, -1.0]), Hinge(), alpha, w, inv_2l2=1.0,
              one_round=one_round)  # fmt: skip
    np.testing.assert_array_equal(alpha, 1.0)


def test_rows_that_do_not_exist_are_refused():
    X, y = rows(0, 10, 2)
    with pytest.raises(ValueError, match="active: expected numbers from 0 to 9"):
        one_epoch(X, y, Hinge(), np.zeros(10), np.zeros(3), np.array([10]), inv_2l2=1.0)


@pytest.mark.sampled
@pytest.mark.parametrize("level", loops.levels())
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("with_offset", [False, True])
def test_the_compiled_round_equals_its_twin(level, kind, weighted, loss, with_offset):
    X, y, weight = overlapping_rows(loss)
    if kind.endswith("32"):
        X = X.astype(np.float32).astype(np.float64)
    offset = offsets(y) if with_offset else None
    numbers = given(X, weight if weighted else None, loss, most_epochs=25, enough=1e-6)
    now, ends = loops.level(), []
    loops.use_level(level)
    try:
        for one_round in (loops.ascent_round, twins.ascent_round):
            alpha, w, active = np.zeros(120), np.zeros(X.shape[1] + 1), np.arange(120)
            history = loops.StepHistory(np.zeros((2, 120)), np.zeros((2, len(w))))
            found = one_round(
                stored(X, kind), y, get_loss(loss), alpha, w, active, history=history,
                offset=offset, **numbers,
            )  # fmt: skip
            ends.append((alpha, w, active[: found.n_active], found, history))
    finally:
        loops.use_level(now)
    for compiled, twin in zip(ends[0][:3], ends[1][:3], strict=True):
        np.testing.assert_allclose(compiled, twin, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ends[0][3], ends[1][3], rtol=1e-5, atol=1e-9)
    if (loss != "squared_hinge" or not weighted) and not with_offset:
        assert ends[0][4].alphas.any()
    if ends[0][4].alphas.any():
        np.testing.assert_allclose(ends[0][4].weights, ends[1][4].weights, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("with_offset", [False, True])
def test_steps_in_a_subspace_only_climb_and_weights_follow_the_alphas(
    kind, weighted, loss, with_offset
):
    """Epoch by epoch, against the dual from its definition."""
    X, y, weight = overlapping_rows(loss)
    offset = offsets(y) if with_offset else None
    own = y * (0.0 if offset is None else offset)
    c = (weight if weighted else np.ones(120)) / (weight.sum() if weighted else 120)
    epochs, l2, steps = {}, L2[loss], 0
    for helped in (True, False):
        alpha, w, active = np.zeros(120), np.zeros(X.shape[1] + 1), np.arange(120)
        heights, found = [0.0], None
        history = loops.StepHistory(np.zeros((2, 120)), np.zeros((2, len(w)))) if helped else None
        numbers = given(X, weight if weighted else None, loss, most_epochs=2, enough=0.0)
        while len(heights) < 200 and (found is None or found.gap > 1e-7):
            numbers["orders"] = ORDERS._replace(first=2 * len(heights))
            found = loops.ascent_round(
                stored(X, kind), y, get_loss(loss), alpha, w, active, history=history,
                offset=offset, **numbers, gap=np.inf if found is None else found.gap,
            )  # fmt: skip
            active = active[: found.n_active].copy()
            pull = (c * alpha * y) @ X
            np.testing.assert_allclose(w[:-1], pull / (2 * l2), atol=1e-9)
            assert np.all((alpha >= 0.0) & ((alpha <= 1.0) | (loss == "squared_hinge")))
            gains = NEG_CONJUGATE[loss](alpha) - alpha * own
            heights.append(c @ gains - pull @ pull / (4 * l2))
            steps += helped and history.alphas.any()
        assert np.all(np.diff(heights) >= -1e-14)
        epochs[helped] = len(heights)
    assert epochs[False] < 200
    assert steps > 0
    assert epochs[True] < epochs[False] or loss != "logistic"


def test_a_round_ends_when_its_gap_is_enough_or_its_epochs_are_spent():
    X, y = rows(4, 60, 5)
    numbers = {
        "inv_weight_sum": 1 / 60, "row_norm2": squared_norms(X), "inv_2l2": 1.0, "orders": ORDERS,
        "careful": 6.0, "identified": 1.8,
    }  # fmt: skip

    def run(most, enough):
        loss = get_loss("squared_hinge")
        return loops.ascent_round(
            X, y, loss, np.zeros(60), np.zeros(6), np.arange(60), most_epochs=most, enough=enough,
            **numbers,
        )  # fmt: skip

    short, long = run(2, 0.0), run(50, 1e-6)
    assert (short.epochs, short.reached) == (2, False)
    assert long.reached
    assert 2 < long.epochs < 50
    assert long.gap < short.gap


@pytest.mark.parametrize("weighted", [True, False])
def test_a_round_of_the_logistic_loss_ends_where_the_penalty_is_weak(weighted):
    """The dual is then far below 1: by definition the end is a gap that is small next to it."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((50, 400)) / 20.0
    y = np.sign(rng.standard_normal(50))
    weight = rng.uniform(0.5, 2.0, 50) if weighted else None
    c, l2 = (weight / weight.sum() if weighted else np.full(50, 0.02)), 1e-5
    alpha, w = np.zeros(50), np.zeros(401)
    found = loops.ascent_round(
        X, y, get_loss("logistic"), alpha, w, np.arange(50), weight=weight, orders=ORDERS,
        inv_weight_sum=1 / 50 if weight is None else 1 / weight.sum(), careful=6.0, identified=1.8,
        row_norm2=(X**2).sum(axis=1), inv_2l2=0.5 / l2, most_epochs=60, enough=1e-3,
    )  # fmt: skip
    assert found.reached
    assert found.epochs < 60
    penalty = l2 * w @ w
    J = c @ np.log1p(np.exp(-y * (X @ w[:-1]))) + penalty
    D = -c @ (alpha * np.log(alpha) + (1 - alpha) * np.log1p(-alpha)) - penalty
    assert 0.0 < D < 0.1
    assert 0.0 <= J - D <= 3e-3 * J


def test_wrong_arrays_are_refused():
    X, y = rows(0, 10, 2)
    numbers = {
        "inv_weight_sum": 0.1, "row_norm2": squared_norms(X), "inv_2l2": 1.0, "orders": ORDERS,
        "careful": 6.0, "identified": 1.8, "most_epochs": 1, "enough": 0.0,
    }  # fmt: skip
    for active in ([10], [-1], [1, 1], [2, 1]):
        with pytest.raises(ValueError, match="active"):
            loops.ascent_round(
                X, y, Hinge(), np.zeros(10), np.zeros(3), np.array(active), **numbers
            )
    short = loops.StepHistory(np.zeros((2, 9)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="step_history"):
        loops.ascent_round(
            X, y, Hinge(), np.zeros(10), np.zeros(3), np.arange(10), history=short, **numbers
        )


def test_a_stop_asked_for_ends_the_round():
    X, y = rows(0, 2000, 5)
    numbers = {
        "inv_weight_sum": 1 / 2000, "row_norm2": squared_norms(X), "inv_2l2": 10.0,
        "orders": ORDERS, "careful": 6.0, "identified": 1.8, "most_epochs": 9, "enough": 0.0,
    }  # fmt: skip
    loops.request_stop()
    try:
        for one_round in (loops.ascent_round, twins.ascent_round):
            with pytest.raises(loops.Interrupted):
                one_round(X, y, Hinge(), np.zeros(2000), np.zeros(6), np.arange(2000), **numbers)
    finally:
        loops.clear_stop()


def few_long_rows():
    """Most are short and hardly know of each other; a few are long, and crawl."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 100)) * (rng.random((300, 100)) < 0.05)
    X[:15] = 3.0 * rng.standard_normal((15, 100))
    return X, np.where(rng.random(300) < 0.5, 1.0, -1.0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loss", LOSSES)
def test_rows_that_hold_the_gap_come_again_and_save_visits(loss):
    """Against epochs over all rows, by the height of the dual from its definition."""
    (X, y), l2 = few_long_rows(), 1e-2 if loss == "hinge" else 1e-3
    numbers = given(X, None, loss, most_epochs=100, enough=1e-4, inv_2l2=0.5 / l2)

    def height(alpha):
        pull = alpha * y @ X / 300
        return NEG_CONJUGATE[loss](alpha).mean() - pull @ pull / (4 * l2)

    ends = []
    for one_round in (loops.ascent_round, twins.ascent_round):
        alpha, w = np.zeros(300), np.zeros(101)
        found = one_round(X, y, get_loss(loss), alpha, w, np.arange(300), **numbers)
        assert found.reached
        ends.append((found.visits, height(alpha)))
    visits, reached = ends[0]
    assert visits == ends[1][0]
    assert reached == pytest.approx(ends[1][1], rel=1e-9)
    alpha, w, without = np.zeros(300), np.zeros(101), 0
    while height(alpha) < reached * (1.0 - 1e-7):
        one_epoch(X, y, get_loss(loss), alpha, w, seed=without, inv_2l2=numbers["inv_2l2"])
        without += 300
        assert without < 300_000
    assert visits < 0.8 * without


def test_alphas_out_of_their_bounds_do_not_make_rows_come_again_without_limit():
    """As from a checkpoint: a negative part of the gap lets nearly all rows stand out from it."""
    n = 300
    alpha, w, active = np.zeros(n), np.zeros(2), np.arange(n)
    alpha[0] = n - 0.5  # all parts are 1 / n, but for this one: the gap is 0.5 / n
    found = loops.ascent_round(
        np.zeros((n, 1)), np.ones(n), get_loss("hinge"), alpha, w, active, inv_weight_sum=1 / n,
        row_norm2=np.zeros(n), inv_2l2=1.0, orders=loops.EpochOrders(1, 0, n, 1), most_epochs=1,
        enough=0.0, careful=1.0, identified=0.0, stands_out=3.0, gap=0.5 / n,
    )  # fmt: skip
    assert found.visits == n
    np.testing.assert_array_equal(active, np.arange(n))
