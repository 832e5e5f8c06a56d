"""The voted perceptron in the primal, against a plain loop and the kernel perceptron."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import (
    ArraySource,
    KernelPerceptron,
    Perceptron,
    certify,
    diagnose,
    export,
    load,
    save,
)


def data(k, n=60, d=4):
    rng = np.random.default_rng(k)
    Y = rng.integers(0, k, n)
    Y[:k] = range(k)
    return rng.integers(-3, 4, (n, d)).astype(float), Y


def voted(X, Y, passes, rows, k):
    """Survivors, their votes, and the sums of votes of other rows, row by row."""
    Z, m = np.column_stack([X, np.ones(len(X))]), 1 if k == 2 else k
    W, lives = np.zeros((m, Z.shape[1])), []
    for _ in range(passes):
        for z, y in zip(Z, Y, strict=True):
            s = W @ z
            if k == 2:
                change = {0: 2 * y - 1} if (2 * y - 1) * s[0] <= 0 else {}
            else:
                rival = max((c for c in range(k) if c != y), key=lambda c: s[c])
                change = {y: 1, rival: -1} if s[y] <= s[rival] else {}
            if change:
                W = W.copy()
                for c, sign in change.items():
                    W[c] += sign * z
                lives.append([W, 0])
            if lives:
                lives[-1][1] += 1
    votes = np.zeros((len(rows), m))
    for W, survived in lives:
        scores = np.column_stack([rows, np.ones(len(rows))]) @ W.T
        for i, s in enumerate(scores):
            if k == 2:
                votes[i, 0] += survived if s[0] >= 0 else -survived
            else:
                votes[i, int(np.argmax(s))] += survived
    return np.array([W for W, _ in lives]), np.array([v for _, v in lives]), votes


@pytest.mark.parametrize("k", [2, 3])
def test_survivors_and_votes_are_those_of_the_plain_loop(k):
    X, Y = data(k)
    rows = np.random.default_rng(9).integers(-3, 4, (20, X.shape[1])).astype(float)
    clf = Perceptron(4, keep="voted", shuffle=False).fit(X, Y)
    survivors, votes, sums = voted(X, Y, clf.n_iter_, rows, k)
    assert np.array_equal(clf.survivors_, survivors)
    assert np.array_equal(clf.votes_, votes)
    found = clf.decision_function(rows).reshape(len(rows), -1)
    assert np.array_equal(found, sums)
    assert np.array_equal(clf.decision_function(sp.csr_matrix(rows)).reshape(len(rows), -1), sums)
    last = np.column_stack([clf.coef_, clf.intercept_])
    assert np.allclose(last[:, :-1], survivors[-1][:, :-1])
    assert clf.score(X, Y) == np.mean(clf.predict(X) == Y)


@pytest.mark.parametrize("k", [2, 3])
def test_the_votes_are_those_of_the_linear_kernel(k):
    X, Y = data(k, 150)
    X = np.random.default_rng(3).standard_normal(X.shape)  # no scores within rounding of a tie
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    for shuffle in (False, True):
        given = {"keep": "voted", "shuffle": shuffle, "random_state": 1, "max_iter": 5}
        for some in (None, weight):
            primal = Perceptron(**given).fit(X, Y, sample_weight=some)
            dual = KernelPerceptron("linear", **given).fit(X, Y, sample_weight=some)
            assert np.array_equal(primal.decision_function(X), dual.decision_function(X))


def test_memory_is_bounded_by_the_most_votes():
    X, Y = data(2, 150)
    every = Perceptron(5, keep="voted", random_state=0).fit(X, Y)
    few = Perceptron(5, keep="voted", max_survivors=7, random_state=0).fit(X, Y)
    order = np.sort(np.lexsort([np.arange(len(every.votes_)), -every.votes_])[:7])
    assert np.array_equal(few.votes_, every.votes_[order])
    assert np.array_equal(few.survivors_, every.survivors_[order])
    assert len(every.votes_) > 7


def test_a_start_that_is_right_has_all_votes():
    X, Y = np.array([[-1.0], [1.0], [2.0]]), [0, 1, 1]
    clf = Perceptron(keep="voted", start=np.array([1.0, 0.0]), shuffle=False).fit(X, Y)
    assert clf.votes_.tolist() == [3.0]
    assert clf.survivors_.tolist() == [[[1.0, 0.0]]]
    assert clf.decision_function(X).tolist() == [-3.0, 3.0, 3.0]
    # A score of exactly 0 is a vote for the larger class.
    assert clf.decision_function([[0.0]]).tolist() == [3.0]


def test_models_are_saved_and_other_uses_refused(tmp_path):
    X, Y = data(3)
    clf = Perceptron(3, keep="voted", random_state=0).fit(X, Y)
    save(clf, tmp_path / "voted.sep")
    loaded = load(tmp_path / "voted.sep")
    assert np.array_equal(loaded.decision_function(X), clf.decision_function(X))
    with pytest.raises(ValueError, match="voted"):
        export(clf, tmp_path / "voted.json", to="json")
    source = ArraySource(X, (Y > 0) * 2.0 - 1.0, np.array([0, 1]))
    with pytest.raises(TypeError, match="voted"):
        clf.predict(source)
    with pytest.raises(TypeError, match="voted"):
        clf.score(source)
    with pytest.raises(ValueError, match="partial_fit"):
        Perceptron(keep="voted").partial_fit(X, Y)
    for others in ({"l2": 0.1}, {"update": "batch"}):
        with pytest.raises(ValueError, match="voted"):
            Perceptron(keep="voted", **others).fit(X, Y)
    with pytest.raises(TypeError, match="voted"):
        Perceptron(keep="voted").fit(X, Y, offset=np.ones((len(X), 3)))
    with pytest.raises(ValueError, match="max_survivors"):
        Perceptron(max_survivors=0).fit(X, Y)
    for use in (certify, diagnose):
        with pytest.raises(ValueError, match="voted"):
            use(clf, X, Y)
    assert not hasattr(clf.set_params(keep="last").fit(X, Y), "survivors_")
