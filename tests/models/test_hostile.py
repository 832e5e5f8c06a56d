"""Files that are damaged, or made to do harm: a clear error, in bounded memory."""

from __future__ import annotations

import copy
import json
import os
import random
import struct
import tracemalloc

import numpy as np
import pytest
from hostile_files import DELETE, at, parts, places, replaced, signed, with_model
from kept_models import fits

import separatrix

CORPUS = ("two classes", "three", "stream", "cv", "perceptron", "table", "voted", "voted two")
FITS = {name: fit for name, fit in fits().items() if name in CORPUS}
MUTATIONS = 150  # of every file, of either kind


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path, found = tmp_path_factory.mktemp("corpus") / "model.sep", {}
    for name, (clf, _) in FITS.items():
        separatrix.save(clf, path)
        found[name] = path.read_bytes()
    return found


def refused(path, raw, words=""):
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=f"cannot be loaded: .*{words}.*Expected a file"):
        separatrix.load(path)


def test_the_oracle_signs_as_save_does(corpus, tmp_path):
    for raw in corpus.values():
        assert signed(*parts(raw)).rstrip() != b""
        path = tmp_path / "model.sep"
        path.write_bytes(signed(*parts(raw)))
        separatrix.load(path)


@pytest.mark.parametrize("name", FITS)
def test_any_change_of_bytes_is_found(name, corpus, tmp_path):
    raw, path, draw = corpus[name], tmp_path / "model.sep", random.Random(name)
    for number in range(MUTATIONS):
        changed = bytearray(raw)
        at, other = draw.randrange(len(raw)), draw.randrange(len(raw))
        how = number % 6
        if how == 0:
            changed[at] ^= 1 << draw.randrange(8)
        elif how == 1:
            del changed[at:]
        elif how == 2:
            del changed[min(at, other) : max(at, other)]
        elif how == 3:
            changed[at:at] = draw.randbytes(draw.randrange(1, 20))
        elif how == 4:
            changed[at : at + 8] = draw.randbytes(8)
        else:
            changed += draw.randbytes(draw.randrange(1, 20))
        if bytes(changed) != raw:
            refused(path, bytes(changed))


