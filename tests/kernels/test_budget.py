"""A bounded number of supports, against the rule written down."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import overlapping
from kernel_oracles import (
    explicit,
    three_clouds,
)
from sklearn.metrics.pairwise import pairwise_kernels

from separatrix.estimators.kernel import KernelPerceptron


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
    K = pairwise_kernels(
        bound.support_vectors_, X, metric="rbf", gamma=bound._expansion.kernel.gamma
    )
    scores = bound.decision_function(X)
    np.testing.assert_allclose(scores.T, (bound.dual_coef_ @ (K + 1)).squeeze(), atol=1e-10)


def test_a_budget_that_is_never_reached_changes_nothing():
    X, y = overlapping(n=60, d=2)
    free = KernelPerceptron(keep="last", random_state=0).fit(X, y)
    bound = KernelPerceptron(keep="last", random_state=0, budget=60).fit(X, y)
    np.testing.assert_array_equal(bound.dual_coef_, free.dual_coef_)
