"""Model files of models of rows with several labels each."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_multilabel_classification

import separatrix
from separatrix import LBFGS, LinearClassifier, export, load, save
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


@pytest.mark.parametrize("to", ["json", "sql", "c", "onnx"])
def test_exports_are_refused(tmp_path, to):
    clf, _ = fitted("two")
    with pytest.raises(ValueError, match=r"indicator matrix of labels.*separatrix\.save"):
        export(clf, tmp_path / "model", to=to)
    assert not (tmp_path / "model").exists()


def test_checkpoints(tmp_path):
    whole = LinearClassifier(l2=1e-3, solver=LBFGS()).fit(X, Y)
    path = tmp_path / "fit.sep"
    stop = [separatrix.Checkpoint(path), lambda step, info: info.iteration == 3]
    LinearClassifier(l2=1e-3, solver=LBFGS(), callbacks=stop).fit(X, Y)
    again = LinearClassifier(l2=1e-3, solver=LBFGS(), callbacks=[separatrix.Checkpoint(path)])
    again.fit(X, Y)
    assert np.array_equal(again.coef_, whole.coef_)
