"""Model files and checkpoints that were changed and signed again, as an attacker would make them.

A digest finds damage, not intent: anyone can compute it. These functions take a file apart, and
make one with other contents and a valid digest.
"""

from __future__ import annotations

import json
import math
import struct
from hashlib import sha256

import numpy as np
import pytest

import separatrix
from separatrix.numeric.container import DTYPES, NAMES
from separatrix.training.checkpoint_file import METADATA, packed

# ---- model files -------------------------------------------------------------------------


def parts(raw):
    """The header of a model file and the bytes of its arrays."""
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def signed(header, data, text=None):
    """A model file with these parts and a valid digest; ``text`` replaces the header's JSON."""
    header["__metadata__"] = {"sha256": "0" * 64} | header.get("__metadata__", {})
    header["__metadata__"]["sha256"] = "0" * 64
    if text is None:
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
    raw = struct.pack("<Q", len(text)) + text + data
    return raw.replace(b"0" * 64, sha256(raw).hexdigest().encode(), 1)


def refused(path, raw, words=""):
    """Asserts that a file of these bytes is not loaded, with an error that says why."""
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=f"cannot be loaded: .*{words}.*Expected a file"):
        separatrix.load(path)


def arrays_of(raw):
    """The arrays of a model file by name."""
    header, data = parts(raw)
    found = {}
    for name, about in header.items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            array = np.frombuffer(data[begin:end], DTYPES[about["dtype"]])
            found[name] = array.reshape(about["shape"])
    return found


def with_model(raw, change):
    """The same model file after ``change(model)``, which edits or replaces the model's JSON."""
    header, data = parts(raw)
    model = json.loads(header["__metadata__"]["model"])
    changed = change(model)
    header["__metadata__"]["model"] = json.dumps(model if changed is None else changed)
    return signed(header, data)


def with_arrays(raw, **others):
    """The same model file with other arrays; None removes an array."""
    header, _ = parts(raw)
    arrays = {**arrays_of(raw), **others}
    return of_arrays(header["__metadata__"], {n: a for n, a in arrays.items() if a is not None})


def of_arrays(metadata, arrays):
    """A model file with this metadata and these arrays."""
    header, data = {"__metadata__": metadata}, b""
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        header[name] = {
            "dtype": NAMES[array.dtype.newbyteorder("<")], "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + array.nbytes],
        }  # fmt: skip
        data += array.tobytes()
    return signed(header, data)


# ---- checkpoints -------------------------------------------------------------------------


def checkpoint_parts(raw):
    """The head of a checkpoint (``arrays`` and ``tree``) and the bytes of its arrays."""
    header, data = parts(raw)
    begin = header.pop("tree")["data_offsets"][0]
    del header["__metadata__"]
    return {"arrays": header, "tree": json.loads(data[begin:])}, data[:begin]


def signed_checkpoint(head, data, text=None):
    """A checkpoint with these parts and a valid digest; ``text`` replaces the tree's JSON."""
    text = json.dumps(head["tree"]).encode() if text is None else text
    end = len(data) + len(text)
    tree = {"dtype": "U8", "shape": [len(text)], "data_offsets": [len(data), end]}
    return signed({"__metadata__": METADATA, **head["arrays"], "tree": tree}, data + text)


def entries(arrays):
    """Arrays of a header, one after another, from their types and shapes."""
    header, begin = {}, 0
    for number, (dtype, shape) in enumerate(arrays):
        size = np.dtype(DTYPES.get(dtype, "u1")).itemsize * math.prod(shape)
        offsets = [begin, begin + size]
        header[str(number)] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        begin += size
    return header


def checkpoint_of(tree):
    """A checkpoint that holds a tree of dictionaries, lists, numbers and arrays."""
    return b"".join(bytes(piece) for piece in packed(tree))


# ---- trees -------------------------------------------------------------------------------

DELETE = object()
"""In place of a value: the entry is removed."""


def places(tree, where=()):
    """The paths to all values of a tree of dictionaries and lists, the root first."""
    yield where
    entries = tree.items() if isinstance(tree, dict) else ()
    for key, entry in enumerate(tree) if isinstance(tree, list) else entries:
        yield from places(entry, (*where, key))


def at(tree, where):
    """The value at a path."""
    for key in where:
        tree = tree[key]
    return tree


def replaced(tree, where, value):
    """The tree, changed in place, with another value at a path."""
    if not where:
        return value
    inner = at(tree, where[:-1])
    if value is DELETE:
        del inner[where[-1]]
    else:
        inner[where[-1]] = value
    return tree
