"""The kernel perceptron against the plainest NumPy, and against the primal it stands for."""

from __future__ import annotations

import pickle
import signal
import warnings
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import CORNERS, overlapping
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import InverseScaling, Perceptron, loops
from separatrix.estimators.kernel import KernelPerceptron
from separatrix.kernels import KernelCache, get_kernel

XOR = np.array([0, 1, 1, 0])
PARAMETERS = {"gamma": 0.3, "degree": 2, "coef0": 1.0}


# ---- oracles ---------------------------------------------------------------------------------


def naive_dual(K, y, passes, orders=None):
    """Two classes: strengths, mistakes per pass, coefficients of the last and of the average."""
    n = len(y)
    strengths, total = np.zeros(n, dtype=int), np.zeros(n)
    mistakes = []
    for p in range(passes):
        wrong = 0
        for i in range(n) if orders is None else orders[p]:
            if y[i] * sum(strengths[j] * y[j] * K[j, i] for j in np.flatnonzero(strengths)) <= 0:
                strengths[i] += 1
                wrong += 1
            total += strengths * y
        mistakes.append(wrong)
        if not wrong:
            break
    return strengths, mistakes, strengths * y, total / (n * len(mistakes))


def primal_vectors(features, labels, k, passes):
    """Every weight vector of the rule in explicit features, and how many rows it survived."""
    W = np.zeros((1 if k == 2 else k, features.shape[1]))
    vectors, survived, rows = [], [], []
    for _ in range(passes):
        wrong = 0
        for i, (x, d) in enumerate(zip(features, labels, strict=True)):
            s = W @ x
            if k == 2:
                mistake = (2 * d - 1) * s[0] <= 0
            else:
                rival = max((c for c in range(k) if c != d), key=lambda c: (s[c], -c))
                mistake = s[rival] - s[d] >= 0
            if mistake:
                W = W.copy()
                if k == 2:
                    W[0] += (2 * d - 1) * x
                else:
                    W[d] += x
                    W[rival] -= x
                    rows.append((i, d, rival))
                vectors.append(W)
                survived.append(0)
                wrong += 1
            survived[-1] += 1
        if not wrong:
            break
    return vectors, survived, rows


def primal_votes(features, vectors, survived):
    """Two classes: sum of signs with sign(0) = 1; more: votes of each vector for its argmax."""
    columns = len(vectors[0])
    votes = np.zeros((len(features), columns))
    for W, count in zip(vectors, survived, strict=True):
        for r, x in enumerate(features):
            s = W @ x
            if columns == 1:
                votes[r] += count if s[0] >= 0 else -count
            else:
                votes[r, int(np.argmax(s))] += count
    return votes


def explicit(X, kernel):
    """Integer features whose inner product is the kernel plus 1."""
    Z = np.column_stack([np.ones(len(X)), X])
    if kernel == "poly":  # (1 + x.z)^2: all products, in both orders
        Z = np.column_stack([np.ones(len(X)), (Z[:, :, None] * Z[:, None, :]).reshape(len(X), -1)])
    return Z


def whole_numbers(n=60, d=3, k=2, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return np.rint(2 * rng.standard_normal((n, d)) + labels[:, None]), labels


def three_clouds(n=150, d=4, seed=1):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    return rng.standard_normal((n, d)) + 1.2 * np.eye(3, d)[labels], labels


# ---- kernels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rbf", "poly", "linear", "sigmoid", "laplacian"])
@pytest.mark.parametrize("left", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("right", [np.asarray, sp.csr_matrix])
def test_kernels_are_those_of_scikit_learn(name, left, right, rng):
    A, B = rng.standard_normal((7, 4)), rng.standard_normal((5, 4))
    kernel = get_kernel(name, B, gamma=0.7, degree=3, coef0=0.5)
    expected = pairwise_kernels(A, B, metric=name, filter_params=True, gamma=0.7, degree=3,
                                coef0=0.5)  # fmt: skip
    np.testing.assert_allclose(
        kernel.between(left(A), kernel.prepare(right(B))), expected, rtol=1e-12
    )


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.25])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_gamma_means_what_it_means_in_svc(gamma, form):
    X, y = overlapping(n=50)
    expected = SVC(gamma=gamma).fit(X, y)._gamma
    assert KernelPerceptron(gamma=gamma).fit(form(X), y)._kernel.gamma == pytest.approx(expected)


