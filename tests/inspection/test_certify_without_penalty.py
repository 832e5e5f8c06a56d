"""What is proven of models without a penalty: there may be no minimum."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn_objectives as plain
from certified_rows import apart, rows
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    SGDClassifier,
)

from separatrix import LinearClassifier, certify

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning",
                                        "ignore::FutureWarning", "ignore::UserWarning")  # fmt: skip


@pytest.mark.parametrize("free", [{"C": np.inf}, {"penalty": None}])
@pytest.mark.parametrize("k", [2, 3])
def test_separable_rows_without_a_penalty_have_no_minimum(free, k):
    X, y = apart(k)
    found = certify(LogisticRegression(**free).fit(X, y), X, y)
    assert found.minimum_exists is False
    assert found.verdict == "separable"
    assert found.relative_gap is None
    assert found.flips is None
    assert found.optimum is None
    assert found.bound == 0.0
    assert found.gap == found.objective
    assert "C=1.0" in found.remedy
    assert "no minimum" in str(found)


def test_quasi_separable_rows_without_a_penalty_have_no_minimum_either():
    x = np.array([0.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0])[:, None]
    y = np.repeat([0, 1], 4)
    found = certify(LogisticRegression(C=np.inf).fit(x, y), x, y)
    assert found.minimum_exists is False
    assert found.verdict == "quasi-separable"
    assert found.flips is None
    assert not found.proven
    assert found.bound >= 2 * np.log(2) / 8  # two rows lie on the plane, whatever the slope


@pytest.mark.parametrize("k", [2, 3])
def test_overlapping_rows_without_a_penalty_have_a_proven_minimum(k):
    X, y = rows(k)
    loose = LogisticRegression(C=np.inf, max_iter=2).fit(X, y)
    best = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, y)
    found = certify(loose, X, y)
    assert found.minimum_exists is True
    assert found.proven
    assert found.verdict == "overlapping"
    least = plain.logistic_regression(best, plain.weights(best), X, y)
    assert (1.0 - 1e-6) * least <= found.bound <= (1.0 + 1e-12) * least
    assert found.flips == np.sum(loose.predict(X) != best.predict(X))
    assert "proven by duality" in str(found)
    assert certify(best, X, y).relative_gap < 1e-6


def test_a_hinge_that_separates_without_a_penalty_has_the_minimum_0():
    X, y = apart()
    found = certify(SGDClassifier(penalty=None, learning_rate="constant", eta0=0.1).fit(X, y), X, y)
    assert found.minimum_exists is True
    assert found.infimum_is_zero
    assert found.verdict == "separable"
    assert found.relative_gap is None
    assert found.flips is None


@pytest.mark.parametrize(("k", "penalty"), [(2, None), (2, "l2"), (3, None)])
def test_the_perceptrons_loss_is_least_where_nothing_is_learned(k, penalty):
    X, y = rows(k)
    model = Perceptron(penalty=penalty, alpha=0.01).fit(X, y)
    found = certify(model, X, y)
    assert found.objective == pytest.approx(plain.sgd(model, plain.weights(model), X, y), 1e-12)
    assert found.infimum_is_zero
    assert found.bound == 0.0
    assert found.minimum_exists
    assert found.relative_gap is None
    assert found.flips is None
    assert found.verdict == "overlapping"
    assert found.mistakes == np.sum(model.predict(X) != y)
    assert "learned nothing" in str(found)
    assert "hinge" in found.remedy
    separable = certify(Perceptron(tol=None).fit(*apart()), *apart())
    assert separable.verdict == "separable"
    assert separable.mistakes == 0
    assert separable.remedy is None


def test_features_without_a_penalty_that_separate_leave_no_minimum():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = (X[:, 0] > 0).astype(int)
    clf = LinearClassifier(penalty_weights=[0.0, 1.0, 1.0], l2=0.1, max_iter=5)
    clf.fit(X, y)
    found = certify(clf, X, y)
    assert found.minimum_exists is False
    y[:8] = 1 - y[:8]
    assert certify(clf.fit(X, y), X, y).minimum_exists is True
