"""Exports of models that were fitted with an offset: it is a further column, or several."""

from __future__ import annotations

import ctypes
import json
import shutil
import sqlite3
import subprocess
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from offset_oracles import table
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import LinearClassifier, Perceptron, read

NAMES = ["a", "b", "c", "d"]


def case(kind):
    """A model, the table for its export, and what Python makes of it."""
    k = 3 if kind in ("three classes", "labels") else 2
    X, y, offset = table(n=50, k=k)
    y = np.arange(50) % 3 if k == 3 else y
    frame = pd.DataFrame(X, columns=NAMES)
    columns = {"offset": offset} if k == 2 else {f"offset_{c}": offset[:, c] for c in range(3)}
    given = frame.assign(**columns)
    if kind == "of a file":
        given = given.rename(columns={"offset": "log hours"}).assign(
            d=np.where(np.arange(50) % 3, "x", 'y"')
        )
        rows = given.assign(y=y)
        model = LinearClassifier(l2=1e-2).fit(read(rows, target="y", offset="log hours"))
        return model, given[[*NAMES, "log hours"]], model.decision_function(rows), y
    if kind == "labels":
        Y = (X @ np.ones((4, 3)) + offset > 4.0).astype(int)
        model = LinearClassifier(l2=1e-2).fit(frame, Y, offset=offset)
    elif kind == "a pipeline":
        Z = StandardScaler().fit(frame)
        last = LinearClassifier(l2=1e-2).fit(Z.transform(frame), y, offset=offset)
        scores = last.decision_function(Z.transform(frame), offset=offset)
        return make_pipeline(Z, last), given, scores, y
    elif kind == "a stream":
        model = LinearClassifier(l2=1e-2).partial_fit(frame, y, offset=offset)
    elif kind == "a perceptron":
        model = Perceptron(5, random_state=0).fit(frame, y, offset=offset)
    else:
        model = LinearClassifier(l2=1e-2).fit(frame, y, offset=offset)
    return model, given, model.decision_function(frame, offset=offset), y


KINDS = ["two classes", "three classes", "labels", "a pipeline", "a stream", "a perceptron"]


def columns(scores):
    return scores[:, None] if scores.ndim == 1 else scores


@pytest.mark.parametrize("kind", [*KINDS, "of a file"])
def test_sql(kind, tmp_path):
    model, given, scores, _ = case(kind)
    separatrix.export(model, tmp_path / "model.sql", "sql", key="id")
    text = (tmp_path / "model.sql").read_text().rstrip(";\n") + " ORDER BY 1"
    with closing(sqlite3.connect(":memory:")) as connection:
        given.assign(id=range(50)).to_sql("rows", connection, index=False)
        found = connection.execute(text).fetchall()
    k = columns(scores).shape[1]
    np.testing.assert_allclose([row[-k:] for row in found], columns(scores), rtol=1e-12, atol=1e-12)
    if kind != "labels":
        decided = columns(scores)
        classes = (decided[:, 0] >= 0.0).astype(int) if k == 1 else decided.argmax(axis=1)
        assert [row[1] for row in found] == classes.tolist()


@pytest.mark.parametrize("kind", [*KINDS, "of a file"])
def test_onnx(kind, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    model, given, scores, _ = case(kind)
    separatrix.export(model, tmp_path / "model.onnx", "onnx")
    run = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    if kind == "of a file":
        fed = {name: given[name].to_numpy()[:, None] for name in given}
        fed["d"] = fed["d"].astype(object)
    else:
        fed = {"X": given.to_numpy()}
    *_, margins = run.run(None, fed)
    np.testing.assert_allclose(margins, columns(scores), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [*KINDS, "of a file"])
def test_json(kind, tmp_path):
    model, given, scores, _ = case(kind)
    separatrix.export(model, tmp_path / "model.json", "json")
    found = json.loads((tmp_path / "model.json").read_text())
    assert [one["name"] for one in found["columns"]] == list(given.columns)
    k = columns(scores).shape[1]
    of_offset = np.array(found["coef"])[:, -k:]
    np.testing.assert_array_equal(of_offset, np.eye(k))
    assert [one["kind"] for one in found["features"][-k:]] == ["number"] * k


@pytest.mark.parametrize("kind", KINDS)
def test_c(kind, tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    model, given, scores, _ = case(kind)
    separatrix.export(model, tmp_path / "model.h", "c")
    (tmp_path / "model.c").write_text(
        '#include "model.h"\nvoid f(const double *x, double *m) { separatrix_margins(x, m); }\n'
    )
    files = [str(tmp_path / "model.c"), "-lm", "-o", str(tmp_path / "model.so")]
    subprocess.run([compiler, "-std=c99", "-O1", "-shared", "-fPIC", *files], check=True)
    library, found = ctypes.CDLL(str(tmp_path / "model.so")), np.empty(columns(scores).shape[1])

    def pointer(values):
        return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    for row, expected in zip(given.to_numpy(), columns(scores), strict=True):
        library.f(pointer(np.ascontiguousarray(row)), pointer(found))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_missing_offset_gives_no_score(tmp_path):
    model, given, _, _ = case("two classes")
    separatrix.export(model, tmp_path / "model.sql", "sql", key="id")
    text = (tmp_path / "model.sql").read_text()
    with closing(sqlite3.connect(":memory:")) as connection:
        given[:1].assign(offset=[None], id=0).to_sql("rows", connection, index=False)
        assert connection.execute(text).fetchall() == [(0, None, None, None, None)]


def test_a_feature_that_is_called_like_the_offset_is_refused(tmp_path):
    X, y, offset = table(n=50)
    frame = pd.DataFrame(X, columns=["a", "offset", "c", "d"])
    model = LinearClassifier(l2=1e-2).fit(frame, y, offset=offset)
    with pytest.raises(ValueError, match="a feature has that name: rename the feature"):
        separatrix.export(model, tmp_path / "model.json", "json")
    assert not list(tmp_path.iterdir())


def test_skl2onnx_has_no_input_for_it():
    skl2onnx = pytest.importorskip("skl2onnx")
    X, y, offset = table(n=50)
    model = LinearClassifier(l2=1e-2).fit(X, y, offset=offset)
    with pytest.raises(ValueError, match=r"skl2onnx passes features alone.*separatrix\.export"):
        skl2onnx.to_onnx(model, X[:1])
