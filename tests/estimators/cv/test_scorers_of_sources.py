"""Scorers of scikit-learn on sources in memory: the same choice as on arrays, with weights."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import KFold

import separatrix
from separatrix import LinearClassifier, LinearClassifierCV
from separatrix.data.validation import array_source


def rows(k=2, n=200):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4)) * [1.0, 10.0, 0.1, 1.0]
    scores = X @ rng.normal(size=(4, k)) + 5.0 * rng.normal(size=(n, k))
    return X, scores.argmax(axis=1), rng.integers(1, 4, n).astype(float)


AUC = make_scorer(roc_auc_score, response_method="decision_function")


@pytest.mark.sampled
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize(("k", "scoring"), [(2, AUC), (2, "roc_auc"), (3, "roc_auc_ovr")])
def test_the_scores_are_those_of_separate_fits(k, scoring, standardize):
    X, y, _ = rows(k)
    given = {"l2s": [1.0, 0.1, 0.01], "standardize": standardize, "tol": 1e-10}
    cv = KFold(4, shuffle=True, random_state=0)
    found = LinearClassifierCV(**given, cv=cv, scoring=scoring).fit(array_source(X, y))
    alone = LinearClassifierCV(**given, cv=cv, scoring=scoring).fit(X, y)
    names = [f"split{i}_test_score" for i in range(4)]
    for name in names:
        assert np.allclose(found.cv_results_[name], alone.cv_results_[name], atol=1e-6)
    assert found.l2_ == alone.l2_


def test_weights_of_the_rows_count():
    X, y, weight = rows()
    cv = KFold(4)
    given = {"l2s": [1.0, 0.01], "tol": 1e-10}
    source = array_source(X, y, sample_weight=weight)
    found = LinearClassifierCV(**given, cv=cv, scoring=AUC).fit(source)
    for fold, (train, test) in enumerate(cv.split(X)):
        for at, l2 in enumerate(given["l2s"]):
            clf = LinearClassifier(l2=l2, tol=1e-10).fit(X[train], y[train], weight[train])
            scores = clf.decision_function(X[test])
            expected = roc_auc_score(y[test], scores, sample_weight=weight[test])
            score = found.cv_results_[f"split{fold}_test_score"][at]
            assert score == pytest.approx(expected, abs=1e-5)


def test_class_weights_are_not_weights_of_rows():
    X, y, _ = rows()
    scorer = "f1_macro"
    given = {"l2s": [0.1, 0.01], "cv": KFold(4), "scoring": scorer, "class_weight": {0: 3.0}}
    found = LinearClassifierCV(**given).fit(array_source(X, y))
    alone = LinearClassifierCV(**given).fit(X, y)
    mean = "mean_test_score"
    assert np.allclose(found.cv_results_[mean], alone.cv_results_[mean], atol=1e-6)


def test_features_that_no_row_has_and_words(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y, _ = rows()
    frame = pandas.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "up", "down"), "y": y})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    source = separatrix.read(tmp_path / "rows.csv", target="y").sample(1000)
    clf = LinearClassifierCV(l2s=3, scoring="roc_auc").fit(source)
    assert 0.5 < clf.cv_results_["mean_test_score"].max() <= 1.0
    assert len(clf.predict(frame)) == len(y)


def test_sources_that_are_read_again_are_refused(tmp_path):
    X, y, _ = rows()
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header="a,b,c,d,y", comments="")
    source = separatrix.read(tmp_path / "a.csv", target="y")
    clf = LinearClassifierCV(scoring="roc_auc")
    with pytest.raises(TypeError, match="scoring='roc_auc' needs rows in memory"):
        clf.fit(source)
    assert not hasattr(clf, "coef_")


def test_a_fold_without_a_class_is_named():
    X, y, _ = rows(n=60)
    y[:] = 0
    y[:9] = y[20:29] = 1  # in two of four folds
    with pytest.raises(ValueError, match="a fold has no test rows of the class 1, and roc_auc"):
        LinearClassifierCV(l2s=2, cv=KFold(4), scoring="roc_auc").fit(array_source(X, y))
