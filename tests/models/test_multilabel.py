"""Model files of models of rows with several labels each."""

import ctypes
import json
import shutil
import sqlite3
import subprocess
import warnings
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import LBFGS, LinearClassifier, LinearClassifierCV, export, load, save
from separatrix.models.onnx_converter import register_converters
from separatrix.numeric import container

X, Y = make_multilabel_classification(80, 5, n_classes=4, random_state=0)


def fitted(kind="plain"):
    given, parameters = Y, {}
    if kind == "names":
        given = pd.DataFrame(Y, columns=["zebra", "ant", "cow", "bee"])
    if kind == "constant":
        given = np.column_stack([np.ones(80, int), Y[:, :2], np.zeros(80, int)])
    if kind == "one varies":
        given = np.column_stack([np.ones(80, int), Y[:, :1]])
    if kind == "sparse":
        parameters = {"l1": 0.05}
    if kind == "two":
        given = Y[:, :2]
    clf = LinearClassifier(l2=0.01, solver=LBFGS() if kind == "plain" else "auto", **parameters)
    if kind in ("constant", "one varies"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return clf.fit(X, given), given
    return clf.fit(X, given), given


KINDS = ("plain", "names", "constant", "one varies", "sparse", "two")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_holds_the_whole_model(tmp_path, kind):
    clf, given = fitted(kind)
    save(clf, tmp_path / "model.sep")
    loaded = load(tmp_path / "model.sep")
    assert loaded.multilabel_
    for name in ("coef_", "intercept_", "classes_", "zero_"):
        assert np.array_equal(getattr(loaded, name), getattr(clf, name))
    for method in ("predict", "predict_proba", "decision_function", "predict_log_proba"):
        assert np.array_equal(getattr(loaded, method)(X), getattr(clf, method)(X))
    assert loaded.score(X, given) == clf.score(X, given)
    last = list(loaded.trace_.replay(X, given))[-1].weights
    varying = loaded._labels.varying
    assert np.array_equal(last[:, -1], clf.intercept_[varying])
    save(loaded, tmp_path / "again.sep")
    assert (tmp_path / "again.sep").read_bytes() == (tmp_path / "model.sep").read_bytes()


def test_a_model_of_classes_has_no_labels_in_its_file(tmp_path):
    save(LinearClassifier(l2=0.1).fit(X, Y[:, 0]), tmp_path / "model.sep")
    metadata, _ = container.read(tmp_path / "model.sep", "model file")
    assert "_labels" not in json.loads(metadata["model"])["attributes"]


def forged(path, change):
    """The file with other contents, and a digest that fits them."""
    metadata, arrays = container.read(path, "model file")
    model = json.loads(metadata["model"])
    change(model["attributes"], arrays)
    metadata["model"] = json.dumps(model)
    metadata = {name: metadata[name] for name in ("format", "version", "separatrix", "model")}
    path.write_bytes(b"".join(bytes(piece) for piece in container.packed(metadata, arrays)))


def of_labels(attributes):
    return attributes["_labels"]["$record"][1]


def with_array(name, of):
    def change(attributes, arrays):
        arrays[name] = of(arrays[name])

    return change


def without_labels(attributes, arrays):
    del attributes["_labels"]
    del arrays["_labels.constant"], arrays["_labels.names"]


def other_loss(attributes, arrays):
    attributes["trace_"]["$record"][1]["loss"]["$loss"]["multiclass"] = "one_vs_rest"


HOSTILE = {
    "no labels": without_labels,
    "loss of classes": other_loss,
    "few constants": with_array("_labels.constant", lambda a: a[:-1]),
    "wide constants": with_array("_labels.constant", lambda a: a.astype(np.int64)),
    "no constant": with_array("_labels.constant", lambda a: a + np.int8(2)),
    "all constant": with_array("_labels.constant", lambda a: np.ones_like(a)),
    "one more constant": with_array(
        "_labels.constant", lambda a: np.array([1, 0, 0, 0], np.int8)
    ),
    "same names": with_array("_labels.names", lambda a: np.zeros_like(a)),
    "other names": with_array("_labels.names", lambda a: a + 1),
    "more names": with_array("_labels.names", lambda a: np.arange(5)),
    "names in a matrix": with_array("_labels.names", lambda a: a.reshape(2, 2)),
    "few weights": with_array("coef_", lambda a: a[:-1].copy()),
    "few biases": with_array("intercept_", lambda a: a[:-1].copy()),
    "start of another size": with_array("trace_.start", lambda a: a[:-1].copy()),
}  # fmt: skip


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_refused(tmp_path, change):
    save(fitted()[0], tmp_path / "model.sep")
    forged(tmp_path / "model.sep", change)
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(tmp_path / "model.sep")


def test_a_forged_file_without_a_change_loads(tmp_path):
    save(fitted()[0], tmp_path / "model.sep")
    forged(tmp_path / "model.sep", lambda attributes, arrays: None)
    assert load(tmp_path / "model.sep").multilabel_


def test_a_model_of_a_cross_validation(tmp_path):
    clf = LinearClassifierCV(l2s=[0.1, 0.01], cv=3, scoring="loss").fit(X, Y)
    save(clf, tmp_path / "model.sep")
    loaded = load(tmp_path / "model.sep")
    assert loaded.multilabel_
    assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))


