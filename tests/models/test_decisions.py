"""Thresholds and costs in model files and exports: kept, checked when read, and followed."""

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
from hostile_files import with_arrays, with_model
from kept_models import THREE, TWO, WORDS, X
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import LinearClassifier, LinearClassifierCV, Perceptron

COSTS = {("no", 'y"es'): 6.0, ("<script>", "no"): 0.25}
FRAME = pd.DataFrame(X, columns=["p", "q", "r"])


def models():
    two = LinearClassifier(l2=0.01).fit(X, TWO)
    three = LinearClassifier(l2=0.01).fit(X, WORDS[THREE])
    rest = LinearClassifier("one_vs_rest_logistic", l2=0.01).fit(X, WORDS[THREE])
    scaled = make_pipeline(StandardScaler(), LinearClassifier(l2=0.01)).fit(X, TWO)
    scaled[-1].set_decision(threshold=0.8)
    search = LinearClassifierCV(l2s=[0.1], cv=3, scoring="loss").fit(X, WORDS[TWO])
    tuned = LinearClassifier("squared_hinge").fit(X, TWO)
    return {
        "threshold": two.set_decision(threshold=0.1),
        "search": search.set_decision(threshold=0.9),
        "tuned": tuned.tune_threshold(X, TWO, costs={(1, 0): 9.0}),
        "perceptron": Perceptron(20, random_state=0).fit(X, TWO).set_decision(threshold=-0.4),
        "costs": three.set_decision(costs=COSTS),
        "against the rest": rest.set_decision(costs=COSTS),
        "pipeline": scaled,
    }


MODELS = models()
SAVED = [name for name in MODELS if name != "pipeline"]
OF_TWO = [name for name in MODELS if name not in ("costs", "against the rest")]


