"""Indicator matrices of labels: every label's fit is that of its own two-class problem."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC

import separatrix
from separatrix import (
    LBFGS,
    CoordinateAscent,
    CoordinateDescent,
    DualAscent,
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
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        fitted = clf.fit(rows, Y)
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
        lambda: Perceptron().partial_fit(X, Y),
        lambda: separatrix.separability(X, Y),
    ],
    ids=["Perceptron", "KernelPerceptron", "Perceptron stream", "separability"],
)
def test_others_refuse(fit):
    with pytest.raises(ValueError, match=r"indicator matrix.*LinearClassifierCV"):
        fit()


# ---- kinks ------------------------------------------------------------------------------------


UNSCALED = X * np.logspace(-2, 3, 6) + np.array([0.0, 0.0, 0.0, 50.0, -2e3, 1e4])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("l2", [1e-3, 1e-6])
def test_unscaled_features_end_with_a_proof_as_separate_fits_do(loss, l2):
    clf = LinearClassifier(loss, l2=l2, random_state=0)
    alone = [clone(clf).fit(UNSCALED, y) for y in Y.T]
    assert {each.stop_ for each in alone} == {"optimal"}
    clf.fit(UNSCALED, Y)
    assert clf.stop_ == "optimal"
    least = sum(each.objective_ - each.gap_ for each in alone)
    assert least <= clf.objective_ <= sum(each.objective_ for each in alone) + clf.gap_


@pytest.mark.parametrize("parameters", [{}, {"standardize": True}, {"fit_intercept": False}])
@pytest.mark.parametrize("kind", ["dense", "sparse", "wide"])
def test_the_hinge_of_every_label_is_that_of_separate_fits(parameters, kind):
    rng = np.random.default_rng(1)
    n, d = (30, 80) if kind == "wide" else (200, 12)
    rows = rng.standard_normal((n, d)) * (rng.random((n, d)) < (0.2 if kind == "sparse" else 1.0))
    given = (rows[:, :4] + rng.standard_normal((n, 4)) > 0.3).astype(int)
    rows = sp.csr_array(rows) if kind == "sparse" else rows
    weight = rng.uniform(0.0, 2.0, n).round(1)
    clf = LinearClassifier("hinge", l2=1e-3, tol=1e-8, random_state=0, **parameters)
    fitted = assert_as_columns(clf, rows, given, atol=2e-3, sample_weight=weight)
    assert fitted.stop_ == "optimal"
    assert fitted.gap_ <= 1e-8 * fitted.objective_
    assert isinstance(fitted.solver_, DualAscent)


def test_labels_as_a_support_vector_machine_with_a_free_bias():
    # As primal of libsvm's problem; its minimum is known from the dual, which shares no code.
    rows, l2 = (X - X.mean(axis=0)) / X.std(axis=0), 0.01
    C = 1.0 / (2.0 * l2 * len(X))
    ours = LinearClassifier("hinge", l2=l2, tol=1e-10, random_state=0).fit(rows, Y)
    for c, y in enumerate(Y.T):
        svm = SVC(C=C, kernel="linear", tol=1e-10).fit(rows, y)
        assert np.allclose(ours.coef_[c], svm.coef_[0], atol=1e-5)


def test_a_run_of_columns_goes_on_with_the_same_bits(tmp_path):
    clf = LinearClassifier("hinge", l2=1e-5, tol=1e-9, random_state=0)
    whole = clone(clf).fit(UNSCALED, Y)
    assert "column by column" in repr(whole.solver_)
    path = tmp_path / "fit.sep"
    halt = [separatrix.Checkpoint(path), lambda step, info: info.iteration == 3]
    clone(clf).set_params(callbacks=halt).fit(UNSCALED, Y)
    again = clone(clf).set_params(callbacks=[separatrix.Checkpoint(path)]).fit(UNSCALED, Y)
    assert again.n_iter_ == whole.n_iter_ > 3
    assert np.array_equal(again.coef_, whole.coef_)
    assert again.gap_ == whole.gap_


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_bits_do_not_depend_on_threads(loss, monkeypatch):
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_BYTES", 1024)
    monkeypatch.setattr("separatrix.data.arrays.BLOCK_ROWS_PER_SUM", 0)
    one, three = (
        LinearClassifier(loss, l2=1e-3, n_jobs=n, random_state=0).fit(X, Y) for n in (1, 3)
    )
    assert np.array_equal(one.coef_, three.coef_)
    assert one.gap_ == three.gap_


# ---- partial_fit ------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "logistic", "perceptron"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_partial_fit_is_that_of_each_label(loss, kind):
    solver = GradientDescent(batch_size=1, shuffle=False)
    clf = LinearClassifier(loss, l2=1e-3, solver=solver)
    alone = [clone(clf) for _ in range(4)]
    for start in range(0, len(X), 30):
        at = slice(start, start + 30)
        clf.partial_fit(kind(X[at]), Y[at], sample_weight=WEIGHT[at])
        for c, one in enumerate(alone):
            one.partial_fit(kind(X[at]), Y[at, c], classes=[0, 1], sample_weight=WEIGHT[at])
    assert clf.multilabel_
    assert clf.n_iter_ == 5
    assert np.allclose(clf.coef_, np.vstack([one.coef_ for one in alone]), rtol=1e-12)
    assert np.allclose(clf.intercept_, np.concatenate([one.intercept_ for one in alone]))
    assert np.array_equal(clf.predict(X), np.column_stack([one.predict(X) for one in alone]))


def test_a_chunk_may_lack_a_label_and_have_a_single_row():
    clf = LinearClassifier(l2=1e-3)
    clf.partial_fit(X[:1], Y[:1], classes=np.arange(4))
    clf.partial_fit(X[1:2], np.zeros((1, 4), int))
    assert clf.coef_.shape == (4, 6)
    assert clf.partial_fit(X, sp.csr_array(Y)).score(X, Y) > 0.0


def test_replay_of_a_chunk_that_lacks_a_label():
    clf = LinearClassifier(l2=1e-3)
    given = Y[:20].copy()
    given[:, 1] = 0
    clf.set_params(solver=GradientDescent(batch_size=1)).partial_fit(X[:20], given)
    last = list(clf.trace_.replay(X[:20], given))[-1]
    assert np.array_equal(last.weights[:, :-1], clf.coef_)
    assert last.weights.shape == (4, 7)


def test_partial_fit_refuses_other_labels():
    names = ["a", "b", "c", "d"]
    clf = LinearClassifier(l2=1e-3).partial_fit(X, pd.DataFrame(Y, columns=names))
    assert clf.classes_.tolist() == names
    before = clf.coef_.copy()
    for bad, message in (
        (Y[:, 0], "one label per row, but the model has 4 labels"),
        (pd.DataFrame(Y, columns=names[::-1]), "labels of the earlier calls"),
        (Y[:, :3], "labels of the earlier calls"),
    ):
        with pytest.raises(ValueError, match=message):
            clf.partial_fit(X, bad)
    with pytest.raises(ValueError, match=r"classes=\['a'\].*expected the names or numbers"):
        clf.partial_fit(X, pd.DataFrame(Y, columns=names), classes=["a"])
    with pytest.raises(ValueError, match="exclude each other"):
        LinearClassifier(class_weight={0: 1.0, 1: 2.0}).partial_fit(X, Y)
    of_classes = LinearClassifier().partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="earlier calls had one class per row"):
        of_classes.partial_fit(X, Y)
    assert np.array_equal(clf.coef_, before)


def test_partial_fit_continues_a_fit_unless_a_label_was_constant():
    clf = LinearClassifier(l2=1e-2).fit(X, Y)
    before = clf.coef_.copy()
    clf.partial_fit(X[:10], Y[:10])
    assert not np.array_equal(clf.coef_, before)
    given = Y.copy()
    given[:, 2] = 1
    with pytest.warns(UserWarning, match="every row has the label 2"):
        clf.fit(X, given)
    with pytest.raises(ValueError, match=r"labels \[2\] did not vary"):
        clf.partial_fit(X, Y)


# ---- cross-validation ---------------------------------------------------------------------------


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


@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_cross_validation_of_other_losses(loss):
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    clf = LinearClassifierCV(loss, l2s=[0.1, 1e-3], scoring=None, cv=3, random_state=0)
    clf.fit(rows, Y)
    one = LinearClassifier(loss, random_state=0)
    expected = by_hand(one, SCORES[None], rows, Y, KFold(3), [0.1, 1e-3])
    found = np.array([clf.cv_results_[f"split{i}_test_score"] for i in range(3)])
    assert np.allclose(found, expected, atol=1.01 / 50)  # a tie may turn one row


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


# ---- containers ------------------------------------------------------------------------------


def test_polars_frames_of_labels():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({name: Y[:, c] for c, name in enumerate("abcd")})
    clf = LinearClassifier(l2=1e-2).fit(X, frame)
    assert clf.classes_.tolist() == ["a", "b", "c", "d"]
    assert np.array_equal(clf.coef_, LinearClassifier(l2=1e-2).fit(X, Y).coef_)
    assert clf.score(X, frame) == clf.score(X, Y)


def test_score_checks_its_labels():
    clf = LinearClassifier(l2=1e-2).fit(X, Y)
    with pytest.raises(ValueError, match="3 columns, but the model has 4 labels"):
        clf.score(X, Y[:, :3])
    with pytest.raises(ValueError, match="None"):
        clf.score(X)
    assert clf.score(X, sp.csr_array(Y), WEIGHT) == accuracy_score(
        Y, clf.predict(X), sample_weight=WEIGHT
    )
