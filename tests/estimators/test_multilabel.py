"""Indicator matrices of labels: every label's fit is that of its own two-class problem."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import separatrix
from separatrix import (
    LBFGS,
    CoordinateAscent,
    CoordinateDescent,
    GradientDescent,
    KernelPerceptron,
    LeastSquares,
    LinearClassifier,
    LinearClassifierCV,
    Newton,
    Perceptron,
    ProximalNewton,
)

TIGHT = 1e-10  # tolerance of a proof; J has curvature 2 l2 in the weights, so |dw|^2 <= gap / l2


def table(n=150, d=6, q=4, seed=0):
    return make_multilabel_classification(
        n, d, n_classes=q, n_labels=2, allow_unlabeled=True, random_state=seed
    )


X, Y = table()
WEIGHT = np.random.default_rng(3).uniform(0.2, 2.0, len(X))


def columns(clf, X, Y, **fit):
    """The weights of a separate two-class fit for each column."""
    fits = [clone(clf).fit(X, y, **fit) for y in Y.T]
    return (
        np.vstack([each.coef_ for each in fits]),
        np.concatenate([each.intercept_ for each in fits]),
        sum(each.objective_ for each in fits),
    )


def assert_as_columns(clf, X, Y, atol=1e-5, **fit):
    fitted = clone(clf).fit(X, Y, **fit)
    coef, intercept, J = columns(clf, X, Y, **fit)
    assert np.allclose(fitted.coef_, coef, atol=atol)
    assert np.allclose(fitted.intercept_, intercept, atol=2 * atol)
    assert np.isclose(fitted.objective_, J, rtol=1e-8)
    return fitted


@pytest.mark.parametrize("q", [2, 3, 5])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"standardize": True}, {"fit_intercept": False}, {"penalty_weights": [0, 1, 1, 0, 1, 2]}],
    ids=lambda given: next(iter(given), "plain"),
)
def test_every_label_is_fitted_as_by_itself(q, parameters):
    X, Y = table(q=q)
    clf = LinearClassifier(l2=1e-2, tol=TIGHT, **parameters)
    fitted = assert_as_columns(clf, X, Y)
    assert fitted.stop_ == "optimal"
    assert fitted.gap_ <= TIGHT * fitted.objective_


@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge", "tanh_squared", "hinge"])
def test_every_loss(loss):
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    convex = loss != "tanh_squared"
    clf = LinearClassifier(loss, l2=0.05, tol=TIGHT if convex else 1e-13, random_state=0)
    fitted = assert_as_columns(clf, rows, Y, atol=1e-4)
    assert fitted.stop_ == ("optimal" if convex else "tol")


def test_the_names_of_one_against_the_rest_mean_the_same():
    for name in ("logistic", "hinge"):
        a = LinearClassifier(f"one_vs_rest_{name}", l2=0.1, random_state=0).fit(X, Y)
        b = LinearClassifier(name, l2=0.1, random_state=0).fit(X, Y)
        assert np.array_equal(a.coef_, b.coef_)


@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("logistic", LBFGS()),
        ("logistic", Newton()),
        ("logistic", GradientDescent()),
        ("logistic", ProximalNewton()),
        ("logistic", CoordinateDescent()),
        ("logistic", CoordinateAscent()),
        ("squared_hinge", CoordinateAscent()),
        ("squared", LeastSquares()),
        ("squared", LeastSquares(direct_size=0)),
    ],
    ids=repr,
)
def test_every_solver_of_a_sum_over_columns(loss, solver):
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    clf = LinearClassifier(loss, l2=0.05, solver=solver, tol=1e-9, random_state=0)
    fitted = clone(clf).fit(rows, Y)
    coef, intercept, _ = columns(clf.set_params(solver="auto"), rows, Y)
    assert fitted.stop_ == "optimal"
    assert np.allclose(fitted.coef_, coef, atol=1e-4)
    assert np.allclose(fitted.intercept_, intercept, atol=1e-3)


def test_rows_one_by_one():
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    solver = GradientDescent(batch_size=8, average=True)
    clf = LinearClassifier(l2=0.1, solver=solver, max_iter=20, tol=None, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clf.fit(rows, Y)
    assert any("not compiled" in str(each.message) for each in caught)
    best = LinearClassifier(l2=0.1).fit(rows, Y)
    assert best.objective_ - best.gap_ <= fitted.objective_ <= 1.05 * best.objective_


def test_the_perceptron_loss_learns_every_label():
    rows = np.random.default_rng(0).standard_normal((60, 3))
    signs = (rows @ np.array([[1.0, -1.0], [0.5, 2.0], [0.0, 1.0]]) > 0.1).astype(int)
    clf = LinearClassifier("perceptron", l2=0.0, random_state=0, max_iter=500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(rows, signs)
    assert clf.stop_ == "no mistakes"
    assert clf.score(rows, signs) == 1.0


@pytest.mark.parametrize("groups", [None, "classes"])
def test_sparse_models(groups):
    l1 = 0.05 if groups is None else 0.2
    clf = LinearClassifier(l1=l1, l2=0.0, tol=1e-9, groups=groups, standardize=True)
    clf.fit(X, Y)
    assert clf.stop_ == "optimal"
    if groups is None:
        coef, _, _ = columns(clf, X, Y)
        assert np.allclose(clf.coef_, coef, atol=1e-5)
        assert np.array_equal(clf.selected_, coef != 0.0)
    else:  # a feature is selected for all labels or for none
        assert set(clf.selected_.sum(axis=0)) == {0, 4}
    assert not np.any(clf.selected_ & clf.zero_)
    assert clf.zero_.any()


def test_as_scikit_learn():
    l2 = 1e-2
    C = 1.0 / (2.0 * l2 * len(X))
    ours = LinearClassifier(l2=l2, tol=1e-12).fit(X, Y)
    theirs = OneVsRestClassifier(LogisticRegression(C=C, tol=1e-10, max_iter=10_000)).fit(X, Y)
    coef = np.vstack([each.coef_ for each in theirs.estimators_])
    assert np.allclose(ours.coef_, coef, atol=1e-5)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, Y) == theirs.score(X, Y)
    assert np.array_equal(ours.classes_, theirs.classes_)
    assert ours.multilabel_ == theirs.multilabel_ is True


def test_as_a_support_vector_machine_with_row_weights():
    rows, l2 = (X - X.mean(axis=0)) / X.std(axis=0), 0.02
    ours = LinearClassifier("squared_hinge", l2=l2, fit_intercept=False, tol=1e-12)
    ours.fit(rows, Y, sample_weight=WEIGHT)
    svm = LinearSVC(
        C=1.0 / (2.0 * l2 * WEIGHT.sum()), dual=False, tol=1e-12, fit_intercept=False,
        max_iter=100_000,
    )  # fmt: skip
    coef = np.vstack([svm.fit(rows, y, sample_weight=WEIGHT).coef_ for y in Y.T])
    assert np.allclose(ours.coef_, coef, atol=1e-5)


def test_weights_repeat_rows():
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    clf = LinearClassifier(l2=1e-2, tol=TIGHT)
    a = clone(clf).fit(X, Y, sample_weight=counts)
    b = clone(clf).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0))
    assert np.allclose(a.coef_, b.coef_, atol=1e-5)
    assert np.isclose(a.score(X, Y, counts), accuracy_score(Y, a.predict(X), sample_weight=counts))


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_sparse_rows(loss, l1):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((80, 40)) * (rng.random((80, 40)) < 0.15)
    dense[:5] = 0.0  # empty rows
    Y = (dense[:, :3] + 0.1 * rng.standard_normal((80, 3)) > 0.05).astype(int)
    clf = LinearClassifier(loss, l1=l1, l2=1e-2, tol=1e-10)
    assert_as_columns(clf, sp.csr_array(dense), Y, atol=1e-4)
    a, b = clone(clf).fit(dense, Y), clone(clf).fit(sp.csr_array(dense), Y)
    assert np.allclose(a.coef_, b.coef_, atol=1e-4)


def test_float32_rows():
    clf = assert_as_columns(LinearClassifier(l2=1e-2, tol=1e-9), X.astype(np.float32), Y)
    assert clf.coef_.dtype == np.float64


def test_fewer_rows_than_features():
    X, Y = table(n=12, d=30, q=3)
    assert_as_columns(LinearClassifier(l2=0.1, tol=TIGHT), X, Y, atol=1e-4)


def test_one_feature_and_a_constant_one():
    assert_as_columns(LinearClassifier(l2=1e-2, tol=TIGHT), X[:, :1], Y)
    rows = np.column_stack([X[:, :2], np.full(len(X), 7.0)])
    assert_as_columns(LinearClassifier(l2=1e-2, tol=TIGHT, standardize=True), rows, Y)


def test_read_only_and_strided_arrays():
    wide = np.repeat(Y, 2, axis=1)
    wide.setflags(write=False)
    rows = np.asfortranarray(X)
    rows.setflags(write=False)
    a = LinearClassifier(l2=1e-2).fit(rows, wide[:, ::2])
    b = LinearClassifier(l2=1e-2).fit(X, Y)
    assert np.array_equal(a.coef_, b.coef_)


@pytest.mark.parametrize(
    "of",
    [
        lambda Y: Y.astype(bool), lambda Y: Y.astype(float), lambda Y: Y.tolist(),
        lambda Y: Y.astype(object), sp.csr_array, sp.csc_matrix, sp.coo_array, pd.DataFrame,
        lambda Y: tuple(map(tuple, Y.tolist())), lambda Y: sp.csr_array(Y.astype(bool)),
    ],
    ids=["bool", "float", "lists", "object", "csr", "csc", "coo", "frame", "tuples", "sparse bool"],
)  # fmt: skip
def test_forms_of_an_indicator_matrix(of):
    given, expected = of(Y), LinearClassifier(l2=1e-2).fit(X, Y)
    clf = LinearClassifier(l2=1e-2).fit(X, given)
    assert np.array_equal(clf.coef_, expected.coef_)
    assert np.array_equal(clf.classes_, np.arange(4))
    predicted = clf.predict(X)
    assert predicted.dtype == np.int64
    assert predicted.shape == Y.shape
    assert clf.score(X, given) == expected.score(X, Y) == np.mean((predicted == Y).all(axis=1))


def test_a_frame_names_the_labels():
    names = ["sports", "politics", "arts", "science"]
    clf = LinearClassifier(l2=1e-2).fit(X, pd.DataFrame(Y, columns=names))
    assert clf.classes_.tolist() == names
    with pytest.raises(ValueError, match="two columns of the same name"):
        LinearClassifier().fit(X, pd.DataFrame(Y, columns=["a", "a", "b", "c"]))


BAD = [
    (np.where(Y == 1, 2, 0), r"value 2 in row \d+, column \d.*1 where a row has a label"),
    (2 * Y - 1, "value -1 in row"),
    (Y.astype(str), "value '[01]' in row 0"),
    (np.where(Y == 1, np.nan, 0.0), "missing values .NaN or None., the first in row"),
    (np.where(Y == 1, None, 0), "missing values"),
    (Y.astype(float) + 0.5, "value"),
    (Y[:-1], "inconsistent numbers of samples"),
    (Y[:, :0], "shape .150, 0."),
    (Y[:, :, None], "1d array|dim 3"),
    ([[0, 1], [1]] * 75, "not a matrix"),
    (np.zeros_like(Y), "every column of y has only one value"),
    (sp.csr_array(3 * Y), "value 3"),
]


@pytest.mark.parametrize(("bad", "message"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_other_matrices_are_refused_and_the_model_is_unchanged(bad, message):
    clf = LinearClassifier(l2=1e-2).fit(X, Y)
    before = clf.coef_.copy()
    with pytest.raises(ValueError, match=message):
        clf.fit(X, bad)
    assert np.array_equal(clf.coef_, before)
    assert clf.predict(X).shape == Y.shape


def test_a_single_column_is_one_label_per_row():
    with pytest.warns(UserWarning, match="column-vector y"):
        clf = LinearClassifier(l2=1e-2).fit(X, Y[:, :1])
    assert not clf.multilabel_
    assert clf.predict(X).shape == (len(X),)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
@pytest.mark.parametrize("varying", [1, 2, 3])
def test_constant_columns(loss, varying):
    given = np.column_stack([np.ones(len(X), int), Y[:, :varying], np.zeros(len(X), int)])
    clf = LinearClassifier(loss, l2=0.1, tol=1e-9, random_state=0)
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    with pytest.warns(UserWarning, match="has the label") as caught:
        clf.fit(rows, given)
    texts = [str(each.message) for each in caught]
    assert texts == [
        "every row has the label 0: nothing can be learned about it, and every prediction will "
        "be 1",
        f"no row has the label {varying + 1}: nothing can be learned about it, and every "
        "prediction will be 0",
    ]
    assert {each.filename for each in caught} == {__file__}
    coef, _, J = columns(clf, rows, given[:, 1:-1])
    assert np.allclose(clf.coef_[1:-1], coef, atol=1e-5)
    assert np.isclose(clf.objective_, J, rtol=1e-8)
    assert not clf.coef_[[0, -1]].any()
    assert clf.zero_.shape == clf.coef_.shape
    predicted = clf.predict(100.0 * rows)
    assert np.all(predicted[:, 0] == 1)
    assert np.all(predicted[:, -1] == 0)
    if loss == "logistic":
        theirs = OneVsRestClassifier(LogisticRegression(C=1.0 / (0.2 * len(X)), tol=1e-9))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs.fit(rows, given)
        probability = clf.predict_proba(rows)
        assert np.allclose(probability, theirs.predict_proba(rows), atol=1e-5)
        assert np.all(probability[:, 0] == 1.0)
        assert np.all(probability[:, -1] == 0.0)
        assert np.all(clf.predict_log_proba(rows)[:, 0] == 0.0)


def test_a_label_of_rows_without_weight_is_constant():
    weight = np.where(Y[:, 0] == 1, 0.0, 1.0)
    with pytest.warns(UserWarning, match="no row has the label 0"):
        clf = LinearClassifier(l2=1e-2, tol=TIGHT).fit(X, Y, sample_weight=weight)
    present = weight > 0.0
    coef, _, _ = columns(clf, X[present], Y[present, 1:])
    assert np.allclose(clf.coef_[1:], coef, atol=1e-5)


def test_no_penalty():
    clf = LinearClassifier(l2=0.0, tol=1e-8)
    fitted = clone(clf).fit(X, Y)
    assert fitted.stop_ in ("tol", "optimal")
    coef, _, _ = columns(clf, X, Y)
    assert np.allclose(fitted.coef_, coef, atol=1e-2)
    separable = (X[:, :2] > np.median(X[:, :2], axis=0)).astype(int)
    with pytest.warns(separatrix.estimators.minimizer.ConvergenceWarning, match="no minimum"):
        clone(clf).fit(X, separable)


def test_warm_start_and_start():
    clf = LinearClassifier(l2=1e-2, warm_start=True, solver=LBFGS()).fit(X, Y)
    first = clf.n_iter_
    assert clf.fit(X, Y).n_iter_ < first
    with pytest.raises(ValueError, match="labels, or which of them vary"):
        clf.fit(X, Y[:, :3])
    with pytest.raises(ValueError, match="earlier fit"):
        clf.fit(X, Y[:, 0])
    W = np.column_stack([clf.coef_, clf.intercept_])
    again = LinearClassifier(l2=1e-2, start=W, solver=LBFGS()).fit(X, Y)
    assert again.n_iter_ < first
    with pytest.raises(ValueError, match="start"):
        LinearClassifier(start=W[:2]).fit(X, Y)


def test_a_fit_to_classes_after_one_to_labels():
    clf = LinearClassifier(l2=1e-2).fit(X, Y)
    clf.fit(X, Y[:, 0])
    assert not clf.multilabel_
    assert clf.predict(X).shape == (len(X),)
    assert np.array_equal(clf.coef_, LinearClassifier(l2=1e-2).fit(X, Y[:, 0]).coef_)


def test_replay():
    clf = LinearClassifier(l2=1e-2, solver=LBFGS()).fit(X, Y)
    steps = list(clf.trace_.replay(X, Y))
    assert np.array_equal(steps[-1].weights[:, :-1], clf.coef_)
    assert len(steps) == clf.n_iter_


def test_a_path():
    found = separatrix.path(X, Y, strengths=5, tol=1e-9)
    fit = found.at(found.strengths[2])
    assert fit.multilabel_
    coef, _, _ = columns(LinearClassifier(l1=fit.l1, l2=0.0, tol=1e-9), X, Y)
    assert np.allclose(fit.coef_, coef, atol=1e-5)


def test_class_weight_is_refused():
    for given in ("balanced", {0: 1.0, 1: 2.0}):
        with pytest.raises(ValueError, match=r"class_weight=.*exclude each other.*sample_weight"):
            LinearClassifier(class_weight=given).fit(X, Y)


@pytest.mark.parametrize(
    "fit",
    [
        lambda: Perceptron().fit(X, Y),
        lambda: KernelPerceptron().fit(X, Y),
        lambda: LinearClassifierCV().fit(X, Y),
        lambda: LinearClassifier(solver=GradientDescent(batch_size=1)).partial_fit(X, Y),
        lambda: Perceptron().partial_fit(X, Y),
        lambda: separatrix.separability(X, Y),
    ],
    ids=[
        "Perceptron",
        "KernelPerceptron",
        "CV",
        "partial_fit",
        "Perceptron stream",
        "separability",
    ],
)
def test_others_refuse(fit):
    with pytest.raises(ValueError, match=r"indicator matrix.*LinearClassifier\.fit"):
        fit()


def test_partial_fit_does_not_continue_such_a_model():
    clf = LinearClassifier(l2=1e-2).fit(X, Y)
    with pytest.raises(ValueError, match="partial_fit cannot continue"):
        clf.partial_fit(X, Y[:, 0])


def test_score_checks_its_labels():
    clf = LinearClassifier(l2=1e-2).fit(X, Y)
    with pytest.raises(ValueError, match="3 columns, but the model has 4 labels"):
        clf.score(X, Y[:, :3])
    with pytest.raises(ValueError, match="None"):
        clf.score(X)
    assert clf.score(X, sp.csr_array(Y), WEIGHT) == accuracy_score(
        Y, clf.predict(X), sample_weight=WEIGHT
    )