def test_a_model_of_partial_fit(tmp_path):
    clf = LinearClassifier(l2=0.01).partial_fit(X, Y)
    save(clf, tmp_path / "model.sep")
    loaded = load(tmp_path / "model.sep")
    assert np.array_equal(loaded.partial_fit(X, Y).coef_, clf.partial_fit(X, Y).coef_)


# ---- exports ------------------------------------------------------------------------------------

EXPORTED = ("plain", "names", "constant", "two", "hinge", "scaled")


def exported(kind):
    """A model, and the probabilities of its labels if the loss defines them."""
    if kind == "hinge":
        clf = LinearClassifier("hinge", l2=0.01, random_state=0).fit(X, Y)
        return clf, None
    if kind == "scaled":
        clf = make_pipeline(StandardScaler(), LinearClassifier(l2=0.01)).fit(X, Y)
    else:
        clf, _ = fitted(kind)
    return clf, clf.predict_proba(X)


@pytest.mark.parametrize("kind", EXPORTED)
def test_json(kind, tmp_path):
    clf, probabilities = exported(kind)
    export(clf, tmp_path / "model.json", to="json")
    model = json.loads((tmp_path / "model.json").read_text())
    assert (model["version"], model["multilabel"]) == (3, True)
    assert model["classes"] == clf.classes_.tolist()
    features = [
        (X[:, one["column"]] - (one["mean"] or 0.0)) / (one["scale"] or 1.0)
        for one in model["features"]
    ]
    margins = np.column_stack(features) @ np.transpose(model["coef"]) + model["intercept"]
    assert np.allclose(margins, clf.decision_function(X), rtol=1e-12)
    assert np.array_equal(margins >= 0.0, clf.predict(X))
    assert model["probability"] == (None if probabilities is None else "sigmoid")


