"""Covariances, intervals and ratios of likelihoods as in statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from inspection.inference.cases import EXACT, close, table, with_ones

from separatrix import LinearClassifier, inference

sm = pytest.importorskip("statsmodels.api")

NEWTON = {"disp": 0, "method": "newton", "tol": 1e-15, "maxiter": 100}


def sandwiches_agree(clf, X, y, model, seed):
    """HC0, HC1, and clusters with and without their correction.

    HC1 is HC0 times n / (n - p), which statsmodels leaves out of models that are not linear; that
    of its linear model is compared below.
    """
    plain = np.asarray(model.fit(**NEWTON, cov_type="HC0").cov_params())
    close(inference(clf, X, y, covariance="sandwich").cov, plain)
    more = len(y) / (len(y) - len(plain))
    close(inference(clf, X, y, covariance="sandwich", small_sample=True).cov, more * plain)
    groups = np.random.default_rng(seed).integers(0, 25, len(y))
    for small in (False, True):
        given = {"groups": groups, "use_correction": small}
        close(
            inference(clf, X, y, covariance="cluster", groups=groups, small_sample=small).cov,
            model.fit(**NEWTON, cov_type="cluster", cov_kwds=given).cov_params(),
        )


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(10))
def test_two_classes_as_statsmodels(seed):
    X, y = table(seed)
    clf, model = LinearClassifier(**EXACT).fit(X, y), sm.Logit(y, with_ones(X))
    theirs, found = model.fit(**NEWTON), inference(clf, X, y)
    close(found.coef, theirs.params)
    close(found.cov, theirs.cov_params())
    close(found.p_values, theirs.pvalues)
    close(found.intervals, theirs.conf_int())
    close(found.log_likelihood, theirs.llf)
    close(found.null_log_likelihood, theirs.llnull)
    close([found.aic, found.bic], [theirs.aic, theirs.bic])
    sandwiches_agree(clf, X, y, model, seed)


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(10, 20))
def test_three_classes_as_statsmodels(seed):
    X, y = table(seed, k=3)
    clf, model = LinearClassifier(**EXACT).fit(X, y), sm.MNLogit(y, with_ones(X))
    theirs, found = model.fit(**NEWTON), inference(clf, X, y)
    assert found.classes == (1,) * 5 + (2,) * 5
    close(found.coef, theirs.params.T.ravel())
    close(found.cov, theirs.cov_params())
    close(found.log_likelihood, theirs.llf)
    sandwiches_agree(clf, X, y, model, seed)


def test_least_squares_as_statsmodels():
    X, y = table(20)
    clf = LinearClassifier("squared", **EXACT).fit(X, y)
    model, found = sm.OLS(2 * y - 1, with_ones(X)), inference(clf, X, y)
    theirs = model.fit()
    close(found.cov, theirs.cov_params())
    close(found.p_values, theirs.pvalues)
    close(found.intervals, theirs.conf_int())
    close(
        inference(clf, X, y, covariance="sandwich", small_sample=True).cov,
        model.fit(cov_type="HC1").cov_params(),
    )


def test_probabilities_as_statsmodels():
    X, y = table(21)
    found = inference(LinearClassifier(**EXACT).fit(X, y), X, y, level=0.9)
    theirs = sm.Logit(y, with_ones(X)).fit(disp=0, tol=1e-14).get_prediction(with_ones(X))
    frame = theirs.summary_frame(alpha=0.1)
    low, high = found.predict_interval(X)
    close(low[:, 1], frame["ci_lower"], 1e-6)
    close(high[:, 1], frame["ci_upper"], 1e-6)
    close(low[:, 0], 1.0 - high[:, 1])


@pytest.mark.parametrize("k", [2, 3])
def test_ratios_of_likelihoods(k):
    X, y = table(30, k=k)
    found = inference(LinearClassifier(**EXACT).fit(X, y), X, y)
    model = sm.Logit if k == 2 else sm.MNLogit
    whole = model(y, with_ones(X)).fit(disp=0, tol=1e-14, method="newton").llf
    for features, left in (("x1", [0, 2, 3]), ([0, "x3"], [1, 2]), ([0, 1, 2, 3], [])):
        rest = model(y, with_ones(X[:, left])).fit(disp=0, tol=1e-14, method="newton").llf
        ratio = found.test(features)
        close(ratio.statistic, 2.0 * (whole - rest), 1e-6)
        assert ratio.degrees == (4 - len(left)) * (k - 1)


def test_without_an_intercept():
    X, y = table(29)
    clf = LinearClassifier(**EXACT, fit_intercept=False).fit(X, y)
    found, theirs = inference(clf, X, y), sm.Logit(y, X).fit(disp=0, tol=1e-14)
    close(found.cov, theirs.cov_params())
    assert found.names == ("x0", "x1", "x2", "x3")
    close(found.null_log_likelihood, -len(y) * math.log(2.0))
