"""Every convex, penalised fit proves how good it is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import OwnLogistic, quiet
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning

from separatrix import (
    LBFGS,
    GradientDescent,
    LeastSquares,
    LinearClassifier,
    LinearClassifierCV,
    Newton,
    Stop,
    get_loss,
    minimize,
)
from separatrix.data.validation import array_source, check_rows
from separatrix.objective import Objective
from separatrix.penalties import L2
from separatrix.proofs.gap import GapTracker
from separatrix.proofs.smooth_bound import smooth_lower_bound
from separatrix.solvers.dual.proximal_point import reduced_run

SMOOTH = ["logistic", "squared", "squared_hinge"]


# ---- an oracle in plain NumPy: value, gradient and curvature by the scores, then Newton ------


def by_margin(name, m):
    if name == "logistic":
        return np.logaddexp(0, -m), -expit(-m), expit(m) * expit(-m)
    below = (m < 1) | (name == "squared")
    return np.where(below, (1 - m) ** 2, 0), np.where(below, 2 * (m - 1), 0), 2.0 * below


def by_scores(name, s, y, k):
    """Loss (n,), gradient (n, c) and second derivative (n, c, c) for c columns of scores."""
    if k == 2:
        t = np.where(y == 1, 1.0, -1.0)[:, None]
    elif name == "logistic":
        p, own = softmax(s, axis=1), s[np.arange(len(y)), y]
        top = s.max(axis=1)
        value = np.log(np.exp(s - top[:, None]).sum(axis=1)) + top - own
        H = p[:, :, None] * np.eye(k) - p[:, :, None] * p[:, None, :]
        return value, p - np.eye(k)[y], H
    else:
        t = 2.0 * np.eye(k)[y] - 1.0
    value, slope, bend = by_margin(name, t * s)
    return value.sum(axis=1), t * slope, bend[:, :, None] * np.eye(t.shape[1])


def least(name, X, y, c, l2, intercept):
    """The minimum of J, by Newton's method with halved steps on scaled columns."""
    k = y.max() + 1
    A = np.column_stack([X - intercept * np.average(X, axis=0, weights=c), np.ones(len(X))])
    columns, c = (1 if k == 2 else k), c / c.sum()
    if not intercept:
        A = A[:, :-1]
    d = A.shape[1]
    penalty = np.append(np.full(X.shape[1], l2), 0.0)[:d]

    def value(W):
        return c @ by_scores(name, A @ W.T, y, k)[0] + (penalty * W**2).sum()

    W = np.zeros((columns, d))
    scale = 1.0 / np.sqrt((A**2).mean(axis=0) + penalty)
    for _ in range(200):
        _, G, H = by_scores(name, A @ W.T, y, k)
        g = (c[:, None] * G).T @ A + 2 * penalty * W
        hessian = np.einsum("i,iab,ij,il->ajbl", c, H, A, A).reshape(columns * d, columns * d)
        hessian += np.diag(np.tile(2 * penalty, columns))
        D = np.tile(scale, columns)
        step = D * np.linalg.lstsq(hessian * D * D[:, None], -D * g.ravel(), rcond=1e-13)[0]
        length, now = 1.0, value(W)
        while length > 1e-9 and not value(W + length * step.reshape(W.shape)) < now:
            length /= 2
        if length <= 1e-9:
            break
        W = W + length * step.reshape(W.shape)
    return value(W)


def problem(seed, k):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2 * k, 60)), int(rng.integers(1, 7))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2, d) + rng.uniform(-3, 3)
    X[rng.random(X.shape) < 0.2] = 0.0
    if seed % 3 == 0:
        X[:, -1] = 1.0  # constant, or rank deficient
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    c = rng.integers(1, 4, n).astype(float) if seed % 2 else np.ones(n)
    return X, y, c, 10.0 ** rng.uniform(-4, 0), bool(seed % 5)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_the_true_minimum_lies_between_objective_less_gap_and_objective(name, k, seed):
    X, y, c, l2, intercept = problem(100 * k + seed, k)
    solver = [LBFGS(), Newton(), GradientDescent(), "auto"][seed % 4]
    tol = 10.0 ** -(3 + seed % 7)
    rows = sp.csr_array(X) if seed % 3 == 1 else X
    clf = LinearClassifier(
        name, l2=l2, solver=solver, tol=tol, fit_intercept=intercept, max_iter=20_000
    ).fit(rows, y, sample_weight=c)
    minimum = least(name, X, y, c, l2, intercept)
    assert clf.objective_ - clf.gap_ <= minimum * (1 + 1e-13)
    assert minimum <= clf.objective_ * (1 + 1e-13)
    assert clf.stop_ == "optimal"
    assert clf.gap_ <= tol * clf.objective_


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("seed", range(10))
def test_bounds_hold_far_from_the_minimum(name, k, seed):
    X, y, c, l2, intercept = problem(1000 + 10 * k + seed, k)
    loss = get_loss(name) if k == 2 else get_loss(name).multiclass()
    source = array_source(check_rows(X), y, sample_weight=c)
    objective = Objective(loss, L2(l2), source, intercept)
    minimum = least(name, X, y, c, l2, intercept)
    rng = np.random.default_rng(seed)
    for size in (0.0, 1e-3, 0.1, 10.0):
        W = size * rng.standard_normal(objective.shape)
        W[:, -1] *= intercept
        bound, rounding, _ = smooth_lower_bound(objective, W, objective.value_and_gradient(W))
        bound = max(bound - rounding, 0.0)
        assert 0.0 <= bound <= minimum * (1 + 1e-13)


