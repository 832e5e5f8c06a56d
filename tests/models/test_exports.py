"""Exported models, run by the real thing: SQLite, DuckDB, a C compiler, ONNX Runtime."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from kept_models import SPARSE, THREE, TWO, WORDS, X, fits, table
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import separatrix
from separatrix import KernelPerceptron, LinearClassifier, Perceptron

EVIL = ['"; DROP TABLE x;--', "*/", "<script>", "it's", 'a "quote"', "\\", "??/", "ä\n"]
FRAME = pd.DataFrame(dict(zip(EVIL[:3], (X * [1.0, 1e3, 1e-3]).T, strict=True)))
NAMED = FRAME.assign(colour=np.array(EVIL)[np.arange(60) % 8], size=np.arange(60) % 3)


def models():
    """Models with the table that they predict, and the same as Python predicts it."""
    fitted = fits()
    plain = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    scaled = make_pipeline(StandardScaler(), LinearClassifier(l2=0.01)).fit(
        FRAME, np.array(EVIL)[THREE]
    )
    hot = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour", "size"]),
        (StandardScaler(), slice(EVIL[0], EVIL[1])), ("passthrough", ["size"]),
    )  # fmt: skip
    encoded = make_pipeline(hot, LinearClassifier(l2=0.01)).fit(NAMED, TWO)
    fewer = make_column_transformer(
        (OneHotEncoder(drop="first", min_frequency=8, handle_unknown="ignore"), ["colour"]),
        (OneHotEncoder(drop="if_binary", max_categories=2, handle_unknown="ignore"), ["size"]),
        ("passthrough", [EVIL[0]]),
    )  # fmt: skip
    joined = make_pipeline(fewer, LinearClassifier(l2=0.01)).fit(NAMED, TWO)
    of_table = table().to_pandas()
    rare = separatrix.read(
        NAMED.assign(y=WORDS[THREE]), target="y", min_frequency=8, categorical={"size": "onehot"}
    )
    return {
        "two classes": (fitted["two classes"][0], plain, X),
        "three": (fitted["three"][0], plain, X),
        "against the rest": (fitted["against the rest"][0], plain, X),
        "objects": (fitted["objects"][0], plain, X),
        "perceptron": (fitted["perceptron"][0], plain, X),
        "scaled": (scaled, FRAME, FRAME),
        "one-hot": (encoded, NAMED, NAMED),
        "one-hot, dropped and joined": (joined, NAMED, NAMED),
        "table": (fitted["table"][0], of_table, table()),
        "infrequent": (LinearClassifier(l2=0.01).fit(rare), NAMED, NAMED),
    }


MODELS = models()
NUMERIC = ("two classes", "three", "against the rest", "objects", "perceptron", "scaled")


def expected(model, rows):
    margins = model.decision_function(rows)
    margins = margins[:, None] if margins.ndim == 1 else margins
    probabilities = model.predict_proba(rows) if hasattr(model, "predict_proba") else None
    return model.predict(rows).tolist(), probabilities, margins


def query(model, tmp_path):
    separatrix.export(model, tmp_path / "model.sql", "sql", table='ro"ws', key="the 'key'")
    return (tmp_path / "model.sql").read_text().rstrip(";\n") + " ORDER BY 1"


def in_sqlite(text, frame):
    with closing(sqlite3.connect(":memory:")) as connection:
        names = [column.replace('"', '""') for column in frame.columns]
        connection.execute("""CREATE TABLE "ro""ws" (""" + ", ".join(f'"{n}"' for n in names) + ")")
        marks = ", ".join("?" * len(names))
        rows = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
        connection.executemany(f"""INSERT INTO "ro""ws" VALUES ({marks})""", rows)
        return connection.execute(text).fetchall()


def in_duckdb(text, frame):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("given", pa.Table.from_pandas(frame, preserve_index=False))
        connection.execute('CREATE TABLE "ro""ws" AS SELECT * FROM given')
        return connection.execute(text).fetchall()


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("case", MODELS)
def test_sql(case, run, tmp_path):
    model, frame, rows = MODELS[case]
    found = run(query(model, tmp_path), frame.assign(**{"the 'key'": range(60)}))
    labels, probabilities, margins = expected(model, rows)
    assert [row[:2] for row in found] == list(enumerate(labels))
    k = margins.shape[1]
    assert np.allclose([row[-k:] for row in found], margins, rtol=1e-12, atol=1e-12)
    if probabilities is not None:
        assert np.allclose([row[2:-k] for row in found], probabilities, rtol=1e-12, atol=1e-12)
    assert len(found[0]) == 2 + k + (0 if probabilities is None else probabilities.shape[1])


def test_features_that_were_read_as_float32(tmp_path):
    frame = pd.DataFrame(X * [1.0, 1e3, 1e-3], columns=["x0", "x1", "x2"])
    clf = LinearClassifier(l2=1e-3).fit(
        separatrix.read(frame.assign(y=TWO), target="y", dtype="float32")
    )
    text = query(clf, tmp_path)
    as_read = frame.astype(np.float32).astype(np.float64)
    for rows, units in ((as_read, 0.0), (frame, 2.0**-24)):  # of each feature: its rounding
        found = in_sqlite(text, rows.assign(**{"the 'key'": range(60)}))
        margins = np.array([row[-1] for row in found])
        most = 1e-12 + units * np.abs(rows.to_numpy()) @ np.abs(clf.coef_[0])
        assert np.all(np.abs(margins - clf.decision_function(rows)) <= most)


def test_missing_and_rare_categories_of_a_one_hot_encoder(tmp_path):
    words = pd.DataFrame({"word": [*["a"] * 30, *["b"] * 20, *[np.nan] * 5, *["c"] * 5]})
    words["word"] = words["word"].astype(object)
    hot = OneHotEncoder(min_frequency=8, drop=["a"], handle_unknown="ignore")
    model = make_pipeline(hot, LinearClassifier(l2=0.01)).fit(words, TWO)
    found = in_sqlite(query(model, tmp_path), words.assign(**{"the 'key'": range(60)}))
    margins = [row[-1] for row in found]
    assert np.allclose(margins, model.decision_function(words), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_sql_of_what_is_missing_or_unknown(run, tmp_path):
    clf = MODELS["two classes"][0]
    frame = pd.DataFrame({"the 'key'": [0, 1], "x0": [None, 1.0], "x1": 0.0, "x2": [0.0, 1.0]})
    found = run(query(clf, tmp_path), frame)
    assert found[0] == (0, None, None, None, None)
    assert None not in found[1]
    if run is in_duckdb:
        endless = frame.assign(x0=[np.inf, 1.0])
        assert run(query(clf, tmp_path), endless)[0] == (0, None, None, None, None)
        nan = query(clf, tmp_path).replace('t."x0"', "CAST('NaN' AS DOUBLE)")
        assert run(nan, frame)[1] == (1, None, None, None, None)
    other = NAMED.assign(colour="never seen", **{"the 'key'": range(60)})
    margins = [row[-1] for row in run(query(MODELS["one-hot"][0], tmp_path), other)]
    assert np.allclose(margins, MODELS["one-hot"][0].decision_function(other), rtol=1e-12)


@pytest.mark.parametrize("case", NUMERIC)
def test_numbers_in_sql_have_exponents_and_all_of_their_bits(case, tmp_path):
    """One without would be a decimal, or divide as a whole number."""
    model = MODELS[case][0]
    bare = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\bm\d+", "", query(model, tmp_path))
    numbers = re.findall(r"(?<![\w.])\d[\w.+-]*", bare.replace("ORDER BY 1", ""))
    labels = [str(label) for label in model.classes_.tolist()]
    assert all("e" in number for number in numbers if number not in labels)
    clf = model[-1] if hasattr(model, "steps") else model
    found = {float(number) for number in numbers}
    assert {*np.abs(clf.coef_).ravel().tolist(), *np.abs(clf.intercept_).tolist()} <= found


@pytest.mark.parametrize("type", ["", "REAL", "TEXT", "INTEGER"])
def test_text_in_a_column_of_numbers_is_missing_in_sqlite(type, tmp_path):
    frame = pd.DataFrame({"x0": X[:, 0], "x1": X[:, 1], "y": TWO})
    frame.loc[::7, "x0"] = np.nan
    plain = LinearClassifier().fit(X[:, :2], TWO)
    filled = LinearClassifier().fit(separatrix.read(frame, target="y", missing="indicator"))
    given = ["0.5", " 2 ", "1e3", 7, 2**60 + 1, "", "abc", "1 litre", b"1", None]
    numbers = [0.5, 2.0, 1e3, 7.0, 2.0**60, *[None] * 5]
    for model in (plain, filled):
        text = query(model, tmp_path)
        with closing(sqlite3.connect(":memory:")) as base:
            base.execute(f"""CREATE TABLE "ro""ws" ("the 'key'", x0 {type}, x1 REAL)""")
            rows = [(i, value, 1.0) for i, value in enumerate(given)]
            base.executemany("""INSERT INTO "ro""ws" VALUES (?, ?, ?)""", rows)
            margins = [row[-1] for row in base.execute(text)]
        if model is plain:
            assert margins[5:] == [None] * 5
            expected = plain.decision_function([[value, 1.0] for value in numbers[:5]])
            assert np.allclose(margins[:5], expected, rtol=1e-12)
        else:
            table = pd.DataFrame({"x0": np.array(numbers, dtype=float), "x1": 1.0})
            assert np.allclose(margins, filled.decision_function(table), rtol=1e-12)


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_sql_refuses_a_column_that_is_not_there(run, tmp_path):
    frame = pd.DataFrame({"the 'key'": [0], "x0": [1.0], "x1": [0.0]})
    text = query(MODELS["two classes"][0], tmp_path)
    with pytest.raises(Exception, match="x2"):
        run(text, frame)


def test_sql_of_many_features_is_not_nested_too_deeply(tmp_path):
    wide = np.random.default_rng(0).normal(size=(30, 1500))
    clf = LinearClassifier().fit(wide, np.arange(30) % 2)
    frame = pd.DataFrame(wide, columns=[f"x{j}" for j in range(1500)])
    frame.insert(0, "the 'key'", range(30))
    found = in_sqlite(query(clf, tmp_path), frame)
    assert np.allclose([row[-1] for row in found], clf.decision_function(wide), atol=1e-12)


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


@pytest.mark.parametrize("to", ["onnx", "json", "sql", "c"])
def test_what_has_no_formula_is_refused(to, tmp_path):
    hashed = fits()["hashed"][0]
    wrong = [
        (hashed, "hashed"),
        (KernelPerceptron().fit(X, TWO), "KernelPerceptron has no formula"),
        (make_pipeline(PCA(2), LinearClassifier()).fit(X, TWO), "and got PCA"),
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
    with pytest.raises(ValueError, match="takes numbers alone"):
        separatrix.export(MODELS["table"][0], tmp_path / "model", "c")
    unknown = OneHotEncoder(min_frequency=8, handle_unknown="infrequent_if_exist")
    joined = make_pipeline(unknown, LinearClassifier()).fit(NAMED[["colour"]], TWO)
    with pytest.raises(ValueError, match=r"handle_unknown='infrequent_if_exist' .*'ignore'"):
        separatrix.export(joined, tmp_path / "model", "sql")
    nul = Perceptron(5).fit(pd.DataFrame(X, columns=["a", "b", "c\0"]), TWO)
    with pytest.raises(ValueError, match="no word for"):
        separatrix.export(nul, tmp_path / "model", "sql")


def test_sparse_rows_have_a_formula_too(tmp_path):
    clf = LinearClassifier().fit(SPARSE, THREE)
    separatrix.export(clf, tmp_path / "model.json", "json")
    assert len(json.loads((tmp_path / "model.json").read_text())["features"]) == 3