def test_gamma_of_constant_rows_is_one():
    assert get_kernel("rbf", np.ones((3, 2))).gamma == 1.0


def test_rbf_far_from_the_origin_keeps_its_digits(rng):
    X = rng.standard_normal((20, 3))
    kernel = get_kernel("rbf", X, gamma=1.0)
    far = kernel.between(X + 2.0**26, kernel.prepare(X + 2.0**26))
    np.testing.assert_allclose(far, kernel.between(X, kernel.prepare(X)), rtol=1e-6)


def test_kernel_rows_have_the_same_bits_whatever_is_cached(rng):
    X = rng.standard_normal((301, 7))
    kernel = get_kernel("rbf", X)
    roomy, tight = (KernelCache(kernel, X, 1.0, room) for room in (1e9, 3 * 8 * 301))
    assert (roomy.capacity, tight.capacity) == (301, 3)
    for number in rng.integers(301, size=200).tolist():
        likely = rng.integers(301, size=20)
        expected = roomy.row(number, lambda: np.arange(0)).copy()
        np.testing.assert_array_equal(tight.row(number, lambda likely=likely: likely), expected)
    assert tight.computed > 200


# ---- two classes -----------------------------------------------------------------------------


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("keep", ["last", "average"])
@pytest.mark.parametrize("learning_rate", [1.0, 0.1])
@pytest.mark.parametrize("k", [2, 4])
def test_dual_equals_perceptron_row_for_row_on_the_linear_kernel(shuffle, keep, learning_rate, k):
    X, y = whole_numbers(n=80, k=k)
    common = {
        "max_iter": 25, "shuffle": shuffle, "keep": keep, "learning_rate": learning_rate,
        "random_state": 3,
    }  # fmt: skip
    primal, dual = Perceptron(**common).fit(X, y), KernelPerceptron("linear", **common).fit(X, y)
    np.testing.assert_array_equal(dual.coef_, primal.coef_)
    strengths = dual.embedding_strengths_
    if k == 2:
        np.testing.assert_array_equal(dual.intercept_, primal.intercept_)
    else:  # there the mean, 0 but for rounding, is taken off
        np.testing.assert_allclose(dual.intercept_, primal.intercept_, rtol=1e-13)
        strengths = strengths[np.arange(len(y)), y]
    np.testing.assert_array_equal(strengths, primal.embedding_strengths_)
    assert (dual.n_iter_, dual.n_updates_, dual.stop_, dual.converged_) == (
        primal.n_iter_, primal.n_updates_, primal.stop_, primal.converged_,
    )  # fmt: skip
    assert list(dual.history_) == list(primal.history_)
    np.testing.assert_array_equal(dual.history_["mistakes"], primal.history_["mistakes"])
    for name in ("objective", "norm"):
        np.testing.assert_allclose(dual.history_[name], primal.history_[name])
    np.testing.assert_allclose(dual.decision_function(X), primal.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    "options",
    [{"class_weight": {-1: 1, 1: 3}}, {"class_weight": "balanced"},
     {"learning_rate": InverseScaling(1.0, 0.5)}, {"learning_rate": lambda t: 1 / t},
     {"max_norm": 5.0}, {"tol": 0.5, "learning_rate": lambda t: 1 / t**2}, {"patience": 2}],
)  # fmt: skip
def test_other_parameters_mean_what_they_mean_in_perceptron(options, fit_intercept):
    X, y = overlapping(n=90, d=3)
    common = {"max_iter": 15, "fit_intercept": fit_intercept, "keep": "last", "random_state": 0}
    primal = Perceptron(**common, **options).fit(X, y)
    dual = KernelPerceptron("linear", **common, **options).fit(X, y)
    np.testing.assert_array_equal(dual.embedding_strengths_, primal.embedding_strengths_)
    np.testing.assert_allclose(dual.coef_, primal.coef_, atol=1e-9)
    np.testing.assert_allclose(dual.intercept_, primal.intercept_, atol=1e-9)
    assert (dual.n_iter_, dual.stop_) == (primal.n_iter_, primal.stop_)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "sigmoid"])
