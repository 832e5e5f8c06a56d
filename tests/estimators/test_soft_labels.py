"""Fits to probabilities, against fits to weighted rows and against a plain minimiser."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import ArraySource, LinearClassifier, MarginLoss, certify, diagnose, inference

N, D = 80, 3


class OwnLikelihood(MarginLoss):
    """A likelihood of two classes, without a form of its own for more."""

    log_likelihood = True

    def phi(self, m):
        return np.logaddexp(0.0, -m)

    def slope(self, m):
        return -1.0 / (1.0 + np.exp(m))


def rows(k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
    scores = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal((D, k))
    P = np.exp(scores - logsumexp(scores, axis=1)[:, None])
    P = 0.7 * P + 0.3 * rng.dirichlet(np.ones(k), N)
    P[:k] = np.eye(k)
    return X, P


def cross_entropy(W, X, P, weight, l2):
    """The objective in plain NumPy, with a column of scores for each class."""
    W = W.reshape(P.shape[1], -1)
    scores = X @ W[:, :-1].T + W[:, -1]
    loss = np.sum(P * (logsumexp(scores, axis=1)[:, None] - scores), axis=1)
    return np.average(loss, weights=weight) + l2 * np.sum(W[:, :-1] ** 2)


@pytest.mark.sampled
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 4])
def test_a_fit_minimises_the_cross_entropy(k, weighted):
    X, P = rows(k)
    w = np.random.default_rng(1).integers(0, 4, N).astype(float) if weighted else None
    clf = LinearClassifier(l2=0.01, soft_labels=True, tol=1e-12).fit(X, P, sample_weight=w)
    assert clf.stop_ == "optimal"
    assert clf.classes_.tolist() == list(range(k))
    l2 = 0.02 if k == 2 else 0.01  # of two columns that are w / 2 and -w / 2
    plain = minimize(
        cross_entropy, np.zeros(k * (D + 1)), (X, P, w, l2), method="BFGS", options={"gtol": 1e-9}
    )
    assert abs(clf.objective_ - plain.fun) < 1e-9
    assert plain.fun >= clf.objective_ - clf.gap_ - 1e-15


@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"l1": 0.01}, {"l2": 0.0},
                                     {"fit_intercept": False}])  # fmt: skip
@pytest.mark.parametrize("k", [2, 4])
def test_a_fit_is_that_to_weighted_copies(k, options):
    X, P = rows(k)
    settings = {"l2": 0.003, "tol": 1e-12} | options
    clf = LinearClassifier(soft_labels=True, **settings).fit(X, P)
    copies = LinearClassifier(**settings).fit(
        np.vstack([X] * k), np.repeat(np.arange(k), N), sample_weight=P.T.ravel()
    )
    assert clf.stop_ == copies.stop_ == "optimal"
    np.testing.assert_allclose(clf.coef_, copies.coef_, atol=1e-6)
    assert abs(clf.objective_ - copies.objective_) <= clf.gap_ + copies.gap_
    np.testing.assert_allclose(clf.predict_proba(X), copies.predict_proba(X), atol=1e-6)


def test_probabilities_of_a_logistic_model_are_recovered():
    """If y are the probabilities of a model, the model has the least cross-entropy: H(y)."""
    X, _ = rows(2)
    w, b = np.array([1.0, -0.1, 4.0]), 0.5
    p = 1.0 / (1.0 + np.exp(-(X @ w + b)))
    clf = LinearClassifier(l2=0.0, soft_labels=True, tol=1e-13).fit(X, p)
    np.testing.assert_allclose(clf.coef_[0], w, rtol=1e-6)
    np.testing.assert_allclose(clf.intercept_, b, rtol=1e-5)
    entropy = -np.mean(p * np.log(p) + (1.0 - p) * np.log1p(-p))
    np.testing.assert_allclose(clf.objective_, entropy, rtol=1e-12)


def test_labels_of_0_and_1_are_ordinary_labels():
    X, P = rows(2)
    y = (P[:, 1] > 0.5).astype(int)
    soft = LinearClassifier(l2=0.01, soft_labels=True, tol=1e-12).fit(X, y)
    hard = LinearClassifier(l2=0.01, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(soft.coef_, hard.coef_, atol=1e-7)
    assert soft.score(X, y) == hard.score(X, y)
    one_hot = LinearClassifier(l2=0.01, soft_labels=True, tol=1e-12).fit(X, np.eye(2)[y])
    np.testing.assert_array_equal(one_hot.coef_, soft.coef_)
    assert not one_hot.multilabel_  # as a fit without soft_labels would be
    assert LinearClassifier(l2=0.01).fit(X, np.eye(2, dtype=int)[y]).multilabel_


def test_certain_labels_that_separate_have_no_minimum():
    X = np.arange(8.0)[:, None]
    y = np.repeat([0.0, 1.0], 4)
    with pytest.warns(UserWarning, match="no minimum"):
        assert LinearClassifier(l2=0.0, soft_labels=True).fit(X, y).stop_ == "no minimum"
    y[3] = 0.5  # x <= 3.5 still separates
    with pytest.warns(UserWarning, match="no minimum"):
        assert LinearClassifier(l2=0.0, soft_labels=True).fit(X, y).stop_ == "no minimum"
    y[0] = 0.5
    assert LinearClassifier(l2=0.0, soft_labels=True).fit(X, y).stop_ == "optimal"


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("kind", ["dense", "float32", "csr", "read-only", "fortran"])
def test_storages(kind, offset):
    X, P = rows(3)
    if kind in ("dense", "read-only", "fortran"):
        X[:, 0] += offset
    form = {
        "dense": X, "float32": X.astype(np.float32), "csr": sp.csr_array(X), "fortran":
        np.asfortranarray(X), "read-only": X.copy(),
    }[kind]  # fmt: skip
    if kind == "read-only":
        form.flags.writeable = False
    clf = LinearClassifier(l2=1e-3, soft_labels=True).fit(form, P)
    plain = LinearClassifier(l2=1e-3).fit(
        np.vstack([X] * 3), np.repeat(np.arange(3), N), sample_weight=P.T.ravel()
    )
    assert clf.stop_ == "optimal"
    bound = 1e-6 if kind == "float32" else 1e-12
    assert abs(clf.objective_ - plain.objective_) <= clf.gap_ + plain.gap_ + bound


def test_few_rows_and_features():
    one = LinearClassifier(l2=0.1, soft_labels=True, tol=1e-12).fit([[2.0]], [0.25])
    np.testing.assert_allclose(one.predict_proba([[2.0]]), [[0.75, 0.25]], rtol=1e-5)
    X = np.random.default_rng(0).standard_normal((4, 30))
    wide = LinearClassifier(l2=0.01, soft_labels=True).fit(X, [0.1, 0.9, 0.5, 0.0])
    assert wide.stop_ == "optimal"
    constant = LinearClassifier(l2=0.0, soft_labels=True).fit(np.ones((4, 2)), [0.1, 0.9, 0.5, 0.5])
    np.testing.assert_allclose(constant.predict_proba(np.ones((1, 2)))[0, 1], 0.5, atol=1e-6)


def test_models_are_saved_cloned_and_piped(tmp_path):
    X, P = rows(3)
    pipe = make_pipeline(StandardScaler(), LinearClassifier(l2=1e-3, soft_labels=True)).fit(X, P)
    assert clone(pipe)[-1].soft_labels is True
    clf = LinearClassifier(l2=1e-3, soft_labels=True, warm_start=True).fit(X, P)
    separatrix.save(clf, str(tmp_path / "m.sep"))
    again = separatrix.load(str(tmp_path / "m.sep"))
    np.testing.assert_array_equal(again.coef_, clf.coef_)
    assert again.soft_labels is True
    assert clf.fit(X, P).n_iter_ <= 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "hinge"}, "no likelihood"),
        ({"loss": "squared"}, "no likelihood"),
        ({"class_weight": "balanced"}, "is for labels"),
        ({"soft_labels": 1}, "soft_labels must be"),
        ({"bias_reduction": "mdypl", "l2": 0.0}, "exclude each other"),
    ],
)
def test_settings_that_are_refused(options, words):
    X, P = rows(2)
    with pytest.raises((TypeError, ValueError), match=words):
        LinearClassifier(**({"soft_labels": True} | options)).fit(X, P)


def test_what_is_refused():
    X, P = rows(2)
    clf = LinearClassifier(soft_labels=True)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clf.fit(X, P[:-1])
    with pytest.raises(ValueError, match="sum to"):
        clf.fit(X, 0.5 * P)
    with pytest.raises(TypeError, match="labels of its own"):
        clf.fit(ArraySource(X, np.where(P[:, 0] > 0.5, 1.0, -1.0), np.arange(2)))
    with pytest.raises(ValueError, match="partial_fit is not for soft_labels"):
        clf.partial_fit(X, P)
    with pytest.raises(ValueError, match="one by one"):
        LinearClassifier(OwnLikelihood(), soft_labels=True).fit(X, rows(3)[1])
    assert not hasattr(clf, "coef_")
    clf.fit(X, P)
    y = (P[:, 1] > 0.5).astype(int)
    for ask in (certify, diagnose, inference):
        with pytest.raises(ValueError, match="soft_labels=True"):
            ask(clf, X, y)
    with pytest.raises(ValueError, match="cannot be replayed"):
        next(clf.trace_.replay(X, y))


def test_an_offset_is_that_of_every_copy():
    rng = np.random.default_rng(0)
    X, p, offset = rng.standard_normal((60, 2)), rng.random(60), rng.standard_normal(60)
    clf = LinearClassifier(l2=1e-3, tol=1e-12, soft_labels=True).fit(X, p, offset=offset)
    copies = LinearClassifier(l2=1e-3, tol=1e-12).fit(
        np.tile(X, (2, 1)), np.repeat([1, 0], 60), np.r_[p, 1.0 - p], offset=np.tile(offset, 2)
    )
    assert clf.stop_ == "optimal"
    assert clf.coef_ == pytest.approx(copies.coef_, rel=1e-6)
    assert clf.intercept_ == pytest.approx(copies.intercept_, rel=1e-6)