@quiet
@pytest.mark.parametrize("solver", [GradientDescent(1), GradientDescent(8, average=True)])
@pytest.mark.parametrize("name", SMOOTH)
def test_row_by_row_too_tol_means_the_gap(name, solver):
    X, y, c, _, _ = problem(7, 2)
    X = (X - X.mean(axis=0)) / X.std(axis=0).clip(1e-12)
    clf = LinearClassifier(
        name, l2=0.1, solver=solver, tol=0.02, max_iter=3000, random_state=0
    ).fit(X, y, sample_weight=c)
    minimum = least(name, X, y, c, 0.1, True)
    assert clf.stop_ == "optimal"
    assert clf.gap_ <= 0.02 * clf.objective_
    assert clf.objective_ - clf.gap_ <= minimum <= clf.objective_


def test_a_fit_cut_short_tells_the_gap_it_reached():
    X, y, _, l2, _ = problem(11, 2)
    with pytest.warns(ConvergenceWarning, match=r"within .* of its minimum \(tol=1e-09 requires"):
        clf = LinearClassifier(l2=l2, solver=LBFGS(), max_iter=2, tol=1e-9).fit(X, y)
    assert clf.gap_ > 1e-9 * clf.objective_
    assert clf.objective_ - clf.gap_ <= least("logistic", X, y, np.ones(len(y)), l2, True)


def test_without_tol_nothing_is_proven_and_tol_0_asks_for_all_there_is():
    X, y, *_ = problem(12, 2)
    with pytest.warns(ConvergenceWarning, match="max_iter=30 with the objective"):
        clf = LinearClassifier(l2=0.01, solver=LBFGS(), tol=None, max_iter=30).fit(X, y)
    assert clf.gap_ is None
    clf = LinearClassifier(l2=0.01, solver=LBFGS(), tol=0.0).fit(X, y)
    assert clf.stop_ == "optimal"
    assert 0.0 <= clf.gap_ <= 1e-14 * clf.objective_


def test_nothing_claims_optimality_without_a_proof():
    X, y, *_ = problem(13, 2)
    for loss in ("tanh_squared", OwnLogistic()):
        clf = LinearClassifier(loss, l2=0.1).fit(X, y)
        assert clf.gap_ is None
        assert clf.stop_ != "optimal"


@quiet
def test_the_perceptron_loss_is_never_optimal():
    X, y, *_ = problem(14, 2)
    clf = LinearClassifier("perceptron", l2=0.1).fit(X, y)
    assert clf.gap_ is None
    assert clf.stop_ != "optimal"


def test_a_chunk_proves_nothing():
    X, y, *_ = problem(15, 2)
    assert LinearClassifier().partial_fit(X, y).gap_ is None


def test_the_last_fit_of_cross_validation_is_proven():
    X, y, *_ = problem(16, 2)
    clf = LinearClassifierCV(l2s=[0.1, 0.01], cv=2, scoring=None).fit(X, y)
    assert clf.stop_ == "optimal"
    assert clf.gap_ <= clf.tol * clf.objective_


@pytest.mark.parametrize("solver", [LBFGS(), Newton()])
@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e6])
def test_features_of_any_size(scale, solver):
    X, y, *_ = problem(17, 2)
    clf = LinearClassifier(l2=1e-3, solver=solver, tol=1e-9).fit(X * scale, y)
    assert clf.stop_ == "optimal"


def test_a_weight_is_a_repetition_in_the_proof_too():
    X, y, _, l2, _ = problem(18, 3)
    c = np.random.default_rng(0).integers(0, 4, len(y))
    c[:6] = 1
    once = LinearClassifier(l2=l2, tol=1e-10).fit(X, y, sample_weight=c)
    often = LinearClassifier(l2=l2, tol=1e-10).fit(np.repeat(X, c, axis=0), np.repeat(y, c))
    assert once.objective_ == pytest.approx(often.objective_, rel=1e-9)
    assert once.objective_ - once.gap_ <= often.objective_
    assert often.objective_ - often.gap_ <= once.objective_


