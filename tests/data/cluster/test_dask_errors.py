"""Collections of Dask's that cannot be fitted: the error says why, and the model is as it was."""

from __future__ import annotations

import numpy as np
import pytest
from dask_cluster import client_of, local_cluster, sockets_left
from dask_collections import N, in_chunks, in_delayed, problem

from separatrix import LBFGS, LinearClassifier
from separatrix.data.cluster import dask as engine

pytestmark = sockets_left


def test_lengths_that_do_not_fit(client):
    X, y, _ = problem()
    rows, labels = in_chunks(X, y)
    with pytest.raises(ValueError, match=r"X has 900 rows and y 800; expected as many"):
        LinearClassifier().fit(rows, labels[:800])
    with pytest.raises(ValueError, match=r"in 7 parts and y in 3.*compute_chunk_sizes"):
        LinearClassifier().fit(in_delayed(X, y)[0], in_delayed(X, y)[1][:3])
    with pytest.raises(ValueError, match=r"y is None: pass the labels"):
        LinearClassifier().fit(rows)
    with pytest.raises(TypeError, match=r"y is a builtins.str, but X or y is a Dask collection"):
        LinearClassifier().fit(rows, "labels")


def test_errors_on_workers_say_where_and_leave_the_model_as_it_was(client):
    X, y, _ = problem()
    wrong = X.copy()
    wrong[300, 2] = np.inf
    model = LinearClassifier().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=r"part 2, row 40 .*NaN or infinity"):
        model.fit(*in_chunks(wrong, y))
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ValueError, match=r"only one class"):
        model.fit(*in_chunks(X, np.full(N, "ant")))
    with pytest.raises(ValueError, match=r"shape \(900, 4\), but .* expecting 5 features"):
        model.predict(in_chunks(X, y)[0][:, :4])
    assert model.fit(*in_chunks(X, y)).stop_ == "optimal"


def test_without_a_client():
    X, y, _ = problem()
    with pytest.raises(RuntimeError, match=r"no client.*dask.distributed.Client\(\)"):
        LinearClassifier().fit(*in_chunks(X, y))
    model = LinearClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(in_chunks(X, y)[0]).compute(), model.predict(X))
    assert model.score(*in_chunks(X, y)) == model.score(X, y)


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr(engine, "WORKER_SECONDS", 1.0)
    monkeypatch.setattr(engine, "CHECK_SECONDS", 0.1)
    X, y, _ = problem()
    with local_cluster(1) as other, client_of(other, 1) as client:

        def leave(step, info):
            other.scale(0)
            other.sync(other._correct_state)
            while client.nthreads():
                pass

        model = LinearClassifier(solver=LBFGS(), callbacks=[leave])
        with pytest.raises(RuntimeError, match=r"had no worker for 1 seconds: all are lost"):
            model.fit(*in_chunks(X, y))
        assert not hasattr(model, "coef_")
        with pytest.raises(RuntimeError, match=r"no workers; start some"):
            model.fit(*in_chunks(X, y))
