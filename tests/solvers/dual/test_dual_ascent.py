"""DualAscent and the bounds for losses with kinks, against solvers that share nothing with them."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import LinearConstraint, minimize
from sklearn.svm import SVC, LinearSVC

from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    DualAscent,
    GradientDescent,
    MarginLoss,
    Newton,
    Objective,
    Source,
    get_loss,
    loops,
)
from separatrix.losses import Hinge, Logistic, SquaredHinge
from separatrix.numeric.rows import CsrRows, row_products, squared_norms, to_dense
from separatrix.solvers import thresholds
from separatrix.solvers.dual.bounds import nonsmooth_lower_bound
from separatrix.solvers.dual.coordinate_ascent import CoordinateAscentRun
from separatrix.solvers.dual.losses import BinaryDualLoss, dual_loss_of, project_to_simplex
from separatrix.training.gap import provable

LOSSES = ["hinge", "squared_hinge", "logistic"]
KINDS = ["dense", "float32", "csr", "csr_long"]
SCALES = np.logspace(-2, 2, 5)


def stored(X, kind):
    if not kind.startswith("csr"):
        return X.astype(np.float32) if kind == "float32" else np.ascontiguousarray(X)
    S = sp.csr_array(X)
    index = np.int64 if kind == "csr_long" else np.int32
    return CsrRows(S.data, S.indices.astype(index), S.indptr.astype(index), X.shape[1])


def problem(X, y, loss="hinge", l2=1e-2, weight=None, intercept=True, kind="dense", n_jobs=1):
    k = 2 if y.dtype == float else int(y.max()) + 1
    loss = get_loss(loss) if k == 2 else get_loss(loss).multiclass()
    source = ArraySource(stored(X, kind), y, np.arange(k), weight, n_jobs)
    return Objective(loss, L2(l2), source, intercept)


def rows(seed, n=60, d=4, k=2, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal((d, k)) + noise * rng.standard_normal((n, k))).argmax(axis=1)
    y[:k] = np.arange(k)
    return X, np.where(y == 1, 1.0, -1.0) if k == 2 else y


def climb(objective, tol=1e-9, most=200, solver=None, start=None):
    start = np.zeros(objective.shape) if start is None else start
    run = (solver or DualAscent()).steps(objective, start, np.random.default_rng(0))
    before = 0.0
    for step in islice(run, most):
        assert before <= step.lower_bound <= step.objective
        before = step.lower_bound
        if step.objective - step.lower_bound <= tol * step.objective:
            return step
    gap = (step.objective - step.lower_bound) / step.objective
    raise AssertionError(f"gap {gap} after {most} steps")


def exact(objective):
    """The minimum of J with slack variables in place of kinks, by a solver for any program."""
    X, y = to_dense(objective.source.X), objective.source.y
    n, d = X.shape
    k = objective.shape[0]
    c = np.ones(n) if objective.source.weight is None else objective.source.weight
    W = k * (d + 1)

    def value(z):
        w = z[:W].reshape(k, d + 1)
        return c @ z[W:] / c.sum() + objective.penalty.l2 * np.sum(w[:, :-1] ** 2)

    def slope(z):
        w = z[:W].reshape(k, d + 1).copy()
        w[:, -1] = 0.0
        return np.concatenate([2 * objective.penalty.l2 * w.ravel(), c / c.sum()])

    Z = np.column_stack([X, np.full(n, float(objective.intercept))])
    if k == 1:
        A, low = np.column_stack([y[:, None] * Z, np.eye(n)]), np.ones(n)
    else:
        blocks = []
        for r in range(k):  # slack_i + s_own - s_r >= [r != own]
            block = np.zeros((n, k, d + 1))
            block[np.arange(n), y] += Z
            block[:, r] -= Z
            blocks.append(np.column_stack([block.reshape(n, W), np.eye(n)]))
        A, low = np.concatenate(blocks), np.concatenate([(y != r).astype(float) for r in range(k)])
    start = np.concatenate([np.zeros(W), np.ones(n)])
    bounds = [(None, None)] * W + [(0, None)] * n
    result = minimize(
        value, start, jac=slope, method="SLSQP", bounds=bounds,
        constraints=LinearConstraint(A, low, np.inf), options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert result.success
    return result.fun


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_is_that_of_a_general_program(seed, k, intercept):
    X, y = rows(seed, 25, 2, k)
    weight = np.random.default_rng(seed).integers(0, 3, 25).astype(float)
    weight[:3] = 1.0
    objective = problem(X, y, l2=0.05, weight=weight, intercept=intercept)
    step = climb(objective)
    least = exact(objective)
    assert step.objective == pytest.approx(least, rel=1e-6)
    assert step.lower_bound <= least * (1 + 1e-6)
    assert nonsmooth_lower_bound(objective, step.weights).lower_bound == pytest.approx(
        step.objective, rel=1e-8
    )


@pytest.mark.parametrize("l2", [1e-6, 1e-3, 1e-1])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "case", ["scales", "separable", "overlap", "duplicates", "rank", "wide", "constant", "weights"]
)
def test_the_gap_closes_on_any_data(case, loss, l2):
    X, y = rows(3, 200, 5, noise={"separable": 0.0, "overlap": 10.0}.get(case, 1.0))
    weight = None
    if case == "scales":
        X = X * SCALES
    elif case == "duplicates":
        X, y = np.repeat(X[:20], 10, axis=0), np.repeat(y[:20], 10)
    elif case == "rank":
        X = np.column_stack([X, 2 * X[:, :3], X.sum(axis=1)])
    elif case == "wide":
        X, y = np.random.default_rng(0).standard_normal((30, 100)), y[:30]
    elif case == "constant":
        X = np.column_stack([X, np.full(200, 3.0), np.zeros(200)])
    elif case == "weights":
        weight = 10.0 ** np.random.default_rng(0).uniform(-4, 4, 200)
    for intercept, kind in ((True, "dense"), (False, "csr")):
        objective = problem(X, y, loss, l2, weight, intercept, kind)
        step = climb(objective)
        assert step.objective == pytest.approx(objective.value(step.weights)[0], rel=1e-13)
        assert step.mistakes == pytest.approx(objective.value(step.weights)[1], rel=1e-13)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("l2", [1e-6, 1e-3, 1e-1])
@pytest.mark.parametrize("scales", [1.0, SCALES])
def test_the_gap_closes_for_more_classes(scales, l2, intercept):
    X, y = rows(5, 200, 5, 4)
    step = climb(problem(X * scales, y, l2=l2, intercept=intercept))
    np.testing.assert_allclose(step.weights[:, :-1].sum(axis=0), 0.0, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_hold_wherever_the_weights_are(loss):
    rng = np.random.default_rng(0)
    for seed in range(12):
        k = 3 if loss == "hinge" and seed % 2 else 2
        X, y = rows(seed, 40, 3, k, noise=rng.uniform(0, 5))
        X = X * 10.0 ** rng.uniform(-2, 2, 3) + rng.uniform(-3, 3)
        weight = None if seed % 3 else 10.0 ** rng.uniform(-2, 2, 40)
        l2 = 10.0 ** rng.uniform(-6, 0)
        objective = problem(X, y, loss, l2, weight, bool(seed % 4), KINDS[seed % 4])
        least = climb(objective).objective
        for size in (0.0, 0.1, 10.0):
            W = size * rng.standard_normal(objective.shape)
            if not objective.intercept:
                W[:, -1] = 0.0
            assert 0.0 <= nonsmooth_lower_bound(objective, W).lower_bound <= least * (1 + 1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_a_nonsmooth_lower_bound_the_minimum_needs_only_rows_near_a_kink(k, monkeypatch):
    X, y = rows(0, 3000, 4, k)
    objective = problem(X * SCALES[:4], y, l2=1e-4)
    step = climb(objective, 1e-11)
    monkeypatch.setattr("separatrix.solvers.dual.bounds.NEAR_KINK", 300)
    bounds = [nonsmooth_lower_bound(objective, step.weights).lower_bound for _ in range(2)]
    assert bounds[0] == bounds[1]
    assert step.objective * (1 - 1e-9) <= bounds[0] <= step.objective * (1 + 1e-13)
    assert 0.0 <= nonsmooth_lower_bound(objective, 0.0 * step.weights).lower_bound <= step.objective
    slack = nonsmooth_lower_bound(objective, 1.001 * step.weights).lower_bound
    assert step.objective * (1 - 1e-2) <= slack <= step.objective * (1 + 1e-13)


def test_no_bound_is_told_where_none_is_known():
    X, y = rows(0)
    for loss, l2 in (("hinge", 0.0), ("perceptron", 0.1), ("tanh_squared", 0.1)):
        assert not provable(problem(X, y, loss, l2))
    objective = problem(X, y)
    assert provable(objective)
    assert nonsmooth_lower_bound(objective, np.full(objective.shape, np.inf)).lower_bound == 0.0


def test_it_agrees_with_scikit_learn():
    X, y = rows(1, 150, 4)
    l2 = 1e-3
    C = 1 / (2 * l2 * len(y))
    svc = SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
    step = climb(problem(X, y, l2=l2))
    np.testing.assert_allclose(step.weights[0], np.append(svc.coef_, svc.intercept_), rtol=1e-4)
    plain = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**6).fit(X, y)
    step = climb(problem(X, y, l2=l2, intercept=False))
    np.testing.assert_allclose(step.weights[0, :-1], plain.coef_[0], rtol=1e-4)


def test_smooth_losses_end_where_newton_does():
    X, y = rows(2)
    for loss in ("squared_hinge", "logistic"):
        objective = problem(X, y, loss)
        newton = list(islice(Newton().steps(objective, np.zeros(objective.shape), None), 20))[-1]
        np.testing.assert_allclose(climb(objective, 1e-12).weights, newton.weights, rtol=1e-5)


@pytest.mark.parametrize("k", [2, 3])
def test_a_row_of_weight_two_is_the_row_twice_and_of_weight_zero_absent(k):
    X, y = rows(4, 50, 3, k)
    weight = np.random.default_rng(1).integers(0, 3, 50)
    weight[:3] = 2
    huge = X.copy()
    huge[weight == 0] = 1e4
    weighted = climb(problem(huge, y, weight=weight.astype(float)), 1e-10)
    again = np.repeat(np.arange(50), weight)
    repeated = climb(problem(X[again], y[again]), 1e-10)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)
    np.testing.assert_allclose(weighted.weights[:, :-1], repeated.weights[:, :-1], rtol=1e-4,
                               atol=1e-7)  # fmt: skip


def test_one_row_per_class_and_a_start_elsewhere():
    objective = problem(np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), l2=1e-3)
    step = climb(objective, 1e-12)
    np.testing.assert_allclose(step.weights, [[2.0, -1.0]], rtol=1e-6)
    X, y = rows(0)
    objective = problem(X, y)
    far = climb(objective, start=np.full(objective.shape, 50.0))
    assert far.objective == pytest.approx(climb(objective).objective, rel=1e-9)


def test_threads_do_not_change_the_bits(monkeypatch):
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_BYTES", 1000)
    X, y = rows(0, 400, 5)
    runs = []
    for n_jobs in (1, 3):
        objective = problem(X, y, n_jobs=n_jobs)
        runs.append(
            [
                climb(objective).weights,
                nonsmooth_lower_bound(objective, np.zeros(objective.shape)).lower_bound,
            ]
        )
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]


# ---- where systems are too large ------------------------------------------------------------


@pytest.fixture
def small_systems(monkeypatch):
    monkeypatch.setattr(thresholds, "FACTORED_UNKNOWNS", 4)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l2", [1e-4, 1e-2])
@pytest.mark.parametrize("loss", LOSSES)
def test_single_alphas_reach_the_same_minimum(
    kind, loss, l2, intercept, small_systems, monkeypatch
):
    X, y = rows(6, 120, 8)
    X[np.abs(X) < 0.4] = 0.0
    X[7] = 0.0
    weight = np.random.default_rng(0).integers(0, 4, 120).astype(float)
    objective = problem(X, y, loss, l2, weight, intercept, kind)
    step = climb(objective, 1e-8, 400)
    if loss == "hinge":
        phase = "coordinate ascent" if l2 > 1e-3 else "proximal point"  # where they crawl
        assert step.state["phase"] == phase
    assert step.objective == pytest.approx(objective.value(step.weights)[0], rel=1e-12)
    assert step.mistakes == objective.value(step.weights)[1]
    monkeypatch.setattr(thresholds, "FACTORED_UNKNOWNS", 1500)
    other = climb(objective, 1e-10)
    assert step.objective == pytest.approx(other.objective, rel=1e-8)
    assert step.lower_bound <= other.objective


@pytest.mark.parametrize("k", [2, 3])
def test_products_reach_the_same_minimum(k, small_systems, monkeypatch):
    X, y = rows(7, 150, 6, k)
    loss = "logistic" if k == 2 else "hinge"
    objective = problem(X, y, loss, kind="csr")
    step = climb(objective, 1e-7, 400)
    monkeypatch.setattr(thresholds, "FACTORED_UNKNOWNS", 1500)
    assert step.objective == pytest.approx(climb(objective).objective, rel=1e-7)


@pytest.mark.parametrize("stop", [1, 4, 11])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("large", [False, True])
def test_going_on_from_a_state_gives_the_same_bits(large, k, stop, request):
    if large:
        request.getfixturevalue("small_systems")
    objective = problem(*rows(8, 90, 6, k), l2=1e-4)
    start = np.zeros(objective.shape)
    whole = list(islice(DualAscent().steps(objective, start, np.random.default_rng(1)), 16))
    if large and k == 2:
        assert whole[9].state["phase"] == "coordinate ascent"
        assert whole[-1].state["phase"] == "proximal point"
        assert whole[-1].state["ran"] == "coordinate ascent, then proximal point"
    state = whole[stop - 1].state
    kept = {name: np.copy(value) for name, value in state.items()}
    rest = islice(DualAscent().steps(objective, start, np.random.default_rng(2), state), 16 - stop)
    for expected, step in zip(whole[stop:], rest, strict=True):
        np.testing.assert_array_equal(step.weights, expected.weights)
        assert (step.objective, step.lower_bound) == (expected.objective, expected.lower_bound)
    for name, value in kept.items():
        np.testing.assert_array_equal(state[name], value)


def test_the_best_bias_is_the_best_of_all_turns():
    rng = np.random.default_rng(0)
    dual_loss = BinaryDualLoss(Hinge())
    for _ in range(50):
        n = int(rng.integers(1, 12))
        y, scores = rng.choice([-1.0, 1.0], n), np.round(rng.standard_normal(n), 1)
        weight = rng.integers(1, 4, n).astype(float)
        values = [weight @ np.maximum(0, 1 - y * (scores + b)) for b in y - scores]
        found = weight @ np.maximum(0, 1 - y * (scores + dual_loss.best_bias(y, scores, weight)))
        assert found == pytest.approx(min(values), abs=1e-12)


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge()])
def test_the_best_bias_of_a_smooth_loss_has_no_slope(loss):
    rng = np.random.default_rng(0)
    dual_loss = BinaryDualLoss(loss)
    for size in (1e-3, 1.0, 30.0):
        y, scores = np.append(rng.choice([-1.0, 1.0], 40), [-1, 1]), size * rng.standard_normal(42)
        weight = rng.uniform(0, 2, 42)
        m = y * (scores + dual_loss.best_bias(y, scores, weight))
        assert (weight * y) @ loss.slope(m) == pytest.approx(0.0, abs=1e-9)
    one_side = dual_loss.best_bias(np.ones(3), np.zeros(3), None)
    assert np.isfinite(one_side)
    assert one_side >= 0.0


# ---- the loop -------------------------------------------------------------------------------


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
        for one_pass in (loops.coordinate_epoch, loops.coordinate_epoch_twin):
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


@pytest.mark.parametrize("curvature", [0.0, 1e-9, 0.3, 5.0, 1e4, 1e9])
def test_a_logistic_alpha_answers_the_margin_it_leads_to(curvature):
    rng = np.random.default_rng(0)
    for one_pass in (loops.coordinate_epoch, loops.coordinate_epoch_twin):
        for m in (-800.0, -3.0, 0.0, 0.7, 40.0, 800.0):
            alpha, w = np.round(rng.uniform(size=1)), np.array([m, 0.0])
            X, y = np.ones((1, 1)), np.ones(1)
            for _ in range(8):  # each begins where the last one ended
                one_pass(X, y, Logistic(), alpha, w, np.arange(1), inv_weight_sum=1.0,
                         row_norm2=np.array([1.0]), inv_2l2=curvature)  # fmt: skip
            assert alpha[0] == pytest.approx(-Logistic().slope(w[0]), rel=1e-6, abs=1e-9)


def test_a_row_without_features_goes_to_its_bound():
    for one_pass in (loops.coordinate_epoch, loops.coordinate_epoch_twin):
        alpha, w = np.zeros(2), np.zeros(2)
        one_pass(np.zeros((2, 1)), np.array([1.0, -1.0]), Hinge(), alpha, w, np.arange(2),
                 inv_weight_sum=0.5, row_norm2=np.zeros(2), inv_2l2=1.0)  # fmt: skip
        np.testing.assert_array_equal(alpha, 1.0)


def test_a_stop_asked_for_ends_the_pass(small_systems):
    X, y = rows(0, 2000, 5)
    given = {"inv_weight_sum": 1 / 2000, "row_norm2": squared_norms(X), "inv_2l2": 10.0}
    loops.request_stop()
    try:
        for one_pass in (loops.coordinate_epoch, loops.coordinate_epoch_twin):
            with pytest.raises(loops.Interrupted):
                one_pass(X, y, Hinge(), np.zeros(2000), np.zeros(6), np.arange(2000), **given)
        with pytest.raises(loops.Interrupted):
            climb(problem(X, y))
    finally:
        loops.clear_stop()


def test_rows_that_do_not_exist_are_refused():
    X, y = rows(0, 10, 2)
    with pytest.raises(ValueError, match="no such row"):
        loops.coordinate_epoch(X, y, Hinge(), np.zeros(10), np.zeros(3), np.array([10]),
                               inv_weight_sum=0.1, row_norm2=np.ones(10), inv_2l2=1.0)  # fmt: skip


# ---- pieces ---------------------------------------------------------------------------------


def test_the_projection_is_the_nearest_point_of_the_simplex():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((200, 4)) * 10.0 ** rng.uniform(-3, 8, (200, 1))
    nearest = project_to_simplex(points)
    assert nearest.min() >= 0.0
    np.testing.assert_allclose(nearest.sum(axis=1), 1.0, rtol=1e-14)
    # No corner lies on the far side: (point - nearest).(corner - nearest) <= 0 for all of them.
    away = points - nearest
    lead = away.max(axis=1) - np.sum(away * nearest, axis=1)
    assert np.all(lead <= 1e-14 * (1.0 + np.abs(points).max(axis=1)))


@pytest.mark.parametrize("kind", KINDS)
def test_products_and_norms_of_rows(kind):
    X = np.round(rows(0, 12, 5)[0], 1)
    X[X < 0.3] = 0.0
    held = stored(X, kind)
    np.testing.assert_allclose(row_products(held), X @ X.T, atol=1e-6)
    np.testing.assert_allclose(squared_norms(held), (X**2).sum(axis=1), rtol=1e-6)


def test_a_response_is_the_slope_of_what_it_smooths():
    X, y = rows(0, 30, 3, 3)
    objective = problem(X, y)
    rng = np.random.default_rng(0)
    dual_loss = dual_loss_of(objective)
    scores, change = rng.standard_normal((2, 30, 3))
    center = project_to_simplex(rng.standard_normal((30, 3)))

    def value(t):
        s = scores + t * change
        alpha = dual_loss.alpha(y, s, center, 0.7)
        return dual_loss.value(y, s, alpha, center, 0.7)

    h = 1e-6
    slope = -np.sum(
        dual_loss.neg_slope(y, dual_loss.alpha(y, scores, center, 0.7)) * change, axis=1
    )
    np.testing.assert_allclose((value(h) - value(-h)) / (2 * h), slope, atol=1e-5)


# ---- refusals -------------------------------------------------------------------------------


class Mine(Hinge):
    """Somebody's own, which may compute otherwise."""


