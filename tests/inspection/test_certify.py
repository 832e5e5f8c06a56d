"""Certificates of scikit-learn's models against their objectives in plain NumPy."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn_objectives as plain
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
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
OBJECTIVE = {
    LogisticRegression: plain.logistic_regression, LinearSVC: plain.linear_svc,
    SGDClassifier: plain.sgd, RidgeClassifier: plain.ridge, Perceptron: plain.sgd,
}  # fmt: skip


def rows(k=2, n=120, d=3, seed=0):
    """Classes that overlap, of unequal size, with words for labels."""
    rng = np.random.default_rng(seed)
    number = np.minimum(rng.integers(0, k + 1, n), k - 1)
    centres = rng.standard_normal((k, d))
    X = rng.standard_normal((n, d)) * [1.0, 0.5, 3.0] + centres[number] + [0.0, 2.0, -1.0]
    return X, np.array(["a", "b", "c", "d"])[number]


def row_weights(n=120, seed=1):
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 4.0], n)


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


def test_the_bias_at_the_minimum_is_told_in_its_own_units():
    X, y = rows(3)
    model = LinearSVC(C=0.5, intercept_scaling=10.0, dual=False, tol=1e-10).fit(X, y)
    coef, intercept = certify(model, X, y).optimum
    assert np.allclose(coef, model.coef_, atol=1e-3)
    assert np.allclose(intercept, model.intercept_, atol=1e-3)


# ---- without a penalty -----------------------------------------------------------------------


def apart(k=2):
    X, y = rows(k)
    return X + 30.0 * np.array([[0.0], [1.0], [2.0]])[np.searchsorted(["a", "b", "c"], y)] * (
        [1.0, -1.0, 0.5]
    ), y  # fmt: skip


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
def test_overlapping_rows_without_a_penalty_are_compared_and_nothing_is_proven(k):
    X, y = rows(k)
    loose = LogisticRegression(C=np.inf, max_iter=2).fit(X, y)
    best = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, y)
    found = certify(loose, X, y)
    assert found.minimum_exists is True
    assert not found.proven
    assert found.verdict == "overlapping"
    least = plain.logistic_regression(best, plain.weights(best), X, y)
    assert found.bound == pytest.approx(least, rel=1e-6)
    assert found.flips == np.sum(loose.predict(X) != best.predict(X))
    assert "no proof" in str(found)
    assert "not proven" in repr(found)
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
    searched = separatrix.LinearClassifierCV(l2s=[0.01, 0.1], cv=3).fit(X, y)
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


# ---- what is refused -------------------------------------------------------------------------


def test_what_is_not_covered_is_refused_by_name():
    X, y = rows()
    refused = [
        (LogisticRegression(l1_ratio=1.0, solver="saga"), "l1_ratio=1"),
        (LogisticRegression(penalty="l1", l1_ratio=1.0, solver="liblinear"), "penalty='l1'"),
        (LogisticRegression(l1_ratio=0.5, solver="saga"), "l1_ratio=0.5"),
        (LogisticRegressionCV(Cs=2, refit=False, l1_ratios=(0,), scoring="accuracy",
                              use_legacy_attributes=False), "refit=False"),
        (LinearSVC(penalty="l1", dual=False), "penalty='l1'"),
        (SGDClassifier(early_stopping=True), "early_stopping=True"),
        (SGDClassifier(loss="modified_huber"), "modified_huber"),
        (SGDClassifier(loss="squared_error"), "regression"),
        (SGDClassifier(loss="huber"), "regression"),
        (SGDClassifier(penalty="l1"), "penalty='l1'"),
        (SGDClassifier(penalty="elasticnet"), "elasticnet"),
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
    with pytest.raises(TypeError, match="do not tell"):
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
    told = float(str(found).split("at most ")[1].split(" %")[0])
    assert share <= told <= 1.1 * share
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
        (separatrix.Perceptron(max_iter=1), apart, 2),
        (Perceptron(max_iter=1), apart, 3),
    ],
    ids=str,
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
