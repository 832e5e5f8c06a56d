"""Fits have the same bits whatever the threads of BLAS, which no ``n_jobs`` sets."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from separatrix import LBFGS, GradientDescent, LinearClassifier, Newton

SETTINGS = {
    "newton": {"solver": Newton()},
    "lbfgs": {"solver": LBFGS()},
    "gradient descent": {"solver": GradientDescent()},
    "hinge": {"loss": "hinge"},
    "squared hinge": {"loss": "squared_hinge"},
    "l1": {"l1": 1e-5, "max_iter": 3},  # later steps take seconds
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(300, 20_000), (20_000, 300)], ids=["wide", "tall"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_threads_of_blas_change_no_bit(shape, classes, settings):
    rng = np.random.default_rng(0)
    X = sp.random_array(shape, density=30_000 / np.prod(shape), rng=rng, format="csr")
    y = rng.integers(classes, size=shape[0])
    clf = LinearClassifier(**{"l2": 1e-3, "max_iter": 20, "random_state": 0, **settings})
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit = clf.fit(X, y)
        reported = {name: fit.history_[name] for name in fit.history_ if name != "seconds"}
        found.append({"coef": fit.coef_, "intercept": fit.intercept_, **reported})
    assert found[0].keys() == found[1].keys()
    for name, values in found[0].items():
        np.testing.assert_array_equal(values, found[1][name])
