"""Leaving out each row of a fit, against actual minima without the row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from left_out_oracles import hinge_violation, left_out

from separatrix import (
    ArraySource,
    LinearClassifier,
    LinearClassifierCV,
    Stop,
    diagnose,
    leave_one_out,
)

N, D, L2 = 20, 3, 1e-2


def table(seed, k=2, n=N, d=D):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.logspace(-1, 1, d) + rng.standard_normal(d)
    scores = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal(d)
    scores = scores + rng.standard_normal(n)
    return X, np.searchsorted(np.quantile(scores, np.arange(1, k) / k), scores)


def oracle(loss, X, y, c, k, **settings):
    own = {"logistic": "softmax"}.get(loss, loss) if k > 2 else loss
    own = own.removeprefix("one_vs_rest_")
    coded = y if k > 2 else 2.0 * y - 1.0
    columns = k if k > 2 else 1
    found = [left_out(own, X, coded, c, L2, i, k=columns, **settings) for i in range(len(y))]
    scores = [W[:, :-1] @ X[i] + W[:, -1] for i, W in enumerate(found)]
    return np.array(found), np.array(scores)


SETTINGS = {
    "plain": {},
    "weights": {"weighted": True},
    "no bias": {"intercept": False},
    "standardize": {"standardize": True, "weighted": True},
    "balanced": {"balanced": True, "weighted": True},
    "both, without a bias": {"standardize": True, "balanced": True, "intercept": False},
}


@pytest.mark.sampled
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    ("loss", "k"),
    [("logistic", 2), ("squared", 2), ("squared_hinge", 2), ("logistic", 3), ("squared", 3),
     ("one_vs_rest_logistic", 3), ("squared_hinge", 3)],
)  # fmt: skip
def test_every_row_is_scored_by_the_minimum_without_it(loss, k, setting):
    make = np.asarray if k == 2 else sp.csr_array
    given = dict(SETTINGS[setting])
    X, y = table(1, k)
    c = np.random.default_rng(2).integers(1, 4, N) * 1.0 if given.pop("weighted", 0) else np.ones(N)
    clf = LinearClassifier(
        loss, l2=L2, standardize=given.get("standardize", False),
        class_weight="balanced" if given.get("balanced") else None,
        fit_intercept=given.get("intercept", True),
    ).fit(make(X), y, sample_weight=c)  # fmt: skip
    found = leave_one_out(clf, make(X), y, sample_weight=c, tol=1e-9)
    W, scores = oracle(loss, X, y, c, k, **given)
    off = np.abs(found.scores.reshape(N, -1) - scores).max(axis=1)
    assert np.all(off <= found.error.reshape(N, -1).max(axis=1) + 1e-10)
    assert found.error.max() <= 1e-8
    np.testing.assert_allclose(found.coef, W[:, :, :-1], atol=1e-6)
    np.testing.assert_allclose(found.intercept, W[:, :, -1], atol=1e-6)
    np.testing.assert_allclose(found.coef_change, W[:, :, :-1] - clf.coef_, atol=1e-6)
    np.testing.assert_allclose(found.intercept_change, W[:, :, -1] - clf.intercept_, atol=1e-6)
    np.testing.assert_array_equal(found.weights, c)
    change = [(X @ V[:, :-1].T + V[:, -1]).reshape(N, -1) for V in W]
    own = clf.decision_function(make(X)).reshape(N, -1)
    weight = c.copy()
    for label in np.unique(y) if given.get("balanced") else ():
        weight[y == label] /= c[y == label].sum()
    influence = [np.sqrt(weight @ np.sum((s - own) ** 2, axis=1) / weight.sum()) for s in change]
    np.testing.assert_allclose(found.influence, influence, atol=1e-6)
    np.testing.assert_array_equal(found.most_influential(3), np.argsort(-found.influence)[:3])


@pytest.mark.parametrize("loss", ["hinge", "one_vs_rest_hinge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_hinge_without_a_row_is_at_its_minimum(loss, weighted):
    X, y = table(3)
    c = np.random.default_rng(0).integers(1, 3, N) * 1.0 if weighted else np.ones(N)
    found = leave_one_out(
        LinearClassifier(loss, l2=L2).fit(X, y, sample_weight=c), X, y, sample_weight=c
    )
    assert set(found.method) == {"active set"}
    assert found.error.max() < 1e-9
    for i in range(N):
        rest = np.arange(N) != i
        w, b = found.coef[i, 0], found.intercept[i, 0]
        sign = 2.0 * y[rest] - 1.0
        assert hinge_violation(X[rest], sign, c[rest], L2, w, b) < 1e-11
        assert found.scores[i] == pytest.approx(X[i] @ w + b, abs=1e-11)


def test_a_violation_of_the_hinge_is_noticed():
    X, y = table(3)
    found = leave_one_out(LinearClassifier("hinge", l2=L2).fit(X, y), X, y)
    sign, rest = 2.0 * y - 1.0, np.arange(N) != 4
    w = found.coef[4, 0] * (1.0 + 1e-6)
    assert hinge_violation(X[rest], sign[rest], np.ones(N - 1), L2, w, found.intercept[4, 0]) > 1e-9


@pytest.mark.parametrize("standardize", [False, True])
def test_rows_on_several_kinks_are_fitted_without(standardize):
    X = np.repeat(np.array([[-2.0], [-1.0], [0.5], [1.0], [2.0], [-0.5]]), 2, axis=0)
    y = (X[:, 0] > 0.0).astype(int)
    y[-1] = 1
    clf = LinearClassifier("hinge", l2=1e-2, standardize=standardize).fit(X, y)
    found = leave_one_out(clf, X, y)
    assert np.isfinite(found.error).all()
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        other = LinearClassifier("hinge", l2=1e-2, standardize=standardize, tol=1e-12)
        score = other.fit(X[rest], y[rest]).decision_function(X[[i]])[0]
        assert abs(found.scores[i] - score) <= found.error[i] + 1e-4


def test_rows_that_are_no_support_vectors_change_nothing(monkeypatch):
    from separatrix.estimators.left_out import active_set

    monkeypatch.setattr(active_set._System, "sides_at", lambda *_: None)
    X, y = table(5)
    clf = LinearClassifier("hinge", l2=L2).fit(X, y)
    found = leave_one_out(clf, X, y)
    assert set(found.method) == {"unchanged", "refit"}
    monkeypatch.undo()
    exact = leave_one_out(clf, X, y)
    assert np.all(np.abs(found.scores - exact.scores) <= found.error + exact.error)


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_is_never_below_the_error(seed):
    """Also where Newton steps stop early: the bound is then large, and still a bound."""
    rng = np.random.default_rng(seed)
    k, n, d = int(rng.integers(2, 4)), int(rng.integers(12, 40)), int(rng.integers(1, 6))
    X, y = table(seed, k, n, d)
    X = X + rng.choice([0.0, 1e3])
    loss = str(rng.choice(["logistic", "squared"]))
    clf = LinearClassifier(loss, l2=L2).fit(X, y)
    found = leave_one_out(clf, X, y, tol=float(rng.choice([1e-1, 1e-3, 1e-7])))
    _, scores = oracle(loss, X, y, np.ones(n), k)
    off = np.abs(found.scores.reshape(n, -1) - scores)
    assert np.all(off <= found.error.reshape(n, -1) + 1e-9)


def test_a_loose_bound_is_not_zero():
    X, y = table(0)
    clf = LinearClassifier(l2=L2).fit(X, y)
    loose, close = (leave_one_out(clf, X, y, tol=tol) for tol in (0.5, 1e-10))
    off = np.abs(loose.scores - close.scores)
    assert np.all(off <= loose.error)
    assert off.max() > 1e-6


def test_a_row_of_weight_two_is_left_out_as_a_whole():
    X, y = table(4)
    c = np.where(np.arange(N) == 5, 2.0, 1.0)
    clf = LinearClassifier(l2=L2).fit(X, y, sample_weight=c)
    found = leave_one_out(clf, X, y, sample_weight=c, tol=1e-9)
    twice = np.append(np.arange(N), 5)
    copies = LinearClassifier(l2=L2, tol=1e-12).fit(X[twice], y[twice])
    np.testing.assert_allclose(copies.coef_, clf.coef_, atol=1e-3)
    rest = np.arange(N) != 5
    without = LinearClassifier(l2=L2, tol=1e-13).fit(X[rest], y[rest])
    assert found.scores[5] == pytest.approx(without.decision_function(X[[5]])[0], abs=1e-6)
    one = leave_one_out(copies, X[twice], y[twice])
    assert abs(one.scores[5] - found.scores[5]) > 1e-3
    assert one.scores[5] == pytest.approx(one.scores[-1], abs=1e-5)


def test_rows_of_weight_zero_are_absent():
    X, y = table(4)
    c = np.where(np.arange(N) < 3, 0.0, 1.0)
    clf = LinearClassifier(l2=L2, tol=1e-10).fit(X, y, sample_weight=c)
    found = leave_one_out(clf, X, y, sample_weight=c)
    few = leave_one_out(clf, X[3:], y[3:])
    np.testing.assert_allclose(found.scores[3:], few.scores, atol=1e-5)
    np.testing.assert_allclose(found.score_change[:3], 0.0, atol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_an_offset_stays_in_the_scores(loss):
    X, y = table(6)
    offset = np.random.default_rng(1).standard_normal(N)
    clf = LinearClassifier(loss, l2=L2).fit(X, y, offset=offset)
    found = leave_one_out(clf, X, y, offset=offset, tol=1e-9)
    for i in range(0, N, 5):
        W = left_out(loss, X, 2.0 * y - 1.0, np.ones(N), L2, i, offset=offset[:, None])
        assert found.scores[i] == pytest.approx(W[0] @ np.append(X[i], 1.0) + offset[i], abs=1e-7)
    with pytest.raises(ValueError, match="offset"):
        found.conformal_sets(X)
    assert found.conformal_sets(X, offset=offset).shape == (N, 2)


def test_sources_frames_and_searches():
    X, y = table(7)
    clf = LinearClassifier(l2=L2).fit(X, y)
    found = leave_one_out(clf, X, y)
    source = ArraySource(X, 2.0 * y - 1.0, np.array([0, 1]))
    np.testing.assert_array_equal(leave_one_out(clf, source).scores, found.scores)
    search = LinearClassifierCV(l2s=[L2], cv=3, scoring="loss").fit(X, y)
    np.testing.assert_allclose(leave_one_out(search, X, y).scores, found.scores, atol=1e-5)
    X.setflags(write=False)
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(leave_one_out(clf, strided, y).scores, found.scores)


@pytest.mark.parametrize("shape", [(2, 1), (6, 20)])
def test_few_rows_and_constant_features(shape):
    X, y = table(8, n=2 * shape[0], d=shape[1])
    X[:, 0] = 1e8
    y = np.arange(len(y)) % 2
    found = leave_one_out(LinearClassifier(l2=L2).fit(X, y), X, y, tol=1e-8)
    for i in range(len(y)):
        W = left_out("logistic", X - 1e8 * (np.arange(X.shape[1]) == 0), 2.0 * y - 1.0,
                     np.ones(len(y)), L2, i)  # fmt: skip
        score = W[0, 1:-1] @ X[i, 1:] + W[0, -1]
        assert found.scores[i] == pytest.approx(score, abs=1e-6)


REFUSED = {
    "l1 is not 0": LinearClassifier(l1=0.01, l2=0.01),
    "have no penalty": LinearClassifier(l2=0.01, penalty_weights=[0.0, 1.0, 1.0]),
    "minimum at zero weights": LinearClassifier("perceptron", l2=0.01),
    "is not convex": LinearClassifier("tanh_squared", l2=0.01),
    "soft labels": LinearClassifier(l2=0.01, soft_labels=True),
    "bias_reduction": LinearClassifier(l2=0.0, bias_reduction="firth"),
    "stopped with": LinearClassifier(l2=0.01, stop=Stop(seconds=1e-9)),
    "shifts the intercept": LinearClassifier(
        l2=0.01, prior_correction=True, class_weight="balanced"
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("words", REFUSED)
def test_fits_without_leave_one_out_are_refused_by_name(words):
    X, y = table(9)
    clf = REFUSED[words].fit(X, y)
    with pytest.raises(ValueError, match=words):
        leave_one_out(clf, X, y)


def test_bad_arguments_are_refused():
    X, y = table(9)
    clf = LinearClassifier(l2=L2).fit(X, y)
    with pytest.raises(ValueError, match="pass the X, y"):
        leave_one_out(clf, X + 1.0, 1 - y)
    with pytest.raises(ValueError, match="tol"):
        leave_one_out(clf, X, y, tol=0.0)
    with pytest.raises(TypeError, match="fitted LinearClassifier"):
        leave_one_out("clf", X, y)
    with pytest.raises(ValueError, match="pass y_train"):
        leave_one_out(clf, X)
    y[0] = 2
    clf = LinearClassifier(l2=L2).fit(X, y)
    with pytest.raises(ValueError, match="class 2 has 1 row"):
        leave_one_out(clf, X, y)


def test_diagnose_lists_the_rows_of_largest_influence():
    X, y = table(2, n=60)
    X[17], y[17] = 3.0 * X[y == 1][0], 0
    clf = LinearClassifier(l2=L2).fit(X, y)
    rows = diagnose(clf, X, y).facts["influential_rows"]
    found = leave_one_out(clf, X, y)
    assert [each["row"] for each in rows] == found.most_influential().tolist()
    assert rows[0]["influence"] == pytest.approx(found.influence.max(), rel=1e-5)
    weight = np.ones(60)
    weight[:10] = 0.0
    clf.fit(X, y, sample_weight=weight)
    rows = diagnose(clf, X, y, sample_weight=weight).facts["influential_rows"]
    assert min(each["row"] for each in rows) >= 10
    assert diagnose(LinearClassifier("hinge").fit(X, y), X, y).facts["influential_rows"] is None