class Elsewhere(Source):
    """Rows that are not in memory."""

    n_rows, weight_sum, n_features, classes = 2, 2.0, 1, np.arange(2)

    def blocks(self):
        raise NotImplementedError


def test_what_cannot_work_is_refused_with_a_remedy():
    X, y = rows(0)
    three = rows(0, k=3)
    for objective, message in (
        (problem(X, y, l2=0.0), "needs l2 > 0.*GradientDescent"),
        (problem(X, y, "perceptron"), r"not of 'perceptron'; use GradientDescent\(batch_size=1\)"),
        (problem(X, y, "squared"), r"not of 'squared'; use LBFGS"),
        (problem(*three, "logistic"), "not of 'logistic' for 3 classes; use LBFGS"),
        (problem(*three, "squared_hinge"), "not of 'squared_hinge' for 3 classes; use LBFGS"),
        (Objective(Mine(), L2(0.1), problem(X, y).source), "not of Mine.*GradientDescent"),
        (Objective(Hinge(), L2(0.1), Elsewhere()), "rows in memory.*GradientDescent"),
    ):
        with pytest.raises(ValueError, match=message):
            DualAscent().check(objective)
    assert issubclass(Mine, MarginLoss)
    for loss in LOSSES:
        DualAscent().check(problem(X, y, loss))
    DualAscent().check(problem(*three))


