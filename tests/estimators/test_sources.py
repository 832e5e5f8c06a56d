"""Estimators on sources: the same as on the arrays, and sentences where that cannot be."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from chunked import Chunked

from separatrix import (
    ArraySource,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    Perceptron,
    separability,
)
from separatrix.data import Subset
from separatrix.data.validation import array_source, check_rows

RNG = np.random.default_rng(5)
X = RNG.normal(size=(240, 4))
LABELS = {
    2: np.array(["no", "yes"])[(X[:, 0] + 0.4 * RNG.normal(size=240) > 0).astype(int)],
    3: np.array([7, 3, 5])[np.argmax(X[:, :3] + 0.4 * RNG.normal(size=(240, 3)), axis=1)],
}
WEIGHT = RNG.integers(0, 4, size=240).astype(float)


def chunked(source):
    """Blocks of 50 rows, one of them empty, that are nowhere in one piece."""
    return Chunked(source, (0, 50, 100, 100, 150, 200, 240))


def whole(y, weight=None):
    return array_source(check_rows(X), y, sample_weight=weight)


ESTIMATORS = [
    Perceptron(20, random_state=3),
    Perceptron(20, update="batch", learning_rate=0.1),
    LinearClassifier(l2=1e-3),
    LinearClassifier("hinge", l2=1e-2, random_state=0),
    LinearClassifier("squared", l2=1e-3),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("clf", ESTIMATORS, ids=repr)
def test_a_source_of_arrays_gives_the_bits_of_the_arrays(clf, weight, k):
    y = LABELS[k]
    by_arrays = clf.fit(X, y, weight)
    W, n_iter = by_arrays._weights(), by_arrays.n_iter_
    by_source = clf.fit(whole(y, weight))
    assert np.array_equal(by_source._weights(), W)
    assert by_source.n_iter_ == n_iter
    assert by_source.classes_.tolist() == np.unique(y).tolist()
    assert by_source.n_features_in_ == 4
    expected = np.average(by_source.predict(X) == y, weights=weight)
    assert by_source.score(whole(y, weight)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("k", [2, 3])
def test_rows_in_chunks_lead_to_the_same_minimum_and_score(k):
    y = LABELS[k]
    by_blocks = chunked(whole(y, WEIGHT))
    clf = LinearClassifier(l2=1e-2, tol=1e-10).fit(by_blocks)
    at_once = LinearClassifier(l2=1e-2, tol=1e-10).fit(X, y, WEIGHT)
    assert clf.objective_ == pytest.approx(at_once.objective_, rel=1e-9)
    assert clf.score(by_blocks) == pytest.approx(clf.score(X, y, WEIGHT), rel=1e-14)


@pytest.mark.parametrize("class_weight", ["balanced", {"no": 3.0}, {3: 2.0, 5: 0.5}, {5: 0.0}])
def test_classes_are_weighed_as_those_of_arrays(class_weight):
    y = LABELS[2 if "no" in class_weight or class_weight == "balanced" else 3]
    clf = LinearClassifier(l2=1e-2, class_weight=class_weight)
    with pytest.warns(UserWarning, match="ignored") if class_weight == {5: 0.0} else nullcontext():
        W = clf.fit(X, y, WEIGHT)._weights()
    with pytest.warns(UserWarning, match="ignored") if class_weight == {5: 0.0} else nullcontext():
        found = clf.fit(whole(y, WEIGHT))
    assert np.allclose(found._weights(), W, rtol=1e-12, atol=0.0)
    assert found.trace_.weight_sum == pytest.approx(
        clf.fit(X, y, WEIGHT).trace_.weight_sum
        if class_weight != {5: 0.0}
        else WEIGHT[y != 5].sum()
    )


def test_a_model_is_scored_on_labels_that_it_does_not_know_and_without_some():
    clf = Perceptron(10, random_state=0).fit(X, LABELS[3])
    y = np.where(LABELS[3] == 5, 9, LABELS[3])  # 9 is never predicted
    assert clf.score(whole(y)) == np.mean(clf.predict(X) == y)
    two = LABELS[3] != 7
    assert clf.score(array_source(X[two], LABELS[3][two])) == clf.score(X[two], LABELS[3][two])


def test_a_subset_and_sparse_rows_are_sources_too():
    rows = np.flatnonzero(RNG.random(240) < 0.7)
    y = LABELS[2]
    part = Subset(whole(y), rows)
    clf = LinearClassifier(l2=1e-2, tol=1e-10).fit(part)
    W = LinearClassifier(l2=1e-2, tol=1e-10).fit(X[rows], y[rows])._weights()
    assert np.allclose(clf._weights(), W, rtol=1e-6)
    assert clf.score(part) == clf.score(X[rows], y[rows])
    sparse = array_source(check_rows(sp.csr_array(X * (np.abs(X) > 0.5))), y)
    dense = X * (np.abs(X) > 0.5)
    fitted = Perceptron(10, random_state=0).fit(sparse)
    assert np.array_equal(
        fitted._weights(), Perceptron(10, random_state=0).fit(sp.csr_array(dense), y)._weights()
    )
    assert fitted.score(sparse) == fitted.score(dense, y)


def test_names_of_an_earlier_fit_are_gone():
    pd = pytest.importorskip("pandas")
    clf = Perceptron(3).fit(pd.DataFrame(X, columns=list("abcd")), LABELS[2])
    assert hasattr(clf, "feature_names_in_")
    clf.fit(whole(LABELS[2]))
    assert not hasattr(clf, "feature_names_in_")


def fold_of(rows, folds):
    """The fold of every row by whole numbers: SplitMix64 of its number, modulo the folds."""
    found = []
    for row in range(rows):
        z = (row + 1) * 0x9E3779B97F4A7C15 % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        found.append((z ^ (z >> 31)) % folds)
    return np.array(found)


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("scoring", [None, "loss"])
@pytest.mark.parametrize(("loss", "k"), [("logistic", 2), ("logistic", 3), ("hinge", 2)])
def test_cross_validation_of_a_source_that_is_read_in_blocks(loss, k, scoring, standardize):
    y = LABELS[k]
    clf = LinearClassifierCV(loss, l2s=[1.0, 0.1, 1e-2], cv=3, tol=1e-9, scoring=scoring,
                             standardize=standardize, random_state=0)  # fmt: skip
    in_memory = clf.fit(whole(y, WEIGHT)).cv_results_
    l2, objective = clf.l2_, clf.objective_
    clf.fit(chunked(whole(y, WEIGHT)))
    assert clf.l2_ == l2
    assert clf.objective_ == pytest.approx(objective, rel=1e-7)
    assert clf.cv_results_.keys() == in_memory.keys()
    for name, column in in_memory.items():
        np.testing.assert_allclose(clf.cv_results_[name], column, rtol=1e-4, atol=1e-12)


def test_cross_validation_of_a_source_in_memory():
    y = LABELS[2]
    options = {"l2s": 6, "cv": 4}
    folds = fold_of(240, options["cv"])
    splits = [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(4)]
    of_arrays = LinearClassifierCV(**options | {"cv": splits}, scoring=None).fit(X, y, WEIGHT)
    of_source = LinearClassifierCV(**options, scoring=None).fit(whole(y, WEIGHT))
    assert of_source.l2_ == of_arrays.l2_
    assert np.array_equal(of_source._weights(), of_arrays._weights())
    for name, column in of_arrays.cv_results_.items():
        assert np.array_equal(of_source.cv_results_[name], column)
    loo = LinearClassifierCV("squared", l2s=4, cv="loo", scoring=None)
    assert loo.fit(whole(y)).l2_ == loo.fit(X, y).l2_


def test_the_monitor_reads_a_source():
    separable, labels = X[np.abs(X[:, 0]) > 0.5], X[np.abs(X[:, 0]) > 0.5, 0] > 0
    theory = separability(separable, labels)
    chunked = array_source(separable, labels)
    clf = Perceptron(100, monitor=theory).fit(chunked)
    assert clf.stop_ == "no mistakes"
    assert np.all(clf.history_["mistakes_so_far"] <= clf.history_["mistake_bound"])
    with pytest.raises(ValueError, match="rows of weight 1"):
        Perceptron(monitor=theory).fit(
            array_source(separable, labels, sample_weight=np.full(len(labels), 2.0))
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: Perceptron().fit(s, LABELS[2]), "labels and weights of its own, but y was also"),
        (lambda s: LinearClassifier().fit(s, sample_weight=WEIGHT), "but sample_weight was also"),
        (lambda s: Perceptron(3).fit(s).score(s, LABELS[2]), "but y was also given"),
        (lambda s: Perceptron().partial_fit(s, None), r"call fit\(source\)"),
        (
            lambda s: LinearClassifierCV(scoring="roc_auc").fit(s),
            "scoring='roc_auc' needs rows in memory",
        ),
        (lambda s: KernelPerceptron().fit(s), "needs them in memory"),
    ],
)
def test_what_cannot_be_is_said(call, message):
    with pytest.raises(TypeError, match=message):
        call(chunked(whole(LABELS[2])))


def test_other_features_are_refused():
    clf = Perceptron(3).fit(X, LABELS[2])
    with pytest.raises(ValueError, match="X has 3 features, but Perceptron is expecting 4"):
        clf.score(array_source(np.ascontiguousarray(X[:, :3]), LABELS[2]))
    with pytest.raises(ValueError, match="only one class"):
        clf.fit(ArraySource(X, np.ones(240), np.array(["yes"])))


def test_scores_that_overflow_are_refused():
    clf = Perceptron(3).fit(X[:, :2], LABELS[2])
    clf.coef_ = np.array([[1e200, -1e200]])
    beyond_doubt = array_source(np.array([[1e200, 1.0], [1.0, 1e200]]), ["yes", "no"])
    assert clf.score(beyond_doubt) == 1.0
    unknown = array_source(np.array([[1.0, 1.0], [1e200, 1e200]]), ["yes", "no"])
    with pytest.raises(ValueError, match="the scores overflow floating point, first that of row 1"):
        clf.score(unknown)
    with pytest.raises(ValueError, match="the scores overflowed floating point in pass 1"):
        Perceptron(shuffle=False).fit(array_source(np.array([[1e160], [2e160]]), [0, 1]))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_kernel_perceptron_takes_a_source_in_memory(kernel, form):
    y = LABELS[3]
    source = array_source(check_rows(form(X)), y)
    clf = KernelPerceptron(kernel, max_iter=5, random_state=1)
    scores = clf.fit(form(X), y).decision_function(X)
    assert np.array_equal(clf.fit(source).decision_function(X), scores)
    assert clf.score(source) == np.mean(clf.predict(X) == y)
    assert clf.score(chunked(array_source(X, y))) == np.mean(clf.predict(X) == y)
    weighted = clf.fit(form(X), y, sample_weight=WEIGHT).decision_function(X)
    assert not np.array_equal(weighted, scores)
    weighted_source = array_source(check_rows(form(X)), y, sample_weight=WEIGHT)
    assert np.array_equal(clf.fit(weighted_source).decision_function(X), weighted)
    with pytest.raises(TypeError, match="sample_weight was also given"):
        clf.fit(source, sample_weight=WEIGHT)


@pytest.mark.parametrize("cv", ["loo", 1, [(np.arange(9), np.arange(9, 12))]])
def test_folds_of_a_source_that_is_read_in_blocks_are_a_number(cv):
    with pytest.raises(ValueError, match="folds of Chunked, which is read block by block"):
        LinearClassifierCV(cv=cv, scoring=None).fit(chunked(whole(LABELS[2])))


def test_a_fold_without_a_class_is_refused():
    y = np.where(np.arange(240) == 17, "rare", LABELS[2])
    with pytest.raises(ValueError, match=r"trains on 2 of 3 classes.*use fewer folds"):
        LinearClassifierCV(cv=3, scoring=None).fit(chunked(whole(y)))
