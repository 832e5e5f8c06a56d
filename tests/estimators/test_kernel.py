"""The kernel perceptron as an estimator: what is kept, forms of data, how a run ends, errors."""

from __future__ import annotations

import pickle
import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import CORNERS, overlapping
from kernel_oracles import (
    XOR,
    three_clouds,
    whole_numbers,
)
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import loops
from separatrix.estimators.kernel import KernelPerceptron


def test_auto_keeps_the_last_after_a_clean_pass_and_else_the_average():
    X, y = overlapping(n=60, d=2)
    for options, other in (({"gamma": 50.0}, "last"), ({"max_iter": 2}, "average")):
        auto = KernelPerceptron(**options, random_state=0).fit(X, y)
        expected = KernelPerceptron(**options, random_state=0, keep=other).fit(X, y)
        np.testing.assert_array_equal(auto.dual_coef_, expected.dual_coef_)
        assert (auto.stop_ == "no mistakes") == (other == "last")


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


@pytest.mark.sampled
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
    ],
    expected_failed_checks=lambda estimator: dict.fromkeys(
        (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")),
        "the order of rows is part of the algorithm: a row twice is not a row of weight 2",
    ),
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
