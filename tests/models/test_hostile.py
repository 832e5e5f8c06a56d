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
import scipy.sparse as sp
from hostile_files import (
    parts,
    refused,
    signed,
    with_model,
)
from kept_models import CORPUS, fits

import separatrix

MUTATIONS = 150  # of every file


def test_the_oracle_signs_as_save_does(corpus, tmp_path):
    for raw in corpus.values():
        assert signed(*parts(raw)).rstrip() != b""
        path = tmp_path / "model.sep"
        path.write_bytes(signed(*parts(raw)))
        separatrix.load(path)


@pytest.mark.parametrize("name", CORPUS)
@pytest.mark.sampled(3)
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


@pytest.mark.sampled(4)
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