@pytest.mark.parametrize("name", MODELS)
def test_the_cases_decide_otherwise_than_by_the_largest_score(name):
    model = MODELS[name]
    scores = model.decision_function(X)
    plain = (scores >= 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    assert not np.array_equal(model.predict(X), model.classes_[plain])


# ---- model files


@pytest.mark.parametrize("name", SAVED)
def test_a_file_keeps_the_decision(name, tmp_path):
    model = MODELS[name]
    separatrix.save(model, tmp_path / "a.sep")
    loaded = separatrix.load(tmp_path / "a.sep")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    for field in ("threshold", "score", "tuned_on"):
        assert getattr(loaded.decision_, field) == getattr(model.decision_, field)
    assert np.array_equal(loaded.decision_.costs, model.decision_.costs)
    separatrix.save(loaded, tmp_path / "b.sep")
    assert (tmp_path / "a.sep").read_bytes() == (tmp_path / "b.sep").read_bytes()


def test_a_file_without_a_decision_has_none(tmp_path):
    model = LinearClassifier(l2=0.01).fit(X, TWO)
    separatrix.save(model, tmp_path / "a.sep")
    assert not hasattr(separatrix.load(tmp_path / "a.sep"), "decision_")


def of(record, **changes):
    """Change the entries of the decision in the JSON of a model."""

    def change(model):
        model["attributes"]["decision_"]["$record"][1].update(changes)

    return with_model(record, change)


@pytest.mark.parametrize(
    "changes",
    [
        {"score": {"$float": "nan"}},
        {"score": {"$float": "inf"}},
        {"score": None},
        {"threshold": None},
        {"score": "0.5"},
        {"score": True},
        {"tuned_on": 3},
        {"costs": [[0.0, 1.0], [1.0, 0.0]]},
        {"other": 1},
    ],
    ids=str,
)
def test_a_threshold_of_a_hostile_file_is_refused(changes, tmp_path):
    path = tmp_path / "model.sep"
    separatrix.save(MODELS["threshold"], path)
    path.write_bytes(of(path.read_bytes(), **changes))
    with pytest.raises(ValueError, match="cannot be loaded"):
        separatrix.load(path)


@pytest.mark.parametrize(
    "costs",
    [
        np.ones((3, 3)), np.full((3, 3), np.nan), -1.0 + np.eye(3), np.zeros((3, 3)),
        np.ones((2, 2)) - np.eye(2), np.ones(9), (1.0 - np.eye(3)).astype(np.float32),
    ],
    ids=lambda costs: f"{costs.shape} {costs.dtype} {costs.ravel()[0]}",
)  # fmt: skip
def test_costs_of_a_hostile_file_are_refused(costs, tmp_path):
    path = tmp_path / "model.sep"
    separatrix.save(MODELS["costs"], path)
    path.write_bytes(with_arrays(path.read_bytes(), **{"decision_.costs": costs}))
    with pytest.raises(ValueError, match="cannot be loaded"):
        separatrix.load(path)


def test_costs_for_a_loss_without_probabilities_are_refused(tmp_path):
    path = tmp_path / "model.sep"
    separatrix.save(MODELS["costs"], path)
    raw = with_model(path.read_bytes(), lambda m: m["parameters"].update(loss="hinge"))
    path.write_bytes(raw)
    with pytest.raises(ValueError, match="decision_ does not fit"):
        separatrix.load(path)


# ---- exports


@pytest.mark.parametrize("name", OF_TWO)
def test_sql(name, tmp_path):
    model = MODELS[name]
    separatrix.export(model, tmp_path / "model.sql", "sql", table="rows", key="id")
    names = ["p", "q", "r"] if hasattr(model, "feature_names_in_") else ["x0", "x1", "x2"]
    with closing(sqlite3.connect(":memory:")) as connection:
        frame = pd.DataFrame(X, columns=names)
        frame.to_sql("rows", connection, index_label="id")
        text = (tmp_path / "model.sql").read_text().rstrip(";\n") + " ORDER BY 1"
        found = [row[1] for row in connection.execute(text).fetchall()]
    assert found == model.predict(X).tolist()


@pytest.mark.parametrize("name", OF_TWO)
def test_c(name, tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    model = MODELS[name]
    separatrix.export(model, tmp_path / "model.h", "c")
    source = '#include "model.h"\nint predict(const double *x) { return separatrix_predict(x); }\n'
    (tmp_path / "model.c").write_text(source)
    files = [str(tmp_path / "model.c"), "-lm", "-o", str(tmp_path / "model.so")]
    flags = ["-std=c99", "-Wall", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, *files], check=True)
    predict = ctypes.CDLL(str(tmp_path / "model.so")).predict
    rows = [np.ascontiguousarray(row) for row in X]
    found = [predict(row.ctypes.data_as(ctypes.POINTER(ctypes.c_double))) for row in rows]
    assert model.classes_[found].tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("name", MODELS)
def test_onnx(name, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    model = MODELS[name]
    separatrix.export(model, tmp_path / "model.onnx", "onnx")
    run = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    found = run.run(["label"], {"X": np.ascontiguousarray(X)})[0]
    assert found.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("name", ["threshold", "costs"])
def test_skl2onnx(name):
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = MODELS[name]
    graph = skl2onnx.to_onnx(model, X[:1], target_opset=17).SerializeToString()
    run = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    assert run.run(None, {"X": X})[0].tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("name", MODELS)
def test_json(name, tmp_path):
    model = MODELS[name]
    separatrix.export(model, tmp_path / "model.json", "json")
    found = json.loads((tmp_path / "model.json").read_text())
    assert found["version"] == 2
    scores = model.decision_function(X)
    if scores.ndim == 1:
        assert found["costs"] is None
        number = (scores >= found["threshold"]).astype(int)
    else:
        assert found["threshold"] == 0.0
        number = (model.predict_proba(X) @ np.array(found["costs"])).argmin(axis=1)
    assert model.classes_[number].tolist() == model.predict(X).tolist()


def test_json_without_a_decision_has_the_first_version(tmp_path):
    for model in (
        LinearClassifier(l2=0.01).fit(X, TWO),
        LinearClassifier(l2=0.01).fit(X, TWO).set_decision(threshold=0.5),
    ):
        separatrix.export(model, tmp_path / "model.json", "json")
        found = json.loads((tmp_path / "model.json").read_text())
        assert found["version"] == 1
        assert "threshold" not in found


@pytest.mark.parametrize("to", ["sql", "c"])
def test_costs_are_refused_where_they_cannot_be_followed(to, tmp_path):
    with pytest.raises(ValueError, match="least expected cost, which an export to"):
        separatrix.export(MODELS["costs"], tmp_path / "model", to)
    assert list(tmp_path.iterdir()) == []
