"""What a certificate refuses, says, and advises."""

from __future__ import annotations

import json

import numpy as np
import pytest
from certified_rows import apart, rows
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import separatrix
from separatrix import LinearClassifier, certify

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning",
                                        "ignore::FutureWarning", "ignore::UserWarning")  # fmt: skip


# ---- what is refused -------------------------------------------------------------------------


def test_what_is_not_covered_is_refused_by_name():
    X, y = rows()
    refused = [
        (LogisticRegressionCV(Cs=2, refit=False, l1_ratios=(0,), scoring="accuracy",
                              use_legacy_attributes=False), "refit=False"),
        (SGDClassifier(early_stopping=True), "early_stopping=True"),
        (SGDClassifier(loss="modified_huber"), "modified_huber"),
        (SGDClassifier(loss="squared_error"), "regression"),
        (SGDClassifier(loss="huber"), "regression"),
        (SGDClassifier(penalty="l1"), "'hinge' is not smooth"),
        (SGDClassifier(penalty="elasticnet"), "'hinge' is not smooth"),
        (SGDClassifier(learning_rate="pa1", eta0=1.0), "pa1"),
        (Perceptron(early_stopping=True), "early_stopping=True"),
        (RidgeClassifier(positive=True), "positive=True"),
        (RandomForestClassifier(5), "RandomForestClassifier"),
        (SVC(), "SVC"),
        (separatrix.KernelPerceptron(), "KernelPerceptron"),
        (GridSearchCV(LogisticRegression(), {"C": [1.0]}), "best_estimator_"),
        (LinearClassifier("tanh_squared"), "tanh_squared"),
    ]  # fmt: skip
    for model, word in refused:
        with pytest.raises(ValueError, match=word):
            certify(model.fit(X, y), X, y)


def test_rows_that_cannot_be_those_of_the_fit_are_refused():
    X, y = rows()
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        certify(model, X[:, :2], y)
    with pytest.raises(ValueError, match="classes"):
        certify(model, X, np.where(y == "a", "other", y))
    with pytest.raises(ValueError, match="weight 0"):
        certify(model, X, y, sample_weight=(y == "a").astype(float))
    with pytest.raises(ValueError, match="not fitted"):
        certify(LogisticRegression(), X, y)
    with pytest.raises(TypeError, match="loss and l2"):
        certify(model, X, y, loss="hinge")
    with pytest.raises(TypeError, match="do not define"):
        certify((model.coef_, model.intercept_), X, y)
    with pytest.raises(ValueError, match="do not fit"):
        certify((np.ones((3, 3)), np.ones(3)), X, y, loss="hinge", l2=1.0)
    broken = LogisticRegression().fit(X, y)
    broken.coef_ = np.full_like(broken.coef_, np.nan)
    with pytest.raises(ValueError, match="not finite"):
        certify(broken, X, y)
    with pytest.raises(TypeError, match="of its own"):
        certify(model, separatrix.read(lambda: iter([(X, y)])), y)


# ---- words and remedies ----------------------------------------------------------------------


def test_a_certificate_says_it_in_words():
    X, y = rows()
    found = certify(LogisticRegression(C=5.0, max_iter=1).fit(X, y), X, y)
    share = 100 * found.relative_gap
    reported = float(str(found).split("at most ")[1].split(" %")[0])
    assert share <= reported <= 1.1 * share
    assert f"{found.flips} of 120 rows" in str(found)
    assert "5 * the sum of the logistic loss + 0.5 * |w|^2" in str(found)
    assert "cannot be checked" in str(found)
    assert f"<code>{found.remedy}</code>" in found._repr_html_().replace("&#x27;", "'")
    assert "<strong>" in found._repr_html_()
    assert repr(found).startswith("<Certificate: LogisticRegression, at most ")
    plain_values = json.loads(json.dumps(found.to_dict()))
    assert plain_values["relative_gap"] == found.relative_gap
    assert plain_values["optimum"]["coef"] == found.optimum[0].tolist()


def wild(k=2):
    X, y = rows(k)
    return X * [1.0, 1e3, 1e-2], y


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("model", "data", "k"),
    [
        (LogisticRegression(C=5.0, max_iter=2), rows, 2),
        (LogisticRegression(C=5.0, max_iter=20), wild, 3),
        (LogisticRegression(solver="sag", max_iter=5), wild, 2),
        (LogisticRegression(solver="liblinear", tol=0.5), rows, 2),
        (LogisticRegression(tol=0.1), rows, 3),
        (LinearSVC(dual=True, max_iter=5), rows, 3),
        (LinearSVC(loss="hinge", max_iter=5), rows, 2),
        (LinearSVC(loss="hinge", tol=0.5), rows, 3),
        (SGDClassifier(random_state=0, class_weight="balanced", alpha=0.1), rows, 2),
        (SGDClassifier(random_state=0, fit_intercept=False), rows, 3),
        (RidgeClassifier(solver="sag", max_iter=2), rows, 2),
        (make_pipeline(StandardScaler(), SGDClassifier(random_state=0)), rows, 3),
        (LinearClassifier(solver=separatrix.LBFGS(), max_iter=1), rows, 2),
        (LogisticRegression(C=np.inf), apart, 2),
        (SGDClassifier("log_loss", penalty=None, random_state=0), apart, 2),
        (separatrix.Perceptron(max_iter=1, random_state=0), apart, 2),
        (Perceptron(max_iter=1), apart, 3),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),  # no addresses
)
def test_the_remedy_mends(model, data, k):
    X, y = data(k)
    found = certify(model.fit(X, y), X, y)
    assert found.remedy is not None
    names = {
        "clf": model, "X": X, "y": y, "separatrix": separatrix, "StandardScaler": StandardScaler,
        "make_pipeline": make_pipeline, "OneVsRestClassifier": OneVsRestClassifier,
    }  # fmt: skip
    exec(found.remedy, names)
    mended = names["clf"]
    last = mended[-1] if hasattr(mended, "steps") else mended
    if isinstance(last, OneVsRestClassifier):  # k models, each with a proof of its own
        assert all(one.gap_ <= 1e-6 * one.objective_ for one in last.estimators_)
        return
    again = certify(mended, X, y)
    if again.infimum_is_zero:
        assert again.mistakes < found.mistakes
    else:
        assert again.relative_gap < 1e-3
        assert again.minimum_exists