STRANGE = [
    DELETE, None, True, -1, 0, 2**63, 10**400, 1e308, "", "x", "\ud800", [], {}, [[]], {"": None},
    {"$float": "nan"}, {"$float": "1"}, {"$number": ["<f8", 1]}, {"$number": ["<V8", 1]},
    {"$array": "coef_"}, {"$array": 3}, {"$tuple": 3}, {"$dict": [[[], 1]]}, {"$dict": 3},
    {"$values": ["<U1000000000", ["a"]]}, {"$values": ["O", [None]]}, {"$values": ["<i8", [2**70]]},
    {"$record": ["Trace", {}]}, {"$record": ["os.system", {}]}, {"$record": ["Linear", {}]},
    {"$loss": {"loss": "hinge"}}, {"$solver": {"solver": "LBFGS", "memory": -1}}, {"$loss": 3},
    {"$csr": [True, [2**40, 2**40], {}]}, {"$unknown": 1}, {"$float": "nan", "x": 1},
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
@pytest.mark.parametrize("name", FITS)
def test_a_changed_model_with_a_right_digest_is_refused_or_can_be_used(name, corpus, tmp_path):
    header, data = parts(corpus[name])
    model, draw = json.loads(header["__metadata__"]["model"]), random.Random(name)
    path, where = tmp_path / "model.sep", list(places(model))
    for _ in range(MUTATIONS):
        strange = draw.random() < 0.8
        # Else something of the same file, elsewhere.
        value = draw.choice(STRANGE) if strange else at(model, draw.choice(where))
        place = draw.choice(where[1:])
        value = value if value is DELETE else copy.deepcopy(value)
        header["__metadata__"]["model"] = json.dumps(replaced(copy.deepcopy(model), place, value))
        path.write_bytes(signed(header, data))
        loaded, error = outcome(separatrix.load, path)
        assert loaded is not None or "cannot be loaded: " in error
        if hasattr(loaded, "classes_"):  # let in: then it predicts, or says what is wrong
            predicted, error = outcome(loaded.predict, FITS[name][1])
            assert error if predicted is None else len(predicted) == 60


def outcome(function, *given):
    try:
        return function(*given), ""
    except ValueError as error:
        return None, str(error)


HEADERS = {
    "overlap": lambda h: h["intercept_"].update(data_offsets=h["coef_"]["data_offsets"]),
    "gap": lambda h: h["coef_"]["data_offsets"].__setitem__(0, 1),
    "beyond the end": lambda h: h["coef_"]["data_offsets"].__setitem__(1, 2**60),
    "backwards": lambda h: h["coef_"]["data_offsets"].reverse(),
    "a shape of another size": lambda h: h["coef_"].update(shape=[2**30, 2**30]),
    "a negative shape": lambda h: h["coef_"].update(shape=[-1, -3]),
    "a shape that is no number": lambda h: h["coef_"].update(shape=[True, 3]),
    "too many axes": lambda h: h["coef_"].update(shape=[1] * 100),
    "no type": lambda h: h["coef_"].update(dtype="O"),
    "a type that is no text": lambda h: h["coef_"].update(dtype=["F64"]),
    "an entry more": lambda h: h["coef_"].update(more=1),
    "no entry": lambda h: h.update(coef_=None),
    "an array less": lambda h: h.pop("coef_"),
    "an array of nothing": lambda h: h.update(
        more={"dtype": "F64", "shape": [0, 2**61], "data_offsets": [0, 0]}
    ),
    "metadata that is no text": lambda h: h["__metadata__"].update(more=1),
    "another format": lambda h: h["__metadata__"].update(format="pt"),
    "another version": lambda h: h["__metadata__"].update(version="2"),
}


@pytest.mark.parametrize("what", HEADERS)
def test_a_header_that_lies(what, corpus, tmp_path):
    header, data = parts(corpus["three"])
    HEADERS[what](header)
    refused(tmp_path / "model.sep", signed(header, data))


def test_keys_that_come_twice_nesting_and_constants(corpus, tmp_path):
    path, raw = tmp_path / "model.sep", corpus["three"]
    header, data = parts(raw)
    header["__metadata__"]["sha256"] = "0" * 64
    text = json.dumps(header, separators=(",", ":")).encode()
    twice = text[:-1] + b',"coef_":' + json.dumps(header["coef_"]).encode() + b"}"
    refused(path, signed(header, data, twice), "a key twice")
    for deep in (b"[" * 100_000, b'{"a":' * 100_000):
        refused(path, signed(header, data, text[:-1] + b',"x":' + deep), "nested|JSON")
    for constant in (b"NaN", b"Infinity", b"9" * 5000):
        refused(path, signed(header, data, text[:-1] + b',"x":' + constant + b"}"))
    for model in ("", "[" * 100_000, '{"a":1,"a":1}', "NaN", "3"):
        header["__metadata__"]["model"] = model
        refused(path, signed(header, data))


@pytest.mark.parametrize("length", [0, 1, 10**6, 2**40, 2**63, 2**64 - 1])
def test_lengths_of_a_header_that_lie(length, corpus, tmp_path):
    raw = struct.pack("<Q", length) + corpus["three"][8:]
    tracemalloc.start()
    refused(tmp_path / "model.sep", raw)
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


def test_a_file_that_is_no_model(tmp_path):
    for raw in (b"", b"\0", b"PK\x03\x04" * 100, b"\x80\x04\x95" + b"\0" * 50, b"{}" * 50):
        refused(tmp_path / "model.sep", raw)
    os.mkfifo(tmp_path / "pipe")
    handle = os.open(tmp_path / "pipe", os.O_RDWR)  # so that opening it does not wait
    with pytest.raises(ValueError, match="device or a pipe"):
        separatrix.load(tmp_path / "pipe")
    os.close(handle)


def test_a_file_of_arrays_of_others(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file({"coef_": np.zeros(3)}, tmp_path / "model.sep")
    with pytest.raises(ValueError, match="does not begin as a model file does"):
        separatrix.load(tmp_path / "model.sep")


ATTRIBUTES = {
    "a word for weights": lambda a: a.update(coef_="x"),
    "an attribute less": lambda a: a.pop("stop_"),
    "a method": lambda a: a.update(predict="x"),
    "a dunder": lambda a: a.update(__class__="x"),
    "one class": lambda a: a.update(classes_={"$values": ["<U1", ["a"]]}),
    "a class twice": lambda a: a.update(classes_={"$values": ["<U1", ["a", "a", "b"]]}),
    "other features": lambda a: a.update(n_features_in_=7),
    "names of others": lambda a: a.update(feature_names_in_={"$values": ["|O", ["a"]]}),
    "an array twice": lambda a: a.update(intercept_={"$array": "coef_"}),
    "an array less": lambda a: a.update(intercept_=None),
    "no trace": lambda a: a.update(trace_=None),
}


@pytest.mark.parametrize("what", ATTRIBUTES)
def test_attributes_that_do_not_belong_together(what, corpus, tmp_path):
    raw = with_model(corpus["three"], lambda model: ATTRIBUTES[what](model["attributes"]))
    refused(tmp_path / "model.sep", raw)


def test_parameters_and_estimators_that_are_none(corpus, tmp_path):
    path, raw = tmp_path / "model.sep", corpus["three"]
    refused(path, with_model(raw, lambda m: m["parameters"].update(no_such=1)), "no parameter")
    refused(path, with_model(raw, lambda m: m.update(estimator="Pipeline")), "does not know")
    refused(path, with_model(raw, lambda m: m.update(estimator=["a"])), "does not know")
    refused(path, with_model(raw, lambda m: m["parameters"].update(loss="zero")), "unknown loss")
