"""scikit-learn's classifiers translated: the same minimum, the same predictions."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn_objectives as plain
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import separatrix
from separatrix import LinearClassifier, certify, from_sklearn
from separatrix.inspection.certify.from_sklearn import COPIED, OBJECTIVE, WAY

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::FutureWarning"
)


def rows(k=2, n=120, seed=0):
    rng = np.random.default_rng(seed)
    number = np.minimum(rng.integers(0, k + 1, n), k - 1)
    X = rng.standard_normal((n, 3)) + rng.standard_normal((k, 3))[number] + [0.0, 2.0, -1.0]
    return X, np.array(["a", "b", "c"])[number]


def row_weights(n=120):
    return np.random.default_rng(1).choice([0.5, 1.0, 4.0], n)


EXACT = [
    (LogisticRegression(C=0.3, tol=1e-10), 3),
    (LogisticRegression(C=0.3, tol=1e-10, class_weight="balanced"), 2),
    (LogisticRegression(C=0.3, tol=1e-10, class_weight={"a": 3.0}, fit_intercept=False), 3),
    (LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000), 2),
    (LinearSVC(C=0.3, tol=1e-10, dual=False, fit_intercept=False), 3),
    (LinearSVC(C=0.3, tol=1e-8, loss="hinge", fit_intercept=False, max_iter=100_000), 2),
    (LinearSVC(C=0.3, tol=1e-8, loss="hinge", fit_intercept=False, max_iter=100_000), 3),
    (RidgeClassifier(alpha=5.0), 3),
    (RidgeClassifier(alpha=5.0, class_weight={"a": 3.0}), 2),
    (LogisticRegression(C=0.3, tol=1e-10, solver="liblinear", fit_intercept=False), 2),
]


@pytest.mark.filterwarnings("ignore:Setting penalty=None will ignore")  # scikit-learn 1.8
@pytest.mark.sampled
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("model", "k"), EXACT, ids=str)
def test_a_translation_has_the_minimum_of_the_original(model, k, weighted):
    (X, y), c = rows(k), row_weights() if weighted else None
    model = clone(model)
    clf = from_sklearn(model, X, y, sample_weight=c)
    assert not hasattr(clf, "coef_")
    clf.set_params(tol=1e-10).fit(X, y, sample_weight=c)
    model.fit(X, y, sample_weight=c)
    assert np.allclose(clf.coef_, model.coef_, atol=1e-4)
    assert np.allclose(clf.intercept_, model.intercept_, atol=1e-4)


def test_the_log_loss_of_sgd_is_that_of_each_class_against_the_rest():
    X, y = rows(3)
    model = SGDClassifier(loss="log_loss", alpha=0.02)
    clf = from_sklearn(model, X, y).set_params(tol=1e-10).fit(X, y)
    model.coef_, model.intercept_ = clf.coef_, clf.intercept_
    W = np.column_stack([clf.coef_, clf.intercept_])
    least = plain.least(plain.sgd, model, X, y)
    assert plain.sgd(model, W, X, y) == pytest.approx(least, rel=1e-7)
    new = SGDClassifier(loss="log_loss")
    assert from_sklearn(new).loss == "one_vs_rest_logistic"  # who knows how many classes will come
    assert from_sklearn(new, *rows(2)).loss == "logistic"
    assert from_sklearn(SGDClassifier(), X, y).loss == "one_vs_rest_hinge"
    assert from_sklearn(SGDClassifier(), *rows(2)).loss == "hinge"


def test_alpha_of_sgd_is_twice_l2_and_is_divided_by_the_number_of_rows():
    X, y = rows()
    model = SGDClassifier(loss="squared_hinge", alpha=0.02, class_weight={"a": 3.0})
    assert from_sklearn(SGDClassifier(alpha=0.02)).l2 == 0.01
    assert from_sklearn(SGDClassifier(alpha=0.02, penalty=None)).l2 == 0.0
    c = row_weights()
    clf = from_sklearn(model, X, y, sample_weight=c).set_params(tol=1e-10)
    clf.fit(X, y, sample_weight=c)
    W = np.column_stack([clf.coef_, clf.intercept_])
    model.coef_, model.intercept_ = clf.coef_, clf.intercept_
    least = plain.least(plain.sgd, model, X, y, c)
    assert plain.sgd(model, W, X, y, c) == pytest.approx(least, rel=1e-7)


FITTED = [
    (LogisticRegression(C=0.3, max_iter=3), 3),
    (LogisticRegression(C=0.3, solver="liblinear"), 2),
    (LogisticRegressionCV(Cs=2, l1_ratios=(0,), scoring="accuracy"), 2),
    (LinearSVC(C=0.3, loss="hinge", class_weight="balanced"), 3),
    (LinearSVC(C=0.3, multi_class="crammer_singer"), 2),
    (LinearSVC(C=0.3, fit_intercept=False), 2),
    (SGDClassifier(random_state=0), 3),
    (SGDClassifier(loss="log_loss", random_state=0), 2),
    (SGDClassifier(loss="log_loss", random_state=0), 3),
    (RidgeClassifier(), 3), (RidgeClassifierCV(), 2),
    (Perceptron(), 3), (Perceptron(penalty="l2"), 2),
]  # fmt: skip


@pytest.mark.parametrize(("model", "k"), FITTED, ids=str)
def test_a_fitted_one_predicts_the_same(model, k):
    X, y = rows(k)
    clf = from_sklearn(model.fit(X, y), X, y)
    assert np.array_equal(clf.predict(X), model.predict(X))
    assert np.allclose(clf.decision_function(X), model.decision_function(X))
    if hasattr(model, "predict_proba"):
        assert np.allclose(clf.predict_proba(X), model.predict_proba(X))
    if isinstance(clf, LinearClassifier):
        again = LinearClassifier(**clf.get_params()).fit(X, y)
        assert again.objective_ - 1e-9 <= clf.objective_ <= again.objective_ + clf.gap_ + 1e-9
        assert clf.converged_ == (clf.stop_ == "optimal")
        assert clf.stop_ in ("optimal", "converted")


def test_a_gap_in_these_units_is_that_of_the_certificate_in_those_of_the_model():
    X, y = rows(3)
    model = LogisticRegression(C=0.3, max_iter=2).fit(X, y)
    clf, found = from_sklearn(model, X, y), certify(model, X, y)
    assert clf.gap_ / clf.objective_ == pytest.approx(found.gap / found.objective, rel=1e-4)
    assert clf.stop_ == "converted"
    best = LogisticRegression(C=0.3, tol=1e-10).fit(X, y)
    assert from_sklearn(best, X, y).stop_ == "optimal"
    without = from_sklearn(best, n=len(y))
    assert without.gap_ is None
    assert without.l2 == from_sklearn(best, X, y).l2 == pytest.approx(0.5 / (0.3 * 120), rel=1e-15)


def test_rows_as_a_source():
    X, y = rows()
    source = separatrix.read(lambda: iter([(X[:50], y[:50]), (X[50:], y[50:])]))
    model = LogisticRegression(C=0.3, class_weight="balanced").fit(X, y)
    ours, theirs = from_sklearn(model, X, y), from_sklearn(model, source)
    assert theirs.l2 == pytest.approx(ours.l2, rel=1e-12)
    assert theirs.objective_ == pytest.approx(ours.objective_, rel=1e-12)


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_fitted_pipeline_sees_a_source_behind_its_other_steps(in_memory):
    X, y = rows()
    pipe = make_pipeline(StandardScaler(), LogisticRegression(C=0.3)).fit(X, y)
    source = separatrix.read(lambda: iter([(X[:70], y[:70]), (X[70:], y[70:])]))
    new = from_sklearn(pipe, source.sample(len(X)) if in_memory else source)
    expected = from_sklearn(pipe, X, y)
    assert new[-1].l2 == expected[-1].l2
    assert new[-1].objective_ == pytest.approx(expected[-1].objective_, rel=1e-12)
    assert new[-1].gap_ <= 1e-3 * new[-1].objective_
    assert new.predict(X).tolist() == pipe.predict(X).tolist()


def test_a_pipeline_keeps_its_other_steps():
    X, y = rows()
    pipe = make_pipeline(StandardScaler(), LogisticRegression(C=0.3)).fit(X, y)
    ours = from_sklearn(pipe, X, y)
    assert np.array_equal(ours.predict(X), pipe.predict(X))
    assert ours[0] is pipe[0]
    assert isinstance(pipe[-1], LogisticRegression)
    assert isinstance(ours[-1], LinearClassifier)
    new = from_sklearn(make_pipeline(StandardScaler(), LogisticRegression(C=0.3)), X, y)
    assert np.array_equal(new.fit(X, y).predict(X), pipe.predict(X))


def test_what_means_the_same_is_copied():
    clf = from_sklearn(
        LogisticRegression(class_weight={0: 1.0}, warm_start=True, n_jobs=-1, random_state=3,
                           verbose=1, fit_intercept=False, C=np.inf)
    )  # fmt: skip
    for name in COPIED:
        assert getattr(clf, name) == {
            "class_weight": {0: 1.0}, "warm_start": True, "n_jobs": -1, "random_state": 3,
            "verbose": 1, "fit_intercept": False,
        }[name]  # fmt: skip
    perceptron = from_sklearn(Perceptron(eta0=0.5, tol=None, shuffle=False, max_iter=7, alpha=0.1))
    assert perceptron.get_params() == separatrix.Perceptron(
        7, learning_rate=0.5, shuffle=False, keep="last", patience=None, random_state=0, verbose=0
    ).get_params()  # fmt: skip


def test_every_parameter_of_every_class_is_known():
    models = (LogisticRegression, LogisticRegressionCV, LinearSVC, SGDClassifier, RidgeClassifier,
              RidgeClassifierCV, Perceptron)  # fmt: skip
    for model in models:
        assert set(model().get_params()) <= OBJECTIVE | COPIED | WAY


def test_a_parameter_of_later_is_refused_by_name():
    class Later(LogisticRegression):
        def __init__(self, C=1.0, sharpness=2.0):
            super().__init__(C=C)
            self.sharpness = sharpness

    Later.__module__, Later.__name__ = "sklearn.later", "LogisticRegression"
    with pytest.raises(ValueError, match="sharpness=2"):
        from_sklearn(Later(), n=10)


def test_what_is_not_the_same_here_is_refused_by_name():
    X, y = rows(3)
    refused = [
        (LogisticRegression(), {}, "n=..."),
        (RidgeClassifier(), {}, "n=..."),
        (LogisticRegression(class_weight={"a": 2.0}), {"n": 10}, "pass X and y"),
        (LogisticRegression(), {"n": -1}, "above 0"),
        (LogisticRegression(solver="liblinear"), {"n": 10}, "bias is penalised"),
        (LinearSVC(), {"n": 10}, "bias is penalised"),
        (LinearSVC(multi_class="crammer_singer", fit_intercept=False), {"n": 10}, "crammer"),
        (Perceptron(), {"X": X, "y": y}, "against the rest"),
        (SGDClassifier(loss="squared_hinge", class_weight="balanced"), {"X": X, "y": y},
         "only the class that stands against the rest"),
        (SGDClassifier(loss="log_loss", class_weight="balanced"), {"X": X, "y": y},
         "only the class that stands against the rest"),
        (RidgeClassifier(class_weight="balanced"),
         {"X": X, "y": y, "sample_weight": np.ones(120)}, "counts rows"),
        (SGDClassifier(early_stopping=True), {}, "early_stopping"),
        (SGDClassifier(penalty="l1"), {"n": 10}, "'hinge' is not smooth"),
        (LogisticRegressionCV(), {"n": 10}, "chooses C"),
        (RidgeClassifierCV(), {"n": 10}, "chooses alpha"),
        (LogisticRegression(n_jobs=-2), {"n": 10}, "n_jobs=-2"),
        (LinearClassifier(), {}, "not a scikit-learn classifier"),
        (BaseEstimator(), {}, "BaseEstimator"),
    ]  # fmt: skip
    for model, given, word in refused:
        with pytest.raises(ValueError, match=word):
            from_sklearn(model, **given)
    with pytest.raises(TypeError, match="n replaces rows"):
        from_sklearn(LogisticRegression(), X, y, n=10)


@pytest.mark.parametrize("model", [LogisticRegression(C=0.3), Perceptron()], ids=str)
@pytest.mark.parametrize("k", [2, 3])
def test_a_converted_one_is_saved_trained_on_and_fitted(model, k, tmp_path):
    X, y = rows(k)
    clf = from_sklearn(clone(model).fit(X, y), X, y)
    separatrix.save(clf, tmp_path / "model.sep")
    back = separatrix.load(tmp_path / "model.sep")
    assert np.array_equal(back.predict(X), clf.predict(X))
    assert vars(back).keys() == vars(clf).keys()
    before, right = clf.coef_.copy(), np.flatnonzero(clf.predict(X) == y)[:1]
    clf.partial_fit(X[right], y[right])  # it goes on from these weights
    assert np.array_equal(clf.coef_, before) == isinstance(model, Perceptron)
    assert clf.fit(X, y).stop_ != "converted"


@pytest.mark.parametrize(
    ("estimator", "given"),
    [
        (LogisticRegression(C=-1), {"n": 200}),
        (LogisticRegression(C=float("nan")), {"n": 200}),
        (SGDClassifier(alpha=-1.0), {}),
        (RidgeClassifier(alpha=-0.5), {"n": 200}),
    ],
    ids=str,
)
def test_a_penalty_that_scikit_learn_would_refuse_is_refused(estimator, given):
    with pytest.raises(ValueError, match="must be 0 or more and finite"):
        from_sklearn(estimator, **given)


def test_what_stands_in_place_of_rows_is_checked():
    for n in ("a", True, float("nan"), 0):
        with pytest.raises(ValueError, match="n must be a number of rows above 0"):
            from_sklearn(LogisticRegression(), n=n)
    with pytest.raises(TypeError, match="sample_weight needs rows"):
        from_sklearn(LogisticRegression(), sample_weight=np.ones(3), n=3)