def test_auto_takes_it_for_the_hinge_with_a_penalty():
    from separatrix.solvers import choose

    X, y = rows(0)
    for chosen in (choose(problem(X, y)), choose(problem(*rows(0, k=3)))):
        assert type(chosen) is DualAscent
        assert "dual" in chosen.reason
    assert type(choose(problem(X, y, "perceptron"))) is GradientDescent


def test_auto_takes_it_for_long_sparse_rows_where_single_alphas_are_ahead():
    from separatrix.solvers import choose

    rng = np.random.default_rng(0)
    X = sp.random_array((1600, 1600), density=0.04, rng=rng, format="csr", dtype=np.float64)
    y = np.where(rng.random(1600) < 0.5, -1.0, 1.0)
    square = float((X**2).sum()) / 1600
    held = CsrRows(X.data, X.indices, X.indptr, 1600)

    def chosen(loss, curvature, intercept=False, rows=held):
        l2 = get_loss(loss).max_curvature * square / (2 * 1600 * curvature)
        return type(choose(Objective(get_loss(loss), L2(l2), source(rows), intercept)))

    def source(rows):
        return ArraySource(rows, y, np.arange(2))

    for loss in ("logistic", "squared_hinge"):
        assert chosen(loss, 1.0) is DualAscent
        assert chosen(loss, 0.01) is chosen(loss, 10.0) is LBFGS
        assert chosen(loss, 1.0, intercept=True) is chosen(loss, 1.0, rows=to_dense(held)) is LBFGS
    wide = sp.random_array((1600, 6400), density=0.01, rng=rng, format="csr", dtype=np.float64)
    wide = CsrRows(wide.data, wide.indices, wide.indptr, 6400)
    assert chosen("logistic", 100.0, rows=wide) is chosen("logistic", 1.0, rows=wide) is DualAscent
    assert chosen("logistic", 100.0, True, wide) is chosen("squared_hinge", 2.0, True, wide)
    assert chosen("logistic", 2.0, True, wide) is DualAscent
    assert chosen("logistic", 0.5, True, wide) is LBFGS  # gradients need few reads too
    wider = sp.random_array((1600, 16000), density=0.004, rng=rng, format="csr", dtype=np.float64)
    wider = CsrRows(wider.data, wider.indices, wider.indptr, 16000)
    assert chosen("logistic", 0.5, True, wider) is DualAscent
    assert chosen("logistic", 0.1, True, wider) is LBFGS
    alike = sp.random_array((1600, 6400), density=0.01, rng=rng, format="lil", dtype=np.float64)
    alike[:, 0] = 5.0
    alike = alike.tocsr()
    alike = CsrRows(alike.data, alike.indices, alike.indptr, 6400)
    assert chosen("logistic", 2.0, True, alike) is LBFGS
    short = X[:, :300]
    short.resize((1600, 1600))
    few = CsrRows(short.data, short.indices, short.indptr, 1600)
    assert chosen("logistic", 1.0, rows=few) is LBFGS


