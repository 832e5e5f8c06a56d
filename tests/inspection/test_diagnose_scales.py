"""A diagnosis of features at extreme scales says something, and warns of nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import KernelPerceptron, LinearClassifier, Perceptron
from separatrix.inspection.diagnose import diagnose

POWERS = [-1074, -1022, -600, -500, -300, -100, 0, 0, 100, 300, 500, 600, 1000]


def quietly(clf, X, y):
    """What the fit has to say is not the subject."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clf.fit(X, y)


@pytest.mark.parametrize("seed", range(45))
def test_no_warning_escapes_at_any_scale(seed):
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(8, 60)), int(rng.integers(1, 5)), 2 + (seed % 5 == 0)
    X = rng.standard_normal((n, d))
    y = np.argmax(X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k)), axis=1)
    y[:k] = np.arange(k)
    same = seed % 2 == 0
    X = np.ldexp(X, np.full(d, rng.choice(POWERS)) if same else rng.choice(POWERS, d))
    X = sp.csr_array(X) if seed % 4 == 1 else X
    loss = str(rng.choice(["logistic", "hinge", "squared", "squared_hinge", "tanh_squared"]))
    l2, bias = float(rng.choice([0.0, 1e-4, 1.0])), bool(rng.integers(3))
    models = (
        Perceptron(max_iter=20, fit_intercept=bias),
        LinearClassifier(loss, l2=l2, max_iter=20, fit_intercept=bias),
        KernelPerceptron(max_iter=10),
    )
    clf = models[seed % 3]
    try:
        quietly(clf, X, y)
    except ValueError as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert "scale" in refused
        return
    reported = diagnose(clf, X, y)
    assert str(reported)
    assert "nan" not in str(reported)


def test_a_ratio_of_scales_beyond_floating_point():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = (X.sum(axis=1) + rng.standard_normal(60) > 0.0).astype(int)
    X = X * [1e150, 1e-160]
    reported = diagnose(quietly(Perceptron(max_iter=20), X, y), X, y)
    assert "at least 1.8e+308" in str(reported)


@pytest.mark.parametrize("bias", [True, False])
def test_what_holds_without_a_bias_is_known(bias):
    X = np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 1e-3], [-2.0, 0.0], [3.0, 1.0]])
    y = np.array([1, 1, 0, 0, 1])
    shifted = X + np.array([2.5, 0.0])  # separable, but not by a plane through the origin
    for rows, separable in ((X, True), (shifted, bias)):
        clf = LinearClassifier("logistic", l2=0.0, max_iter=2, fit_intercept=bias)
        found = [f.cause for f in diagnose(quietly(clf, rows, y), rows, y).findings]
        assert ("separable without penalty" in found) == separable
