"""Voting against every weight vector written down."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_oracles import (
    explicit,
    primal_vectors,
    primal_votes,
    whole_numbers,
)
from sklearn.metrics.pairwise import pairwise_kernels

from separatrix.estimators.kernel import KernelPerceptron


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