@pytest.mark.parametrize("kind", EXPORTED)
def test_c(kind, tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    clf, probabilities = exported(kind)
    export(clf, tmp_path / "model.h", to="c")
    source = (
        '#include "model.h"\n'
        "int predict(const double *x, int *y) { return separatrix_predict(x, y); }\n"
        "const char *name(int k) { return separatrix_classes[k]; }\n"
    )
    if probabilities is not None:
        source += "void shares(const double *x, double *p) { separatrix_probabilities(x, p); }\n"
    (tmp_path / "model.c").write_text(source)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off"]
    files = [str(tmp_path / "model.c"), "-lm", "-o", str(tmp_path / "model.so")]
    subprocess.run([compiler, *flags, "-shared", "-fPIC", *files], check=True)
    library = ctypes.CDLL(str(tmp_path / "model.so"))
    library.name.restype = ctypes.c_char_p
    q = len(clf.classes_)
    assert [library.name(k).decode() for k in range(q)] == list(map(str, clf.classes_.tolist()))
    expected = clf.predict(X)
    for i, row in enumerate(X):
        labels = (ctypes.c_int * q)()
        x = (ctypes.c_double * 5)(*row)
        assert library.predict(x, labels) == expected[i].sum()
        assert list(labels) == expected[i].tolist()
        if probabilities is not None:
            shares = (ctypes.c_double * q)()
            library.shares(x, shares)
            assert np.allclose(list(shares), probabilities[i], rtol=1e-12, atol=1e-300)
    missing = (ctypes.c_double * 5)(float("nan"), 0.0, 0.0, 0.0, 0.0)
    assert library.predict(missing, labels) == -1
    assert list(labels) == [-1] * q


@pytest.mark.parametrize("kind", EXPORTED)
def test_sql(kind, tmp_path):
    clf, probabilities = exported(kind)
    export(clf, tmp_path / "model.sql", to="sql", key="id")
    with closing(sqlite3.connect(":memory:")) as connection:
        names = [f"x{j}" for j in range(5)]
        connection.execute(f"CREATE TABLE rows (id, {', '.join(names)})")
        rows = [(i, *row) for i, row in enumerate(X.tolist())] + [(80, None, 0, 0, 0, 0)]
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", rows)
        text = (tmp_path / "model.sql").read_text().rstrip(";\n") + " ORDER BY 1"
        found = connection.execute(text)
        columns = [one[0] for one in found.description]
        table = found.fetchall()
    q, words = len(clf.classes_), list(map(str, clf.classes_.tolist()))
    shown = ["label"] + ["probability"] * (probabilities is not None) + ["margin"]
    assert columns == ["id"] + [f"{what}_{word}" for what in shown for word in words]
    assert table[80][1:] == (None,) * (len(columns) - 1)
    assert [list(row[1 : q + 1]) for row in table[:80]] == clf.predict(X).tolist()
    assert np.allclose([row[-q:] for row in table[:80]], clf.decision_function(X), rtol=1e-12)
    if probabilities is not None:
        shares = [row[q + 1 : 2 * q + 1] for row in table[:80]]
        assert np.allclose(shares, probabilities, rtol=1e-12, atol=1e-300)


def test_a_query_of_very_many_labels(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 2))
    clf = LinearClassifier(l2=0.1).fit(rows, (rng.random((60, 120)) < 0.5).astype(int))
    export(clf, tmp_path / "model.sql", to="sql")
    assert '"label_119"' in (tmp_path / "model.sql").read_text()


@pytest.mark.parametrize("kind", EXPORTED)
def test_onnx(kind, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    clf, probabilities = exported(kind)
    export(clf, tmp_path / "model.onnx", to="onnx")
    run = runtime.InferenceSession(
        (tmp_path / "model.onnx").read_bytes(), providers=["CPUExecutionProvider"]
    )
    found = dict(zip([one.name for one in run.get_outputs()], run.run(None, {"X": X}), strict=True))
    assert found["label"].dtype == np.int64
    assert np.array_equal(found["label"], clf.predict(X))
    assert np.allclose(found["margins"], clf.decision_function(X), rtol=1e-12)
    if probabilities is None:
        assert "probabilities" not in found
    else:
        assert np.allclose(found["probabilities"], probabilities, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_skl2onnx_has_the_outputs_of_a_one_vs_rest_classifier(dtype):
    skl2onnx, runtime = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    register_converters()
    ours = make_pipeline(StandardScaler(), LinearClassifier(l2=0.01)).fit(X, Y)
    theirs = make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression())).fit(X, Y)
    outputs = []
    for model in (ours, theirs):
        options = {id(model): {"zipmap": False}}
        graph = skl2onnx.to_onnx(model, X[:1].astype(dtype), options=options, target_opset=17)
        run = runtime.InferenceSession(
            graph.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        shapes = [one.shape for one in run.get_outputs()]
        outputs.append((shapes, run.run(None, {"X": X.astype(dtype)})))
    (shapes, (labels, shares)), (their_shapes, (their_labels, their_shares)) = outputs
    assert shapes == their_shapes
    assert (labels.dtype, shares.dtype) == (their_labels.dtype, their_shares.dtype)
    assert labels.shape == their_labels.shape
    error = 1e-12 if dtype is np.float64 else 1e-5
    assert np.allclose(shares, ours.predict_proba(X), rtol=error, atol=error)
    assert np.array_equal(labels, ours.predict(X))


def test_checkpoints(tmp_path):
    whole = LinearClassifier(l2=1e-3, solver=LBFGS()).fit(X, Y)
    path = tmp_path / "fit.sep"
    stop = [separatrix.Checkpoint(path), lambda step, info: info.iteration == 3]
    LinearClassifier(l2=1e-3, solver=LBFGS(), callbacks=stop).fit(X, Y)
    again = LinearClassifier(l2=1e-3, solver=LBFGS(), callbacks=[separatrix.Checkpoint(path)])
    again.fit(X, Y)
    assert np.array_equal(again.coef_, whole.coef_)
