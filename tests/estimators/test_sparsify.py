"""Weights kept as a sparse matrix: all else is as it was."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from l1_oracles import fitted, problem
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression

import separatrix
from separatrix import LinearClassifier, LinearClassifierCV, Perceptron
from separatrix.apps.cli.figures import important


@pytest.mark.sampled(1)
@pytest.mark.parametrize("k", [2, 3])
def test_a_sparsified_model_says_what_it_said(k, tmp_path):
    X, y = problem(k=k)
    dense = fitted(X, y)
    clf = fitted(X, y).sparsify()
    assert sp.issparse(clf.coef_)
    assert clf.coef_.format == "csr"
    assert clf.coef_.nnz == np.count_nonzero(dense.coef_)
    separatrix.save(clf, tmp_path / "model.sep")
    loaded = separatrix.load(tmp_path / "model.sep")
    for one in (clf, loaded, pickle.loads(pickle.dumps(clf))):
        assert np.array_equal(one.coef_.toarray(), dense.coef_)
        assert np.array_equal(one.decision_function(X), dense.decision_function(X))
        assert np.array_equal(one.predict(sp.csr_array(X)), dense.predict(X))
        assert one.score(X, y) == dense.score(X, y)
        for name in ("zero_", "selected_", "undecided_"):
            assert np.array_equal(getattr(one, name), getattr(dense, name))
    assert important(clf) == important(dense)
    assert separatrix.certify(clf, X, y).gap == separatrix.certify(dense, X, y).gap
    assert str(separatrix.diagnose(clf, X, y)) == str(separatrix.diagnose(dense, X, y))
    assert isinstance(loaded.densify().coef_, np.ndarray)
    assert np.array_equal(loaded.coef_, dense.coef_)


@pytest.mark.parametrize("to", ["json", "sql", "c"])
def test_exports_have_the_same_weights(to, tmp_path):
    X, y = problem()
    clf = fitted(X, y)
    separatrix.export(clf, tmp_path / "model", to)
    before = (tmp_path / "model").read_text()
    separatrix.export(clf.sparsify(), tmp_path / "model", to)
    assert (tmp_path / "model").read_text() == before


def test_fits_go_on_from_a_sparse_matrix_and_leave_an_array():
    X, y = problem()
    warm = fitted(X, y, warm_start=True)
    same = fitted(X, y, warm_start=True).sparsify()
    assert np.array_equal(warm.fit(X, y).coef_, same.fit(X, y).coef_)
    stream = LinearClassifier(random_state=0).partial_fit(X, y)
    other = LinearClassifier(random_state=0).partial_fit(X, y).sparsify()
    assert np.array_equal(stream.partial_fit(X, y).coef_, other.partial_fit(X, y).coef_)


def test_every_linear_classifier_has_them_once_it_is_fitted():
    X, y = problem()
    for clf in (LinearClassifier(), LinearClassifierCV(l2s=3, cv=2, scoring=None), Perceptron()):
        with pytest.raises(NotFittedError):
            clf.sparsify()
        with pytest.raises(NotFittedError):
            clf.densify()
        before = clf.fit(X, y).predict(X)
        assert np.array_equal(clf.sparsify().sparsify().predict(X), before)
        assert np.array_equal(clf.densify().densify().predict(X), before)
        assert isinstance(clf.coef_, np.ndarray)


def test_a_sparsified_model_of_another_library_is_certified():
    X, y = problem()
    model = LogisticRegression(l1_ratio=1.0, C=0.5, solver="saga", max_iter=5000).fit(X, y)
    gap = separatrix.certify(model, X, y).gap
    assert separatrix.certify(model.sparsify(), X, y).gap == gap


def test_a_matrix_of_other_numbers_in_a_file_is_refused(tmp_path):
    X, y = problem()
    clf = fitted(X, y).sparsify()
    clf.coef_ = clf.coef_.astype(np.float32)
    separatrix.save(clf, tmp_path / "model.sep")
    with pytest.raises(ValueError, match="coef_"):
        separatrix.load(tmp_path / "model.sep")


def test_the_default_threshold_of_a_selection_is_that_of_l1():
    X, y = problem()
    clf = LinearClassifier(l1=0.05)
    kept = SelectFromModel(clf).fit(X, y)
    assert kept.threshold_ == 1e-5
    weights = np.abs(clf.fit(X, y).coef_[0])
    assert np.array_equal(kept.get_support(), weights >= 1e-5)
    assert 0 < kept.get_support().sum() < X.shape[1]
    plain = SelectFromModel(LinearClassifier()).fit(X, y)
    assert plain.threshold_ == pytest.approx(np.abs(plain.estimator_.coef_).mean())
