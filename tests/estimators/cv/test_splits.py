"""Every kind of split against fits to its rows alone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import overlapping
from fold_problems import kinds, problem
from sklearn.base import clone
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
    LinearClassifier,
    LinearClassifierCV,
)
from separatrix.estimators.cv import FoldSplit, disjoint
from separatrix.estimators.cv.splits import stratified

L2S = np.geomspace(1.0, 1e-5, 4)


@pytest.mark.parametrize("seed", range(10))
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


@pytest.mark.sampled(4)
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


@pytest.mark.sampled(1)
@pytest.mark.parametrize("k", [2, 3, 4])
def test_more_classes_and_one_row_per_fold(k):
    n, l2s = 12, L2S[:2]
    X, y = kinds(n, k)
    y[:k], y[-k:] = range(k), range(k)
    search = LinearClassifierCV(l2s=l2s, cv=LeaveOneOut(), scoring="loss", tol=1e-10)
    dense, sparse = (clone(search).fit(form(X), y).cv_results_ for form in (np.array, sp.csr_array))
    for i in range(n):
        rest = np.arange(n) != i
        for j, l2 in enumerate(l2s):
            alone = LinearClassifier(l2=l2, tol=1e-10).fit(X[rest], y[rest])
            (p,) = alone.predict_proba(X[[i]])
            for found in (dense, sparse):
                got = found[f"split{i}_test_score"][j]
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
        return FoldSplit(np.array(left), rows[:2], times)

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
