"""One penalty for all labels, by cross-validation."""

import numpy as np
import pandas as pd
import pytest
from label_columns import X, Y
from sklearn.base import clone
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import KFold

from separatrix import LinearClassifier, LinearClassifierCV


def by_hand(clf, score, X, Y, folds, l2s):
    """Scores (folds, values) of fits to the training rows."""
    found = []
    for train, test in folds.split(X, Y):
        each = (clone(clf).set_params(l2=l2).fit(X[train], Y[train]) for l2 in l2s)
        found.append([score(one, X[test], Y[test]) for one in each])
    return np.array(found)


def minus_loss(clf, X, Y):
    margins = (2 * Y - 1) * clf.decision_function(X)
    return -np.logaddexp(0.0, -margins).sum(axis=1).mean()


SCORES = {
    None: lambda clf, X, Y: accuracy_score(Y, clf.predict(X)),
    "loss": minus_loss,
    "f1_micro": lambda clf, X, Y: f1_score(Y, clf.predict(X), average="micro"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("scoring", SCORES)
@pytest.mark.parametrize("standardize", [False, True])
def test_cross_validation_is_that_of_fits_to_the_folds(scoring, standardize):
    l2s, shown = [1.0, 1e-2, 1e-4], KFold(5)
    clf = LinearClassifierCV(l2s=l2s, scoring=scoring, standardize=standardize, tol=1e-9)
    clf.fit(X, Y)
    one = LinearClassifier(standardize=standardize, tol=1e-9)
    expected = by_hand(one, SCORES[scoring], X, Y, shown, l2s)
    found = np.array([clf.cv_results_[f"split{i}_test_score"] for i in range(5)])
    assert np.allclose(found, expected, atol=1e-4)
    assert clf.l2_ == l2s[int(np.argmax(found.mean(axis=0)))]
    whole = LinearClassifier(l2=clf.l2_, standardize=standardize, tol=1e-9).fit(X, Y)
    assert np.allclose(clf.coef_, whole.coef_, atol=1e-3)
    assert clf.multilabel_
    assert clf.predict(X).shape == Y.shape
    assert clf.stop_ == "optimal"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_cross_validation_of_other_losses(loss):
    rows, labels = ((X - X.mean(axis=0)) / X.std(axis=0))[::2], Y[::2]
    clf = LinearClassifierCV(loss, l2s=[0.1, 1e-3], scoring=None, cv=3, random_state=0)
    clf.fit(rows, labels)
    one = LinearClassifier(loss, random_state=0)
    expected = by_hand(one, SCORES[None], rows, labels, KFold(3), [0.1, 1e-3])
    found = np.array([clf.cv_results_[f"split{i}_test_score"] for i in range(3)])
    assert np.allclose(found, expected, atol=1.01 / 25)  # a tie may turn one row


def test_cross_validation_with_constant_labels_and_names():
    given = pd.DataFrame({"a": 1, "b": Y[:, 0], "c": Y[:, 1]})
    for scoring in ("loss", None, "f1_macro"):
        with pytest.warns(UserWarning, match="every row has the label 'a'"):
            clf = LinearClassifierCV(l2s=[0.1, 1e-3], cv=3, scoring=scoring).fit(X, given)
        assert clf.classes_.tolist() == ["a", "b", "c"]
        assert np.all(clf.predict(X)[:, 0] == 1)


def test_cross_validation_of_a_sparse_path():
    clf = LinearClassifierCV(l1_ratio=1.0, strengths=5, cv=3, scoring="loss").fit(X, Y)
    assert clf.coef_.shape == (4, 6)
    assert clf.stop_ == "optimal"


def test_cross_validation_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match=r"cv='loo'.*several labels"):
        LinearClassifierCV(cv="loo", scoring="loss").fit(X, Y)
    rare = Y.copy()
    rare[:, 1] = 0
    rare[:3, 1] = 1
    with pytest.raises(ValueError, match=r"label 1 does not vary.*not stratified"):
        LinearClassifierCV(scoring="loss").fit(X, rare)
    clf = LinearClassifierCV(cv=KFold(3, shuffle=True, random_state=0), scoring="loss", l2s=3)
    assert clf.fit(X, rare).multilabel_
