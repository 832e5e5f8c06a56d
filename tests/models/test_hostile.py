"""Files that are damaged, or made to do harm: a clear error, in bounded memory."""

from __future__ import annotations

import copy
import itertools
import json
import os
import random
import struct
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hostile_files import (
    DELETE,
    arrays_of,
    at,
    parts,
    places,
    replaced,
    signed,
    with_arrays,
    with_model,
)
from kept_models import TWO, X, fits

import separatrix
from separatrix import LinearClassifier

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
    {"$records": ["Number", {}]}, {"$records": ["Number", {"name": ["a", "b"], "fill": [1.0]}]},
    {"$records": ["Trace", {"n_iter": [1, 1]}]}, {"$records": ["os.system", {"name": ["a"]}]},
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
    with pytest.raises(ValueError, match="is a pipe; expected a regular file"):
        separatrix.load(tmp_path / "pipe")
    os.close(handle)


def test_a_file_of_arrays_of_others(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file({"coef_": np.zeros(3)}, tmp_path / "model.sep")
    with pytest.raises(ValueError, match="does not begin like a model file"):
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
    refused(
        path, with_model(raw, lambda m: m.update(estimator="Pipeline")), "unknown to this version"
    )
    refused(path, with_model(raw, lambda m: m.update(estimator=["a"])), "unknown to this version")
    refused(path, with_model(raw, lambda m: m["parameters"].update(loss="zero")), "unknown loss")


# ---- contents with a right digest --------------------------------------------------------


def used(clf, rows):
    """Everything that works on what a file holds; a ValueError says what is wrong."""
    repr(clf)
    copy.deepcopy(clf)
    outcome(clf.predict, rows)
    if not hasattr(clf, "partial_fit"):
        return
    y = clf.classes_[np.arange(60) % len(clf.classes_)]
    outcome(lambda: clf.trace_.strengths)
    outcome(lambda: list(itertools.islice(clf.trace_.replay(X, y), 3)))
    outcome(lambda: clf.trace_.recording(X, y, max_steps=3))
    outcome(lambda: copy.deepcopy(clf).partial_fit(X, y))
    outcome(clf.sparsify)


def other_arrays(array):
    """Arrays of other shapes, types and values in the place of one."""
    yield array[:0]
    yield array[:-1]
    yield np.concatenate([array, array])
    yield array[None]
    if array.dtype.kind == "f":
        yield array.astype(np.float32)
        yield np.full_like(array, np.nan)
        yield array.astype(np.int64) if np.all(np.isfinite(array)) else array[:0]
    if array.dtype.kind == "i":
        yield array + 10**6
        yield array - 10**6
        yield array.astype(np.float64)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", [*FITS, "standardized", "linear kernel"])
def test_other_arrays_are_refused_or_can_be_used(name, corpus, tmp_path):
    clf, rows = fits()[name]
    path = tmp_path / "model.sep"
    separatrix.save(clf, path)
    raw = path.read_bytes()
    for where, array in arrays_of(raw).items():
        for other in other_arrays(array):
            path.write_bytes(with_arrays(raw, **{where: other}))
            loaded, error = outcome(separatrix.load, path)
            if loaded is None:
                assert f"{path}' cannot be loaded: " in error
            else:
                used(loaded, rows)


WRONG_ARRAYS = {
    "stream": {"_stream.state.weights": (1, 2), "trace_.state.weights": (0,)},
    "by rows": {"_stream.state.weights": (3, 5)},
    "perceptron": {"_stream.state.sum": (0,), "_stream.state.weights": (1, 5)},
    "standardized": {"_features.standardization.mean": (2,), "_features.standardization.scale": 0},
    "occupied": {"_features.occupied": (0,), "trace_.features.occupied": (3,)},
    "rbf": {"_expansion.vectors": np.float16, "_expansion.sums": np.float32},
    "laplacian": {"_expansion.vectors.2.data": np.int64},
    "linear kernel": {"_coef": (1, 2), "embedding_strengths_": (0,)},
    "loo": {"loo_check_.exact": (0,)},
    "voted": {"_expansion.votes.sizes": np.int64, "history_.pass": np.float64},
}


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_an_array_of_a_wrong_shape_type_or_value_is_refused_at_once(name, tmp_path):
    path = tmp_path / "model.sep"
    wide = sp.csr_array((np.ones(60), (np.arange(60), np.arange(60) % 5)), shape=(60, 1000))
    clf = LinearClassifier().fit(wide, TWO) if name == "occupied" else fits()[name][0]
    separatrix.save(clf, path)
    raw = path.read_bytes()
    for where, wrong in WRONG_ARRAYS[name].items():
        array = arrays_of(raw)[where]
        if isinstance(wrong, tuple):
            other = np.zeros(wrong, array.dtype)
        else:
            other = np.zeros_like(array) if wrong == 0 else array.astype(wrong)
        refused(path, with_arrays(raw, **{where: other}))


NEWTON = {"$solver": {"solver": "Newton", "direct_weights": 5}}
NET = {"$penalty": {"penalty": "elastic_net", "l1": 0.1, "l2": 0.0, "weights": [1.0, 2.0]}}
LARGE = {"$penalty": {"penalty": "l2", "l2": 10**400}}
ASKED = ["_stream", "$record", 1, "asked", "$solver", "learning_rate"]
SLOW = {"schedule": "inverse_scaling", "step": 1.0, "power": 0.5, "delay": 10**400}
RECORDED = ["trace_", "$record", 1, "recorded"]
ENCODING = ["_reading", "$record", 1, "encoding", "$record", 1]
COLUMN = [*ENCODING, "columns", "$tuple", 2, "$record", 1]
OTHERS = {"$values": ["<i8", [1, 2]]}
WRONG_VALUES = {
    "a stream that does not go by rows": ("stream", ["_stream", "$record", 1, "used"], NEWTON),
    "rows beyond all bounds": ("perceptron", ["trace_", "$record", 1, "n_rows"], 10**17),
    "more passes than were made": ("perceptron", [*RECORDED, "n_iter"], 10**15),
    "classes of others": ("three", ["trace_", "$record", 1, "classes"], OTHERS),
    "classes out of order": ("two classes", ["classes_"], {"$values": ["<i8", [1, 0]]}),
    "a type of rows": ("table", ["_reading", "$record", 1, "dtype"], "V1000000000"),
    "a format": ("table", ["_reading", "$record", 1, "format"], "pickle"),
    "values of a row": ("hashed", [*ENCODING, "row_values"], 1e18),
    "a number of features": ("hashed", [*COLUMN, "hash_bits"], 30),
    "a power of two": ("stream", ["_stream", "$record", 1, "state", "weight_power"], 10**9),
    "a solver's number": ("two classes", ["solver_", "$solver", "direct_weights"], "x"),
    "a penalty of other features": ("two classes", ["trace_", "$record", 1, "penalty"], NET),
    "a penalty of 400 digits": ("two classes", ["trace_", "$record", 1, "penalty"], LARGE),
    "a schedule of 400 digits": ("perceptron", ASKED, SLOW),
    "a dictionary with a key twice": ("two classes", ["stop_"], {"$dict": [[1, 1], [1, 2]]}),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG_VALUES)
def test_a_value_that_would_do_harm_later_is_refused_at_once(what, tmp_path):
    name, where, value = WRONG_VALUES[what]
    path = tmp_path / "model.sep"
    separatrix.save(fits()[name][0], path)

    def change(model):
        assert where[-1] in at(model["attributes"], where[:-1])
        replaced(model["attributes"], where, value)

    refused(path, with_model(path.read_bytes(), change))


# ---- memory ------------------------------------------------------------------------------

BOMBS = {
    "a sub-array": {"$values": ["<i4,(60000000,)f8", [1] * 10]},
    "a structure": {"$values": ["<i4,<f8", [1]]},
    "wide words": {"$values": ["<U1000000", ["a"] * 16]},
    "one long word": {"$values": ["<U1000", ["a" * 1000] + ["b"] * 10000]},
    "a sub-array as a number": {"$number": ["(60000000,)f8", 1]},
    "a wide sparse matrix": {"$csr": [False, [1, 10**15], {}]},
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_type_that_asks_for_memory_is_refused_before_it_gets_any(what, corpus, tmp_path):
    def change(model):
        model["attributes"]["classes_"] = BOMBS[what]

    raw = with_model(corpus["two classes"], change)
    tracemalloc.start()
    refused(tmp_path / "model.sep", raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120 * len(raw) + 1e6


MANY = {
    "lists": "[]", "dictionaries": "{}", "dictionaries of one": '{"":0}', "numbers": "1.5",
    "words": '"ab"', "tuples": '{"$tuple":[]}', "infinities": '{"$float":"inf"}',
    "typed": '{"$number":["<f8",1]}', "arrays": '{"$values":["<f8",[]]}',
}  # fmt: skip


@pytest.mark.parametrize("what", MANY)
def test_many_small_entries_take_memory_in_proportion_to_the_file(what, corpus, tmp_path):
    """At most 120 times the text, and once the arrays: most of it are Python's objects."""
    entries = [json.loads(MANY[what])] * (50_000 // len(MANY[what]))
    raw = with_model(corpus["two classes"], lambda m: m["attributes"].update(more=entries))
    path = tmp_path / "model.sep"
    tracemalloc.start()
    refused(path, raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120 * len(raw)


def test_a_sparse_coef_of_too_many_weights_is_neither_saved_nor_loaded(corpus, tmp_path):
    """Predictions fill it in: a small file would ask for any amount of memory."""
    clf, path = copy.deepcopy(fits()["two classes"][0]), tmp_path / "model.sep"
    separatrix.save(clf.sparsify(), path)
    raw = path.read_bytes()
    refused(
        path,
        with_model(raw, lambda m: m["attributes"]["coef_"]["$csr"].__setitem__(1, [1, 10**15])),
        "densify",
    )
    clf.coef_ = sp.csr_array((1, 2**40))
    with pytest.raises(ValueError, match=r"call densify\(\) before saving"):
        separatrix.save(clf, path)
