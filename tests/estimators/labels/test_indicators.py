"""Indicator matrices: which are taken, what they name, and which are refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from label_columns import TIGHT, WEIGHT, X, Y, columns
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.multiclass import OneVsRestClassifier

import separatrix
from separatrix import KernelPerceptron, LinearClassifier, Perceptron


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


@pytest.mark.sampled
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
