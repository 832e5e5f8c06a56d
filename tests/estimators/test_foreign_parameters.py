"""What users of other libraries write first: the error says what to write here."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier

from separatrix import KernelPerceptron, LinearClassifier, LinearClassifierCV, Perceptron

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = (X[:, 0] + rng.normal(size=60) > 0.0).astype(int)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearClassifier(C=1.0), r"no parameter 'C'.*l2 = 1 / \(2 C n\)"),
        (lambda: LinearClassifierCV(C=1.0), r"no parameter 'C'.*l2 = 1 / \(2 C n\)"),
        (lambda: LinearClassifierCV(Cs=10), r"'Cs'.*l2s=\[\.\.\.\].*l2 = 1 / \(2 C n\) for each C"),
        (lambda: LinearClassifier(alpha=1e-4), r"l2 = alpha / 2"),
        (lambda: LinearClassifierCV(l2=1e-4), r"give l2s=\[\.\.\.\]"),
        (lambda: Perceptron(eta0=1.0), "Perceptron has no parameter 'eta0'.*learning_rate"),
        (lambda: KernelPerceptron(n_iter=5), "max_iter"),
        (lambda: LinearClassifier(multi_class="ovr"), "one_vs_rest_logistic"),
        (lambda: LinearClassifier(nothing=1), "unexpected keyword argument 'nothing'"),
    ],
)
def test_a_parameter_of_another_library(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_the_translations_are_right():
    """The same objective, so the same weights."""
    n, C, alpha = len(y), 0.7, 0.02
    ours = LinearClassifier(l2=1.0 / (2.0 * C * n), tol=1e-10).fit(X, y)
    theirs = LogisticRegression(C=C, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4)
    ridge = RidgeClassifier(alpha=alpha).fit(X, y)
    np.testing.assert_allclose(
        LinearClassifier("squared", l2=alpha / n).fit(X, y).coef_,
        ridge.coef_.reshape(1, -1),
        rtol=1e-5,
    )
    sgd = SGDClassifier("log_loss", alpha=alpha, max_iter=5000, tol=None, random_state=0)
    sgd.fit(X, y)
    close = LinearClassifier(l2=alpha / 2.0).fit(X, y)
    np.testing.assert_allclose(close.coef_, sgd.coef_, rtol=0.05)


@pytest.mark.parametrize(
    "cls", [LinearClassifier, LinearClassifierCV, Perceptron, KernelPerceptron]
)
def test_signatures_stay_as_they_are(cls):
    parameters = inspect.signature(cls).parameters
    assert set(parameters) == set(cls().get_params(deep=False))
    assert parameters["max_iter"].annotation == "int"
    assert clone(cls(max_iter=7)).max_iter == 7


@pytest.mark.parametrize(
    ("name", "ours"),
    [("log_loss", "logistic"), ("squared_error", "squared"), ("softmax", "logistic")],
)
def test_a_loss_of_another_library(name, ours):
    with pytest.raises(ValueError, match=rf"'{name}' of other libraries is '{ours}' here"):
        LinearClassifier(loss=name).fit(X, y)


def test_a_penalty_that_is_a_word():
    with pytest.raises(ValueError, match=r"it is the default, so leave it out.*= 1 / \(2 C n\)"):
        LinearClassifier(penalty="l2").fit(X, y)


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("loss", ["hinge", "squared", "squared_hinge"])
def test_probabilities_of_a_loss_without_them(method, loss):
    clf = LinearClassifier(loss).fit(X, y)
    assert not hasattr(clf, method)
    with pytest.raises(AttributeError, match=rf"{method} with loss='{loss}'.*loss='logistic'"):
        getattr(clf, method)
    assert hasattr(LinearClassifier(), method)
    parameters = inspect.signature(getattr(LinearClassifier, method)).parameters
    assert list(parameters) == ["self", "X", "offset"]


MIXED = [0, "a"] * 30


@pytest.mark.parametrize(
    "labels",
    [MIXED, tuple(MIXED), np.array(MIXED, dtype=object), [1.5, "a"] * 30, ["1", True] * 30,
     [np.int64(1), "a"] * 30],
)  # fmt: skip
@pytest.mark.parametrize("clf", [LinearClassifier(), Perceptron(), KernelPerceptron()])
def test_labels_of_different_types(clf, labels):
    with pytest.raises(
        ValueError, match=r"labels of different types, such as '.*expected all words"
    ):
        clf.fit(X, labels)
    assert not hasattr(clf, "classes_")


def test_a_missing_label_is_still_called_missing():
    with pytest.raises(ValueError, match="missing label"):
        LinearClassifier().fit(X, [None, "a"] * 30)
    assert LinearClassifier().fit(X, [1, 2.0] * 30).classes_.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.array([["1", "red"], ["2", "blue"]]), "column 1 holds words such as 'red'.*OneHot"),
        (np.array([[1, "red"], [2, "blue"]], dtype=object), "column 1 holds words such as 'red'"),
        ([[1.0, "red"], [2.0, "blue"]], "column 1 holds words such as 'red'"),
        (np.array(["a text", "two"]), "an array of words, 'a text' first.*TfidfVectorizer"),
    ],
)
def test_arrays_of_words(rows, message):
    for clf in (LinearClassifier(), Perceptron(), KernelPerceptron()):
        with pytest.raises(ValueError, match=message):
            clf.fit(rows, [0, 1])


def test_a_list_of_texts_is_no_path():
    with pytest.raises(TypeError, match=r"a list of words, 'Great film.' first.*TfidfVectorizer"):
        LinearClassifier().fit(["Great film.", "Too long."], [0, 1])
    with pytest.raises(TypeError, match=r"X is the path 'rows.csv'"):
        LinearClassifier().fit(["rows.csv", "more.csv"], [0, 1])
    assert LinearClassifier().fit(np.array([["1"], ["2"]]), [0, 1]).coef_.shape == (1, 1)


def test_partial_fit_explains_classes():
    clf = Perceptron().partial_fit(X, y)
    with pytest.raises(
        ValueError, match=r"\[2\].*not among.*\[0, 1\].*new model.*classes=\[\.\.\.\]"
    ):
        clf.partial_fit(X, y + 1)
    assert clf.classes_.tolist() == [0, 1]
    clf = LinearClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"classes=\[\.\.\.\], every label that will ever occur"):
        clf.partial_fit(X, y + 1)
    later = Perceptron().partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y + 1)
    assert later.classes_.tolist() == [0, 1, 2]
