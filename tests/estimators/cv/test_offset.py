"""Searches and paths with an offset, against single fits to the training rows of every fold."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from scipy.optimize import minimize
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from separatrix import ArraySource, LinearClassifier, LinearClassifierCV, path
from separatrix.rows import DenseRows, with_offset

L2S = np.array([1e-1, 1e-2, 1e-3])


def table(n=90, d=4, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X, offset = rng.normal(size=(n, d)), 2.0 * rng.normal(size=(n, k)) + 1.0
    y = (X @ rng.normal(size=(d, k)) + offset + rng.gumbel(size=(n, k))).argmax(axis=1)
    return X, y, (offset[:, 1] - offset[:, 0] if k == 2 else offset)


def by_single_fits(X, y, offset, score, **given):
    found = []
    for train, test in StratifiedKFold(3).split(X, y):
        fits = [
            LinearClassifier(l2=l2, tol=1e-10, **given).fit(
                X[train], y[train], offset=offset[train]
            )
            for l2 in L2S
        ]
        found.append([score(fit, X[test], y[test], offset[test]) for fit in fits])
    return np.array(found).T


def minus_loss(fit, X, y, offset):
    return -log_loss(y, fit.predict_proba(X, offset=offset), labels=fit.classes_)


@pytest.mark.sampled
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("given", [{}, {"standardize": True}], ids=str)
def test_folds_are_scored_with_the_offset_of_their_rows(k, wide, given):
    X, y, offset = table(d=120 if wide else 4, k=k)
    search = LinearClassifierCV(l2s=L2S, cv=3, scoring="loss", tol=1e-9, **given)
    search.fit(X, y, offset=offset)
    expected = by_single_fits(X, y, offset, minus_loss, **given)
    found = np.array([search.cv_results_[f"split{i}_test_score"] for i in range(3)]).T
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    best = LinearClassifier(l2=search.l2_, tol=1e-9, **given).fit(X, y, offset=offset)
    np.testing.assert_allclose(search.coef_, best.coef_, atol=1e-4)
    assert search.uses_offset_
    assert search.stop_ == "optimal"
    with pytest.raises(ValueError, match="fitted with an offset"):
        search.predict(X)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scoring", [None, "accuracy", "neg_log_loss"])
def test_accuracy_and_scorers_see_the_offset(scoring):
    X, y, offset = table()
    search = LinearClassifierCV(l2s=L2S, cv=3, scoring=scoring, tol=1e-9)
    search.fit(X, y, offset=offset)

    def score(fit, X, y, offset):
        if scoring == "neg_log_loss":
            return minus_loss(fit, X, y, offset)
        return fit.score(X, y, offset=offset)

    expected = by_single_fits(X, y, offset, score)
    found = np.array([search.cv_results_[f"split{i}_test_score"] for i in range(3)]).T
    np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.sampled
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_leaving_out_one_row(loss, wide):
    X, y, offset = table(n=24, d=40 if wide else 3)
    search = LinearClassifierCV(loss, l2s=L2S, cv="loo", scoring="loss").fit(X, y, offset=offset)
    every = np.arange(len(y))
    expected = []
    for l2 in L2S:
        losses = []
        for row in every:
            rest = every != row
            fit = LinearClassifier(loss, l2=l2, tol=1e-11).fit(
                X[rest], y[rest], offset=offset[rest]
            )
            score = fit.decision_function(X[[row]], offset=offset[[row]])[0]
            m = score if y[row] else -score
            losses.append(np.logaddexp(0.0, -m) if loss == "logistic" else (1.0 - m) ** 2)
        expected.append(-np.mean(losses))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-5)


def test_a_search_in_l1():
    X, y, offset = table(n=150)
    X = np.column_stack([X, np.random.default_rng(1).normal(size=(150, 4))])
    search = LinearClassifierCV(l1_ratio=0.9, strengths=8, cv=3, scoring="loss")
    search.fit(X, y, offset=offset)
    alone = LinearClassifier(l1=search.l1_, l2=search.l2_, tol=1e-9).fit(X, y, offset=offset)
    np.testing.assert_allclose(search.coef_, alone.coef_, atol=1e-3)


def test_rows_of_a_source_have_their_offset():
    X, y, offset = table()
    rows = with_offset(DenseRows(X), offset[:, None])
    source = ArraySource(rows, np.where(y, 1.0, -1.0), np.array([0, 1]))
    search = LinearClassifierCV(l2s=L2S, cv=3, scoring="accuracy").fit(source)
    assert search.uses_offset_
    found = search.decision_function(source)
    np.testing.assert_allclose(found, search.decision_function(X, offset=offset), atol=1e-12)
    assert search.score(source) == search.score(X, y, offset=offset)
    with pytest.raises(TypeError, match="offset was also given"):
        search.fit(source, offset=offset)


def test_errors_come_before_the_search():
    X, y, offset = table()
    search = LinearClassifierCV(l2s=L2S, cv=3, scoring="loss")
    with pytest.raises(ValueError, match="offset has shape"):
        search.fit(X, y, offset=offset[:-1])
    assert not hasattr(search, "coef_")


def test_the_search_takes_routed_offsets():
    X, y, offset = table()
    with sklearn.config_context(enable_metadata_routing=True):
        search = LinearClassifierCV(l2s=L2S, cv=3, scoring="loss").set_fit_request(offset=True)
        assert search.get_metadata_routing() is not None
        found = search.fit(X, y, offset=offset)
    expected = LinearClassifierCV(l2s=L2S, cv=3, scoring="loss").fit(X, y, offset=offset)
    np.testing.assert_array_equal(found.coef_, expected.coef_)


# ---- paths -------------------------------------------------------------------------------------


def bias_alone(y, offset):
    def loss(b):
        m = np.where(y, 1.0, -1.0) * (offset + b[0])
        return np.mean(np.logaddexp(0.0, -m))

    return minimize(loss, [0.0], method="BFGS", options={"gtol": 1e-10}).fun


@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("ignore:l1=.* is so large that no feature is selected")
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_fits_of_a_path_are_single_fits(ratio, sparse):
    X, y, offset = table(n=200)
    rows = sp.csr_array(X) if sparse else X
    found = path(rows, y, offset=offset, l1_ratio=ratio, strengths=6, tol=1e-9)
    assert len(found.strengths) >= 5
    for i, s in enumerate(found.strengths):
        l1, l2 = ratio * s, (1.0 - ratio) * s / 2.0
        alone = LinearClassifier(l1=l1, l2=l2, tol=1e-9).fit(rows, y, offset=offset)
        assert found.objectives[i] == pytest.approx(alone.objective_, rel=1e-7)
        assert found.at(s).uses_offset_
    if ratio:
        assert found.nonzeros[0] == 0
    fit = found.at(found.strengths[-1])
    mean = log_loss(y, fit.predict_proba(rows, offset=offset))
    assert found.deviance[-1] == pytest.approx(1.0 - mean / bias_alone(y, offset), rel=1e-5)


def test_a_path_scores_its_strengths_on_held_out_rows():
    X, y, offset = table(n=150)
    found = path(X, y, offset=offset, l1_ratio=0.0, strengths=2.0 * L2S, cv=3)
    expected = by_single_fits(X, y, offset, minus_loss)
    np.testing.assert_allclose(
        found.cv_results["mean_test_score"], expected.mean(axis=1), rtol=1e-3
    )
