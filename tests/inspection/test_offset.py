"""Standard errors, tests and certificates of models with an offset."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import ArraySource, LinearClassifier, certify, diagnose, inference

sm = pytest.importorskip("statsmodels.api")

EXACT = {"l2": 0.0, "tol": 1e-13}


def table(seed=0, n=200, k=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
    offset = rng.normal(size=(n, k))
    scores = X @ (rng.normal(size=(k, 3)) / [1.0, 10.0, 0.1]).T + offset + rng.gumbel(size=(n, k))
    y = (scores - scores.mean(axis=0)).argmax(axis=1)
    return X, y, offset[:, 1] if k == 2 else offset


def theirs(X, y, offset):
    model = sm.GLM(y, np.column_stack([X, np.ones(len(X))]), sm.families.Binomial(), offset=offset)
    return model.fit(tol=1e-14)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_two_classes_as_statsmodels(seed, sparse):
    X, y, offset = table(seed)
    rows = sp.csr_array(X) if sparse else X
    found = inference(LinearClassifier(**EXACT).fit(rows, y, offset=offset), rows, y, offset=offset)
    expected = theirs(X, y, offset)
    np.testing.assert_allclose(found.coef, expected.params, rtol=1e-6)
    np.testing.assert_allclose(found.cov, expected.cov_params(), rtol=1e-6)
    assert found.log_likelihood == pytest.approx(expected.llf, rel=1e-10)
    assert found.null_log_likelihood == pytest.approx(expected.llnull, rel=1e-10)
    robust = inference(LinearClassifier(**EXACT).fit(rows, y, offset=offset), rows, y,
                       offset=offset, covariance="sandwich")  # fmt: skip
    model = sm.GLM(y, np.column_stack([X, np.ones(len(X))]), sm.families.Binomial(), offset=offset)
    cov = model.fit(tol=1e-14, cov_type="HC0").cov_params()
    np.testing.assert_allclose(robust.cov, cov, rtol=1e-6)


def test_the_likelihood_ratio_contains_the_offset():
    X, y, offset = table(1)
    found = inference(LinearClassifier(**EXACT).fit(X, y, offset=offset), X, y, offset=offset)
    both = theirs(X, y, offset).llf
    one = found.test("x1")
    assert one.statistic == pytest.approx(
        2 * (both - theirs(X[:, [0, 2]], y, offset).llf), rel=1e-7
    )
    every = found.test([0, 1, 2])
    alone = sm.GLM(y, np.ones((len(y), 1)), sm.families.Binomial(), offset=offset)
    assert every.statistic == pytest.approx(2 * (both - alone.fit(tol=1e-14).llf), rel=1e-7)


def test_the_null_model_of_softmax_has_the_offset():
    X, y, offset = table(2, k=3)
    clf = LinearClassifier(**EXACT).fit(X, y, offset=offset)
    found = inference(clf, X, y, offset=offset)

    def loss(bias):
        s = offset + np.append(bias, 0.0)
        top = s.max(axis=1)
        return np.sum(np.log(np.exp(s - top[:, None]).sum(axis=1)) + top - s[np.arange(len(y)), y])

    least = minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-10}).fun
    assert found.null_log_likelihood == pytest.approx(-least, rel=1e-9)
    without = LinearClassifier(fit_intercept=False, **EXACT).fit(X, y, offset=offset)
    found = inference(without, X, y, offset=offset)
    assert found.null_log_likelihood == pytest.approx(-loss(np.zeros(2)), rel=1e-12)


def test_intervals_of_predictions_move_by_the_offset():
    X, y, offset = table(3)
    found = inference(LinearClassifier(**EXACT).fit(X, y, offset=offset), X, y, offset=offset)
    new = np.linspace(-2.0, 2.0, 5)
    low, high = found.predict_interval(X[:5], offset=new)
    Z, cov = np.column_stack([X[:5], np.ones(5)]), found.cov
    middle = Z @ found.coef + new
    half = 1.959963984540054 * np.sqrt(np.einsum("ni,ij,nj->n", Z, cov, Z))
    np.testing.assert_allclose(low[:, 1], 1.0 / (1.0 + np.exp(-(middle - half))), rtol=1e-9)
    np.testing.assert_allclose(high[:, 1], 1.0 / (1.0 + np.exp(-(middle + half))), rtol=1e-9)
    with pytest.raises(ValueError, match="fitted with an offset"):
        found.predict_interval(X[:5])


@pytest.mark.parametrize("options", [{"l2": 1e-2}, {"l2": 0.0}, {"l2": 1e-2, "standardize": True}])
@pytest.mark.parametrize("k", [2, 3])
def test_certify_proves_a_fit_with_an_offset(options, k):
    X, y, offset = table(4, k=k)
    clf = LinearClassifier(tol=1e-10, **options).fit(X, y, offset=offset)
    found = certify(clf, X, y, offset=offset)
    assert found.objective == pytest.approx(clf.objective_, rel=1e-12)
    assert found.relative_gap < 1e-6
    assert found.flips == 0
    assert found.mistakes == np.sum(clf.predict(X, offset=offset) != y)


def test_certify_takes_one_class_against_the_rest_and_weights():
    X, y, offset = table(5, k=3)
    clf = LinearClassifier("one_vs_rest_logistic", l2=1e-2, tol=1e-9).fit(X, y, offset=offset)
    assert certify(clf, X, y, offset=offset).relative_gap < 1e-6
    weights = clf.coef_, clf.intercept_
    X, y, offset = table(5)
    clf = LinearClassifier(l2=1e-2, tol=1e-9).fit(X, y, offset=offset)
    weights = clf.coef_, clf.intercept_
    found = certify(weights, X, y, offset=offset, loss="logistic", l2=1e-2)
    assert found.objective == pytest.approx(clf.objective_, rel=1e-12)
    assert found.relative_gap < 1e-6


def test_a_pipeline_has_the_offset_of_its_rows():
    X, y, offset = table(6)
    model = make_pipeline(StandardScaler(), LinearClassifier(**EXACT))
    model.fit(X, y, linearclassifier__offset=offset)
    assert certify(model, X, y, offset=offset).relative_gap < 1e-6
    found = inference(model, X, y, offset=offset)
    assert found.log_likelihood == pytest.approx(theirs(X, y, offset).llf, rel=1e-9)


@pytest.mark.parametrize("judge", [certify, inference])
def test_the_offset_must_be_that_of_the_fit(judge):
    X, y, offset = table(7)
    clf = LinearClassifier(**EXACT).fit(X, y, offset=offset)
    with pytest.raises(ValueError, match="fitted with an offset, and these rows have no"):
        judge(clf, X, y)
    with pytest.raises(ValueError, match="fitted with no offset, and these rows have an"):
        judge(LinearClassifier(**EXACT).fit(X, y), X, y, offset=offset)
    with pytest.raises(ValueError, match="offset has shape"):
        judge(clf, X, y, offset=offset[:-1])
    source = ArraySource(X, np.where(y, 1.0, -1.0), np.array([0, 1]))
    with pytest.raises(TypeError, match="offset was also given"):
        judge(clf, source, offset=offset)


def test_another_offset_is_noticed():
    X, y, offset = table(8)
    clf = LinearClassifier(**EXACT).fit(X, y, offset=offset)
    with pytest.raises(ValueError, match="X, y, sample_weight and offset of the fit"):
        inference(clf, X, y, offset=offset + 0.1 * np.arange(len(y)))


def test_models_of_other_libraries_have_none():
    X, y, offset = table(9)
    with pytest.raises(TypeError, match="LogisticRegression has no offset"):
        certify(LogisticRegression().fit(X, y), X, y, offset=offset)


def test_diagnose_refuses_a_model_with_an_offset():
    X, y, offset = table(9)
    clf = LinearClassifier(l2=1e-2).fit(X, y, offset=offset)
    with pytest.raises(ValueError, match="has no offset for them"):
        diagnose(clf, X, y)


def test_profile_intervals_have_the_offset():
    X, y, offset = table(10)
    clf = LinearClassifier(**EXACT).fit(X, y, offset=offset)
    found = inference(clf, X, y, offset=offset, intervals="profile")
    best = theirs(X, y, offset).llf
    for j in range(3):
        for end in found.intervals[j]:  # the others are refitted with this coefficient fixed
            rest = np.delete(X, j, axis=1)
            fixed = theirs(rest, y, offset + end * X[:, j]).llf
            assert 2.0 * (best - fixed) == pytest.approx(3.841458820694124, rel=1e-6)
