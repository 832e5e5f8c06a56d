"""Passive-aggressive, AROW and Winnow against plain loops, and what the three share."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import (
    AROW,
    Checkpoint,
    PassiveAggressive,
    Perceptron,
    Stop,
    Winnow,
    certify,
    diagnose,
    export,
    load,
    save,
    separability,
)

PA1, PA2 = PassiveAggressive(C=0.3), PassiveAggressive(C=0.3, loss="squared_hinge")
RULES = [PA1, PA2, AROW(r=0.7), Winnow(factor=1.5)]
each_rule = pytest.mark.parametrize("rule", RULES, ids=["PA-I", "PA-II", "AROW", "Winnow"])
ADDITIVE = RULES[:3]
each_additive = pytest.mark.parametrize("rule", ADDITIVE, ids=["PA-I", "PA-II", "AROW"])


def clone(rule, **others):
    return type(rule)(**{**rule.get_params(), "shuffle": False, **others})


def passes(rule, n):
    return clone(rule, max_iter=n, tol=None, patience=None)


def reference(rule, X, Y, number, fit_intercept=True, weight=None):
    """The rule in plain NumPy: Y has the numbers of the classes; no more is shared with it.

    Returns weights, variances, the mean of the weights after every visit, and mistakes per pass.
    """
    k, binary = Y.max() + 1, Y.max() == 1
    W = np.zeros((1 if binary else k, X.shape[1] + 1))
    S = np.ones_like(W)
    if isinstance(rule, Winnow):
        W[:] = 1.0
        W[0, -1] = -X.shape[1]
    weight = np.ones(len(X)) if weight is None else weight
    total, visits, mistakes = np.zeros_like(W), 0.0, []
    for _ in range(number):
        wrong = 0.0
        for x, y, c in zip(X, Y, weight, strict=True):
            z = np.append(x, 1.0)
            while c > 0:
                part, c = min(c, 1.0), c - 1.0
                scores = W @ z
                if binary:
                    gains, loses, sign = 0, None, 2.0 * y - 1.0
                    m = sign * scores[0]
                else:
                    rivals = [r for r in range(k) if r != y]
                    loses = max(rivals, key=lambda r: scores[r])  # the first in a tie
                    gains, sign, m = y, 1.0, scores[y] - scores[loses]
                wrong += part * (m <= 0)
                u = np.append(x, 1.0 if fit_intercept else 0.0)
                if isinstance(rule, Winnow):
                    if m <= 0:
                        W[0, :-1] *= rule.factor ** (sign * x * part)
                elif m < 1:
                    loss, changed = 1.0 - m, [(gains, sign)] + [(loses, -1.0)] * (not binary)
                    if isinstance(rule, AROW):
                        v = sum(S[j] @ u**2 for j, _ in changed)
                        for j, s in changed:
                            W[j] += loss / (v + rule.r / part) * s * S[j] * u
                            S[j] = 1 / (1 / S[j] + u**2 * part / rule.r)
                    else:
                        length2, C = len(changed) * (u @ u), rule.C * part
                        if rule.loss == "hinge":
                            tau = min(C, loss / length2) if length2 else C
                        else:
                            tau = loss / (length2 + 1 / (2 * C))
                        for j, s in changed:
                            W[j] += tau * s * u
                total += part * W
                visits += part
        mistakes.append(wrong)
    return W, S, total / visits, mistakes


def data(k=2, n=40, d=6, seed=0, binary=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, d)).astype(float) if binary else rng.standard_normal((n, d)).round(1)
    X[rng.random((n, d)) < 0.4] = 0.0
    Y = rng.integers(0, k, n)
    Y[:k] = range(k)
    return X, Y


def rows_for(rule, k=2, **others):
    X, Y = data(k, **others)
    return (np.abs(X) if isinstance(rule, Winnow) else X), Y


def shown(W):
    """Biases of more than two classes are reported with sum 0."""
    W = W.copy()
    if len(W) > 1:
        W[:, -1] -= W[:, -1].mean()
    return W


def weights(clf):
    return np.column_stack([clf.coef_, clf.intercept_])


@pytest.mark.parametrize("k", [2, 3, 5])
@each_rule
def test_a_fit_takes_the_steps_of_the_plain_loop(rule, k):
    if k > 2 and isinstance(rule, Winnow):
        return
    X, Y = rows_for(rule, k)
    for bias in (True, False) if not isinstance(rule, Winnow) else (True,):
        clf = passes(rule, 3)
        if not bias:
            clf.set_params(fit_intercept=False)
        W, S, mean, mistakes = reference(rule, X, Y, 3, bias)
        clf.fit(X, np.array(["a", "b", "c", "d", "e"])[Y])
        np.testing.assert_allclose(weights(clf), shown(W), rtol=1e-9, atol=1e-12)
        assert clf.history_["mistakes"].tolist() == mistakes
        average = clone(clf, keep="average", max_iter=3).fit(X, Y)
        np.testing.assert_allclose(weights(average), shown(mean), rtol=1e-9, atol=1e-12)
        if isinstance(rule, AROW):
            found = np.column_stack([clf.coef_variance_, clf.intercept_variance_])
            np.testing.assert_allclose(found, S, rtol=1e-9)
        streamed = clone(rule, **({} if isinstance(rule, Winnow) else {"fit_intercept": bias}))
        for _ in range(3):
            streamed.partial_fit(X[:15], Y[:15], classes=range(k))
            streamed.partial_fit(X[15:], Y[15:])
        assert np.array_equal(weights(streamed), weights(clone(clf).fit(X, Y)))


@pytest.mark.parametrize("k", [2, 3])
@each_rule
def test_sparse_rows_give_the_bits_of_dense_ones(rule, k):
    if k > 2 and isinstance(rule, Winnow):
        return
    X, Y = rows_for(rule, k, n=60, d=37)
    X[7] = X[8] = 0.0
    for dtype in (np.float64, np.float32):
        dense = passes(rule, 4).set_params(keep="average", shuffle=True, random_state=1)
        dense.fit(X.astype(dtype), Y)
        assert np.all(np.isfinite(weights(dense)))
        assert np.any(dense.coef_)
        for index in (np.int32, np.int64):
            S = sp.csr_matrix(X.astype(dtype))
            S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
            sparse = clone(dense, shuffle=True).fit(S, Y)
            assert np.array_equal(weights(sparse), weights(dense))
            assert sparse.n_updates_ == dense.n_updates_


@pytest.mark.parametrize("k", [2, 3])
@each_rule
def test_a_row_of_weight_c_is_c_rows_in_succession(rule, k):
    if k > 2 and isinstance(rule, Winnow):
        return
    X, Y = rows_for(rule, k)
    c = np.random.default_rng(1).integers(0, 5, len(X))
    c[Y == 0], c[:k] = np.maximum(c[Y == 0], 1), 1
    weighted = passes(rule, 3).set_params(keep="average").fit(X, Y, sample_weight=c)
    repeated = clone(weighted).fit(np.repeat(X, c, axis=0), np.repeat(Y, c))
    assert np.array_equal(weighted.coef_, repeated.coef_)
    assert np.array_equal(weighted.history_["mistakes"], repeated.history_["mistakes"])
    assert np.allclose(weighted.history_["objective"], repeated.history_["objective"], rtol=1e-12)
    parts = np.random.default_rng(2).uniform(0.1, 2.5, len(X))
    W, _, mean, _ = reference(rule, X, Y, 3, weight=parts)
    clf = passes(rule, 3).fit(X, Y, sample_weight=parts)
    np.testing.assert_allclose(weights(clf), shown(W), rtol=1e-9, atol=1e-12)
    averaged = passes(rule, 3).set_params(keep="average").fit(X, Y, sample_weight=parts)
    np.testing.assert_allclose(weights(averaged), shown(mean), rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="visited c times"):
        clone(rule).fit(X, Y, sample_weight=np.where(Y, 2e6, 1.0))


@each_additive
def test_ties_of_rivals_and_margins_of_exactly_0_and_1(rule):
    X = np.array([[1.0], [2.0], [-1.0]])
    clf = passes(rule, 1).fit(X, [2, 0, 1])
    W = reference(rule, X, np.array([2, 0, 1]), 1)[0]
    np.testing.assert_allclose(weights(clf), shown(W), rtol=1e-12, atol=1e-15)
    # From zeros the first rival loses the first row: class 0, not class 1.
    one = clone(rule, max_iter=1).partial_fit(X[:1], [2], classes=[0, 1, 2])
    assert one.coef_[0, 0] < 0.0 == one.coef_[1, 0] < one.coef_[2, 0]
    # A margin of exactly 1 is none to change; of exactly 0 it counts as a mistake.
    at = clone(rule, max_iter=1, tol=None, start=np.array([1.0, 0.0]))
    rest = clone(at).partial_fit([[1.0]], [1], classes=[0, 1])
    assert rest.coef_.item() == 1.0
    assert rest.n_updates_ == 0
    assert not rest.history_["objective"][0]
    assert clone(at).partial_fit([[0.0]], [1], classes=[0, 1]).history_["mistakes"].item() == 1.0


@each_rule
def test_zero_rows_move_the_bias_alone(rule):
    X = np.zeros((3, 2))
    clf = passes(rule, 2).fit(X, [0, 1, 1])
    assert np.array_equal(clf.coef_, np.ones((1, 2)) if isinstance(rule, Winnow) else [[0.0, 0.0]])
    if not isinstance(rule, Winnow):
        assert clf.intercept_.any()
        without = passes(rule, 2).set_params(fit_intercept=False).fit(X, [0, 1, 1])
        assert not without.intercept_.any()
        assert without.n_updates_ == 0
        empty = clone(without).fit(sp.csr_matrix((3, 2)), [0, 1, 1])
        assert empty.n_updates_ == 0
        assert not empty.coef_.any()


@pytest.mark.parametrize("scale", [1e-160, 1e-8, 1e8, 1e140])
@each_additive
def test_huge_and_tiny_features(rule, scale):
    X, Y = data()
    with np.errstate(all="ignore"):
        W = reference(rule, scale * X, Y, 2, fit_intercept=False)[0]
    clf = passes(rule, 2).set_params(fit_intercept=False).fit(scale * X, Y)
    assert np.all(np.isfinite(clf.coef_))
    np.testing.assert_allclose(clf.coef_ * scale, W[:, :-1] * scale, rtol=1e-6, atol=1e-300)


@each_rule
def test_rows_that_cannot_be_learned_are_refused(rule):
    X, Y = rows_for(rule)
    clf = clone(rule).fit(X, Y)
    before = weights(clf)
    for bad in (np.nan, np.inf):
        worse = X.copy()
        worse[3, 1] = bad
        for method in (clf.fit, clf.partial_fit):
            with pytest.raises(ValueError, match=r"NaN|infin"):
                method(worse, Y)
    if not isinstance(rule, Winnow):
        with pytest.raises(ValueError, match="squared length"):
            clf.fit(1e155 * np.ones_like(X), Y)
    with pytest.raises(ValueError, match=r"one class|1 class|two classes|2 classes"):
        clf.fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match=r"indicator|multilabel|1d|column"):
        clf.fit(X, np.eye(2, dtype=int)[Y])
    assert np.array_equal(weights(clf), before)
    with pytest.raises(TypeError, match="offset"):
        clf.fit(X, Y, offset=np.ones(len(X)))


@each_rule
def test_one_row_read_only_and_strided_arrays(rule):
    X, Y = rows_for(rule)
    plain = passes(rule, 2).fit(X, Y)
    frozen, strided = X.copy(), np.repeat(X, 2, axis=1)[:, ::2]
    frozen.setflags(write=False)
    for other in (frozen, strided, np.asfortranarray(X)):
        assert np.array_equal(clone(plain).fit(other, Y).coef_, plain.coef_)
    one = clone(rule).partial_fit(X[:1], Y[:1], classes=[0, 1])
    assert one.coef_.shape == (1, X.shape[1])
    with pytest.raises(ValueError, match="only one class"):
        clone(rule).partial_fit(X[:1], Y[:1])


@each_rule
def test_a_trace_replays_every_update(rule):
    X, Y = rows_for(rule)
    clf = passes(rule, 3).set_params(shuffle=True, random_state=3).fit(X, Y)
    steps = list(clf.trace_.replay(X, Y))
    assert np.array_equal(steps[-1].weights, weights(clf))
    changed = [step for step in steps if not step.ends_pass]
    assert len(changed) == clf.n_updates_ == clf.embedding_strengths_.sum() > 0
    moves = [step.weights for step in changed]
    assert all(not np.array_equal(a, b) for a, b in pairwise(moves))
    recording = clf.trace_.recording(X, Y)
    assert len(recording.columns.visited) == 3 * len(X)
    assert np.array_equal(recording.columns.weights[-1], weights(clf))
    sentences = [recording.sentence(i) for i in range(1, 3 * len(X) + 1)]
    assert sum("the rule raises its margin" in each for each in sentences) == clf.n_updates_


@each_rule
def test_files_checkpoints_and_copies(rule, tmp_path):
    X, Y = rows_for(rule, n=30)
    clf = passes(rule, 3).set_params(random_state=0, shuffle=True).fit(X, Y)
    save(clf, tmp_path / "model.sep")
    loaded = load(tmp_path / "model.sep")
    assert np.array_equal(weights(loaded), weights(clf))
    if isinstance(rule, AROW):
        assert np.array_equal(loaded.coef_variance_, clf.coef_variance_)
    export(clf, tmp_path / "model.json", to="json")
    assert (tmp_path / "model.json").stat().st_size > 0
    again = [each.partial_fit(X, Y) for each in (loaded, clf)]
    assert np.array_equal(weights(again[0]), weights(again[1]))
    place = tmp_path / "run.ckpt"
    whole = passes(rule, 6).set_params(random_state=1, shuffle=True).fit(X, Y)
    for most in (2, 6):
        cut = clone(whole, shuffle=True, max_iter=most, callbacks=[Checkpoint(place, every=1)])
        cut.fit(X, Y)
    assert np.array_equal(weights(cut), weights(whole))


@each_rule
def test_other_objectives_are_refused_by_name(rule):
    X, Y = rows_for(rule)
    clf = clone(rule).fit(X, Y)
    with pytest.raises((TypeError, ValueError), match=type(rule).__name__):
        certify(clf, X, Y)
    with pytest.raises(TypeError, match=type(rule).__name__):
        diagnose(clf, X, Y)


def test_parameters_are_checked_before_anything_changes():
    X, Y = data(binary=True)
    for bad in (
        PassiveAggressive(C=0.0), PassiveAggressive(C=np.inf), PassiveAggressive(loss="log"),
        AROW(r=-1.0), Winnow(factor=1.0), Winnow(threshold=0.0), Winnow(keep="auto"),
        PassiveAggressive(max_iter=0), AROW(shuffle=2),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            bad.fit(X, Y)
        assert not hasattr(bad, "coef_")
    with pytest.raises(ValueError, match="Negative values in data passed to Winnow, such as -1"):
        Winnow().fit(-X, Y)
    with pytest.raises(ValueError, match="Only binary classification"):
        Winnow().fit(X, np.arange(len(X)) % 3)
    assert OneVsRestClassifier(Winnow()).fit(X, np.arange(len(X)) % 3).predict(X).max() <= 2


def separable(n=60, k=2):
    Y = np.arange(n) % k
    around = np.random.default_rng(0).uniform(-0.9, 0.9, (n, 3))
    return around + 2.0 * np.eye(3)[Y], Y


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
def test_mistakes_stay_below_the_bound(C, loss, k):
    X, Y = separable(k=k)
    theory = separability(X, Y)
    clf = PassiveAggressive(C, loss=loss, monitor=theory, random_state=0).fit(X, Y)
    R2 = (X**2).sum(axis=1).max() + 1.0
    R2, u2 = (R2 if k == 2 else 2 * R2), 1 / theory.margin**2
    expected = max(R2, 1 / C) * u2 if loss == "hinge" else (R2 + 0.5 / C) * u2
    assert clf.mistake_bound_ == pytest.approx(expected, rel=1e-6)
    assert clf.history_["mistakes_so_far"][-1] <= clf.mistake_bound_
    assert clf.history_["mistakes_so_far"][-1] == clf.history_["mistakes"].sum()
    assert clf.set_params(monitor=None).fit(X, Y).mistake_bound_ is None


def test_a_monitor_is_refused_where_the_theory_does_not_apply():
    X, Y = separable()
    theory = separability(X, Y)
    with pytest.raises(ValueError, match="weight 1"):
        PassiveAggressive(monitor=theory).fit(X, Y, sample_weight=np.full(len(Y), 2.0))
    with pytest.raises(ValueError, match="zero weights"):
        PassiveAggressive(monitor=theory, start="random").fit(X, Y)
    with pytest.raises(ValueError, match="whole fit"):
        PassiveAggressive(monitor=theory).partial_fit(X, Y)
    with pytest.raises(TypeError, match="monitor"):
        PassiveAggressive(monitor=3).fit(X, Y)


@pytest.mark.parametrize("factor", [1.2, 2.0, 4.0])
def test_winnow_learns_disjunctions_within_its_bound(factor):
    rng = np.random.default_rng(0)
    X = (rng.random((300, 80)) < 0.1).astype(float)
    Y = (X[:, [3, 11, 40]].sum(axis=1) > 0).astype(int)
    d, log = 80, np.log(80) / np.log(factor)
    for rows in (X, sp.csr_matrix(X)):
        clf = Winnow(factor, random_state=1).fit(rows, Y)
        assert clf.stop_ == "no mistakes"
        assert clf.score(X, Y) == 1.0
        # Three features are enough, and the greedy search finds three here.
        expected = (1 + factor) * 3 * (np.floor(log) + 1) + factor * d / ((factor - 1) * 80)
        assert clf.mistake_bound_ == pytest.approx(expected)
        assert clf.history_["mistakes"].sum() <= clf.mistake_bound_
    noisy = np.where(rng.random(300) < 0.1, 1 - Y, Y)
    assert Winnow(max_iter=5).fit(X, noisy).mistake_bound_ is None
    assert Winnow(max_iter=5).fit(0.5 * X, Y).mistake_bound_ is None
    assert Winnow(max_iter=5).fit(X, Y, sample_weight=1.0 + Y).mistake_bound_ is None
    assert Winnow(threshold=0.5, max_iter=5).fit(X, Y).mistake_bound_ is None
    assert Winnow().partial_fit(X, Y).mistake_bound_ is None


def test_rare_features_keep_their_variance():
    X = np.zeros((50, 2))
    X[:, 0], X[0, 1] = 1.0, 1.0
    clf = AROW(random_state=0).fit(X, np.arange(50) % 2)
    assert clf.coef_variance_[0, 0] < clf.coef_variance_[0, 1] <= 1.0
    start = clf.coef_variance_.copy()
    clf.partial_fit(X, np.arange(50) % 2)
    assert np.all(clf.coef_variance_ <= start)


def test_a_fit_ends_early_by_held_out_rows_and_a_pass_at_rest():
    X, Y = separable(120)
    clf = PassiveAggressive(stop=Stop(validation=(X[60:], Y[60:]), patience=3), tol=None)
    assert clf.fit(X[:60], Y[:60]).stop_ in ("validation", "max_iter", "no progress")
    rest = PassiveAggressive(C=100.0, shuffle=False, patience=None, tol=0.1).fit(X, Y)
    assert rest.stop_ == "tol"
    assert rest.converged_
    assert Perceptron(shuffle=False).fit(X, Y).score(X, Y) == rest.score(X, Y) == 1.0


def expected_failures(estimator):
    if isinstance(estimator, Winnow):
        negative = "the check passes negative features, whatever the tag positive_only says"
        return dict.fromkeys(("check_sparsify_coefficients", "check_class_weight_classifiers"),
                             negative)  # fmt: skip
    order = "rows are visited in an order that depends on their number"
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": order for kind in kinds}


@parametrize_with_checks(
    [PassiveAggressive(), PassiveAggressive(loss="squared_hinge"), AROW(), Winnow()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_conventions(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
