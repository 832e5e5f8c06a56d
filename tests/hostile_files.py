"""Model files and checkpoints that were changed and signed again, as an attacker would make them.

A digest finds damage, not intent: anyone can compute it. These functions take a file apart, and
make one with other contents and a valid digest.
"""

from __future__ import annotations

import json
import struct
from hashlib import sha256

import numpy as np

from separatrix.models.layout import DTYPES, NAMES
from separatrix.training.checkpoint_file import DIGEST, FORMAT, packed

# ---- model files -------------------------------------------------------------------------


def parts(raw):
    """The header of a model file and the bytes of its arrays."""
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def signed(header, data, text=None):
    """A model file with these parts and a valid digest; ``text`` replaces the header's JSON."""
    header["__metadata__"] = {"sha256": "0" * 64} | header.get("__metadata__", {})
    header["__metadata__"]["sha256"] = "0" * 64
    text = json.dumps(header, separators=(",", ":")).encode() if text is None else text
    raw = struct.pack("<Q", len(text)) + text + data
    return raw.replace(b"0" * 64, sha256(raw).hexdigest().encode(), 1)


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
    body = raw[len(FORMAT) + DIGEST :]
    size = int(body[:16], 16)
    return json.loads(body[17 : 17 + size]), body[17 + size :]


def signed_checkpoint(head, data, text=None):
    """A checkpoint with these parts and a valid digest; ``text`` replaces the head's JSON."""
    text = json.dumps(head).encode() if text is None else text
    return signed_body(b"%016x\n" % len(text) + text + data)


def signed_body(body):
    """A checkpoint with any body and its valid digest."""
    return FORMAT + sha256(body).hexdigest().encode() + b"\n" + body


def checkpoint_of(tree):
    """A checkpoint that holds a tree of dictionaries, lists, numbers and arrays."""
    return signed_body(b"".join(bytes(piece) for piece in packed(tree)))


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
