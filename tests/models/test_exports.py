"""Exported models, run by the real thing: a C compiler, ONNX Runtime; JSON by a few lines."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from exported_models import MODELS, NAMED, NUMERIC, expected
from kept_models import SPARSE, THREE, TWO, X, fits
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import separatrix
from separatrix import KernelPerceptron, LinearClassifier, Perceptron


@pytest.mark.parametrize("case", NUMERIC)
def test_c(case, tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    model, frame, rows = MODELS[case]
    separatrix.export(model, tmp_path / "model.h", "c")
    labels, probabilities, margins = expected(model, rows)
    source = '#include "model.h"\nint predict(const double *x) { return separatrix_predict(x); }\n'
    source += "void margins(const double *x, double *m) { separatrix_margins(x, m); }\n"
    source += "const char *class_name(int k) { return separatrix_classes[k]; }\n"
    source += "const char *column(int k) { return separatrix_column_names[k]; }\n"
    if probabilities is not None:
        source += "void shares(const double *x, double *p) { separatrix_probabilities(x, p); }\n"
    (tmp_path / "model.c").write_text(source)
    flags = [
        "-std=c99",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
    ]
    files = [str(tmp_path / "model.c"), "-lm", "-o", str(tmp_path / "model.so")]
    subprocess.run([compiler, *flags, *files], check=True)
    library = ctypes.CDLL(str(tmp_path / "model.so"))
    library.class_name.restype = library.column.restype = ctypes.c_char_p
    classes = [library.class_name(k).decode() for k in range(len(model.classes_))]
    assert classes == [str(label) for label in model.classes_.tolist()]
    assert [library.column(j).decode() for j in range(3)] == list(frame.columns)
    for row, label, margin, number in zip(
        frame.to_numpy(), labels, margins, range(60), strict=True
    ):
        x = np.ascontiguousarray(row)
        assert library.predict(_pointer(x)) == model.classes_.tolist().index(label)
        found = np.empty(len(margin))
        library.margins(_pointer(x), _pointer(found))
        assert found.tolist() == _left_to_right(model, row)
        assert np.allclose(found, margin, rtol=1e-12, atol=1e-12)
        if probabilities is not None:
            shares = np.empty(len(classes))
            library.shares(_pointer(x), _pointer(shares))
            assert np.allclose(shares, probabilities[number], rtol=1e-12, atol=1e-12)
    missing = np.array([np.nan, 0.0, 0.0])
    assert library.predict(_pointer(missing)) == -1


@pytest.mark.slow
def test_c_keeps_the_size_of_a_model_off_the_stack(tmp_path):
    """The compiler says how large the frames of functions are: the same for any model."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no gcc")
    rng = np.random.default_rng(0)
    y = np.arange(600) % 300
    wide = make_pipeline(StandardScaler(), Perceptron(1)).fit(rng.normal(size=(600, 400)), y)
    separatrix.export(wide, tmp_path / "model.h", "c")
    (tmp_path / "model.c").write_text(
        '#include "model.h"\nint f(const double *x) { return separatrix_predict(x); }\n'
        "void g(const double *x, double *m) { separatrix_margins(x, m); }\n"
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wframe-larger-than=512", "-c"]
    files = [str(tmp_path / "model.c"), "-o", str(tmp_path / "model.o")]
    subprocess.run([compiler, *flags, *files], check=True)


def test_c_of_a_table_with_missing_values(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    a = np.where(np.arange(60) % 5 == 0, np.nan, X[:, 0])
    frame = pd.DataFrame({"a": a, "b": X[:, 1], "y": TWO})
    model = LinearClassifier(l2=0.01).fit(separatrix.read(frame, target="y", missing="indicator"))
    separatrix.export(model, tmp_path / "model.h", "c")
    (tmp_path / "model.c").write_text(
        '#include "model.h"\nvoid f(const double *x, double *m) { separatrix_margins(x, m); }\n'
    )
    files = [str(tmp_path / "model.c"), "-lm", "-o", str(tmp_path / "model.so")]
    subprocess.run([compiler, "-std=c99", "-O1", "-shared", "-fPIC", *files], check=True)
    library, found = ctypes.CDLL(str(tmp_path / "model.so")), np.empty(1)
    expected = model.decision_function(frame[["a", "b"]])
    for row, margin in zip(frame[["a", "b"]].to_numpy(), expected, strict=True):
        library.f(_pointer(np.ascontiguousarray(row)), _pointer(found))
        assert np.isclose(found[0], margin, rtol=1e-12, atol=1e-12)


def _pointer(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def _left_to_right(model, row):
    clf, z = model, row.tolist()
    if hasattr(model, "steps"):
        scaler, clf = model[0], model[-1]
        pairs = zip(z, scaler.mean_.tolist(), scaler.scale_.tolist(), strict=True)
        z = [(value - mean) / scale for value, mean, scale in pairs]
    sums = []
    for weights, total in zip(clf.coef_.tolist(), clf.intercept_.tolist(), strict=True):
        for weight, value in zip(weights, z, strict=True):
            total += weight * value
        sums.append(total)
    return sums


def test_json(tmp_path):
    for case, (model, frame, rows) in MODELS.items():
        separatrix.export(model, tmp_path / "model.json", "json")
        text = (tmp_path / "model.json").read_text()
        assert "<" not in text
        found = json.loads(text)
        clf = model[-1] if hasattr(model, "steps") else model
        assert np.array_equal(found["coef"], clf.coef_)
        assert found["classes"] == clf.classes_.tolist()
        names = [column["name"] for column in found["columns"]]
        margins = np.array([_from_json(found, row) for row in frame[names].to_dict("records")])
        assert np.allclose(margins, expected(model, rows)[2], rtol=1e-12, atol=1e-12), case


def _from_json(model, row):
    """A program in another language, as it were."""
    z = []
    for feature in model["features"]:
        value = row[model["columns"][feature["column"]]["name"]]
        lost = value is None or value != value
        if feature["kind"] == "number":
            number = feature["fill"] if lost else value
        elif feature["kind"] == "missing":
            number = float(lost)
        else:
            number = float((None if lost else value) in feature["values"])
        if feature["mean"] is not None:
            number -= feature["mean"]
        z.append(number if feature["scale"] is None else number / feature["scale"])
    return np.array(model["coef"]) @ z + model["intercept"]


def session(model, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    separatrix.export(model, tmp_path / "model.onnx", "onnx")
    return runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])


def fed(inputs, frame):
    """A table as the inputs of a graph take it."""
    if [one.name for one in inputs] == ["X"]:
        return {"X": frame.to_numpy()}
    types = {"tensor(double)": float, "tensor(string)": object, "tensor(int64)": np.int64}
    columns = {one.name: frame[one.name] for one in inputs}
    for one in inputs:
        if one.type == "tensor(string)":
            columns[one.name] = columns[one.name].fillna("")
    return {one.name: columns[one.name].to_numpy(types[one.type])[:, None] for one in inputs}


@pytest.mark.parametrize("case", MODELS)
def test_onnx(case, tmp_path):
    pytest.importorskip("onnx")
    model, frame, rows = MODELS[case]
    run = session(model, tmp_path)
    labels, probabilities, margins = expected(model, rows)
    names = ["label", "probabilities", "margins"]
    graph = pytest.importorskip("onnx").load(tmp_path / "model.onnx")
    assert {one.domain: one.version for one in graph.opset_import}[""] == 17
    kinds = {node.op_type for node in graph.graph.node}
    assert "Gemm" in kinds
    assert bool(kinds & {"Sigmoid", "Softmax"}) == (probabilities is not None)
    assert [one.name for one in run.get_outputs()] == [
        name for name in names if probabilities is not None or name != "probabilities"
    ]
    found = run.run(None, fed(run.get_inputs(), frame))
    assert found[0].tolist() == labels
    assert np.allclose(found[-1], margins, rtol=1e-12, atol=1e-12)
    if probabilities is not None:
        assert np.allclose(found[1], probabilities, rtol=1e-12, atol=1e-12)


def test_a_tie_of_two_classes_is_the_larger_in_onnx(tmp_path):
    pytest.importorskip("onnx")
    clf = LinearClassifier(l2=1.0).fit([[-1.0], [1.0]], ["a", "b"])
    run = session(clf, tmp_path)
    assert run.run(["label"], {"X": np.array([[0.0], [-1e-300], [1e-300]])})[0].tolist() == list(
        "bab"
    )
    assert clf.predict([[0.0], [-1e-300], [1e-300]]).tolist() == list("bab")


def test_text_that_is_no_unicode_is_named_in_onnx(tmp_path):
    pytest.importorskip("onnx")
    clf = LinearClassifier(l2=1.0).fit([[-1.0], [1.0]], ["a", "b\ud800"])
    with pytest.raises(ValueError, match=r"'b\\ud800' holds half of a surrogate pair.*: rename it"):
        separatrix.export(clf, tmp_path / "model.onnx", to="onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("to", ["onnx", "json", "sql", "c"])
def test_what_has_no_formula_is_refused(to, tmp_path):
    hashed = fits()["hashed"][0]
    wrong = [
        (hashed, "hashed"),
        (KernelPerceptron().fit(X, TWO), "KernelPerceptron has no formula"),
        (make_pipeline(PCA(2), LinearClassifier()).fit(X, TWO), "got PCA"),
        (make_pipeline(StandardScaler(), StandardScaler(), LinearClassifier()).fit(X, TWO), "two"),
        (make_pipeline(StandardScaler()).fit(X), "got StandardScaler"),
        (LinearClassifier(), "not fitted"),
    ]
    for model, words in wrong:
        with pytest.raises(ValueError, match=words):
            separatrix.export(model, tmp_path / "model", to)
    assert not list(tmp_path.iterdir())


def test_arguments_that_are_wrong(tmp_path):
    clf = MODELS["two classes"][0]
    with pytest.raises(ValueError, match="to must be"):
        separatrix.export(clf, tmp_path / "model", "pmml")
    with pytest.raises(ValueError, match="for to='sql'"):
        separatrix.export(clf, tmp_path / "model", "c", key="id")
    with pytest.raises(ValueError, match="supports only numbers"):
        separatrix.export(MODELS["table"][0], tmp_path / "model", "c")
    unknown = OneHotEncoder(min_frequency=8, handle_unknown="infrequent_if_exist")
    joined = make_pipeline(unknown, LinearClassifier()).fit(NAMED[["colour"]], TWO)
    with pytest.raises(ValueError, match=r"handle_unknown='infrequent_if_exist' .*'ignore'"):
        separatrix.export(joined, tmp_path / "model", "sql")
    nul = Perceptron(5).fit(pd.DataFrame(X, columns=["a", "b", "c\0"]), TWO)
    with pytest.raises(ValueError, match="SQL cannot represent"):
        separatrix.export(nul, tmp_path / "model", "sql")
    with pytest.raises(ValueError, match="holds a NUL"):  # names would seem to end there
        separatrix.export(nul, tmp_path / "model", "c")


def test_sparse_rows_have_a_formula_too(tmp_path):
    clf = LinearClassifier().fit(SPARSE, THREE)
    separatrix.export(clf, tmp_path / "model.json", "json")
    assert len(json.loads((tmp_path / "model.json").read_text())["features"]) == 3