@pytest.mark.parametrize("intercept", [True, False])
def test_single_alphas_are_climbed_alike_on_any_threads(intercept, small_systems, monkeypatch):
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_BYTES", 1 << 12)
    X, y = rows(3, 300, 8)
    X[np.abs(X) < 0.6] = 0.0
    for loss in LOSSES:
        ends = [
            climb(problem(X, y, loss, 1e-3, None, intercept, "csr", jobs), 1e-7)
            for jobs in (1, 2, 3)
        ]
        for end in ends[1:]:
            np.testing.assert_array_equal(end.weights, ends[0].weights)
            assert end.lower_bound == ends[0].lower_bound


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("weighted", [True, False])
def test_planes_only_climb_and_weights_follow_the_alphas(kind, weighted, small_systems):
    """Each step after a pass, against the dual from its definition, of more features than rows."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 150)) * (rng.random((120, 150)) < 0.3)
    y = np.where(X @ rng.standard_normal(150) + 4.0 * rng.standard_normal(120) > 0.0, 1.0, -1.0)
    weight = rng.integers(0, 4, 120).astype(float) if weighted else None
    objective = problem(X, y, "hinge", 2e-3, weight, False, kind)
    c = (np.ones(120) if weight is None else weight) / objective.source.weight_sum
    at = CoordinateAscentRun(objective, dual_loss_of(objective), np.zeros(120), seed=7)
    heights, subspace_step = [], at._subspace_step

    def dual():
        pull = (c * at.alpha * y) @ X
        np.testing.assert_allclose(at.W[0, :-1], pull / (2 * 2e-3), atol=1e-9)
        assert np.all((at.alpha >= 0.0) & (at.alpha <= 1.0))
        return c @ at.alpha - pull @ pull / (4 * 2e-3)

    def watched(*given):
        before = dual()
        there = subspace_step(*given)
        heights.append((before, dual()))
        return there

    at._subspace_step = watched
    while at.subspace and at.rounds < 9:
        at.round()
    assert len(heights) > 10
    before, after = np.transpose(heights)
    assert np.all(after >= before - 1e-14)
    assert np.mean(after > before) > 0.5
    assert at.gaps[-1] < 1e-5 * at.lowest
    assert climb(objective, 1e-12).objective == pytest.approx(at.lowest, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squared_norms_in_pieces(dtype, monkeypatch):
    X = sp.random_array((40, 7), density=0.3, rng=np.random.default_rng(5), dtype=dtype).tocsr()
    X = sp.vstack([sp.csr_array((3, 7), dtype=dtype), X, sp.csr_array((2, 7), dtype=dtype)]).tocsr()
    held = CsrRows(X.data, X.indices, X.indptr[2:], X.shape[1])  # a block of a larger matrix
    expected = (X[2:].toarray().astype(np.float64) ** 2).sum(axis=1)
    for copied in (1, 10, 1 << 17):
        monkeypatch.setattr("separatrix.numeric.rows.COPIED", copied)
        np.testing.assert_allclose(squared_norms(held), expected, rtol=1e-12)
    none = CsrRows(X.data, X.indices, X.indptr[:3], X.shape[1])
    np.testing.assert_array_equal(squared_norms(none), np.zeros(2))


@pytest.mark.parametrize("k", [2, 3])
def test_rows_without_weight_do_not_change_the_course_of_an_ascent(k):
    X, y = rows(1, n=200, k=k)
    present = np.arange(200) < 60
    course = []
    for some, weight in ((present, None), (present | True, present.astype(float))):
        steps = DualAscent().steps(
            problem(X[some], y[some], l2=1e-4, weight=weight), np.zeros((max(1, k * (k > 2)), 5)),
            np.random.default_rng(0),
        )  # fmt: skip
        course.append([step.objective for step in islice(steps, 12)])
    np.testing.assert_allclose(*course, rtol=1e-6)
