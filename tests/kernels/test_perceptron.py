"""The kernel perceptron's run against the plainest NumPy, and against the primal it stands for."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from conftest import CORNERS, overlapping
from kernel_oracles import (
    PARAMETERS,
    XOR,
    explicit,
    naive_dual,
    primal_vectors,
    whole_numbers,
)
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from separatrix import InverseScaling, Perceptron
from separatrix.estimators.kernel import KernelPerceptron


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