@pytest.mark.parametrize("keep", ["last", "average"])
def test_two_classes_against_the_naive_dual(kernel, keep):
    X, y = overlapping(n=50, d=3)
    K = pairwise_kernels(X, metric=kernel, filter_params=True, **PARAMETERS) + 1
    strengths, mistakes, last, average = naive_dual(K, y, passes=8)
    clf = KernelPerceptron(kernel, **PARAMETERS, max_iter=8, keep=keep, shuffle=False).fit(X, y)
    np.testing.assert_array_equal(clf.embedding_strengths_, strengths)
    np.testing.assert_array_equal(clf.history_["mistakes"], mistakes)
    expected = last if keep == "last" else average
    np.testing.assert_array_equal(clf.support_, np.flatnonzero(expected))
    np.testing.assert_allclose(clf.dual_coef_[0], expected[clf.support_])
    np.testing.assert_allclose(clf.intercept_, [expected.sum()], atol=1e-12)
    np.testing.assert_allclose(clf.decision_function(X), expected @ K, atol=1e-9)
    np.testing.assert_array_equal(clf.support_vectors_, X[clf.support_])
    assert clf.n_updates_ == strengths.sum()


def test_auto_keeps_the_last_after_a_clean_pass_and_else_the_average():
    X, y = overlapping(n=60, d=2)
    for options, other in (({"gamma": 50.0}, "last"), ({"max_iter": 2}, "average")):
        auto = KernelPerceptron(**options, random_state=0).fit(X, y)
        expected = KernelPerceptron(**options, random_state=0, keep=other).fit(X, y)
        np.testing.assert_array_equal(auto.dual_coef_, expected.dual_coef_)
        assert (auto.stop_ == "no mistakes") == (other == "last")


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("k", [2, 3])
def test_voted_is_exact(kernel, k):
    X, y = whole_numbers(n=40, k=k)
    clf = KernelPerceptron(
        kernel, gamma=1.0, degree=2, keep="voted", max_iter=5, shuffle=False
    ).fit(X, y)
    vectors, survived, _ = primal_vectors(explicit(X, kernel), y, k, passes=5)
    new = whole_numbers(n=30, seed=9)[0]
    votes = primal_votes(explicit(new, kernel), vectors, survived)
    np.testing.assert_array_equal(clf.decision_function(new), votes[:, 0] if k == 2 else votes)
    winners = (votes[:, 0] >= 0).astype(int) if k == 2 else votes.argmax(axis=1)
    np.testing.assert_array_equal(clf.predict(new), winners)
    assert sum(survived) == clf.n_iter_ * len(y)
    assert len(vectors) == clf.n_updates_
    last = vectors[-1] @ explicit(new, kernel).T  # of which the coefficients are
    K = pairwise_kernels(clf.support_vectors_, new, metric=kernel, filter_params=True, gamma=1.0,
                         degree=2, coef0=1.0)  # fmt: skip
    np.testing.assert_allclose(clf.dual_coef_ @ (K + 1), last)


