"""Arrays and strings in one file, in the byte layout of safetensors: models and checkpoints.

Eight bytes with the length of a header, the header in JSON, and the bytes of the arrays, one after
another: https://huggingface.co/docs/safetensors. So other programs can open the arrays too.
Everything that layout lacks is in its ``__metadata__``, whose first entry is the SHA-256 digest of
the whole file, computed with zeros for the digits of the digest itself. Nothing in a file is
executed, and reading takes no more memory than a file of its length can fill.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .regular_file import named_in_errors, open_regular
from .types import AnyArray

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
NAMES = {np.dtype(dtype).newbyteorder("<"): name for name, dtype in DTYPES.items()}
START = b'{"__metadata__":{"sha256":"'
ZEROS = b"0" * 64
MOST_HEADER = 100_000_000  # bytes; the limit of safetensors, too
MOST_AXES = 8  # arrays of fits have at most three
LARGEST_INTEGER = 2**128  # seeds are the largest; much larger ones are not even floats
MOST_DIGITS = len(str(-LARGEST_INTEGER))


class Damaged(Exception):
    """A file that is not as it was written."""


class HeaderTooLong(ValueError):
    """More names and words than a header has room for."""


def is_storable(array: AnyArray) -> bool:
    """Whether the layout has a name for the array's type."""
    return array.dtype.newbyteorder("<") in NAMES


def packed(metadata: Mapping[str, str], arrays: Mapping[str, AnyArray]) -> list[bytes | memoryview]:
    """The bytes of a file of strings and arrays, in pieces: the header, then each array."""
    stored = {name: _stored(array) for name, array in arrays.items()}
    # The widest types first, so that all arrays are aligned.
    order = sorted(stored, key=lambda name: -stored[name].itemsize)
    header: dict[str, Any] = {"__metadata__": {"sha256": ZEROS.decode(), **metadata}}
    at = 0
    for name in order:
        array = stored[name]
        about = {"dtype": NAMES[array.dtype.newbyteorder("<")], "shape": list(array.shape)}
        header[name] = {**about, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER:
        raise HeaderTooLong(
            f"the names and strings of this file take {len(text)} bytes, more than the "
            f"{MOST_HEADER} of a header"
        )
    size, pieces = len(text).to_bytes(8, "little"), [_bytes(stored[name]) for name in order]
    digest = sha256(size + text)
    for piece in pieces:
        digest.update(piece)
    signed = START + digest.hexdigest().encode() + text[len(START) + len(ZEROS) :]
    return [size + signed, *pieces]


def _stored(array: AnyArray) -> AnyArray:
    """In C order, the least significant byte first."""
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _bytes(array: AnyArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def read(path: Path, kind: str) -> tuple[dict[str, str], dict[str, AnyArray]]:
    """The strings and arrays of a file; ``Damaged`` if it is not as it was written."""
    with named_in_errors(path), open_regular(path) as file:
        return unpacked(file, os.fstat(file.fileno()).st_size, kind)


def unpacked(file: BinaryIO, size: int, kind: str) -> tuple[dict[str, str], dict[str, AnyArray]]:
    """The same for an open file. Its ``kind`` is for errors: "model file", "checkpoint"."""
    return _FileReader(file, size, kind).read()


class _FileReader:
    """Reads one file from beginning to end, and computes the digest of what was read."""

    def __init__(self, file: BinaryIO, size: int, kind: str) -> None:
        self.file, self.size, self.kind, self.digest = file, size, kind, sha256()

    def read(self) -> tuple[dict[str, str], dict[str, AnyArray]]:
        head = self.file.read(8)
        length = int.from_bytes(head, "little")
        if len(head) < 8 or length > min(MOST_HEADER, self.size - 8):
            raise Damaged(f"it is not a {self.kind}, or it is truncated")
        text = self.file.read(length)
        start = len(START)
        if len(text) < length or text[:start] != START or len(text) < start + 64:
            raise Damaged(f"it does not begin like a {self.kind}")
        stated = text[start : start + 64]
        self.digest.update(head + START + ZEROS + text[start + 64 :])
        header = parsed(text)
        metadata = header.pop("__metadata__")
        if not all(isinstance(value, str) for value in metadata.values()):
            raise Damaged("its metadata contains values that are not strings")
        arrays = self._arrays(header, self.size - 8 - length)
        if self.digest.hexdigest().encode() != stated:
            raise Damaged("its digest does not match its content")
        return metadata, arrays

    def _arrays(self, header: dict[str, Any], size: int) -> dict[str, AnyArray]:
        """Read all arrays; their bytes follow each other without gaps."""
        entries = [(name, *_entry(name, about)) for name, about in header.items()]
        entries.sort(key=lambda entry: entry[3:])
        at, arrays = 0, {}
        for name, dtype, shape, begin, end in entries:
            if begin != at or end - begin != prod(shape) * dtype.itemsize:
                raise Damaged(f"the array {name!r} is not at the position that the shapes imply")
            at = end
        if at != size:
            raise Damaged(f"it has {size} bytes of arrays, but its header describes {at}")
        for name, dtype, shape, _, _ in entries:
            arrays[name] = self._array(name, dtype, shape)
        return arrays

    def _array(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> AnyArray:
        try:
            array = np.empty(shape, dtype)
        except (ValueError, MemoryError) as error:
            raise Damaged(f"there is not enough memory for the array {name!r} ({error})") from None
        room = _bytes(array)
        if self.file.readinto(room) < len(room):  # type: ignore[attr-defined]
            raise Damaged("it was truncated while it was read")
        self.digest.update(room)
        if dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
            raise Damaged(f"the array {name!r} has values other than true and false")
        return array


def _entry(name: str, about: Any) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """Type, shape, begin and end of an array, according to the header."""
    wrong = Damaged(f"its header does not describe the array {name!r}")
    if not isinstance(about, dict) or set(about) != {"dtype", "shape", "data_offsets"}:
        raise wrong
    dtype, shape, offsets = about["dtype"], about["shape"], about["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise wrong
    if not (isinstance(shape, list) and len(shape) <= MOST_AXES and isinstance(offsets, list)):
        raise wrong
    if len(offsets) != 2 or not all(type(n) is int and 0 <= n < 2**62 for n in shape + offsets):
        raise wrong
    return np.dtype(DTYPES[dtype]), tuple(shape), offsets[0], offsets[1]


def parsed(text: str | bytes, *, constants: bool = False) -> Any:
    """Parse JSON; refuse duplicate keys and integers that no field can hold.

    NaN and infinity are refused too, unless ``constants`` allows them.
    """
    constant = float if constants else _refuse_constant
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=constant, parse_int=_integer
        )
    except RecursionError:
        raise Damaged("its text is nested too deeply") from None
    except ValueError as error:
        raise Damaged(f"its text is not JSON ({error})") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Damaged("its text has a key twice")
    return found


def _refuse_constant(word: str) -> None:
    raise Damaged(f"its text contains {word}")


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS or abs(int(digits)) > LARGEST_INTEGER:
        raise Damaged(f"its text contains an integer of {len(digits)} digits")
    return int(digits)
