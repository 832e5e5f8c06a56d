"""Arrays and numbers in one file that is whole or not there at all.

Input: dictionaries and lists of arrays, numbers and words. Output: a file, and the same again. The
file begins with a line that says what it is and one with the SHA-256 digest of all that follows:
the length of a JSON text, the text, in which arrays are numbered, and their bytes. Nothing in it is
executed when it is read. It is written under another name, brought to the disk, and renamed; the
one before is kept beside it. Of several runs that would write to one path only the first may.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..numeric.expected import number_type, scalar
from ..numeric.regular_file import named_in_errors, open_regular
from ..numeric.replaced import replaced
from ..numeric.types import AnyArray

FORMAT = b"separatrix checkpoint 1\n"
DIGEST = 65  # a line
HEAD, HEAD_SIZE = 17, re.compile(rb"[0-9a-f]{16}\n")  # the line with the length of the text
KINDS = "biuf"  # of arrays: booleans and numbers
MOST_AXES, MOST_DEPTH = 8, 50  # of an array, and of dictionaries and lists within each other


class Damaged(Exception):
    """A file that is not what was written."""


def packed(tree: Any) -> list[bytes | memoryview]:
    """As bytes, in pieces; an array that comes twice is written once."""
    arrays: dict[int, tuple[int, AnyArray]] = {}
    plain = _plain(tree, arrays)
    kept = [np.ascontiguousarray(array) for _, array in arrays.values()]
    about = [[array.dtype.str, list(array.shape)] for _, array in arrays.values()]
    head = json.dumps({"arrays": about, "tree": plain}).encode()
    return [
        b"%016x\n" % len(head),
        head,
        *(array.reshape(-1).view(np.uint8).data for array in kept),
    ]


def _plain(value: Any, arrays: dict[int, tuple[int, AnyArray]]) -> Any:
    if value is None or isinstance(value, (bool, str)) or type(value) in (int, float):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
        number, _ = arrays.setdefault(id(value), (len(arrays), value))
        return {"$array": number}
    if isinstance(value, np.generic) and value.dtype.kind in KINDS:
        return {"$number": [value.dtype.str, value.item()]}
    if isinstance(value, (list, tuple)):
        return [_plain(entry, arrays) for entry in value]
    if isinstance(value, dict) and all(
        isinstance(key, str) and not key.startswith("$") for key in value
    ):
        return {key: _plain(entry, arrays) for key, entry in value.items()}
    raise TypeError(
        f"{value!r} cannot be written to a checkpoint: it holds arrays of numbers, numbers, words, "
        "None, and lists and dictionaries of these"
    )


def unpacked(data: memoryview) -> Any:
    """What ``packed`` was given; tuples have become lists. ``Damaged`` if it is anything else.

    A digest can be computed by anyone, so all that the text says is checked before it is used. In
    memory it takes at most what the arrays take and about 100 times the length of the text.
    """
    if len(data) < HEAD or not HEAD_SIZE.fullmatch(bytes(data[:HEAD])):
        raise Damaged("it does not say how long its text is")
    begin = HEAD + int(bytes(data[: HEAD - 1]), 16)
    if begin > len(data):
        raise Damaged("it ends within its text")
    try:
        head = json.loads(bytes(data[HEAD:begin]))
        if not isinstance(head, dict) or set(head) != {"arrays", "tree"}:
            raise Damaged("its text has other entries than arrays and a tree")
        return _filled(head["tree"], _arrays(head["arrays"], data[begin:]))
    except RecursionError:
        raise Damaged("its text is nested too deeply") from None
    except (ArithmeticError, MemoryError, ValueError) as error:
        raise Damaged(f"its text is not as it should be ({error})") from None


def _arrays(about: Any, data: memoryview) -> list[AnyArray]:
    """The arrays whose bytes follow each other from the first to the last of the data."""
    if not isinstance(about, list):
        raise Damaged("its text has no list of arrays")
    found, at = [], 0
    for number, each in enumerate(about):
        if not isinstance(each, list) or len(each) != 2 or not isinstance(each[1], list):
            raise Damaged(f"its text does not say what array {number} is")
        dtype, shape = number_type(each[0]), each[1]
        if len(shape) > MOST_AXES or not all(type(n) is int and 0 <= n < 2**62 for n in shape):
            raise Damaged(f"array {number} has no shape")
        size = prod(shape) * dtype.itemsize
        if size > len(data) - at:
            raise Damaged(f"array {number} is longer than the rest of the file")
        array = np.empty(shape, dtype)
        raw = array.reshape(-1).view(np.uint8)
        raw[:] = np.asarray(data[at : at + size])
        if dtype.kind == "b" and raw.max(initial=0) > 1:
            raise Damaged(f"array {number} holds something else than true and false")
        found.append(array)
        at += size
    if at != len(data):
        raise Damaged(f"it has {len(data)} bytes of arrays, and its text describes {at}")
    return found


def _filled(value: Any, arrays: list[AnyArray], depth: int = 0) -> Any:
    """A tree with its arrays in their places; lists and dictionaries are filled in place."""
    if depth > MOST_DEPTH:
        raise Damaged("its text is nested too deeply")
    if isinstance(value, list):
        for number, entry in enumerate(value):
            value[number] = _filled(entry, arrays, depth + 1)
        return value
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if key.startswith("$")), "")
    if not tag:
        for key, entry in value.items():
            value[key] = _filled(entry, arrays, depth + 1)
        return value
    told = value[tag]
    if len(value) == 1 and tag == "$array" and type(told) is int and 0 <= told < len(arrays):
        return arrays[told]
    pair = len(value) == 1 and tag == "$number" and isinstance(told, list) and len(told) == 2
    if pair and type(told[1]) in (bool, int, float):
        return scalar(*told)
    raise Damaged(f"{tag!r} in its text is neither a number nor one of its arrays")


class CheckpointFile:
    """The file at a path, the one before it, and the name under which the next is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.previous = path.with_name(path.name + ".previous")
        self.new = path.with_name(path.name + ".new")
        self.lock = path.with_name(path.name + ".lock")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While this lasts no other run may have the path, in this process or another.

        A lock ends with its process, however that ends. Where there is no room for its file, or no
        locks, as on some network disks, this goes on without.
        """
        descriptor = self._locked()
        try:
            yield
        finally:
            if descriptor is not None:
                with suppress(OSError):
                    self.lock.unlink()
                os.close(descriptor)

    def _locked(self) -> int | None:
        while True:
            try:
                descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError:
                return None
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise RuntimeError(
                    f"another run keeps its checkpoint in {self.path} at this moment: wait until "
                    "it has ended, or give this one a path of its own"
                ) from None
            except OSError:
                pass
            if os.fstat(descriptor).st_nlink:  # else removed, by a run that ended meanwhile
                return descriptor
            os.close(descriptor)

    def write(self, tree: Any) -> None:
        """All or nothing: on an error the files are as they were."""
        pieces, digest = packed(tree), sha256()
        for piece in pieces:
            digest.update(piece)
        with replaced(self.path, self.new, self.previous) as file:
            file.write(FORMAT + digest.hexdigest().encode() + b"\n")
            for piece in pieces:
                file.write(piece)

    def versions(self) -> Iterator[tuple[Path, Any]]:
        """The file and the one before, as far as they are there: what is in it, or its damage."""
        for path in (self.path, self.previous):
            try:
                yield path, read(path)
            except FileNotFoundError:
                continue
            except Damaged as damage:
                yield path, damage


def read(path: Path) -> Any:
    """What was written there; ``Damaged`` if that cannot be told for certain."""
    with named_in_errors(path), open_regular(path) as file:
        whole = memoryview(file.read())
    begin = len(FORMAT) + DIGEST
    if bytes(whole[: len(FORMAT)]) != FORMAT:
        raise Damaged("it does not begin as a checkpoint of this version of separatrix does")
    if bytes(whole[len(FORMAT) : begin]) != sha256(whole[begin:]).hexdigest().encode() + b"\n":
        raise Damaged("its digest does not agree with what is in it")
    return unpacked(whole[begin:])