def test_a_tied_vote_is_for_the_larger_class():
    clf = KernelPerceptron("linear", keep="voted", max_iter=1, shuffle=False, fit_intercept=False)
    clf.fit([[1.0], [-1.0]], [0, 1])  # one vector, w = -1, which survives both rows
    np.testing.assert_array_equal(clf.decision_function([[0.0], [1.0], [-1.0]]), [2, -2, 2])


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_xor_is_solved_by_a_kernel(kernel):
    clf = KernelPerceptron(kernel, random_state=0).fit(CORNERS, XOR)
    assert clf.stop_ == "no mistakes"
    assert clf.converged_
    np.testing.assert_array_equal(clf.predict(CORNERS), XOR)


def test_no_more_mistakes_than_the_theorem_allows():
    X, y = overlapping(n=80, d=2)
    K = pairwise_kernels(X, metric="rbf", gamma=20.0) + 1
    hard = SVC(kernel="precomputed", C=1e9, tol=1e-8).fit(K, y)
    a = np.zeros(len(y))
    a[hard.support_] = hard.dual_coef_[0]
    w_square = a @ K @ a  # a bias of its own can only lengthen w: this gamma is not too small
    margin = (y * (a @ K)).min() / np.sqrt(w_square)
    clf = KernelPerceptron(gamma=20.0, max_iter=1000, patience=None, random_state=0).fit(X, y)
    assert clf.stop_ == "no mistakes"
    assert margin > 0
    assert clf.n_updates_ <= K.diagonal().max() / margin**2


# ---- more than two classes -------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("k", [3, 5])
def test_many_classes_against_the_primal_rule(kernel, k):
    X, y = whole_numbers(n=70, k=k)
    clf = KernelPerceptron(
        kernel, gamma=1.0, degree=2, keep="last", max_iter=6, shuffle=False, patience=None
    ).fit(X, y)
    vectors, _, changes = primal_vectors(explicit(X, kernel), y, k, passes=6)
    strengths = np.zeros((len(y), k), dtype=int)
    for row, true, rival in changes:
        strengths[row, true] += 1
        strengths[row, rival] -= 1
    np.testing.assert_array_equal(clf.embedding_strengths_, strengths)
    np.testing.assert_array_equal(clf.dual_coef_, strengths.T[:, clf.support_])
    np.testing.assert_array_equal(clf.decision_function(X), explicit(X, kernel) @ vectors[-1].T)
    assert clf.intercept_.shape == (k,)
    assert clf.intercept_.sum() == 0.0


def test_average_of_many_classes():
    X, y = whole_numbers(n=50, k=3)
    clf = KernelPerceptron("linear", keep="average", max_iter=4, shuffle=False).fit(X, y)
    vectors, survived, _ = primal_vectors(explicit(X, "linear"), y, 3, passes=4)
    mean = sum(c * W for c, W in zip(survived, vectors, strict=True)) / sum(survived)
    np.testing.assert_allclose(clf.coef_, mean[:, 1:], rtol=1e-14)
    np.testing.assert_allclose(clf.intercept_, mean[:, 0], rtol=1e-14)


def test_joint_form_of_two_classes_is_twice_the_binary_one():
    X, y = whole_numbers(n=60, k=2)
    common = {"kernel": "linear", "keep": "last", "max_iter": 9, "shuffle": False}
    binary = KernelPerceptron(**common).fit(X, y)
    # A third class without rows: it stays at 0, and never is the only best rival.
    clf = KernelPerceptron(**common)
    run = clf._run(clf._checked_kernel(X), X, np.arange(3), y, None)
    *_, last = islice(run.steps(), binary.n_iter_)
    assert not last.weights[2].any()
    joint = last.weights @ X
    np.testing.assert_array_equal(joint[1] - joint[0], 2 * binary.coef_[0])
    assert run.ended.updates == binary.n_updates_


def test_string_labels_and_names():
    pandas = pytest.importorskip("pandas")
    X, y = three_clouds()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    names = np.array(["red", "green", "blue"])[y]
    clf = KernelPerceptron(random_state=0).fit(frame, names)
    assert clf.classes_.tolist() == ["blue", "green", "red"]
    assert clf.feature_names_in_.tolist() == list("abcd")
    assert clf.decision_function(frame).shape == (150, 3)
    assert clf.score(frame, names) > 0.8


