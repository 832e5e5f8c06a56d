"""Fits to collections of Dask's, against the same rows in memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from cluster_engine import HereEngine
from conftest import quiet
from dask_cluster import (
    PATIENCE,
    WORKERS,
    client_of,
    dask,
    delayed_parts,
    local_cluster,
    sockets_left,
)
from dask_collections import (
    EACH,
    N,
    da,
    in_chunks,
    in_delayed,
    in_frames,
    in_sparse,
    in_unknown_chunks,
    problem,
)
from sklearn.base import clone

import separatrix
from separatrix import (
    LBFGS,
    ArraySource,
    Checkpoint,
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    Perceptron,
    separability,
)
from separatrix.data.cluster import dask as engine
from separatrix.data.cluster.dask_input import dask_source
from separatrix.data.cluster.source import ClusterSource

pytestmark = sockets_left

KINDS = [in_chunks, in_delayed, in_frames, in_unknown_chunks, in_sparse]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@pytest.mark.sampled(1)
@quiet
@every_kind
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_same_objective_as_in_memory(client, kind, loss):
    X, y, weight = problem(k=3 if loss == "logistic" else 2)
    model = LinearClassifier(loss, l2=1e-3, tol=1e-10)
    given = kind(X, y, weight)
    there, here = clone(model).fit(*given), clone(model).fit(X, y, weight)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    assert there.stop_ == here.stop_ == "optimal"
    assert there.classes_.tolist() == here.classes_.tolist()
    rows = kind(X, y)[0]
    X = rows.compute() if kind is in_frames else X  # with the names of its columns
    for method in ("predict", "decision_function", "predict_proba"):
        if loss == "hinge" and method == "predict_proba":
            continue
        lazy = getattr(there, method)(rows)
        assert isinstance(lazy, da.Array)
        expected = getattr(there, method)(X)
        assert lazy.dtype == expected.dtype
        assert lazy.ndim == expected.ndim
        found = lazy.compute()
        if method == "predict":
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert there.score(*given) == pytest.approx(there.score(X, y, weight))


@quiet
@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_class_weights_and_scales(client, loss):
    X, y, _ = problem()
    model = LinearClassifier(loss, l2=1e-3, tol=1e-10, class_weight="balanced", standardize=True)
    there, here = clone(model).fit(*in_chunks(X, y)), clone(model).fit(X, y)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    np.testing.assert_allclose(there.scale_, here.scale_)


def test_passes_are_calls_and_now_and_then_tasks_with_the_same_bits(client, monkeypatch):
    X, y, _ = problem()
    asked, by_task = [], engine.DaskEngine._answers
    monkeypatch.setattr(engine.DaskEngine, "_answers", lambda *of: asked.append(of) or by_task(*of))
    model = LinearClassifier(l2=1e-3, tol=1e-10, solver=LBFGS())
    called = clone(model).fit(*in_chunks(X, y))
    assert 1 <= len(asked) <= 2 < called.n_iter_  # until all parts were made
    asked.clear()
    monkeypatch.setattr(engine, "TASK_SECONDS", -1.0)
    tasks = clone(model).fit(*in_chunks(X, y))
    assert len(asked) > tasks.n_iter_ == called.n_iter_
    np.testing.assert_array_equal(tasks.coef_, called.coef_)


def test_same_bits_on_one_worker_and_on_more_than_there_are_parts(cluster):
    X, y, _ = problem()
    coefficients = []
    for workers in (WORKERS, 1):
        with local_cluster(workers, threads=2) as other, client_of(other, workers):
            for each in (EACH, N // 2, N):
                coefficients.append(LinearClassifier().fit(*in_chunks(X, y, each=each)).coef_)
    for one, other in zip(coefficients[:3], coefficients[3:], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lengths", [[200, 0, 150, 0], [0, 90], [90], [50, 50]])
def test_empty_partitions_one_part_and_more_workers_than_parts(client, lengths):
    X, y = delayed_parts(lengths)
    model = LinearClassifier(l2=1e-3, tol=1e-10)
    there = clone(model).fit(X, y)
    rows, labels = (np.concatenate(each) for each in dask.compute(X, y))
    here = clone(model).fit(rows, labels)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    np.testing.assert_array_equal(there.predict(X).compute(), here.predict(rows))


def test_a_class_absent_from_a_part(client):
    X, y, _ = problem(k=3)
    order = np.argsort(y, kind="stable")
    model = LinearClassifier(l2=1e-3, tol=1e-10)
    there, here = clone(model).fit(*in_chunks(X[order], y[order])), clone(model).fit(X, y)
    assert there.classes_.tolist() == ["ant", "bee", "cat"]
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)


def test_a_worker_that_joins_is_used_by_the_next_fit():
    def join(step, info):
        if info.iteration == 2:
            other.scale(2)
            client.wait_for_workers(2, timeout=PATIENCE)

    lengths = [40] * 6
    with local_cluster(1) as other, client_of(other, 1) as client:
        source = dask_source(*delayed_parts(lengths), None)
        model = LinearClassifier(solver=LBFGS(), tol=1e-8, callbacks=[join]).fit(source)
        assert model.n_iter_ > 3
        assert len(client.nthreads()) == 2
        assert [len(run.parts) for run in source.engine.runs] == [6]
        later = dask_source(*delayed_parts(lengths), None)
        assert [len(run.parts) for run in later.engine.runs] == [3, 3]
        again = LinearClassifier(solver=LBFGS(), tol=1e-8).fit(later)
    np.testing.assert_array_equal(model.coef_, again.coef_)


def test_a_pass_is_one_task_for_every_worker(client):
    X, y, _ = problem()
    source = dask_source(*in_chunks(X, y, each=20), None)
    runs = source.engine.runs
    assert len({run.worker for run in runs}) == len(runs) == WORKERS
    assert [number for run in runs for number in run.parts] == list(range(N // 20))
    assert max(len(run.parts) for run in runs) == N // 20 // WORKERS


def test_nothing_stays_on_the_workers_after_a_fit(client):
    import gc

    X, y, _ = problem()
    model = LinearClassifier().fit(*in_chunks(X, y))
    gc.collect()
    client.run_on_scheduler(lambda: None)  # what was let go is known there
    assert not [key for key in client.who_has() if "separatrix-part" in str(key)]
    assert model.predict(X[:3]).shape == (3,)


def test_verdicts(client):
    X, y, _ = problem()
    assert separability(*in_chunks(X, y)).verdict == separability(X, y).verdict == "overlapping"
    X = np.column_stack([X, y == "bee"])
    found = separability(*in_chunks(X, y))
    assert (found.verdict, found.verify(X, y)) == ("separable", True)


def test_cross_validation(client):
    X, y, weight = problem()
    model = LinearClassifierCV(l2s=[1e-3, 1e-1], cv=3, scoring=None)
    there = clone(model).fit(*in_chunks(X, y, weight))
    source = ArraySource(X, np.where(y == "bee", 1.0, -1.0), np.array(["ant", "bee"]), weight)
    here = clone(model).fit(source)
    assert there.l2_ == here.l2_
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-6)
    assert isinstance(there.predict(in_chunks(X, y)[0]), da.Array)


def test_perceptrons(client):
    X, y, _ = problem()
    model = Perceptron(max_iter=3, tol=None, update="batch")
    there, here = clone(model).fit(*in_chunks(X, y)), clone(model).fit(X, y)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9)
    assert there.score(*in_chunks(X, y)) == there.score(X, y)


@quiet
def test_row_by_row_the_weights_of_parts_are_mixed(client):
    X, y, weight = problem()
    parts = [
        (X[at : at + EACH], y[at : at + EACH], weight[at : at + EACH]) for at in range(0, N, EACH)
    ]
    for model in (
        Perceptron(max_iter=5, random_state=0),
        LinearClassifier(solver=GradientDescent(8), max_iter=5, random_state=0),
    ):
        there = clone(model).fit(*in_chunks(X, y, weight))
        here = clone(model).fit(ClusterSource(HereEngine(parts)))
        np.testing.assert_array_equal(there.coef_, here.coef_)
        np.testing.assert_array_equal(there.history_["mistakes"], here.history_["mistakes"])


def test_what_takes_arrays_alone_says_so():
    X, y = in_chunks(*problem()[:2])
    for ask in (KernelPerceptron().fit, LinearClassifier().partial_fit):
        with pytest.raises(TypeError, match=r"[Xy] is a Dask collection.*\.compute\(\)"):
            ask(X, y)
    with pytest.raises(TypeError, match=r"y is a Dask collection.*y\.compute\(\)"):
        LinearClassifier().fit(problem()[0], y)


@quiet
def test_workers_read_files(client, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y, _ = problem()
    town = np.array(["Aa", "Bb", "Cc"])[np.arange(N) % 3]
    for number, at in enumerate(range(0, N, EACH)):
        some = slice(at, at + EACH)
        columns = {"town": town[some], "x": X[some, 0], "z": X[some, 1], "y": y[some]}
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    what = str(tmp_path / "*.parquet")
    model = LinearClassifier(l2=1e-3, tol=1e-11)
    there = clone(model).fit(separatrix.read(what, target="y", engine="dask"))
    here = clone(model).fit(separatrix.read(what, target="y"))
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    assert there.coef_names_.tolist() == here.coef_names_.tolist()
    with pytest.raises(ValueError, match=r"target names the column 'label'"):
        separatrix.read(what, target="label", engine="dask")


def test_a_checkpoint_is_taken_up_again(client, tmp_path):
    X, y, _ = problem()
    model = LinearClassifier(tol=1e-10, solver=LBFGS())
    whole = clone(model).fit(*in_chunks(X, y))

    def cut(step, info):
        return info.iteration == 3

    path = tmp_path / "run.ckpt"
    clone(model).set_params(callbacks=[Checkpoint(path), cut]).fit(*in_chunks(X, y))
    found = clone(model).set_params(callbacks=[Checkpoint(path)]).fit(*in_chunks(X, y))
    assert found.n_iter_ == whole.n_iter_ > 3
    np.testing.assert_array_equal(found.coef_, whole.coef_)


@pytest.mark.processes
def test_dask_is_not_imported_before_it_is_needed():
    code = "import sys, separatrix; assert not {'dask', 'distributed'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