# ---- to the last bit -------------------------------------------------------------------------


def exact_least(X, y, c, l2):
    """The minimum of the squared loss with a bias, of whole numbers, without rounding."""
    rows = [[*map(Fraction, x), Fraction(1)] for x in X.tolist()]
    signs, c, l2 = (
        [Fraction(2 * label - 1) for label in y.tolist()],
        [*map(Fraction, c)],
        Fraction(l2),
    )
    d, total = len(rows[0]), sum(c)
    A = [
        [sum(w * r[i] * r[j] for w, r in zip(c, rows, strict=True)) / total for j in range(d)]
        + [sum(w * t * r[i] for w, t, r in zip(c, signs, rows, strict=True)) / total]
        for i in range(d)
    ]
    for i in range(d - 1):
        A[i][i] += l2
    for i in range(d):  # Gauss and Jordan; the matrix is positive definite
        A[i] = [a / A[i][i] for a in A[i]]
        for j in range(d):
            if j != i:
                A[j] = [a - A[j][i] * b for a, b in zip(A[j], A[i], strict=True)]
    w = [row[-1] for row in A]
    errors = (
        weight * (t - sum(a * b for a, b in zip(w, r, strict=True))) ** 2
        for weight, t, r in zip(c, signs, rows, strict=True)
    )
    return sum(errors) / total + l2 * sum(a * a for a in w[:-1])


@pytest.mark.parametrize("solver", [LBFGS(), Newton(), LeastSquares()], ids=str)
def test_bounds_hold_to_the_last_bit(solver):
    """Rounding may lift a bound above the minimum by as little: it is lowered by more."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(4, 20)), int(rng.integers(1, 4))
        X, y = rng.integers(-4, 5, (n, d)).astype(float), rng.integers(0, 2, n)
        y[:2] = 0, 1
        c, l2 = rng.integers(1, 4, n).astype(float), 2.0 ** -int(rng.integers(0, 8))
        source = array_source(check_rows(X), y, sample_weight=c)
        objective = Objective(get_loss("squared"), L2(l2), source)
        result = minimize(objective, solver, stop=Stop(tol=1e-12))
        minimum = exact_least(X, y, c, l2)
        assert Fraction(result.proof.lower_bound) <= minimum
        assert result.proof.lower_bound >= float(minimum) * (1 - 1e-6)


def test_a_bias_that_is_slightly_off_does_not_spoil_a_proof():
    """The bound loses in proportion to the gradient by the bias: that is mended first."""
    for seed in (21, 22, 23, 24):
        X, y, c, _, _ = problem(seed, 2)
        X, l2 = (X - X.mean(axis=0)) / X.std(axis=0).clip(1e-9), 0.1
        source = array_source(check_rows(X), y, sample_weight=c)
        objective = Objective(get_loss("logistic"), L2(l2), source)
        W = minimize(objective, Newton(), stop=Stop(tol=1e-13)).weights.copy()
        W[:, -1] += 1e-6
        gap = GapTracker(objective, 1e-9, reduced_run, reads=10)
        gap.evaluate(W)
        assert gap.proven
        assert gap.lower_bound <= least("logistic", X, y, c, l2, True) * (1 + 1e-13)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_bound_is_left_out_only_where_none_could_be_enough(loss, intercept, monkeypatch):
    """With and without that rule, the runs end at the same step with the same bits."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 4)) * [1.0, 100.0, 1e-2, 3.0] + [0.0, 5.0, 0.0, 1e3]
    y = np.where(X @ [1.0, 0.01, 30.0, 0.0] + rng.standard_normal(90) > 0, 1, 0)
    weight = rng.integers(0, 4, 90).astype(float)
    far, judge = [], GapTracker._is_far

    def noted(self, W, at):
        far.append((at.value, judge(self, W, at)))
        return far[-1][1]

    model = LinearClassifier(loss, l2=1e-3, tol=1e-8, fit_intercept=intercept, solver=Newton())
    monkeypatch.setattr(GapTracker, "_is_far", noted)
    clf = model.fit(X, y, weight)
    steps = list(far)
    assert {left_out for _, left_out in steps} == {True, False}
    assert all(value - clf.objective_ > 1e-8 * value for value, left_out in steps if left_out)
    monkeypatch.setattr(GapTracker, "_is_far", lambda *_: False)
    every = model.fit(X, y, weight)
    assert (every.stop_, every.n_iter_, every.gap_) == (clf.stop_, clf.n_iter_, clf.gap_)
    np.testing.assert_array_equal(every.coef_, clf.coef_)
    np.testing.assert_array_equal(every.history_["objective"], clf.history_["objective"])
