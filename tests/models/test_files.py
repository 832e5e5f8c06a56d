"""A model that is saved and loaded is the same model."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from kept_models import THREE, TWO, X, assert_same, features, fits, table
from kept_results import results
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import separatrix
from separatrix import (
    Checkpoint,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    Perceptron,
)
from separatrix.losses import MarginLoss

FITS = fits()
ALL = {case: (*found, {}) for case, found in FITS.items()} | results()
GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("case", ALL)
def test_the_loaded_model_is_the_saved_one(case, tmp_path):
    saved, rows, given = ALL[case]
    separatrix.save(saved, tmp_path / "model.sep")
    loaded = separatrix.load(tmp_path / "model.sep")
    assert_same(loaded, saved)
    assert_same(loaded.decision_function(rows, **given), saved.decision_function(rows, **given))
    assert_same(loaded.predict(rows, **given), saved.predict(rows, **given))
    if hasattr(saved, "predict_proba"):
        assert_same(loaded.predict_proba(rows, **given), saved.predict_proba(rows, **given))
    if hasattr(saved, "solver_"):
        assert repr(loaded.solver_) == repr(saved.solver_)
    assert clone(loaded).get_params().keys() == saved.get_params().keys()


@pytest.mark.parametrize("case", ALL)
def test_saving_again_gives_the_same_bytes(case, tmp_path):
    one, other = tmp_path / "one.sep", tmp_path / "other.sep"
    separatrix.save(ALL[case][0], one)
    separatrix.save(separatrix.load(one), other)
    assert one.read_bytes() == other.read_bytes()


def test_a_transformer_and_an_estimator_without_a_fit(tmp_path):
    path = tmp_path / "features.sep"
    separatrix.save(features(), path)
    assert_same(separatrix.load(path), features())
    separatrix.save(LinearClassifier("hinge", l2=0.5, tol=float("inf")), path)
    loaded = separatrix.load(path)
    assert_same(loaded, LinearClassifier("hinge", l2=0.5, tol=float("inf")))
    assert not hasattr(loaded, "coef_")


def test_a_stream_and_a_replay_go_on_from_a_file(tmp_path):
    saved = LinearClassifier(l2=0.1, random_state=0).partial_fit(X, THREE)
    separatrix.save(saved, tmp_path / "stream.sep")
    loaded = separatrix.load(tmp_path / "stream.sep")
    for clf in (saved, loaded):
        clf.partial_fit(X[:20], THREE[:20])
    assert_same(loaded.coef_, saved.coef_)
    perceptron = Perceptron(20, random_state=0, keep="last").fit(X, TWO)
    separatrix.save(perceptron, tmp_path / "trace.sep")
    *_, last = separatrix.load(tmp_path / "trace.sep").trace_.replay(X, TWO)
    assert np.array_equal(last.weights[:, :-1], perceptron.coef_)


@pytest.mark.processes
def test_another_process_predicts_the_same_bits(tmp_path):
    clf, path = FITS["three"][0], tmp_path / "model.sep"
    separatrix.save(clf, path)
    np.save(tmp_path / "X.npy", X)
    code = (
        "import numpy as np, separatrix, sys; clf = separatrix.load(sys.argv[1]); "
        "print(clf.decision_function(np.load(sys.argv[2])).tobytes().hex())"
    )
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "X.npy")]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found.strip() == clf.decision_function(X).tobytes().hex()


def test_the_layout_is_that_of_safetensors(tmp_path):
    clf, path = FITS["table"][0], tmp_path / "model.sep"
    separatrix.save(clf, path)
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    begin, end = header["coef_"]["data_offsets"]
    assert header["coef_"]["dtype"] == "F64"
    read = np.frombuffer(data[begin:end], "<f8").reshape(header["coef_"]["shape"])
    assert np.array_equal(read, clf.coef_)
    reported = header["__metadata__"]["sha256"].encode()
    assert raw.count(reported) == 1
    assert sha256(raw.replace(reported, b"0" * 64)).hexdigest().encode() == reported
    assert (8 + length) % 8 == 0
    assert all(isinstance(value, str) for value in header["__metadata__"].values())
    model = json.loads(header["__metadata__"]["model"])
    assert model["attributes"]["classes_"] == {"$values": ["<U8", ["<script>", "no", 'y"es']]}


def test_the_library_of_safetensors_opens_the_arrays(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    for number, (case, (clf, _)) in enumerate(FITS.items()):
        separatrix.save(clf, tmp_path / f"{number}.sep")
        arrays = numpy.load_file(tmp_path / f"{number}.sep")
        if "coef_" in vars(clf):
            assert np.array_equal(arrays["coef_"], clf.coef_), case
        assert np.array_equal(arrays["history_.norm"], clf.history_["norm"]), case


def test_arrays_in_the_order_of_fortran_and_of_other_machines(tmp_path):
    start = np.asfortranarray(np.arange(12.0).reshape(3, 4)).astype(">f8")
    separatrix.save(LinearClassifier(start=start), tmp_path / "model.sep")
    assert np.array_equal(separatrix.load(tmp_path / "model.sep").start, start)


class Own(MarginLoss):
    convex = smooth = True

    def phi(self, m):
        return np.logaddexp(0.0, -m)

    def slope(self, m):
        return -1.0 / (1.0 + np.exp(m))


class OwnClassifier(LinearClassifier):
    pass


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (LinearClassifier(callbacks=[print]), r"callbacks.0 is 'print'.*set_params\(callbacks=\("),
        (LinearClassifier(callbacks=[Checkpoint("x")]), "callbacks.0 is 'Checkpoint'"),
        (LinearClassifier(Own()), "loss is 'Own'"),
        (Perceptron(learning_rate=lambda t: 1.0), "learning_rate is '.*lambda.*set_params"),
        (Perceptron(random_state=np.random.default_rng(0)), "random_state is 'Generator'"),
        (KernelPerceptron(np.dot), "kernel is 'dot'"),
        (LinearClassifierCV(cv=KFold(3), scoring=None), "cv is 'KFold'"),
        (OwnClassifier(), "got a OwnClassifier"),
        (make_pipeline(LinearClassifier()), "got a pipeline.*standardize=True.*export"),
        (LinearClassifier, "got a "),
    ],
)
def test_code_is_refused_by_name(estimator, words, tmp_path):
    with pytest.raises(TypeError, match=words):
        separatrix.save(estimator, tmp_path / "model.sep")
    assert not list(tmp_path.iterdir())


def test_a_fit_with_a_loss_of_your_own_is_refused_whatever_the_parameters_say(tmp_path):
    for y in (TWO, THREE):
        clf = LinearClassifier(Own(), solver=separatrix.LBFGS(), l2=0.1).fit(X, y)
        clf.set_params(loss="logistic")
        with pytest.raises(
            TypeError,
            match=r"trace_.loss is 'Own'.*fit with losses, solvers and schedules of separatrix",
        ):
            separatrix.save(clf, tmp_path / "model.sep")


def test_an_attribute_without_a_place_is_refused(tmp_path):
    clf = LinearClassifier()
    clf.note = "mine"
    with pytest.raises(TypeError, match="attribute 'note'"):
        separatrix.save(clf, tmp_path / "model.sep")


def test_a_failed_save_leaves_the_file_before_it(tmp_path, monkeypatch):
    path = tmp_path / "model.sep"
    separatrix.save(LinearClassifier(l2=1.0), path)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        separatrix.save(LinearClassifier(l2=2.0), path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.sep"]
    assert separatrix.load(path).l2 == 1.0


def test_paths_that_cannot_be(tmp_path):
    with pytest.raises(ValueError, match="is a directory"):
        separatrix.save(LinearClassifier(), tmp_path)
    with pytest.raises(ValueError, match="does not exist"):
        separatrix.save(LinearClassifier(), tmp_path / "none" / "model.sep")
    with pytest.raises(FileNotFoundError):
        separatrix.load(tmp_path / "none.sep")


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.sep")), ids=lambda file: file.stem)
def test_files_of_every_version_open_for_ever(file):
    loaded = separatrix.load(file)
    expected = json.loads(file.with_suffix(".json").read_text())
    rows = table() if "table" in file.stem else X
    assert np.allclose(loaded.decision_function(rows), expected["scores"], rtol=1e-12, atol=1e-12)
    assert loaded.predict(rows).tolist() == expected["classes"]
    assert (loaded.stop_, loaded.n_iter_) == (expected["stop"], expected["n_iter"])
    for name, column in loaded.history_.items():
        assert np.array_equal(column, expected["history"][name], equal_nan=True)


def test_there_are_golden_files_of_this_version():
    assert len([*GOLDEN.glob("version-1-*.sep")]) == 3


def test_columns_of_a_wide_table_are_kept_field_by_field(tmp_path):
    names = [f"column_{j}" for j in range(300)]
    rows = np.random.default_rng(0).standard_normal((3, 300)).tolist()
    lines = [",".join([*names, "y"])]
    lines += [",".join([*map(str, row), label]) for row, label in zip(rows, "aba", strict=True)]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    fit = LinearClassifier(l2=0.1).fit(separatrix.read(tmp_path / "wide.csv", target="y"))
    separatrix.save(fit, tmp_path / "model.sep")
    loaded = separatrix.load(tmp_path / "model.sep")
    assert loaded._reading == fit._reading
    assert list(loaded.predict(tmp_path / "wide.csv")) == list("aba")
    assert (tmp_path / "model.sep").read_bytes().count(b'"name') == 1  # not once for each column
