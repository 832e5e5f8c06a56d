"""Rows in any form, and in pipelines."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from inspection.inference.cases import EXACT, close, table
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import LinearClassifier, inference, read


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("covariance", ["model", "sandwich", "cluster"])
def test_any_form_of_the_rows_gives_the_same(k, covariance):
    X, y = table(27, n=200, k=k)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.4, 0.0, X)
    given = {"covariance": covariance}
    if covariance == "cluster":
        given["groups"] = np.arange(len(y)) % 20
    expected = inference(LinearClassifier(**EXACT).fit(X, y), X, y, **given)
    strided = np.asfortranarray(np.repeat(X, 2, axis=1))[:, ::2]
    strided.setflags(write=False)
    for rows in (sp.csr_array(X), strided):
        found = inference(LinearClassifier(**EXACT).fit(rows, y), rows, y, **given)
        close(found.cov, expected.cov, 1e-7)
    parts = read(lambda: ((X[i : i + 70], y[i : i + 70]) for i in range(0, len(y), 70)))
    close(inference(LinearClassifier(**EXACT).fit(parts), parts, **given).cov, expected.cov, 1e-7)


def test_pipelines_and_offsets():
    X, y = table(28)
    expected = inference(LinearClassifier(**EXACT).fit(X, y), X, y)
    scaled = make_pipeline(StandardScaler(), LinearClassifier(**EXACT)).fit(X, y)
    found = inference(scaled, X, y)
    close(found.standard_errors[:-1] / X.std(axis=0), expected.standard_errors[:-1])
    close(found.predict_interval(X), expected.predict_interval(X))
    far = X + 1e7
    moved = inference(LinearClassifier(**EXACT).fit(far, y), far, y)
    close(moved.standard_errors[:-1], expected.standard_errors[:-1], 1e-6)
    close(moved.predict_interval(far), expected.predict_interval(X), 1e-6)
