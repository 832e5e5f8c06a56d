"""Certificates of scikit-learn's models against their objectives in plain NumPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn_objectives as plain
from certified_rows import row_weights, rows
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
from separatrix import LinearClassifier, certify

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning",
                                        "ignore::FutureWarning", "ignore::UserWarning")  # fmt: skip
OBJECTIVE = {
    LogisticRegression: plain.logistic_regression, LinearSVC: plain.linear_svc,
    SGDClassifier: plain.sgd, RidgeClassifier: plain.ridge, Perceptron: plain.sgd,
}  # fmt: skip


SMOOTH = [
    LogisticRegression(C=0.7),
    LogisticRegression(C=0.7, solver="saga", max_iter=5, fit_intercept=False),
    LogisticRegression(C=3.0, class_weight="balanced", max_iter=3),
    LogisticRegression(C=3.0, class_weight={"a": 2.0, "b": 0.5}),
    RidgeClassifier(alpha=2.0),
    RidgeClassifier(alpha=2.0, class_weight="balanced"),
    SGDClassifier(loss="log_loss", alpha=0.01, random_state=0),
    SGDClassifier(loss="log_loss", alpha=0.01, class_weight="balanced", random_state=0),
    SGDClassifier(loss="squared_hinge", alpha=0.01, penalty="elasticnet", l1_ratio=0.0,
                  class_weight={"b": 3.0}, fit_intercept=False, random_state=0),
    LinearSVC(C=0.5), LinearSVC(C=0.5, intercept_scaling=10.0),
    LinearSVC(C=0.5, class_weight={"b": 3.0}, fit_intercept=False),
    LinearSVC(C=0.5, class_weight="balanced"),
]  # fmt: skip
TWO_ONLY = [
    LogisticRegression(C=0.7, solver="liblinear"),
    LogisticRegression(C=0.7, solver="liblinear", intercept_scaling=20.0, class_weight="balanced"),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("model", "k"), [(m, k) for k in (2, 3) for m in SMOOTH] + [(m, 2) for m in TWO_ONLY], ids=str
)
def test_a_smooth_claim_is_that_of_scikit_learn(model, k, weighted):
    (X, y), c = rows(k), row_weights() if weighted else None
    model = model.fit(X, y, sample_weight=c)
    objective = OBJECTIVE[type(model)]
    found = certify(model, X, y, sample_weight=c)
    assert found.objective == pytest.approx(objective(model, plain.weights(model), X, y, c), 1e-12)
    least = plain.least(objective, model, X, y, c, fixed_bias=not model.fit_intercept)
    assert found.bound <= least * (1 + 1e-9)
    assert found.bound == pytest.approx(least, rel=2e-6)
    assert found.objective - found.bound <= found.gap
    assert found.gap <= found.objective - least + 2e-6 * least + 1e-12 * found.objective
    assert found.proven
    assert found.tight
    assert found.minimum_exists
    assert found.relative_gap == found.gap / found.bound


KINKED = [
    LinearSVC(C=0.5, loss="hinge", max_iter=20),
    LinearSVC(C=0.5, loss="hinge", class_weight={"b": 3.0}, intercept_scaling=5.0, max_iter=20),
    LinearSVC(C=0.5, multi_class="crammer_singer", max_iter=5),
    LinearSVC(C=0.5, multi_class="crammer_singer", class_weight={"b": 3.0}, fit_intercept=False),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("model", KINKED, ids=str)
def test_a_claim_with_a_kink_is_that_of_scikit_learn(model, k, weighted):
    (X, y), c = rows(k), row_weights() if weighted else None
    model = model.set_params(random_state=0).fit(X, y, sample_weight=c)
    found = certify(model, X, y, sample_weight=c)
    assert found.objective == pytest.approx(
        plain.linear_svc(model, plain.weights(model), X, y, c), 1e-12
    )
    better = {**model.get_params(), "tol": 1e-8, "max_iter": 200_000}
    best = LinearSVC(**better).fit(X, y, sample_weight=c)
    least = plain.linear_svc(best, plain.weights(best), X, y, c)
    assert found.bound <= least * (1 + 1e-12)
    assert found.bound == pytest.approx(least, rel=5e-6)


def test_sgd_divides_by_the_number_of_rows_also_where_they_have_weights():
    X, y = rows()
    model = SGDClassifier(loss="log_loss", alpha=0.1, average=True, tol=None, max_iter=3000,
                          random_state=0).fit(X, y, sample_weight=np.full(len(y), 7.0))  # fmt: skip
    found = certify(model, X, y, sample_weight=np.full(len(y), 7.0))
    assert found.relative_gap < 1e-3  # it would be far from the minimum of another objective
    assert certify(model, X, y).relative_gap > 0.05
    halved = certify(model, X, y, sample_weight=np.full(len(y), 3.5))
    assert halved.objective < found.objective


def test_the_search_for_c_refits_with_a_column_of_ones():
    X, y = rows()
    model = LogisticRegressionCV(
        Cs=[0.05], l1_ratios=(0,), solver="liblinear", intercept_scaling=50.0, tol=1e-10,
        max_iter=10_000, scoring="accuracy", use_legacy_attributes=True,
    ).fit(X, y)  # fmt: skip
    assert certify(model, X, y).relative_gap < 2e-6


@pytest.mark.sampled
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_the_search_for_c_is_judged_by_the_c_that_it_chose(k, legacy):
    X, y = rows(k)
    model = LogisticRegressionCV(
        Cs=[0.01, 0.5], l1_ratios=(0,), class_weight="balanced", tol=1e-8, scoring="accuracy",
        use_legacy_attributes=legacy,
    ).fit(X, y)  # fmt: skip
    found = certify(model, X, y)
    C = float(np.ravel(model.C_)[0])
    expected = plain.logistic_regression(model, plain.weights(model), X, y, C=C)
    assert found.objective == pytest.approx(expected, 1e-12)
    assert found.relative_gap < 2e-6


def test_the_search_for_alpha_is_judged_by_the_alpha_that_it_chose():
    X, y = rows(3)
    model = RidgeClassifierCV(alphas=(0.5, 20.0), class_weight="balanced").fit(X, y)
    found = certify(model, X, y)
    expected = plain.ridge(model, plain.weights(model), X, y, alpha=model.alpha_)
    assert found.objective == pytest.approx(expected, 1e-12)
    assert found.relative_gap < 2e-6
    assert found.remedy is None


def test_flips_are_the_rows_that_the_best_model_predicts_otherwise():
    for k in (2, 3):
        X, y = rows(k)
        model = LogisticRegression(C=5.0, max_iter=1).fit(X, y)
        best = LogisticRegression(C=5.0, tol=1e-10, solver="newton-cholesky").fit(X, y)
        found = certify(model, X, y)
        assert found.flips == np.sum(model.predict(X) != best.predict(X)) > 0
        assert found.mistakes == np.sum(model.predict(X) != y)
        coef, intercept = found.optimum
        assert np.allclose(coef, best.coef_, atol=1e-3)
        assert np.allclose(intercept, best.intercept_, atol=1e-3)


def test_the_bias_at_the_minimum_is_reported_in_its_own_units():
    X, y = rows(3)
    model = LinearSVC(C=0.5, intercept_scaling=10.0, dual=False, tol=1e-10).fit(X, y)
    coef, intercept = certify(model, X, y).optimum
    assert np.allclose(coef, model.coef_, atol=1e-3)
    assert np.allclose(intercept, model.intercept_, atol=1e-3)


# ---- other models and other rows -------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_weights_alone(k):
    X, y = rows(k)
    clf = LinearClassifier("hinge", l2=0.01).fit(X, y)
    found = certify((clf.coef_, clf.intercept_), X, y, loss="hinge", l2=0.01)
    assert found.objective == pytest.approx(clf.objective_, 1e-12)
    assert found.relative_gap < 3e-6
    off = certify((clf.coef_[:1] if k == 2 else clf.coef_, None), X, y, loss="hinge", l2=0.01)
    assert "without a bias" in off.formula
    assert certify((2 * clf.coef_, clf.intercept_), X, y, loss="hinge", l2=0.01).gap > found.gap


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_models_of_this_package(k, standardize):
    X, y = rows(k)
    clf = LinearClassifier(l2=0.01, standardize=standardize, class_weight="balanced").fit(X, y)
    found = certify(clf, X, y)
    assert found.objective == pytest.approx(clf.objective_, 1e-12)
    assert found.relative_gap < 3e-6
    assert found.remedy is None
    assert np.allclose(found.optimum[0], clf.coef_, atol=1e-2)
    searched = separatrix.LinearClassifierCV(l2s=[0.01, 0.1], cv=3, scoring=None).fit(X, y)
    assert certify(searched, X, y).relative_gap < 3e-6
    assert certify(separatrix.Perceptron(max_iter=10).fit(X, y), X, y).infimum_is_zero


def test_a_pipeline_is_judged_by_the_rows_behind_its_other_steps():
    X, y = rows(3)
    pipe = make_pipeline(StandardScaler(), LogisticRegression(C=4.0, max_iter=2)).fit(X, y)
    inner = certify(pipe[-1], pipe[:-1].transform(X), y)
    found = certify(pipe, X, y)
    assert (found.objective, found.bound, found.flips) == (
        inner.objective, inner.bound, inner.flips,
    )  # fmt: skip
    assert found.remedy.startswith("clf.set_params(logisticregression__")


MODELS = [
    LogisticRegression(C=0.5, max_iter=4, class_weight="balanced"),
    LogisticRegression(C=0.5, solver="liblinear", max_iter=2),
    LinearSVC(C=0.5, loss="hinge", max_iter=20, class_weight={"b": 3.0}),
    LinearSVC(C=0.5, class_weight="balanced"),
    SGDClassifier(random_state=0, class_weight="balanced"),
    RidgeClassifier(),
    Perceptron(),
    make_pipeline(StandardScaler(), LinearSVC(C=0.5)),
]


@pytest.mark.sampled
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_rows_of_a_source_give_the_same_certificate(model, k):
    if "liblinear" in str(model) and k == 3:
        return
    X, y = rows(k)
    model = model.fit(X, y)

    def pieces():
        for start in range(0, len(y), 50):
            yield X[start : start + 50], y[start : start + 50]

    ours, theirs = certify(model, X, y), certify(model, separatrix.read(pieces))
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-12)
    assert theirs.bound == pytest.approx(ours.bound, rel=2e-6)
    assert (theirs.flips, theirs.mistakes, theirs.verdict) == (
        ours.flips, ours.mistakes, ours.verdict,
    )  # fmt: skip


def test_sparse_rows_give_the_same_certificate():
    X, y = rows(3)
    for model in (LinearSVC(C=0.5), SGDClassifier(random_state=0), LogisticRegression(max_iter=3)):
        model.fit(X, y)
        dense, sparse = certify(model, X, y), certify(model, sp.csr_array(X), y)
        assert sparse.objective == pytest.approx(dense.objective, rel=1e-12)
        assert sparse.bound == pytest.approx(dense.bound, rel=2e-6)
        assert sparse.flips == dense.flips


def test_a_row_of_weight_two_is_two_rows():
    X, y = rows(3)
    model = LinearSVC(C=0.5, class_weight="balanced").fit(X, y)
    c = np.where(np.arange(len(y)) < 40, 2.0, 1.0)
    twice = np.concatenate([np.arange(len(y)), np.arange(40)])
    weighed, repeated = certify(model, X, y, sample_weight=c), certify(model, X[twice], y[twice])
    assert weighed.objective == pytest.approx(repeated.objective, rel=1e-12)
    assert weighed.bound == pytest.approx(repeated.bound, rel=2e-6)


def test_a_model_of_arrays_is_reported_how_files_are_read(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["b", "a"])
    frame["y"] = np.where(frame["a"] + rng.normal(size=60) > 0, "yes", "no")
    frame.to_csv(tmp_path / "t.csv", index=False)
    X, y = frame[["a", "b"]], frame["y"]
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    for model in (LogisticRegression(), pipe):
        model.fit(X, y)
        with pytest.raises(ValueError, match=r"separatrix\.read\(file, target="):
            certify(model, str(tmp_path / "t.csv"))
        with pytest.raises(ValueError, match=r"features=list\(model\.feature_names_in_\)"):
            certify(model, separatrix.read(tmp_path / "t.csv", target="y"))
        features = list(model.feature_names_in_)
        rows = separatrix.read(tmp_path / "t.csv", target="y", features=features)
        assert certify(model, rows).objective == pytest.approx(certify(model, X, y).objective)


def test_a_model_of_files_takes_files(tmp_path):
    path = tmp_path / "rows.csv"
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.6f},{rng.choice(['x', 'y', 'z'])},{rng.choice(['no', 'yes'])}"
             for _ in range(80)]  # fmt: skip
    path.write_text("size,kind,label\n" + "\n".join(lines) + "\n")
    source = separatrix.read(path, target="label")
    clf = LinearClassifier(l2=0.01).fit(source)
    of_source, of_path = certify(clf, source), certify(clf, path)
    assert of_source.objective == pytest.approx(clf.objective_, rel=1e-12)
    assert of_path.objective == pytest.approx(clf.objective_, rel=1e-12)
    assert of_path.relative_gap < 3e-6
    assert of_source.relative_gap < 3e-6
