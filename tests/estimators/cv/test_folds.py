"""All folds together against each fold by itself."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import overlapping
from fold_problems import kinds, problem
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
)

from separatrix import (
    L2,
    LBFGS,
    LinearClassifierCV,
)
from separatrix.estimators.cv import FoldPath, Folds, FoldSplit, folds

L2S = np.geomspace(1.0, 1e-5, 8)


def left_out(n, count, seed=0):
    """Each row left out by one fold, or by none."""
    fold = np.random.default_rng(seed).integers(0, count + 1, n)
    rows = [np.flatnonzero(fold == i) for i in range(count)]
    return [FoldSplit(some, some) for some in rows]


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_sums_are_those_of_each_fold(k, intercept, loss, make):
    rng = np.random.default_rng(k)
    X, y = kinds(80, k)
    weight = rng.integers(0, 3, 80).astype(float)
    together = Folds(problem(make(X), y, loss, weight, intercept), left_out(80, 3))
    W = rng.standard_normal(together.objective.shape)
    W[:, -1] *= intercept
    value, gradient, hessians = together.means(W)
    for i in range(4):
        kept = weight.copy()
        if i < 3:
            kept[together.splits[i].left_out] = 0.0
        alone = problem(X, y, loss, kept, intercept)
        at, hessian = alone.hessian(W, together.standardization)
        assert value[i] == pytest.approx(at.value, rel=1e-12)
        np.testing.assert_allclose(gradient[i], at.gradient, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(hessians[i], hessian, rtol=1e-9, atol=1e-12)


def worst_excess(objective, rows_left_out, l2s, tol):
    """How far the fits that are called near are from their minima, as a share of J."""
    together = Folds(objective, rows_left_out)
    path, worst, steps = FoldPath(together, tol), 0.0, 0
    for l2 in l2s:
        fit = path.fit(l2)
        if fit is None:
            break
        steps += 1
        for i in np.flatnonzero(fit.is_converged):
            own = together.without(i).with_penalty(L2(l2))
            exact = LBFGS().steps(own, fit.folds[i], np.random.default_rng(0))
            for _ in range(60):
                best = next(exact)
                if best.predicted_decrease < 1e-13 * best.objective:
                    break
            excess = own.value(fit.folds[i])[0] - best.objective
            worst = max(worst, excess / best.objective)
    return worst, steps


@pytest.mark.sampled
@pytest.mark.parametrize("tol", [1e-4, 1e-7])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_called_near_is_near(tol, seed):
    rng = np.random.default_rng(seed)
    X, y = kinds(60 + 40 * seed, 2 + seed % 3, seed)
    if seed % 2:
        X = X * rng.standard_cauchy((len(X), 1))  # rows that weigh more than all others
    weight = rng.integers(0, 4, len(X)).astype(float) if seed > 3 else None
    objective = problem(X, y, weight=weight)
    worst, steps = worst_excess(objective, left_out(len(X), 4, seed), L2S, tol)
    assert worst <= tol
    assert steps


def test_rows_longer_than_all_others_are_not_left_to_a_sample():
    X, y = kinds(9_000, 2)
    rows = left_out(9_000, 4)
    assert Folds(problem(X, y), rows).applies
    few = slice(0, 2_000)  # all of them are in the sample
    X[1] *= 300.0
    assert not Folds(problem(X, y), rows).applies
    assert Folds(problem(X[few], y[few]), left_out(2_000, 4)).applies
    absent = np.where(np.arange(9_000) == 1, 0.0, 1.0)
    assert Folds(problem(X, y, weight=absent), rows).applies


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_the_longest_row_is_found_at_any_scale(kind, make):
    X, y = kinds(5_000, 2)
    for scale in (1e-30, 1.0, 1e15):
        together = Folds(problem(make((X * scale).astype(kind)), y), left_out(5_000, 4))
        z = together.standardization.rows((X * scale).astype(kind))
        assert together._max_row_norm == pytest.approx(np.linalg.norm(z, axis=1).max(), rel=1e-5)
        assert together.applies
    X[7] = 1e30  # its square is beyond float32
    weight = np.where(np.arange(5_000) == 7, 0.0, 1.0)
    assert Folds(problem(make(X.astype(kind)), y, weight=weight), left_out(5_000, 4)).applies


@pytest.mark.parametrize("k", [2, 3])
def test_changes_of_scores_are_those_of_a_folds_rows(k):
    rng = np.random.default_rng(k)
    X, y = kinds(300, k)
    together = Folds(problem(X, y), left_out(300, 3))
    W = rng.standard_normal(together.objective.shape)
    penalty, loss = L2(0.01), together.objective.loss
    folds, steps = np.array([2, 0]), rng.standard_normal((2, *W.shape))
    most, mean = together.changes(W, folds, steps, penalty)
    for i, fold in enumerate(folds):
        kept = np.setdiff1d(np.arange(300), together.splits[fold].left_out)
        rows = np.column_stack([X[kept], np.ones(len(kept))])
        change = rows @ steps[i].T
        size = np.abs(change[:, 0]) if k == 2 else np.ptp(change, axis=1)
        own = together.without(fold).source
        bend = np.array([
            np.sum(v * (loss.gradient(c, (s + 1e-5 * v)[None])
                        - loss.gradient(c, (s - 1e-5 * v)[None]))[0]) / 2e-5
            for c, s, v in zip(own.y[kept, None], rows @ W.T, change, strict=True)
        ])  # fmt: skip
        total = bend.sum() + len(kept) * 2.0 * penalty.value(steps[i])
        assert most[i] == pytest.approx(size.max(), rel=1e-9)
        assert mean[i] == pytest.approx(np.sqrt(bend @ size**2 / total), rel=1e-5)


def test_separable_rows_and_tiny_penalties():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = np.where(X[:, 0] > 0, 1, 0)
    X[:, 0] += np.where(y, 1.0, -1.0)
    worst, _ = worst_excess(problem(X, y), left_out(60, 5), np.geomspace(1.0, 1e-9, 10), 1e-6)
    assert worst <= 1e-6


@pytest.mark.slow
def test_folds_unlike_each_other():
    X, y = kinds(9_000, 2)
    parts = np.array_split(np.argsort(X[:, 1], kind="stable"), 4)  # the ends are left out first
    X[parts[0], 2] = 0.0
    rows = [FoldSplit(np.sort(part), np.sort(part)) for part in parts]
    for tol in (1e-4, 1e-7):
        worst, steps = worst_excess(problem(X, y), rows, L2S, tol)
        assert worst <= tol
        assert steps == len(L2S)


@pytest.mark.parametrize("k", [2, 3])
def test_most_fits_need_no_read(k, monkeypatch):
    reads = []
    means = Folds.means
    monkeypatch.setattr(Folds, "means", lambda self, W: reads.append(1) or means(self, W))
    monkeypatch.setattr(Folds, "without", lambda *_: pytest.fail("a fold was read for alone"))
    X, y = kinds(20_000, k)
    path = FoldPath(Folds(problem(X, y), left_out(20_000, 5)), 1e-4)
    assert all(path.fit(l2).is_converged.all() for l2 in np.geomspace(1e-1, 1e-6, 20))
    assert len(reads) < 20


def test_the_path_may_end_early(monkeypatch):
    X, y = overlapping(90, 5, seed=1)
    whole = LinearClassifierCV(l2s=L2S, scoring="loss", tol=1e-10).fit(X, y)
    fit, calls = FoldPath.fit, []

    def fails(self, l2):
        calls.append(l2)
        return None if len(calls) == 4 else fit(self, l2)

    monkeypatch.setattr(FoldPath, "fit", fails)
    part = LinearClassifierCV(l2s=L2S, scoring="loss", tol=1e-10).fit(X, y)
    assert len(calls) == 4
    np.testing.assert_allclose(
        part.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"], rtol=1e-4
    )
    monkeypatch.setattr(folds, "TOGETHER_UNKNOWNS", 0)
    apart = LinearClassifierCV(l2s=L2S, scoring="loss", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(
        apart.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"], rtol=1e-4
    )
    assert len(calls) == 4


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "cv", [3, KFold(3, shuffle=True, random_state=0), ShuffleSplit(2, random_state=0)]
)
def test_threads_change_no_bit(cv):
    X, y = kinds(60_000, 2)
    X = np.hstack([X, X[::-1] ** 2]).astype(np.float32)
    one, two = (
        LinearClassifierCV(l2s=L2S[:4], cv=cv, scoring="loss", n_jobs=jobs).fit(X, y)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
