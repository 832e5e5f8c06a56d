"""Models with an L1 penalty or an elastic net, certified and translated."""

from __future__ import annotations

import numpy as np
import pytest
from l1_oracles import Net
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

import separatrix
from separatrix import LinearClassifier, LinearClassifierCV, certify, from_sklearn

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning",
                                        "ignore::FutureWarning")  # fmt: skip


def rows(k=2, seed=0):
    return make_classification(
        n_samples=90, n_features=8, n_informative=4, n_classes=k, n_clusters_per_class=1,
        random_state=seed, flip_y=0.1,
    )  # fmt: skip


def weights(model):
    return np.column_stack([model.coef_, np.broadcast_to(model.intercept_, len(model.coef_))])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_logistic_regression(ratio, k):
    X, y = rows(k)
    C = 0.2
    rough = LogisticRegression(C=C, l1_ratio=ratio, solver="saga", max_iter=3).fit(X, y)
    l1, l2 = ratio / (C * len(X)), (1.0 - ratio) / (2.0 * C * len(X))
    net = Net("logistic", X, y, l1, l2)
    found = certify(rough, X, y)
    least = C * len(X) * net.value(net.minimum(steps=4000))
    assert found.objective == pytest.approx(C * len(X) * net.value(weights(rough)), rel=1e-10)
    assert found.proven
    assert found.bound <= least * (1.0 + 1e-12)
    assert found.bound == pytest.approx(least, rel=2e-6)
    assert "|w|_1" in found.formula
    fine = LogisticRegression(C=C, l1_ratio=ratio, solver="saga", max_iter=10_000, tol=1e-9)
    assert certify(fine.fit(X, y), X, y).relative_gap < 1e-5
    ours = from_sklearn(fine, X, y)
    assert (ours.l1, ours.l2) == (pytest.approx(l1), pytest.approx(l2))
    assert ours.stop_ == "optimal"
    assert from_sklearn(LogisticRegression(C=C, l1_ratio=ratio), n=90).l1 == pytest.approx(l1)


def test_liblinear_penalises_its_bias_too():
    X, y = rows()
    model = LinearSVC(
        penalty="l1", dual=False, C=0.1, intercept_scaling=2.0, tol=1e-9, max_iter=100_000
    ).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    lack = np.maximum(0.0, 1.0 - signs * (X @ model.coef_[0] + model.intercept_[0]))
    own = 0.1 * np.sum(lack**2) + np.abs(model.coef_).sum() + abs(model.intercept_[0]) / 2.0
    found = certify(model, X, y)
    assert found.objective == pytest.approx(own, rel=1e-12)
    assert found.proven
    assert found.relative_gap < 2e-6
    with pytest.raises(ValueError, match="its bias is penalised"):
        from_sklearn(LinearSVC(penalty="l1", dual=False), X, y)
    free = LinearSVC(penalty="l1", dual=False, C=0.1, fit_intercept=False)
    assert from_sklearn(free, X, y).l1 == pytest.approx(1.0 / (0.1 * len(X)))


def test_stochastic_descent_with_an_elastic_net():
    X, y = rows()
    model = SGDClassifier(
        loss="log_loss", penalty="elasticnet", alpha=0.02, l1_ratio=0.4, random_state=0
    ).fit(X, y)
    found = certify(model, X, y)
    net = Net("logistic", X, y, 0.4 * 0.02, 0.6 * 0.02 / 2.0)
    assert found.objective == pytest.approx(net.value(weights(model)), rel=1e-12)
    assert found.bound <= net.value(net.minimum(steps=4000)) * (1.0 + 1e-12)
    assert "l1=0.008" in found.remedy


def test_our_own_with_weights_of_features():
    X, y = rows(3)
    p = np.linspace(0.0, 2.0, X.shape[1])
    for given in ({"l1": 0.03}, {"l1": 0.03, "penalty_weights": p, "l2": 0.0}):
        clf = LinearClassifier(**given).fit(X, y)
        found = certify(clf, X, y)
        assert found.objective == pytest.approx(clf.objective_, rel=1e-12)
        assert found.proven
        assert found.relative_gap < 3e-6


@pytest.mark.sampled
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("groups", [None, "classes"])
def test_a_search_along_strengths_claims_what_it_chose(standardize, groups):
    X, y = rows(3)
    clf = LinearClassifierCV(
        l1_ratio=[0.5, 1.0], strengths=6, cv=3, scoring="loss", standardize=standardize,
        groups=groups,
    ).fit(X, y)  # fmt: skip
    assert clf.l1_ > 0.0
    found = certify(clf, X, y)
    assert found.objective == pytest.approx(clf.objective_, rel=1e-12)
    assert found.proven
    assert found.relative_gap < 3e-6
    said = separatrix.diagnose(clf, X, y)
    assert said.facts["objective"] == pytest.approx(clf.objective_, rel=1e-9)