# ---- storage ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("keep", "budget"), [("average", None), ("voted", None), ("auto", 20)])
def test_a_tiny_cache_changes_nothing(keep, budget):
    X, y = three_clouds(n=300)
    common = {"keep": keep, "max_iter": 5, "random_state": 0, "budget": budget}
    roomy = KernelPerceptron(**common).fit(X, y)
    tight = KernelPerceptron(**common, cache_mb=0).fit(X, y)
    np.testing.assert_array_equal(tight.embedding_strengths_, roomy.embedding_strengths_)
    np.testing.assert_array_equal(tight.dual_coef_, roomy.dual_coef_)
    np.testing.assert_array_equal(tight.history_["norm"], roomy.history_["norm"])
    np.testing.assert_array_equal(tight.decision_function(X), roomy.decision_function(X))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "sigmoid"])
@pytest.mark.parametrize(("k", "form"), [(2, sp.csr_matrix), (2, sp.csc_array), (3, sp.csr_array)])
def test_sparse_equals_dense(kernel, k, form):
    X, y = whole_numbers(n=70, k=k)
    X *= np.random.default_rng(5).random(X.shape) < 0.6
    common = {"kernel": kernel, "gamma": 0.5, "max_iter": 4, "random_state": 0}
    for keep in ("average", "voted"):
        dense = KernelPerceptron(**common, keep=keep).fit(X, y)
        sparse = KernelPerceptron(**common, keep=keep).fit(form(X), y)
        assert sp.issparse(sparse.support_vectors_)
        np.testing.assert_array_equal(sparse.embedding_strengths_, dense.embedding_strengths_)
        for clf, new in ((sparse, form(X)), (sparse, X), (dense, form(X))):
            np.testing.assert_allclose(
                clf.decision_function(new), dense.decision_function(X), rtol=1e-9, atol=1e-9
            )
        if kernel == "linear":
            np.testing.assert_array_equal(sparse.coef_, dense.coef_)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("keep", ["last", "average", "voted"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_precomputed_and_callable_equal_computed(k, keep, form):
    X, y = whole_numbers(n=50, k=k)
    new = whole_numbers(n=20, seed=4)[0]
    common = {"keep": keep, "max_iter": 4, "random_state": 0}
    named = KernelPerceptron("poly", gamma=1.0, degree=2, **common).fit(X, y)
    given = KernelPerceptron("precomputed", **common).fit(form((X @ X.T + 1) ** 2), y)
    called = KernelPerceptron(lambda A, B: (A @ B.T + 1) ** 2, **common).fit(X, y)
    np.testing.assert_array_equal(given.support_, named.support_)
    assert given.support_vectors_.size == 0
    expected = named.decision_function(new)
    np.testing.assert_allclose(given.decision_function(form((new @ X.T + 1) ** 2)), expected)
    np.testing.assert_allclose(called.decision_function(new), expected)


def test_precomputed_is_split_on_both_sides_by_cross_validation():
    X, y = three_clouds()
    K = pairwise_kernels(X, metric="rbf", gamma=0.2)
    assert KernelPerceptron("precomputed").__sklearn_tags__().input_tags.pairwise
    assert not KernelPerceptron().__sklearn_tags__().input_tags.pairwise
    common = {"max_iter": 10, "random_state": 0}
    by_rows = cross_val_score(KernelPerceptron(gamma=0.2, **common), X, y, cv=3)
    by_kernel = cross_val_score(KernelPerceptron("precomputed", **common), K, y, cv=3)
    np.testing.assert_allclose(by_kernel, by_rows)


def test_classification_goes_block_by_block(monkeypatch):
    X, y = three_clouds()
    for keep in ("average", "voted"):
        clf = KernelPerceptron(keep=keep, max_iter=3, random_state=0).fit(X, y)
        whole = clf.decision_function(X)
        with monkeypatch.context() as patch:
            patch.setattr(
                "separatrix.estimators.kernel_expansion.KERNEL_BLOCK_BYTES",
                8 * 7 * len(clf.support_),
            )
            np.testing.assert_allclose(clf.decision_function(X), whole, atol=1e-9)


# ---- budget ----------------------------------------------------------------------------------


def naive_budget(K, y, passes, budget):
    """The support with the smallest |a|^2 K leaves; the most similar one inherits its part."""
    a, supports, ends = np.zeros(len(y)), [], []
    for _ in range(passes):
        for i in range(len(y)):
            if y[i] * (a @ K[:, i]) <= 0:
                a[i] += y[i]
                if i not in supports:
                    supports.append(i)
                if len(supports) > budget:
                    others = [j for j in supports if j != i]
                    out = min(others, key=lambda j: (a[j] ** 2 * K[j, j], supports.index(j)))
                    supports.remove(out)
                    heir = max(
                        supports,
                        key=lambda j: (abs(K[out, j]) / np.sqrt(K[j, j]), -supports.index(j)),
                    )
                    share = K[out, heir] / K[heir, heir]
                    a[heir] += share * a[out]
                    a[out] = 0.0
        ends.append((np.sum(y * (a @ K) <= 0), a.copy()))
    return a, min(ends, key=lambda end: end[0])[1]


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("budget", [1, 2, 7])
def test_budget_follows_its_rule(kernel, budget):
    X, y = overlapping(n=60, d=3)  # no ties that rounding could decide
    K = explicit(X, kernel) @ explicit(X, kernel).T
    last, best = naive_budget(K, y, passes=3, budget=budget)
    for keep, expected in (("last", last), ("auto", best)):
        clf = KernelPerceptron(
            kernel, gamma=1.0, degree=2, budget=budget, max_iter=3, keep=keep, shuffle=False
        ).fit(X, y)
        np.testing.assert_array_equal(clf.support_, np.flatnonzero(expected))
        np.testing.assert_allclose(clf.dual_coef_[0], expected[clf.support_], rtol=1e-9)
        assert clf.embedding_strengths_.sum() == clf.n_updates_


@pytest.mark.parametrize("keep", ["last", "auto"])
@pytest.mark.parametrize("k", [2, 3])
def test_budget_bounds_the_supports_whatever_is_kept(keep, k):
    X, y = three_clouds(n=400)
    y = np.minimum(y, k - 1)
    free = KernelPerceptron(keep=keep, max_iter=5, random_state=0).fit(X, y)
    bound = KernelPerceptron(keep=keep, max_iter=5, random_state=0, budget=40).fit(X, y)
    assert len(free.support_) > 80
    assert len(bound.support_) <= 40
    assert bound.score(X, y) > free.score(X, y) - 0.2
    K = pairwise_kernels(bound.support_vectors_, X, metric="rbf", gamma=bound._kernel.gamma)
    scores = bound.decision_function(X)
    np.testing.assert_allclose(scores.T, (bound.dual_coef_ @ (K + 1)).squeeze(), atol=1e-10)


def test_a_budget_that_is_never_reached_changes_nothing():
    X, y = overlapping(n=60, d=2)
    free = KernelPerceptron(keep="last", random_state=0).fit(X, y)
    bound = KernelPerceptron(keep="last", random_state=0, budget=60).fit(X, y)
    np.testing.assert_array_equal(bound.dual_coef_, free.dual_coef_)


# ---- how a run ends --------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 4])
def test_a_cycle_is_proven_by_the_scores(k):
    X, y = (CORNERS, XOR) if k == 2 else (np.ones((4, 1)), np.arange(4))
    clf = KernelPerceptron("linear", shuffle=False, max_iter=50, patience=None).fit(X, y)
    assert clf.stop_ == "cycle"
    assert not clf.converged_
    free = KernelPerceptron("linear", random_state=0, max_iter=50, patience=None).fit(X, y)
    assert free.stop_ == "max_iter"


def test_norm_is_that_in_feature_space():
    X, y = overlapping(n=50, d=3)
    K = pairwise_kernels(X, metric="rbf", gamma=0.3) + 1
    clf = KernelPerceptron(gamma=0.3, keep="last", max_iter=3, random_state=0).fit(X, y)
    a = clf.dual_coef_[0]
    square = a @ K[np.ix_(clf.support_, clf.support_)] @ a
    assert clf.history_["norm"][-1] == pytest.approx(np.sqrt(square))


def test_callbacks_see_coefficients_and_scores_and_can_stop():
    X, y = overlapping(n=60, d=3)
    seen = []

    def callback(step, info):
        seen.append((step, info))
        return info.iteration == 3

    clf = KernelPerceptron(
        gamma=0.3, keep="average", learning_rate=0.5, callbacks=[callback], random_state=0
    ).fit(X, y)
    assert (clf.stop_, clf.n_iter_, len(seen)) == ("callback", 3, 3)
    step, info = seen[-1]
    K = pairwise_kernels(X, metric="rbf", gamma=0.3) + 1
    np.testing.assert_allclose(step.state["scores"], step.weights @ K, atol=1e-9)
    np.testing.assert_array_equal(step.average[:, clf.support_], clf.dual_coef_)
    assert step.updates == len(step.rows) == info.mistakes
    assert info.norm == pytest.approx(float(np.sqrt(step.weights @ K @ step.weights.T)[0, 0]))


@pytest.mark.parametrize("keep", ["average", "voted"])
def test_ctrl_c_keeps_the_last_whole_pass(keep):
    X, y = overlapping(n=60, d=3)

    def ask(step, info):
        if info.iteration == 2:
            signal.raise_signal(signal.SIGINT)

    clf = KernelPerceptron(keep=keep, random_state=0, callbacks=[ask])
    with pytest.warns(UserWarning, match="interrupted after 2 passes"):
        clf.fit(X, y)
    two = KernelPerceptron(keep=keep, random_state=0, max_iter=2).fit(X, y)
    assert clf.stop_ == "interrupted"
    np.testing.assert_array_equal(clf.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("keep", ["average", "voted"])
def test_ctrl_c_within_a_pass_falls_back_to_the_pass_before(keep):
    X, y = overlapping(n=60, d=3)
    ended = []

    def kernel(A, B):
        if ended and ended[-1] == 2:
            loops.request_stop()
        return pairwise_kernels(A, B, metric="rbf", gamma=0.3)

    common = {"keep": keep, "random_state": 0, "cache_mb": 0}
    clf = KernelPerceptron(
        kernel, **common, callbacks=[lambda step, info: ended.append(info.iteration)]
    )
    with pytest.warns(UserWarning, match="interrupted after 2 passes"):
        clf.fit(X, y)
    two = KernelPerceptron("rbf", gamma=0.3, max_iter=2, **common).fit(X, y)
    np.testing.assert_array_equal(clf.embedding_strengths_, two.embedding_strengths_)
    np.testing.assert_allclose(clf.decision_function(X), two.decision_function(X), atol=1e-9)


def test_interrupted_before_the_first_pass_ended_leaves_no_model():
    def kernel(A, B):
        loops.request_stop()
        return A @ B.T

    X, y = overlapping(n=60, d=3)
    clf = KernelPerceptron(kernel)
    with pytest.raises(KeyboardInterrupt, match="before the end of the first pass"):
        clf.fit(X, y)
    assert not hasattr(clf, "dual_coef_")


def test_verbose_writes_a_line(capsys):
    KernelPerceptron(verbose=True, random_state=0).fit(CORNERS, XOR)
    assert "mistakes 0" in capsys.readouterr().err


# ---- conventions -----------------------------------------------------------------------------


@parametrize_with_checks(
    [
        KernelPerceptron(),
        KernelPerceptron("precomputed", max_iter=10),
        KernelPerceptron("poly", keep="voted", max_iter=10),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def wrong_shape(A, B):
    return np.zeros((1, 1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "cosine"}, "kernel must be one of 'rbf', 'poly'"),
        ({"kernel": 3}, "kernel must be one of"),
        ({"kernel": wrong_shape}, r"returned an array of shape \(1, 1\).*it must return"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "NaN or infinity"),
        ({"kernel": "precomputed"}, r"square kernel matrix.*\(4, 2\)"),
        ({"gamma": "wide"}, "gamma must be 'scale', 'auto' or a finite number above 0"),
        ({"gamma": 0.0}, "gamma must be"),
        ({"degree": 0}, "degree must be"),
        ({"coef0": np.inf}, "coef0 must be a finite number"),
        ({"keep": "best"}, "keep must be one of 'auto', 'last', 'average', 'voted'"),
        ({"keep": "voted", "budget": 3}, "use keep='auto' or 'last', or budget=None"),
        ({"keep": "average", "budget": 3}, "use keep='auto' or 'last', or budget=None"),
        ({"budget": 0}, "budget must be"),
        ({"cache_mb": -1}, "cache_mb must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"class_weight": {5: 1.0}}, "not among the classes"),
        ({"class_weight": {0: 0.0}}, "only one class"),
        ({"class_weight": {0: -1.0}}, "class_weight must be finite and not negative"),
        ({"shuffle": "yes"}, "shuffle must be True or False"),
        ({"callbacks": print}, "callbacks must be a sequence"),
        ({"kernel": "poly", "gamma": 1e200, "degree": 9}, "overflowed.*scale the features"),
    ],
)
def test_errors_say_what_was_wrong_and_leave_the_earlier_fit(options, message):
    clf = KernelPerceptron(random_state=0).fit(np.eye(3), [0, 1, 2])
    before = pickle.dumps(clf.__dict__ | {"callbacks": ()})
    clf.set_params(**options)
    with pytest.raises((TypeError, ValueError), match=message):
        clf.fit(CORNERS, XOR)
    clf.set_params(**KernelPerceptron(random_state=0).get_params())
    assert pickle.dumps(clf.__dict__) == before


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="only one class"):
        KernelPerceptron().fit(CORNERS, np.zeros(4))


def test_coef_is_only_for_the_linear_kernel():
    clf = KernelPerceptron("linear", random_state=0).fit(CORNERS, [0, 0, 0, 1])
    assert clf.coef_.shape == (1, 2)
    clf.set_params(kernel="rbf").fit(CORNERS, XOR)
    with pytest.raises(AttributeError, match="only for kernel='linear'"):
        _ = clf.coef_


def test_steps_of_size_zero_learn_nothing_and_do_not_fail():
    clf = KernelPerceptron(learning_rate=lambda t: 0.0, max_iter=2).fit(CORNERS, XOR)
    assert len(clf.support_) == 0
    np.testing.assert_array_equal(clf.decision_function(CORNERS), np.zeros(4))


@pytest.mark.parametrize("keep", ["average", "voted"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_pickle_and_clone(keep, form):
    X, y = three_clouds()
    clf = KernelPerceptron("poly", keep=keep, max_iter=3, random_state=0).fit(form(X), y)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))
    fresh = clone(clf).fit(form(X), y)
    np.testing.assert_array_equal(fresh.decision_function(X), clf.decision_function(X))


@pytest.mark.parametrize("scale", [1e155, 1e300, 1e-158])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_gamma_that_overflows_is_refused_without_a_warning_of_numpys(scale, container):
    rows = container(np.random.default_rng(0).standard_normal((20, 3)) * scale)
    with pytest.raises(ValueError, match=r"gamma='scale' is 1 / .* overflows"):
        KernelPerceptron().fit(rows, np.arange(20) % 2)
