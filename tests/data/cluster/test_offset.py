"""Offsets of rows on a cluster: against the same fits in memory, and against plain loops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cluster_engine import HereEngine
from conftest import quiet
from dask_cluster import dask, sockets_left
from offset_oracles import objective, table, weights_of

import separatrix
from separatrix import (
    DualAscent,
    GradientDescent,
    LinearClassifier,
    LinearClassifierCV,
    Perceptron,
    certify,
    inference,
    path,
)
from separatrix.data.cluster import dask_input
from separatrix.data.cluster.parts import named
from separatrix.data.cluster.source import ClusterSource

da = pytest.importorskip("dask.array")
pytestmark = sockets_left
EDGES = (0, 50, 50, 120, 200, 260)


def in_parts(X, y, offset, weight=None, edges=EDGES):
    rows = [
        (X[a:b], y[a:b], None if weight is None else weight[a:b], offset[a:b])
        for a, b in pairwise(edges)
    ]
    return ClusterSource(HereEngine(rows))


@quiet
@pytest.mark.parametrize(("loss", "k"), [
    ("logistic", 2), ("logistic", 3), ("hinge", 2), ("squared", 3), ("squared_hinge", 2),
])  # fmt: skip
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("standardize", [False, True])
def test_the_same_minimum_as_in_memory(loss, k, kind, standardize):
    X, y, offset = table(n=260, k=k)
    weight = np.arange(260) % 4.0
    given = {"l2": 1e-2, "tol": 1e-8, "standardize": standardize}
    there = LinearClassifier(loss, **given).fit(in_parts(kind(X), y, offset, weight))
    here = LinearClassifier(loss, **given).fit(kind(X), y, weight, offset=offset)
    assert there.stop_ == here.stop_ == "optimal"
    assert there.uses_offset_
    assert abs(there.objective_ - here.objective_) <= 2e-8 * here.objective_
    if not standardize:
        value = objective(loss, X, y, offset, weights_of(there), 1e-2, weight=weight)
        assert there.objective_ == pytest.approx(value, rel=1e-9)


def test_l1_searches_paths_and_inference():
    X, y, offset = table(n=260)
    source = in_parts(X, y, offset)
    given = {"l1": 0.02, "l2": 0.0, "tol": 1e-8}
    there = LinearClassifier(**given).fit(source)
    here = LinearClassifier(**given).fit(X, y, offset=offset)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-7)
    search = LinearClassifierCV(l2s=[1e-3, 1e-1], cv=3, scoring="loss").fit(source)
    assert search.uses_offset_
    found = path(source, l1_ratio=0.0, strengths=[0.2, 0.02], tol=1e-9)
    expected = path(X, y, offset=offset, l1_ratio=0.0, strengths=[0.2, 0.02], tol=1e-9)
    for strength in found.strengths:
        at = found.at(strength)
        assert at.objective_ == pytest.approx(expected.at(strength).objective_, rel=1e-8)
    alone = LinearClassifier(l2=search.l2_, tol=1e-9).fit(X, y, offset=offset)
    assert search.objective_ == pytest.approx(alone.objective_, rel=1e-5)
    free = LinearClassifier(l2=0.0, tol=1e-10).fit(source)
    ours = inference(free, source)
    theirs = inference(LinearClassifier(l2=0.0, tol=1e-10).fit(X, y, offset=offset), X, y,
                       offset=offset)  # fmt: skip
    np.testing.assert_allclose(ours.standard_errors, theirs.standard_errors, rtol=1e-6)
    assert certify(free, source).relative_gap < 1e-8


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_parts_are_trained_on_with_their_offsets_and_mixed(loss):
    """By iterative parameter mixing, as plain loops have it: equal shares with a penalty."""
    X, y, offset = table(n=260)
    step, l2, t = 0.02, 0.05, 2.0 * y - 1.0
    Z, W = np.column_stack([X, np.ones(260)]), np.zeros(5)
    filled = [(a, b) for a, b in pairwise(EDGES) if a < b]
    for _ in range(3):
        ends = []
        for a, b in filled:
            v = W.copy()
            for i in range(a, b):
                m = t[i] * (Z[i] @ v + offset[i])
                slope = -1.0 / (1.0 + np.exp(m)) if loss == "logistic" else -float(m < 1.0)
                v[:-1] *= 1.0 - 2.0 * step * l2
                v = v - step * slope * t[i] * Z[i]
            ends.append(v)
        W = np.mean(ends, axis=0)
    solver = GradientDescent(1, shuffle=False, learning_rate=step)
    model = LinearClassifier(
        loss, l2=l2, solver=solver, start=np.zeros((1, 5)), max_iter=3, tol=None
    )
    with pytest.warns(separatrix_warning):
        model.fit(in_parts(X, y, offset))
    np.testing.assert_allclose(weights_of(model)[0], W, rtol=1e-9, atol=1e-11)


separatrix_warning = pytest.importorskip("sklearn.exceptions").ConvergenceWarning


def test_the_perceptron_mixes_by_mistakes():
    X, y, offset = table(n=260)
    t, Z, w = 2.0 * y - 1.0, np.column_stack([X, np.ones(260)]), np.zeros(5)
    for _ in range(4):
        ends, mistakes = [], []
        for a, b in pairwise(EDGES):
            v, mistakes_made = w.copy(), 0
            for i in range(a, b):
                if t[i] * (Z[i] @ v + offset[i]) <= 0.0:
                    v, mistakes_made = v + 0.5 * t[i] * Z[i], mistakes_made + 1
            ends.append(v)
            mistakes.append(mistakes_made)
        w = np.average(ends, axis=0, weights=mistakes)
    model = Perceptron(4, learning_rate=0.5, shuffle=False, keep="last", patience=None)
    model.fit(in_parts(X, y, offset))
    np.testing.assert_allclose(weights_of(model)[0], w, rtol=1e-9, atol=1e-11)


def test_what_does_not_fit_is_named():
    X, y, offset = table(n=260)
    for wrong, what in (
        (offset[:-1], r"part 4: X has 60 rows and offset the shape \(59,\)"),
        (np.where(np.arange(260) == 130, np.nan, offset), "part 3 .*NaN or infinity.* in row 10"),
        (np.column_stack([offset, offset]), "offset has 2 columns, expected 1"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=what):
            in_parts(X, y, wrong)
    with pytest.raises(ValueError, match="offset has 1 columns, expected 3"):
        in_parts(X, np.arange(260) % 3, offset)
    rows = [(X[:50], y[:50], None, offset[:50]), (X[50:], y[50:], None, None)]
    with pytest.raises(ValueError, match="part 1 has 0 columns of offsets and part 0 1"):
        ClusterSource(HereEngine(rows))


def test_files_that_workers_read_have_a_column(tmp_path, monkeypatch):
    monkeypatch.setattr(
        dask_input, "dask_files", lambda parts: HereEngine([(one,) for one in parts], make=named)
    )
    X, y, offset = table(n=260)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, o=offset)
    for number, (a, b) in enumerate(((0, 90), (90, 260))):
        frame[a:b].to_csv(tmp_path / f"{number}.csv", index=False)
    given = {"target": "y", "offset": "o", "dtype": "float64"}
    source = separatrix.read(str(tmp_path / "*.csv"), engine="dask", **given)
    model = LinearClassifier(l2=1e-2, tol=1e-9).fit(source)
    here = LinearClassifier(l2=1e-2, tol=1e-9).fit(X, y, offset=offset)
    assert model.objective_ == pytest.approx(here.objective_, rel=1e-8)
    np.testing.assert_allclose(
        model.decision_function(frame), here.decision_function(X, offset=offset), atol=1e-4
    )
    assert model.score(source) == model.score(frame)
    hinge = LinearClassifier("hinge", l2=1e-2, tol=1e-7, solver=DualAscent()).fit(source)
    assert hinge.stop_ == "optimal"


@quiet
@pytest.mark.parametrize("k", [2, 3])
def test_collections_of_dask(client, k):
    X, y, offset = table(n=260, k=k)
    chunks = (60, 100, 100)
    rows, labels = da.from_array(X, chunks=(chunks, 4)), da.from_array(y, chunks=(chunks,))
    known = da.from_array(offset, chunks=(chunks, *offset.shape[1:]))
    here = LinearClassifier(l2=1e-2, tol=1e-9).fit(X, y, offset=offset)
    model = LinearClassifier(l2=1e-2, tol=1e-9)
    for given in (known, offset):  # an array in memory is cut as X is
        there = model.fit(rows, labels, offset=given)
        assert there.objective_ == pytest.approx(here.objective_, rel=1e-8)
    for method in ("predict", "decision_function", "predict_proba"):
        lazy = getattr(there, method)(rows, offset=known)
        assert isinstance(lazy, da.Array)
        expected = getattr(there, method)(X, offset=offset)
        assert lazy.shape == expected.shape
        np.testing.assert_allclose(lazy.compute(), expected, atol=1e-12)
        with pytest.raises(ValueError, match="was fitted with an offset"):
            getattr(there, method)(rows)
    assert there.score(rows, labels, offset=known) == there.score(X, y, offset=offset)
    with pytest.raises(ValueError, match="was fitted with an offset"):
        there.score(rows, labels)
    parts = [dask.delayed(X[a:b]) for a, b in ((0, 100), (100, 260))]
    lists = [[dask.delayed(each[a:b]) for a, b in ((0, 100), (100, 260))] for each in (y, offset)]
    there = model.fit(parts, lists[0], offset=lists[1])
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-8)
    found = there.decision_function(parts, offset=lists[1]).compute()
    np.testing.assert_allclose(found, there.decision_function(X, offset=offset), atol=1e-12)
    with pytest.raises(ValueError, match="X is in 2 parts and offset in 1"):
        there.predict(parts, offset=lists[1][:1])
