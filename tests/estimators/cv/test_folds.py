"""All folds together against each fold by itself, and the rows that they are made of."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import overlapping
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
)

from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    LinearClassifier,
    LinearClassifierCV,
    Objective,
    get_loss,
)
from separatrix.data import Shuffle, Subset
from separatrix.data.validation import check_rows
from separatrix.estimators.cv import Folds, Path, Split, disjoint, folds
from separatrix.estimators.cv.splits import stratified

L2S = np.geomspace(1.0, 1e-5, 8)


def problem(rows, labels, loss="logistic", weight=None, intercept=True):
    classes, number = np.unique(labels, return_inverse=True)
    two = len(classes) == 2
    y = np.where(number == 1, 1.0, -1.0) if two else number
    kind = get_loss(loss) if two else get_loss(loss).multiclass()
    return Objective(kind, L2(0.0), ArraySource(check_rows(rows), y, classes, weight), intercept)


def left_out(n, count, seed=0):
    """Each row left out by one fold, or by none."""
    fold = np.random.default_rng(seed).integers(0, count + 1, n)
    rows = [np.flatnonzero(fold == i) for i in range(count)]
    return [Split(some, some) for some in rows]


def kinds(n, k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 0.0]
    scores = X @ (rng.standard_normal((3, k)) / np.array([[1.0], [10.0], [0.1]]))
    return X, (scores + rng.gumbel(size=(n, k))).argmax(axis=1)


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
    path, worst, steps = Path(together, tol), 0.0, 0
    for l2 in l2s:
        fit = path.fit(l2)
        if fit is None:
            break
        steps += 1
        for i in np.flatnonzero(fit.is_converged):
            own = together.without(i).with_penalty(l2)
            exact = LBFGS().steps(own, fit.folds[i], np.random.default_rng(0))
            for _ in range(60):
                best = next(exact)
                if best.predicted_decrease < 1e-13 * best.objective:
                    break
            excess = own.value(fit.folds[i])[0] - best.objective
            worst = max(worst, excess / best.objective)
    return worst, steps


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


def test_folds_unlike_each_other():
    X, y = kinds(9_000, 2)
    parts = np.array_split(np.argsort(X[:, 1], kind="stable"), 4)  # the ends are left out first
    X[parts[0], 2] = 0.0
    rows = [Split(np.sort(part), np.sort(part)) for part in parts]
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
    path = Path(Folds(problem(X, y), left_out(20_000, 5)), 1e-4)
    assert all(path.fit(l2).is_converged.all() for l2 in np.geomspace(1e-1, 1e-6, 20))
    assert len(reads) < 20


@pytest.mark.parametrize("seed", range(20))
def test_classes_are_dealt_out_as_scikit_learn_does(seed):
    rng = np.random.default_rng(seed)
    k, count = int(rng.integers(2, 6)), int(rng.integers(2, 9))
    y = np.repeat(np.arange(k, dtype=np.uint8), rng.integers(count, 40, k))
    if seed % 3:
        y = rng.permutation(y)
    fold = stratified(y, count)
    for i, (_, test) in enumerate(StratifiedKFold(count).split(y, y)):
        np.testing.assert_array_equal(np.flatnonzero(fold == i), test)


SPLITTERS = {
    "folds": KFold(4),
    "mixed": KFold(4, shuffle=True, random_state=0),
    "classes": StratifiedKFold(3),
    "groups": list(GroupKFold(3).split(np.zeros(90), groups=np.arange(90) // 7)),
    "some never": PredefinedSplit(np.arange(90) % 4 - 1),
    "overlapping": ShuffleSplit(3, random_state=0),
    "repeated": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "twice": [(np.r_[0:60, 0:30], np.arange(60, 90)), (np.arange(30, 90), np.arange(30))],
    "tested elsewhere": [(np.arange(60), np.arange(30)), (np.arange(30, 90), np.r_[0:5, 0:5])],
}


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_kind_of_split_scores_as_separate_fits_do(name, weighted):
    X, y = overlapping(90, 5, seed=1)
    weight = np.random.default_rng(0).integers(0, 4, 90) + 1.0 if weighted else None
    cv = SPLITTERS[name]
    clf = LinearClassifierCV(l2s=L2S, cv=cv, scoring="loss", tol=1e-10)
    clf.fit(X, y, sample_weight=weight)
    splits = list(cv.split(X, y)) if hasattr(cv, "split") else cv
    c = np.ones(90) if weight is None else weight
    for i, (train, test) in enumerate(splits):
        for j, l2 in enumerate(L2S):
            alone = LinearClassifier(l2=l2, tol=1e-10).fit(X[train], y[train], c[train])
            signs = np.where(y[test] == alone.classes_[1], 1.0, -1.0)
            losses = np.logaddexp(0.0, -signs * alone.decision_function(X[test]))
            expected = -np.average(losses, weights=c[test])
            got = clf.cv_results_[f"split{i}_test_score"][j]
            assert got == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_more_classes_and_one_row_per_fold(k, make):
    X, y = kinds(24, k)
    y[:k], y[-k:] = range(k), range(k)
    clf = LinearClassifierCV(l2s=L2S[:4], cv=LeaveOneOut(), scoring="loss", tol=1e-10)
    clf.fit(make(X), y)
    for i in range(24):
        rest = np.arange(24) != i
        for j, l2 in enumerate(L2S[:4]):
            alone = LinearClassifier(l2=l2, tol=1e-10).fit(X[rest], y[rest])
            (p,) = alone.predict_proba(X[[i]])
            got = clf.cv_results_[f"split{i}_test_score"][j]
            assert got == pytest.approx(np.log(p[y[i]]), rel=1e-4, abs=1e-7)


def test_splits_are_sorted_out_one_at_a_time():
    objective = problem(*overlapping(12, 2))
    rows = np.arange(12)

    seen = []

    def splits(*each):
        for split in each:
            seen.append(1)
            yield split

    def without(*left, times=None):
        return Split(np.array(left), rows[:2], times)

    together, others = disjoint(objective, splits(without(0, 1), without(2), without(3)))
    assert others is None
    assert [split.left_out.tolist() for split in together.splits] == [[0, 1], [2], [3]]
    for odd in (without(1, 2), without(5, times=2 * (rows != 5))):
        seen.clear()
        together, others = disjoint(objective, splits(without(0, 1), odd, without(7)))
        assert len(together.splits) == 1
        assert len(seen) == 2
        source = objective.source
        expected = 10.0 if odd.times is None else 22.0
        assert [split.training(source).weight_sum for split in others] == [expected, 11.0]


def test_the_path_may_end_early(monkeypatch):
    X, y = overlapping(90, 5, seed=1)
    whole = LinearClassifierCV(l2s=L2S, scoring="loss", tol=1e-10).fit(X, y)
    fit, calls = Path.fit, []

    def fails(self, l2):
        calls.append(l2)
        return None if len(calls) == 4 else fit(self, l2)

    monkeypatch.setattr(Path, "fit", fails)
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


# ---- some rows of a source -----------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_some_rows_are_a_source(make, weighted):
    rng = np.random.default_rng(0)
    X, y = kinds(9000, 2)
    weight = rng.integers(0, 3, 9000).astype(float) if weighted else None
    whole = problem(make(X), y, weight=weight)
    W = rng.standard_normal((1, 4))
    for rows in (
        np.r_[5:7, 100:4000, 4002, 4010:8999],
        rng.permutation(9000)[:500],
        np.r_[3, 3, 2, 1, 1],
        np.sort(rng.permutation(9000)[:4000]),
        np.arange(9000),
        np.r_[2, 3, 3, 5],
    ):
        some = Objective(whole.loss, L2(0.1), Subset(whole.source, rows))
        c = None if weight is None else weight[rows]
        alone = Objective(whole.loss, L2(0.1), problem(X[rows], y[rows], weight=c).source)
        if len(np.unique(y[rows])) < 2 or not some.source.weight_sum:
            continue
        assert some.source.n_rows == alone.source.n_rows
        assert some.source.weight_sum == alone.source.weight_sum
        at, expected = some.value_and_gradient(W), alone.value_and_gradient(W)
        assert at.value == pytest.approx(expected.value, rel=1e-12)
        np.testing.assert_allclose(at.gradient, expected.gradient, rtol=1e-9, atol=1e-12)
        ((_, order),) = some.source.visits(Shuffle(0, 1))
        assert sorted(order) == np.flatnonzero(np.ones(len(rows)) if c is None else c).tolist()


def test_a_sample_is_random_and_stays_the_same():
    n = 100_000
    y = np.where(np.arange(n) < n // 2, -1.0, 1.0)  # sorted by class, and every other row alike
    X = np.column_stack([y, np.arange(n) % 2, np.arange(n)])
    source = ArraySource(X, y, np.array([0, 1]))
    sample = source.sample(4000)
    assert source.sample(4000) is sample
    assert sample.n_rows == 4000
    assert abs(sample.y.mean()) < 0.01
    assert abs(sample.X[:, 1].mean() - 0.5) < 0.05
    assert len(np.unique(sample.X[:, 2])) == 4000
    assert source.sample(n) is source
    half = source.sample(n // 2)  # too many to copy
    assert isinstance(half, Subset)
    weight = np.where(y > 0, 2.0, 0.0)
    present = ArraySource(X, y, np.array([0, 1]), weight).sample(1000)
    assert set(present.y) == {1.0}
    assert present.weight_sum == 2000.0


# ---- a fit that begins with a sample ---------------------------------------------------------


def test_rows_sorted_by_class_and_columns_that_hang_together():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 6)) @ rng.standard_normal((6, 6)) ** 3
    y = X @ rng.standard_normal(6) + rng.logistic(size=len(X)) > 0
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    clf = LinearClassifier(l2=1e-6, tol=1e-9, solver=LBFGS()).fit(X, y)
    assert clf.stop_ == "optimal"
    assert clf.n_iter_ <= 6  # from zeros, 10 and more
    again = LinearClassifier(l2=1e-6, tol=1e-9, solver=LBFGS(), n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(again.coef_, clf.coef_)


def test_a_sample_that_misleads_is_not_followed():
    rng = np.random.default_rng(0)
    n = 40_000
    X = np.full((n, 1), 1.0)
    y = rng.random(n) < 0.5
    X[y] = -1.0
    far = np.setdiff1d(np.arange(n), np.flatnonzero(np.isin(np.arange(n), sampled(n))))[:50]
    X[far] *= -1e4  # no row of the sample: there the classes are apart
    for solver in (LBFGS(), LBFGS(factored_features=0)):
        clf = LinearClassifier(l2=1e-9, tol=1e-6, solver=solver).fit(X, y)
        assert clf.stop_ == "optimal"
        assert clf.objective_ < np.log(2.0)


def sampled(n):
    """Rows that the solver looks at first."""
    source = ArraySource(np.arange(n, dtype=float)[:, None], np.ones(n), np.array([0, 1]))
    return source.sample(4096).X[:, 0].astype(int)
